// Neighbouring elements, in whole words. Needs grid.cuh before.

// Loads what is read once.
struct LoadOnce
{
    template <typename V> __device__ V operator()(const V *from) const { return load_once(from); }
};

// COUNT neighbours from position `at` on, a multiple of COUNT, by `load_word`; what is not before `end` is not read.
template <int COUNT, typename Load, typename V, typename P>
static __device__ void load_neighbours_by(Load load_word, V *to, const V *from, P at, P end)
{
    struct __align__(COUNT * sizeof(V) < 16 ? COUNT * sizeof(V) : 16) Word
    {
        V part[COUNT * sizeof(V) < 16 ? COUNT : 16 / sizeof(V)];
    };
    const int words = COUNT * sizeof(V) / sizeof(Word);
    if (at + COUNT <= end) {
#pragma unroll
        for (int word = 0; word < words; word++)
            ((Word *)to)[word] = load_word((const Word *)(from + at) + word);
    } else {
        for (int each = 0; each < COUNT; each++)
            to[each] = at + each < end ? from[at + each] : V(0);
    }
}

// The same of neighbours that are read once.
template <int COUNT, typename V, typename P>
static __device__ void load_neighbours(V *to, const V *from, P at, P end)
{
    load_neighbours_by<COUNT>(LoadOnce(), to, from, at, end);
}

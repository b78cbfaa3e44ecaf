// Neighbouring elements, in whole words. Needs grid.cuh before.

// COUNT neighbours from position `at` on, a multiple of COUNT, which are read once; what is not before `end` is not
// read.
template <int COUNT, typename V, typename P>
static __device__ void load_neighbours(V *to, const V *from, P at, P end)
{
    struct __align__(COUNT * sizeof(V) < 16 ? COUNT * sizeof(V) : 16) Word
    {
        V part[COUNT * sizeof(V) < 16 ? COUNT : 16 / sizeof(V)];
    };
    const int words = COUNT * sizeof(V) / sizeof(Word);
    if (at + COUNT <= end) {
#pragma unroll
        for (int word = 0; word < words; word++)
            ((Word *)to)[word] = load_once((const Word *)(from + at) + word);
    } else {
        for (int each = 0; each < COUNT; each++)
            to[each] = at + each < end ? from[at + each] : V(0);
    }
}

// Results of one thread that others wait for, without a fence: the bits of a result, inverted, in one or two words of 4
// or 8 bytes, of which none is zero, so that who reads words that are not zero has the result. Words are zeros when a
// kernel starts. Needs grid.cuh before.

template <int BYTES> struct ReadyWord
{
    typedef unsigned long long Word;
};

template <> struct ReadyWord<4>
{
    typedef unsigned int Word;
};

// A result as words; one of less than 4 bytes has the low bits of a word. Words of ones alone are NaN, or indices that
// no matrix has.
template <typename V> union Parts
{
    typedef typename ReadyWord<(sizeof(V) > 4 ? 8 : 4)>::Word Word;
    static constexpr int COUNT = (sizeof(V) + sizeof(Word) - 1) / sizeof(Word);
    Word word[COUNT];
    V value;
};

static __device__ void store_relaxed(unsigned int *to, unsigned int word)
{
    asm volatile("st.relaxed.gpu.global.u32 [%0], %1;" : : "l"(to), "r"(word) : "memory");
}

static __device__ void store_relaxed(unsigned long long *to, unsigned long long word)
{
    asm volatile("st.relaxed.gpu.global.u64 [%0], %1;" : : "l"(to), "l"(word) : "memory");
}

static __device__ unsigned int load_relaxed(const unsigned int *from)
{
    unsigned int word;
    asm volatile("ld.relaxed.gpu.global.u32 %0, [%1];" : "=r"(word) : "l"(from) : "memory");
    return word;
}

static __device__ unsigned long long load_relaxed(const unsigned long long *from)
{
    unsigned long long word;
    asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];" : "=l"(word) : "l"(from) : "memory");
    return word;
}

// Publishes result `at`, which has Parts<V>::COUNT of `words`. NaN of ones alone becomes another NaN.
template <typename V> static __device__ void set_ready(typename Parts<V>::Word *words, long long at, V value)
{
    typedef typename Parts<V>::Word Word;
    Parts<V> parts;
    parts.word[0] = 0;
    parts.value = value;
    for (int p = 0; p < Parts<V>::COUNT; p++) {
        Word inverted = ~parts.word[p];
        store_relaxed(words + at * Parts<V>::COUNT + p, inverted ? inverted : (Word)1 << (8 * sizeof(Word) - 1));
    }
}

// True if result `at` is there; then `value` is it.
template <typename V>
static __device__ bool is_ready(const typename Parts<V>::Word *words, long long at, V *value)
{
    Parts<V> parts;
    bool ready = true;
    for (int p = 0; p < Parts<V>::COUNT; p++) {
        typename Parts<V>::Word inverted = load_relaxed(words + at * Parts<V>::COUNT + p);
        ready = ready && inverted != 0;
        parts.word[p] = ~inverted;
    }
    *value = parts.value;
    return ready;
}

// The bits of the lanes of this lane's team: `lanes` neighbours, a power of two up to 32.
static __device__ unsigned int lanes_of_team(int lanes)
{
    return ALL_LANES >> (WARP - lanes) << lane_index() / lanes * lanes;
}

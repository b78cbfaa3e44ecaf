// Loads of lines that are evicted from the second cache before others, for a matrix of one to two times its size. Each
// product reads the whole matrix: if the least recently read lines are evicted, the next product finds none of its
// lines; if the newest are, it finds the others.

// A word of BYTES bytes.
template <int BYTES> struct WordOf;
template <> struct WordOf<2>
{
    typedef unsigned short Word;
};
template <> struct WordOf<4>
{
    typedef unsigned int Word;
};
template <> struct WordOf<8>
{
    typedef unsigned long long Word;
};
template <> struct WordOf<16>
{
    typedef ulonglong2 Word;
};

// Loads a value that no thread writes. Devices before sm_80 load it as any other.
struct LoadToEvictFirst
{
#if __CUDA_ARCH__ >= 800
    unsigned long long policy;

    __device__ LoadToEvictFirst()
    {
        asm("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(policy));
    }

    __device__ unsigned short load(const unsigned short *from) const
    {
        unsigned short value;
        asm("ld.global.nc.L2::cache_hint.u16 %0, [%1], %2;" : "=h"(value) : "l"(from), "l"(policy));
        return value;
    }

    __device__ unsigned int load(const unsigned int *from) const
    {
        unsigned int value;
        asm("ld.global.nc.L2::cache_hint.u32 %0, [%1], %2;" : "=r"(value) : "l"(from), "l"(policy));
        return value;
    }

    __device__ unsigned long long load(const unsigned long long *from) const
    {
        unsigned long long value;
        asm("ld.global.nc.L2::cache_hint.u64 %0, [%1], %2;" : "=l"(value) : "l"(from), "l"(policy));
        return value;
    }

    __device__ ulonglong2 load(const ulonglong2 *from) const
    {
        ulonglong2 value;
        asm("ld.global.nc.L2::cache_hint.v2.u64 {%0, %1}, [%2], %3;"
            : "=l"(value.x), "=l"(value.y)
            : "l"(from), "l"(policy));
        return value;
    }
#else
    template <typename Word> __device__ Word load(const Word *from) const { return *from; }
#endif

    template <typename V> __device__ V operator()(const V *from) const
    {
        typedef typename WordOf<sizeof(V)>::Word Word;
        V value;
        *(Word *)&value = load((const Word *)from);
        return value;
    }
};

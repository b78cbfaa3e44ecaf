// VECTOR neighbouring elements, moved at once. Takes WIDE: 0 for one element, otherwise PACK_BYTES bytes. Needs
// scalar.cuh before.
#ifndef WIDE
#error "WIDE is missing: 0, 1 or 2"
#endif
#ifndef PACK_BYTES
#define PACK_BYTES 16
#endif
#if WIDE
#define VECTOR (PACK_BYTES / (int)sizeof(T))
#else
#define VECTOR 1
#endif

struct __align__(VECTOR * sizeof(T)) Pack
{
    T part[VECTOR];
};

// The elements from position `at`, a multiple of VECTOR, on; those past the first `left` are zeros and not read.
static __device__ Pack load_pack(const T *from, long long at, long long left)
{
    Pack pack;
    if (left >= VECTOR)
        return *(const Pack *)(from + at);
    for (int m = 0; m < VECTOR; m++)
        pack.part[m] = m < left ? from[at + m] : T(0);
    return pack;
}

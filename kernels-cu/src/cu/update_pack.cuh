// Packs of C. Needs scalar.cuh and pack.cuh before.

// VECTOR neighbouring elements of C.
static __device__ void update_pack(T *c, long long at, ACC alpha, const ACC *sums, ACC beta)
{
#if WIDE
    Pack pack = is_zero(beta) ? Pack() : load_pack(c, at, VECTOR);
#pragma unroll
    for (int m = 0; m < VECTOR; m++)
        update(pack.part, m, mul(alpha, sums[m]), beta);
    store_once((Pack *)(c + at), pack);
#else
    update(c, at, mul(alpha, sums[0]), beta);
#endif
}

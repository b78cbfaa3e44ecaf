// The end of a sampled product: sums over lanes, and the element of c. Needs scalar.cuh and warp_scalar.cuh before.

// The sums over the lanes of a team of TILE numbers of each: lane l of `width` gets that of number l * TILE / width.
// Every exchange halves the numbers of a lane.
template <int TILE> static __device__ ACC sum_tile(ACC *sums, int width)
{
    int mask = width / 2;
#pragma unroll
    for (int half = TILE / 2; half > 0; half /= 2, mask /= 2) {
        bool upper = lane_index() & mask;
#pragma unroll
        for (int e = 0; e < half; e++) {
            ACC given = upper ? sums[e] : sums[e + half];
            sums[e] = (upper ? sums[e + half] : sums[e]) + shuffle_xor(given, mask);
        }
    }
    return sum_lanes(sums[0], width / TILE);
}

// c_k <- alpha p_k sum + beta c_k; p_k is 1 where `values` is null.
static __device__ void finish(const T *values, ACC alpha, ACC sum, ACC beta, T *c, long long c_start, long long k)
{
    ACC product = values ? mul(to_acc(load_once(values + k)), sum) : sum;
    update(c, c_start + k, mul(alpha, product), beta);
}

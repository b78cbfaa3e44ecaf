// spgemm_values: the values of C = A B, for compressed rows and a C whose pattern is known, in order and without
// repetitions.
// A team of `lanes` threads takes a row: a part of a warp, a warp or a block; rows come in an order of their lengths,
// `first` up to `end` of it. The team goes through the entries of A's row in their order, its lanes through the row of B
// that each names. Its columns differ if B is `unique`, so that lanes add to different sums; if not, one lane adds. Each
// product finds its sum by halving among the columns of C's row. So sums are added in the order of A's entries, whatever
// the lanes do. local: up to EACH * lanes sums, in shared memory. global: any number, `capacity` at most, in global
// memory. Reads A once, its rows of B once, the pattern of C once, writes the values of C once.
// Macros: SCALAR, IDX, OFF, EACH = 8, or 4 for sums of 16 bytes (entries of C per lane), MOST_LANES = 256 (the largest
// team).   Launch: any number of blocks of 256 threads, `lanes` a power of two up to 32 or 256; global with `lanes` of
// 256.
// Gustavson: Two fast algorithms for sparse matrices: multiplication and permuted transposition. ACM TOMS (1978).
#include "grid.cuh"
#include "scalar.cuh"
#include "index.cuh"
#include "team.cuh"
#ifndef EACH
#define EACH (SCALAR == C64 ? 4 : 8)
#endif
#define CAPACITY (EACH * MOST_LANES)

// The position of a column among the n of a row, which has it.
template <typename N> static __device__ N position_of(const Idx *columns, N n, Idx column)
{
    N low = 0;
    N high = n - 1;
    while (low < high) {
        N mid = (low + high) / 2;
        if (columns[mid] < column)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

KERNEL spgemm_values_local(long long first, long long end, long long lanes, long long unique,
                           const long long *__restrict__ order, const Off *__restrict__ a_offsets,
                           const Idx *__restrict__ a_indices, const T *__restrict__ a_values,
                           const Off *__restrict__ b_offsets, const Idx *__restrict__ b_indices,
                           const T *__restrict__ b_values, const Off *__restrict__ c_offsets,
                           const Idx *__restrict__ c_indices, T *__restrict__ c_values)
{
    __shared__ Idx all_columns[CAPACITY];
    __shared__ ACC all_sums[CAPACITY];
    int width = (int)lanes;
    int lane = threadIdx.x % width;
    int step = unique ? width : 1;
    bool adds = unique || lane == 0;
    Idx *columns = all_columns + threadIdx.x / width * (EACH * width);
    ACC *sums = all_sums + threadIdx.x / width * (EACH * width);
    for (long long i = first + team_index(width); i < end; i += team_count(width)) {
        long long row = order[i];
        long long begin = c_offsets[row];
        int n = (int)(c_offsets[row + 1] - begin);
        for (int at = lane; at < n; at += width) {
            columns[at] = c_indices[begin + at];
            sums[at] = ACC(0);
        }
        sync_team(width);
        for (long long k = a_offsets[row]; k < a_offsets[row + 1]; k++) {
            ACC x = load(a_values, k);
            long long b_end = adds ? (long long)b_offsets[a_indices[k] + 1] : 0;
            for (long long e = b_offsets[a_indices[k]] + lane; e < b_end; e += step)
                sums[position_of(columns, n, b_indices[e])] += mul(x, load(b_values, e));
            sync_team(width);
        }
        for (int at = lane; at < n; at += width)
            store(c_values, begin + at, sums[at]);
        sync_team(width);
    }
}

// A block has `capacity` of all sums.
KERNEL spgemm_values_global(long long first, long long end, long long lanes, long long unique, long long capacity,
                            const long long *__restrict__ order, const Off *__restrict__ a_offsets,
                            const Idx *__restrict__ a_indices, const T *__restrict__ a_values,
                            const Off *__restrict__ b_offsets, const Idx *__restrict__ b_indices,
                            const T *__restrict__ b_values, const Off *__restrict__ c_offsets,
                            const Idx *__restrict__ c_indices, T *__restrict__ c_values,
                            ACC *__restrict__ all_sums)
{
    int lane = threadIdx.x;
    int width = (int)lanes;
    int step = unique ? width : 1;
    bool adds = unique || lane == 0;
    ACC *sums = all_sums + blockIdx.x * capacity;
    for (long long i = first + blockIdx.x; i < end; i += gridDim.x) {
        long long row = order[i];
        long long begin = c_offsets[row];
        long long n = c_offsets[row + 1] - begin;
        for (long long at = lane; at < n; at += width)
            sums[at] = ACC(0);
        sync_team(width);
        for (long long k = a_offsets[row]; k < a_offsets[row + 1]; k++) {
            ACC x = load(a_values, k);
            long long b_end = adds ? (long long)b_offsets[a_indices[k] + 1] : 0;
            for (long long e = b_offsets[a_indices[k]] + lane; e < b_end; e += step)
                sums[position_of(c_indices + begin, n, b_indices[e])] += mul(x, load(b_values, e));
            sync_team(width);
        }
        for (long long at = lane; at < n; at += width)
            store(c_values, begin + at, sums[at]);
        sync_team(width);
    }
}

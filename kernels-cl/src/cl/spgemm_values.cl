// spgemm_values: the values of C = A B, for compressed rows and a C whose pattern is known, in order and without
// repetitions.
// A team of `lanes` work-items, which is a work-group, takes a row; rows come in an order of their lengths, `first` up
// to `end` of it. The team goes through the entries of A's row in their order, its lanes through the row of B that each
// names. Its columns differ if B is `unique`, so that lanes add to different sums; if not, one lane adds. Each product
// finds its sum by halving among the columns of C's row. So sums are added in the order of A's entries, whatever the
// lanes do. local: up to EACH * lanes sums, in local memory. global: any number, `capacity` at most, in global memory.
// Reads A once, its rows of B once, the pattern of C once, writes the values of C once.
// Macros: SCALAR, IDX, OFF, EACH = 8, or 4 for sums of 16 bytes (entries of C per lane), MOST_LANES = 256 (the largest
// team).   Launch: any number of work-groups of `lanes`, a power of two up to MOST_LANES.
// Gustavson: Two fast algorithms for sparse matrices: multiplication and permuted transposition. ACM TOMS (1978).
#include "scalar.clh"
#include "index.clh"
#include "team.clh"
#ifndef EACH
#define EACH (SCALAR == C64 ? 4 : 8)
#endif
#define CAPACITY (EACH * MOST_LANES)

// The position of a column among the n of a row, which has it.
static int position_of(__local const IDX *columns, int n, IDX column)
{
    int low = 0;
    int high = n - 1;
    while (low < high) {
        int mid = (low + high) / 2;
        if (columns[mid] < column)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

// The same in global memory.
static long far_position_of(__global const IDX *columns, long n, IDX column)
{
    long low = 0;
    long high = n - 1;
    while (low < high) {
        long mid = (low + high) / 2;
        if (columns[mid] < column)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

__kernel void spgemm_values_local(long first, long end, long lanes, long unique, __global const long *order,
                                  __global const OFF *a_offsets, __global const IDX *a_indices,
                                  __global const T *a_values, __global const OFF *b_offsets,
                                  __global const IDX *b_indices, __global const T *b_values,
                                  __global const OFF *c_offsets, __global const IDX *c_indices, __global T *c_values)
{
    int lid = (int)get_local_id(0);
    int width = (int)lanes;
    int step = unique ? width : 1;
    int adds = unique || lid == 0;
    __local IDX columns[CAPACITY];
    __local ACC sums[CAPACITY];
    for (long i = first + get_group_id(0); i < end; i += get_num_groups(0)) {
        long row = order[i];
        long begin = c_offsets[row];
        int n = (int)(c_offsets[row + 1] - begin);
        for (int at = lid; at < n; at += width) {
            columns[at] = c_indices[begin + at];
            sums[at] = (ACC)(0);
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        for (long k = a_offsets[row]; k < a_offsets[row + 1]; k++) {
            ACC x = load(a_values, k);
            long b_end = adds ? (long)b_offsets[a_indices[k] + 1] : 0;
            for (long e = b_offsets[a_indices[k]] + lid; e < b_end; e += step)
                sums[position_of(columns, n, b_indices[e])] += mul(x, load(b_values, e));
            barrier(CLK_LOCAL_MEM_FENCE);
        }
        for (int at = lid; at < n; at += width)
            store(c_values, begin + at, sums[at]);
        barrier(CLK_LOCAL_MEM_FENCE);
    }
}

// A work-group has `capacity` of all sums.
__kernel void spgemm_values_global(long first, long end, long lanes, long unique, long capacity,
                                   __global const long *order, __global const OFF *a_offsets,
                                   __global const IDX *a_indices, __global const T *a_values,
                                   __global const OFF *b_offsets, __global const IDX *b_indices,
                                   __global const T *b_values, __global const OFF *c_offsets,
                                   __global const IDX *c_indices, __global T *c_values, __global ACC *all_sums)
{
    int lid = (int)get_local_id(0);
    int step = unique ? (int)lanes : 1;
    int adds = unique || lid == 0;
    __global ACC *sums = all_sums + get_group_id(0) * capacity;
    for (long i = first + get_group_id(0); i < end; i += get_num_groups(0)) {
        long row = order[i];
        long begin = c_offsets[row];
        long n = c_offsets[row + 1] - begin;
        for (long at = lid; at < n; at += lanes)
            sums[at] = (ACC)(0);
        barrier(CLK_GLOBAL_MEM_FENCE);
        for (long k = a_offsets[row]; k < a_offsets[row + 1]; k++) {
            ACC x = load(a_values, k);
            long b_end = adds ? (long)b_offsets[a_indices[k] + 1] : 0;
            for (long e = b_offsets[a_indices[k]] + lid; e < b_end; e += step)
                sums[far_position_of(c_indices + begin, n, b_indices[e])] += mul(x, load(b_values, e));
            barrier(CLK_GLOBAL_MEM_FENCE);
        }
        for (long at = lid; at < n; at += lanes)
            store(c_values, begin + at, sums[at]);
        barrier(CLK_GLOBAL_MEM_FENCE);
    }
}

// spgemm_places: the values of C = A B, for compressed rows and a C whose pattern is known, in order and without
// repetitions, where rows of B have no column twice. Where each product belongs is found once and stored, so that a run
// only adds. Long rows are those of spgemm_chunks.
// b_rows: b_rows[2 k] and b_rows[2 k + 1] <- where the row of B that entry k of A names begins and ends.
// find: a team of `lanes` work-items, which is a work-group, has a row: places[starts[i] + p] <- the place of product p
// of row i, counted in the order of A's entries, among the entries of its row of C; where C has no such column, one of
// the `lanes` places behind them.
// sum: a team has a row of up to EACH * BLOCK entries, whose sums are in local memory: its lanes have the products of
// one entry of A after the other. sum_mixed: the same.
// Reads A, where its rows of B are, the places and these rows once; writes C once.
// Rows come in an order of their lengths, `first` up to `end` of it.
// Macros: SCALAR, IDX, OFF, PLACE (uchar or ushort: the type of places), EACH = 16, 8 or 4 (sums per lane, in 64
// bytes), BLOCK (the largest team).   Launch: any number of work-groups of `lanes`, a power of two up to BLOCK; of any
// size for b_rows.
// Gustavson: Two fast algorithms for sparse matrices: multiplication and permuted transposition. ACM TOMS (1978).
#include "scalar.clh"
#include "index.clh"
#include "team.clh"
#define SORTED IDX
#include "search.clh"
#include "products.clh"
#ifndef EACH
#define EACH (64 / sizeof(ACC))
#endif
#ifndef PLACE
#error "PLACE is missing: uchar or ushort"
#endif

__kernel void spgemm_places_b_rows(long entries, __global const IDX *a_indices, __global const OFF *b_offsets,
                                   __global OFF *b_rows)
{
    for (long k = get_global_id(0); k < entries; k += get_global_size(0)) {
        b_rows[2 * k] = b_offsets[a_indices[k]];
        b_rows[2 * k + 1] = b_offsets[a_indices[k] + 1];
    }
}

__kernel void spgemm_places_find(long first, long end, long lanes, __global const long *order,
                                 __global const OFF *a_offsets, __global const OFF *b_rows,
                                 __global const IDX *b_indices, __global const OFF *c_offsets,
                                 __global const IDX *c_indices, __global const long *starts, __global PLACE *places)
{
    int lid = (int)get_local_id(0);
    int width = (int)lanes;
    __local long ends[BLOCK];
    __local long origins[BLOCK];
    for (long i = first + get_group_id(0); i < end; i += get_num_groups(0)) {
        long row = order ? order[i] : i;
        long begin = c_offsets[row];
        long n = c_offsets[row + 1] - begin;
        long start = starts[row];
        for (long k = a_offsets[row]; k < a_offsets[row + 1]; k += width) {
            long b_begin = k + lid < a_offsets[row + 1] ? b_rows[2 * (k + lid)] : 0;
            long length = k + lid < a_offsets[row + 1] ? b_rows[2 * (k + lid) + 1] - b_begin : 0;
            long count = count_products(ends, origins, lid, width, b_begin, length);
            for (long p = lid; p < count; p += width) {
                int owner = owner_of(ends, width, p);
                int at = (int)find_sorted(c_indices + begin, n, b_indices[origins[owner] + p]);
                long before = owner > 0 ? ends[owner - 1] : 0;
                places[start + p] = (PLACE)(at >= 0 ? at : n + (p - before) % width);
            }
            start += count;
        }
    }
}

// Sums the rows at places `first` up to `end` of `order`, a work-group each.
static void sum_rows(long first, long end, int width, __local ACC *sums, __global const long *order,
                     __global const OFF *a_offsets, __global const OFF *b_rows, __global const T *a_values,
                     __global const T *b_values, __global const OFF *c_offsets, __global T *c_values,
                     __global const long *starts, __global const PLACE *places)
{
    int lid = (int)get_local_id(0);
    for (long i = first + get_group_id(0); i < end; i += get_num_groups(0)) {
        long row = order ? order[i] : i;
        long begin = c_offsets[row];
        int n = (int)(c_offsets[row + 1] - begin);
        long start = starts[row];
        for (int at = lid; at < n; at += width)
            sums[at] = (ACC)(0);
        barrier(CLK_LOCAL_MEM_FENCE);
        for (long k = a_offsets[row]; k < a_offsets[row + 1]; k++) {
            long b_begin = b_rows[2 * k];
            int length = (int)(b_rows[2 * k + 1] - b_begin);
            ACC factor = load(a_values, k);
            for (int p = lid; p < length; p += width) {
                int at = places[start + p];
                if (at < n)
                    sums[at] += mul(factor, load(b_values, b_begin + p));
            }
            start += length;
            barrier(CLK_LOCAL_MEM_FENCE);
        }
        for (int at = lid; at < n; at += width)
            store(c_values, begin + at, sums[at]);
        barrier(CLK_LOCAL_MEM_FENCE);
    }
}

__kernel void spgemm_places_sum(long first, long end, long lanes, __global const long *order,
                                __global const OFF *a_offsets, __global const OFF *b_rows, __global const T *a_values,
                                __global const T *b_values, __global const OFF *c_offsets, __global T *c_values,
                                __global const long *starts, __global const PLACE *places)
{
    __local ACC sums[EACH * BLOCK];
    sum_rows(first, end, (int)lanes, sums, order, a_offsets, b_rows, a_values, b_values, c_offsets, c_values, starts,
             places);
}

// The same for rows of any lengths that fit: where teams are work-groups, all rows have as many lanes.
__kernel void spgemm_places_sum_mixed(long first, long end, long lanes, __global const long *order,
                                      __global const OFF *a_offsets, __global const OFF *b_rows, __global const T *a_values,
                                      __global const T *b_values, __global const OFF *c_offsets, __global T *c_values,
                                      __global const long *starts, __global const PLACE *places)
{
    __local ACC sums[EACH * BLOCK];
    sum_rows(first, end, (int)lanes, sums, order, a_offsets, b_rows, a_values, b_values, c_offsets, c_values, starts,
             places);
}

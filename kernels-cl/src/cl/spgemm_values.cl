// spgemm_values: the values of C = A B, for compressed rows and a C whose pattern is known, in order and without
// repetitions.
// A team of `lanes` work-items, which is a work-group, takes a row; rows come in an order of their lengths, `first` up
// to `end` of it. Rows of more than EACH * lanes entries are cut into up to `slices` slices of so many, each of which a
// team sums from the products that have its columns. Each product finds its sum, in local memory, by halving among the
// columns of the slice. Sums are added in the order of A's entries, whatever the lanes do: with `by_entries`, for rows of
// B without repetitions, the lanes have the products of one entry after the other; else they take an entry each, share
// the products of all, and of those that meet at one sum, the first adds, then the next. Reads A and its rows of B once
// for each slice, the latter in parts if they are `sorted`; reads the pattern of C and writes its values once.
// Macros: SCALAR, IDX, OFF, EACH = 8, or 4 for sums of 16 bytes (entries of C per lane), BLOCK (the largest
// team).   Launch: any number of work-groups of `lanes`, a power of two up to BLOCK.
// Gustavson: Two fast algorithms for sparse matrices: multiplication and permuted transposition. ACM TOMS (1978).
#include "scalar.clh"
#include "index.clh"
#include "team.clh"
#define SORTED IDX
#include "search.clh"
#include "products.clh"
#ifndef EACH
#define EACH (SCALAR == C64 ? 4 : 8)
#endif
#define CAPACITY (EACH * BLOCK)
#define NONE BLOCK

// The position of a column among the n of a slice, or -1.
static int position_of(__local const IDX *columns, int n, IDX column)
{
    int low = 0;
    int high = n;
    while (low < high) {
        int mid = (low + high) / 2;
        if (columns[mid] < column)
            low = mid + 1;
        else
            high = mid;
    }
    return low < n && columns[low] == column ? low : -1;
}

// Adds the product of each lane with a position to the sum there, those of one sum in the order of the lanes. `waiting` is
// the least lane that waits for a sum.
static void add_in_order(__local ACC *sums, __local int *waiting, __local int *found, int lid, int at, ACC product)
{
    int waits = at >= 0;
    int some_wait = any_of_team(found, lid, waits);
    while (some_wait) {
        if (waits)
            atomic_min(waiting + at, lid);
        barrier(CLK_LOCAL_MEM_FENCE);
        int is_first = waits && waiting[at] == lid;
        barrier(CLK_LOCAL_MEM_FENCE);
        if (is_first) {
            sums[at] += product;
            waiting[at] = NONE;
            waits = 0;
        }
        some_wait = any_of_team(found, lid, waits);
    }
}

__kernel void spgemm_values(long first, long end, long lanes, long slices, long sorted, long by_entries,
                            __global const long *order, __global const OFF *a_offsets, __global const IDX *a_indices,
                            __global const T *a_values, __global const OFF *b_offsets, __global const IDX *b_indices,
                            __global const T *b_values, __global const OFF *c_offsets, __global const IDX *c_indices,
                            __global T *c_values)
{
    int lid = (int)get_local_id(0);
    int width = (int)lanes;
    __local IDX columns[CAPACITY];
    __local ACC sums[CAPACITY];
    __local int waiting[CAPACITY];
    __local long ends[BLOCK];
    __local long origins[BLOCK];
    __local int found;
    for (long i = get_group_id(0); i < (end - first) * slices; i += get_num_groups(0)) {
        long row = order[first + i / slices];
        long begin = c_offsets[row] + i % slices * (EACH * width);
        int n = (int)min(c_offsets[row + 1] - begin, (long)(EACH * width));
        for (int at = lid; at < n; at += width) {
            columns[at] = c_indices[begin + at];
            sums[at] = (ACC)(0);
            waiting[at] = NONE;
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        long a_end = n > 0 ? a_offsets[row + 1] : a_offsets[row];
        long entries_end = by_entries ? a_end : a_offsets[row];
        for (long k = a_offsets[row]; k < entries_end; k++) {
            ACC factor = load(a_values, k);
            for (long place = b_offsets[a_indices[k]] + lid; place < b_offsets[a_indices[k] + 1]; place += width) {
                int at = position_of(columns, n, b_indices[place]);
                if (at >= 0)
                    sums[at] += mul(factor, load(b_values, place));
            }
            barrier(CLK_LOCAL_MEM_FENCE);
        }
        for (long k = entries_end; k < a_end; k += width) {
            long b_begin = k + lid < a_end ? b_offsets[a_indices[k + lid]] : 0;
            long length = k + lid < a_end ? b_offsets[a_indices[k + lid] + 1] - b_begin : 0;
            if (slices > 1 && sorted) {
                long before = count_below(b_indices + b_begin, length, columns[0]);
                length = count_below(b_indices + b_begin, length, (long)columns[n - 1] + 1) - before;
                b_begin += before;
            }
            long count = count_products(ends, origins, lid, width, b_begin, length);
            for (long base = 0; base < count; base += width) {
                int at = -1;
                ACC product = (ACC)(0);
                if (base + lid < count) {
                    int owner = owner_of(ends, width, base + lid);
                    long place = origins[owner] + base + lid;
                    at = position_of(columns, n, b_indices[place]);
                    product = mul(load(a_values, k + owner), load(b_values, place));
                }
                add_in_order(sums, waiting, &found, lid, at, product);
            }
        }
        for (int at = lid; at < n; at += width)
            store(c_values, begin + at, sums[at]);
        barrier(CLK_LOCAL_MEM_FENCE);
    }
}

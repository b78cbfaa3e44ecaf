// spgemm_values: the values of C = A B, for compressed rows and a C whose pattern is known, in order and without
// repetitions. Each product finds its sum in local memory, by halving among the columns of C. Sums are added in the
// order of A's entries, whatever the lanes do: those of a team have the products of one entry after the other, for rows
// of B without repetitions, or take an entry each, share the products of all, and of those that meet at one sum, the
// first adds, then the next.
// spgemm_values: a team of `lanes` work-items, which is a work-group, takes a row of up to EACH * lanes entries, in the
// first way if `by_entries`.
// spgemm_values_slices: a team takes one of the slices of a row, SLICE_EACH * lanes entries or fewer, and sums the
// products that have its columns, in the second way.
// spgemm_values_parts: as spgemm_values_slices, in the first way.
// Rows come in an order of their lengths, `first` up to `end` of it. Reads A and its rows of B once for each slice, the
// latter in parts if they are `sorted`; reads the pattern of C and writes its values once.
// Macros: SCALAR, IDX, OFF, EACH = 8, or 4 for sums of 16 bytes (entries of C per lane), SLICE_EACH = 16, 8 or 4
// (entries of a slice per lane, in 128 bytes), BLOCK (the largest team).   Launch: any number of work-groups of
// `lanes`, a power of two up to BLOCK.
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
#define ELEMENT_BYTES (sizeof(ACC) + sizeof(IDX))
#ifndef SLICE_EACH
#define SLICE_EACH (ELEMENT_BYTES <= 8 ? 16 : ELEMENT_BYTES <= 16 ? 8 : 4)
#endif
#define WAITING (4 * BLOCK)
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

// Adds the product of each lane with a position to the sum there, those of one sum in the order of the lanes. `waiting`
// is the least lane that waits for a sum, in `places` places for all of them, a power of two.
static void add_in_order(__local ACC *sums, __local int *waiting, int places, __local int *found, int lid, int at,
                         ACC product)
{
    int waits = at >= 0;
    int place = at & (places - 1);
    int some_wait = any_of_team(found, lid, waits);
    while (some_wait) {
        if (waits)
            atomic_min(waiting + place, lid);
        barrier(CLK_LOCAL_MEM_FENCE);
        int is_first = waits && waiting[place] == lid;
        barrier(CLK_LOCAL_MEM_FENCE);
        if (is_first) {
            sums[at] += product;
            waiting[place] = NONE;
            waits = 0;
        }
        some_wait = any_of_team(found, lid, waits);
    }
}

__kernel void spgemm_values(long first, long end, long lanes, long by_entries, __global const long *order,
                            __global const OFF *a_offsets, __global const IDX *a_indices, __global const T *a_values,
                            __global const OFF *b_offsets, __global const IDX *b_indices, __global const T *b_values,
                            __global const OFF *c_offsets, __global const IDX *c_indices, __global T *c_values)
{
    int lid = (int)get_local_id(0);
    int width = (int)lanes;
    __local IDX columns[EACH * BLOCK];
    __local ACC sums[EACH * BLOCK];
    __local int waiting[EACH * BLOCK];
    __local long ends[BLOCK];
    __local long origins[BLOCK];
    __local int found;
    for (long i = first + get_group_id(0); i < end; i += get_num_groups(0)) {
        long row = order ? order[i] : i;
        long begin = c_offsets[row];
        int n = (int)(c_offsets[row + 1] - begin);
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
                add_in_order(sums, waiting, EACH * width, &found, lid, at, product);
            }
        }
        for (int at = lid; at < n; at += width)
            store(c_values, begin + at, sums[at]);
        barrier(CLK_LOCAL_MEM_FENCE);
    }
}

// A slice: its entries of C from `begin` on, its row, and whether it has a part of the row's columns.
typedef struct
{
    long begin;
    int n;
    long row;
    int cuts;
} Slice;

// Slice i. `slices` are the numbers of slices before each row from `first` on, and of all; those of a row are as long.
static Slice slice_of(long i, long first, long end, __global const long *slices, __global const long *order,
                      __global const OFF *c_offsets)
{
    long place = place_of(slices, end - first, i);
    long row = order[first + place];
    long count = slices[place + 1] - slices[place];
    long of_row = c_offsets[row + 1] - c_offsets[row];
    long begin = of_row * (i - slices[place]) / count;
    int n = (int)(of_row * (i - slices[place] + 1) / count - begin);
    Slice slice = {c_offsets[row] + begin, n, row, count > 1};
    return slice;
}

// Loads the columns of a slice, and begins its sums.
static void begin_slice(Slice slice, int lid, int width, __local IDX *columns, __local ACC *sums,
                        __global const IDX *c_indices)
{
    for (int at = lid; at < slice.n; at += width) {
        columns[at] = c_indices[slice.begin + at];
        sums[at] = (ACC)(0);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
}

// The products of a lane's entry k of A, of which `end` is past the last: all, or those with the columns of a slice.
static long count_of_slice(__local long *ends, __local long *origins, int lid, int width, int cuts, int n,
                           __local const IDX *columns, long k, long end, __global const IDX *a_indices,
                           __global const OFF *b_offsets, __global const IDX *b_indices)
{
    long b_begin = k < end ? b_offsets[a_indices[k]] : 0;
    long length = k < end ? b_offsets[a_indices[k] + 1] - b_begin : 0;
    if (cuts) {
        long before = count_below(b_indices + b_begin, length, columns[0]);
        length = count_below(b_indices + b_begin, length, (long)columns[n - 1] + 1) - before;
        b_begin += before;
    }
    return count_products(ends, origins, lid, width, b_begin, length);
}

__kernel void spgemm_values_slices(long first, long end, long lanes, long sorted, __global const long *slices,
                                   __global const long *order, __global const OFF *a_offsets,
                                   __global const IDX *a_indices, __global const T *a_values,
                                   __global const OFF *b_offsets, __global const IDX *b_indices,
                                   __global const T *b_values, __global const OFF *c_offsets,
                                   __global const IDX *c_indices, __global T *c_values)
{
    int lid = (int)get_local_id(0);
    int width = (int)lanes;
    __local IDX columns[SLICE_EACH * BLOCK];
    __local ACC sums[SLICE_EACH * BLOCK];
    __local int waiting[WAITING];
    __local long ends[BLOCK];
    __local long origins[BLOCK];
    __local int found;
    for (int place = lid; place < WAITING; place += width)
        waiting[place] = NONE;
    for (long i = get_group_id(0); i < slices[end - first]; i += get_num_groups(0)) {
        Slice slice = slice_of(i, first, end, slices, order, c_offsets);
        begin_slice(slice, lid, width, columns, sums, c_indices);
        long a_end = a_offsets[slice.row + 1];
        for (long k = a_offsets[slice.row]; k < a_end; k += width) {
            long count = count_of_slice(ends, origins, lid, width, sorted && slice.cuts, slice.n, columns, k + lid, a_end,
                                        a_indices, b_offsets, b_indices);
            for (long base = 0; base < count; base += width) {
                int at = -1;
                ACC product = (ACC)(0);
                if (base + lid < count) {
                    int owner = owner_of(ends, width, base + lid);
                    long from = origins[owner] + base + lid;
                    at = position_of(columns, slice.n, b_indices[from]);
                    product = mul(load(a_values, k + owner), load(b_values, from));
                }
                add_in_order(sums, waiting, WAITING, &found, lid, at, product);
            }
        }
        for (int at = lid; at < slice.n; at += width)
            store(c_values, slice.begin + at, sums[at]);
        barrier(CLK_LOCAL_MEM_FENCE);
    }
}

__kernel void spgemm_values_parts(long first, long end, long lanes, long sorted, __global const long *slices,
                                  __global const long *order, __global const OFF *a_offsets,
                                  __global const IDX *a_indices, __global const T *a_values,
                                  __global const OFF *b_offsets, __global const IDX *b_indices,
                                  __global const T *b_values, __global const OFF *c_offsets,
                                  __global const IDX *c_indices, __global T *c_values)
{
    int lid = (int)get_local_id(0);
    int width = (int)lanes;
    __local IDX columns[SLICE_EACH * BLOCK];
    __local ACC sums[SLICE_EACH * BLOCK];
    __local long ends[BLOCK];
    __local long origins[BLOCK];
    for (long i = get_group_id(0); i < slices[end - first]; i += get_num_groups(0)) {
        Slice slice = slice_of(i, first, end, slices, order, c_offsets);
        begin_slice(slice, lid, width, columns, sums, c_indices);
        long a_end = a_offsets[slice.row + 1];
        for (long k = a_offsets[slice.row]; k < a_end; k += width) {
            count_of_slice(ends, origins, lid, width, sorted && slice.cuts, slice.n, columns, k + lid, a_end, a_indices,
                           b_offsets, b_indices);
            int entries = (int)min((long)width, a_end - k);
            for (int entry = 0; entry < entries; entry++) {
                long entry_begin = entry > 0 ? ends[entry - 1] : 0;
                for (long p = entry_begin + lid; p < ends[entry]; p += width) {
                    int at = position_of(columns, slice.n, b_indices[origins[entry] + p]);
                    if (at >= 0)
                        sums[at] += mul(load(a_values, k + entry), load(b_values, origins[entry] + p));
                }
                barrier(CLK_LOCAL_MEM_FENCE);
            }
        }
        for (int at = lid; at < slice.n; at += width)
            store(c_values, slice.begin + at, sums[at]);
        barrier(CLK_LOCAL_MEM_FENCE);
    }
}

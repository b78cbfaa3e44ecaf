// spgemm_columns: the columns of rows of C = A B, for compressed rows of A and B, found in local memory: row i of C is
// the union of the rows of B that the entries of row i of A name. Each kernel that finds rows counts their columns, and
// writes them in order from `starts` on where there are `columns`.
// A team of `lanes` work-items, which is a work-group, takes a row; rows come in an order of their sizes, `first` up to
// `end` of it. Its lanes take an entry of A each, and then share the products of these.
// sort: the columns of up to EACH * lanes products, sorted. sort_mixed: the same, and the place of each product among
// the columns of its row, if it shall.
// window: a bit for each of 32 * WORDS * lanes neighbouring columns, window after window.
// hash: up to EACH * lanes products, in a table of at least twice as many slots, so that only columns that differ are
// sorted.
// compact: moves the columns of rows together.
// Reads A once and its rows of B once, window once for each window; writes C.
// Macros: IDX, OFF, EACH = 8 (products per lane), WORDS = 31 (words of a window per lane), BLOCK (lanes of the largest
// team).   Launch: any number of work-groups of `lanes`, a power of two up to BLOCK.
// Nagasaka, Nukada, Matsuoka: High-performance and memory-saving sparse general matrix-matrix multiplication for NVIDIA
// Pascal GPU. ICPP (2017). Batcher: Sorting networks and their applications. AFIPS (1968).
#include "index.clh"
#include "team.clh"
#include "products.clh"
#include "columns.clh"
#ifndef EACH
#define EACH 8
#endif
#ifndef WORDS
#define WORDS 31
#endif
#define CAPACITY (EACH * BLOCK)
#define FREE (-1)

// Sorts the `size` elements of a list, a power of two, by a bitonic network.
static void sort_list(__local IDX *list, int size, int lid, int lanes)
{
    for (int run = 2; run <= size; run *= 2) {
        for (int step = run / 2; step > 0; step /= 2) {
            for (int i = lid; i < size / 2; i += lanes) {
                int low = 2 * i - (i & (step - 1));
                IDX a = list[low];
                IDX b = list[low + step];
                if ((a > b) == ((low & run) == 0)) {
                    list[low] = b;
                    list[low + step] = a;
                }
            }
            barrier(CLK_LOCAL_MEM_FENCE);
        }
    }
}

// Sorts the first n elements of a list, which has place for the next power of two.
static void sort_first(__local IDX *list, int n, int lid, int lanes)
{
    IDX largest = (IDX)(((ulong)1 << (8 * sizeof(IDX) - 1)) - 1);
    int size = 1;
    while (size < n)
        size *= 2;
    for (int i = n + lid; i < size; i += lanes)
        list[i] = largest;
    barrier(CLK_LOCAL_MEM_FENCE);
    sort_list(list, size, lid, lanes);
}

// Sorts the columns of the rows at places `first` up to `end` of `order`, with `list`, `ends` and `origins` in local
// memory.
static void sort_rows(long first, long end, int width, int shift, __local IDX *list, __local long *ends,
                      __local long *origins, __global const long *order, __global const OFF *a_offsets,
                      __global const IDX *a_indices, __global const OFF *b_offsets, __global const IDX *b_indices,
                      __global const long *starts, __global long *counts, __global IDX *columns,
                      __global const long *products, __global uchar *places)
{
    int lid = (int)get_local_id(0);
    for (long i = first + get_group_id(0); i < end; i += get_num_groups(0)) {
        long row = order ? order[i] : i;
        int n = 0;
        for (long k = a_offsets[row]; k < a_offsets[row + 1]; k += width) {
            long count = products_from(ends, origins, lid, width, k + lid, a_offsets[row + 1], a_indices, b_offsets);
            for (int p = lid; p < count; p += width)
                list[n + p] = column_of(ends, origins, width, p, b_indices) << shift | (places ? n + p : 0);
            n += (int)count;
        }
        sort_first(list, n, lid, width);
        int found = 0;
        for (int base = 0; base < n; base += width) {
            int at = base + lid;
            int is_new = at < n && (at == 0 || list[at] >> shift != list[max(at - 1, 0)] >> shift);
            long all;
            int before = found + (int)scan_team(ends, lid, width, is_new, &all);
            if (columns && is_new)
                columns[starts[row] + before] = list[at] >> shift;
            if (places && at < n)
                places[products[row] + (list[at] & ((1 << shift) - 1))] = (uchar)(before + is_new - 1);
            found += (int)all;
        }
        if (counts && lid == 0)
            counts[row] = found;
        barrier(CLK_LOCAL_MEM_FENCE);
    }
}

__kernel void spgemm_columns_sort(long first, long end, long lanes, __global const long *order,
                                  __global const OFF *a_offsets, __global const IDX *a_indices,
                                  __global const OFF *b_offsets, __global const IDX *b_indices,
                                  __global const long *starts, __global long *counts, __global IDX *columns)
{
    __local IDX list[CAPACITY];
    __local long ends[BLOCK];
    __local long origins[BLOCK];
    sort_rows(first, end, (int)lanes, 0, list, ends, origins, order, a_offsets, a_indices, b_offsets, b_indices, starts,
              counts, columns, 0, 0);
}

// The same for rows with products[i + 1] - products[i] products. Where there are `places`, places[products[i] + p] <-
// the place of product p of row i, counted in the order of A's entries, among its columns; `shift` bits count the
// products of a row, and columns have as many bits fewer than IDX.
__kernel void spgemm_columns_sort_mixed(long first, long end, long lanes, long shift, __global const long *order,
                                        __global const OFF *a_offsets, __global const IDX *a_indices,
                                        __global const OFF *b_offsets, __global const IDX *b_indices,
                                        __global const long *starts, __global long *counts, __global IDX *columns,
                                        __global const long *products, __global uchar *places)
{
    __local IDX list[CAPACITY];
    __local long ends[BLOCK];
    __local long origins[BLOCK];
    sort_rows(first, end, (int)lanes, (int)shift, list, ends, origins, order, a_offsets, a_indices, b_offsets, b_indices,
              starts, counts, columns, products, places);
}

// A row takes one window after the other, until they cover its span.
__kernel void spgemm_columns_window(long first, long end, long lanes, __global const long *order,
                                    __global const OFF *a_offsets, __global const IDX *a_indices,
                                    __global const OFF *b_offsets, __global const IDX *b_indices,
                                    __global const long *starts, __global long *counts, __global IDX *columns,
                                    __global const long *origins, __global const long *spans)
{
    int lid = (int)get_local_id(0);
    int width = (int)lanes;
    __local uint window[WORDS * BLOCK];
    __local long ends[BLOCK];
    __local long places[BLOCK];
    for (long i = first + get_group_id(0); i < end; i += get_num_groups(0)) {
        long row = order[i];
        long found = 0;
        for (long from = 0; from < spans[row]; from += 32 * WORDS * width) {
            long origin = origins[row] + from;
            int span = (int)min(spans[row] - from, (long)(32 * WORDS * width));
            int used = (span + 31) / 32;
            for (int at = lid; at < used; at += width)
                window[at] = 0;
            barrier(CLK_LOCAL_MEM_FENCE);
            for (long k = a_offsets[row]; k < a_offsets[row + 1]; k += width) {
                long count = products_from(ends, places, lid, width, k + lid, a_offsets[row + 1], a_indices, b_offsets);
                for (long p = lid; p < count; p += width) {
                    long at = column_of(ends, places, width, p, b_indices) - origin;
                    if (at >= 0 && at < span)
                        atomic_or(window + at / 32, 1u << (int)(at % 32));
                }
            }
            barrier(CLK_LOCAL_MEM_FENCE);
            for (int base = 0; base < used; base += width) {
                int at = base + lid;
                uint word = at < used ? window[at] : 0;
                long all;
                long before = scan_team(ends, lid, width, popcount(word), &all);
                if (columns) {
                    long to = starts[row] + found + before;
                    for (; word; word &= word - 1)
                        columns[to++] = (IDX)(origin + 32 * at + 31 - (int)clz(word & -word));
                }
                found += all;
            }
            barrier(CLK_LOCAL_MEM_FENCE);
        }
        if (counts && lid == 0)
            counts[row] = found;
    }
}

// Puts a column into the table, unless it is there.
static void insert(__local int *table, int slots, int column)
{
    int slot = (int)((uint)column * 2654435769u >> 16) & (slots - 1);
    int found = atomic_cmpxchg(table + slot, FREE, column);
    while (found != FREE && found != column) {
        slot = (slot + 1) & (slots - 1);
        found = atomic_cmpxchg(table + slot, FREE, column);
    }
}

// Columns are below 2^31; products[i + 1] - products[i] is the number of products of row i.
__kernel void spgemm_columns_hash(long first, long end, long lanes, __global const long *order,
                                  __global const OFF *a_offsets, __global const IDX *a_indices,
                                  __global const OFF *b_offsets, __global const IDX *b_indices,
                                  __global const long *starts, __global long *counts, __global IDX *columns,
                                  __global const long *products)
{
    int lid = (int)get_local_id(0);
    int width = (int)lanes;
    __local int table[2 * CAPACITY];
    __local IDX list[CAPACITY];
    __local long ends[BLOCK];
    __local long origins[BLOCK];
    for (long i = first + get_group_id(0); i < end; i += get_num_groups(0)) {
        long row = order[i];
        int most = (int)(products[row + 1] - products[row]);
        int slots = max(2 * width, 1 << (32 - (int)clz(2 * most - 1)));
        for (int slot = lid; slot < slots; slot += width)
            table[slot] = FREE;
        barrier(CLK_LOCAL_MEM_FENCE);
        for (long k = a_offsets[row]; k < a_offsets[row + 1]; k += width) {
            long count = products_from(ends, origins, lid, width, k + lid, a_offsets[row + 1], a_indices, b_offsets);
            for (long p = lid; p < count; p += width)
                insert(table, slots, (int)column_of(ends, origins, width, p, b_indices));
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        int found = 0;
        for (int base = 0; base < slots; base += width) {
            int column = table[base + lid];
            long all;
            long before = scan_team(ends, lid, width, column != FREE, &all);
            if (column != FREE)
                list[found + before] = column;
            found += (int)all;
        }
        if (counts && lid == 0)
            counts[row] = found;
        if (columns) {
            sort_first(list, found, lid, width);
            for (int at = lid; at < found; at += width)
                columns[starts[row] + at] = list[at];
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
}

// Moves the columns of rows from the workspace, where there are gaps between rows, to the rows of C. A team takes a
// row.
__kernel void spgemm_columns_compact(long rows, long lanes, __global const long *found_starts,
                                     __global const long *starts, __global const IDX *found, __global IDX *columns)
{
    int lid = (int)get_local_id(0);
    for (long row = get_group_id(0); row < rows; row += get_num_groups(0)) {
        long n = starts[row + 1] - starts[row];
        for (long k = lid; k < n; k += lanes)
            columns[starts[row] + k] = found[found_starts[row] + k];
    }
}

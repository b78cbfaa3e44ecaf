// spgemm_pattern: the pattern of C = A B, for compressed rows of A and B: row i of C is the union of the rows of B that
// the entries of row i of A name. Each kernel that finds rows counts their columns, and writes them in order from
// `starts` on where there are `columns`.
// A team of `lanes` work-items, which is a work-group, takes a row; rows come in an order of their sizes, `first` up to
// `end` of it. Its lanes take an entry of A each, and then share the products of these. sort: the columns of up to
// EACH * lanes products, sorted in local memory. window: a bit for each of 32 * WORDS * lanes neighbouring columns, in
// local memory, window after window. hash: up to EACH * lanes products, in a table of at least twice as many slots, so
// that only columns that differ are sorted. bitmap: any number, a bit for each column of a window in global memory, as
// many windows as the row needs. mark: a work-group takes a slice of a long row of A, and marks columns in a bitmap of the
// row in global memory, which collect writes in order. Reads A once and its rows of B once, window once and bitmap twice
// for each window; writes C.
// Macros: IDX, OFF, EACH = 8 (products per lane), WORDS = 31 (words of a window per lane), BLOCK (lanes of the largest
// team).   Launch: any number of work-groups of `lanes`, a power of two up to BLOCK; of any size for bounds, bins, sum_bins,
// bin_starts, slices, offsets and starts.
// Nagasaka, Nukada, Matsuoka: High-performance and memory-saving sparse general matrix-matrix multiplication for NVIDIA
// Pascal GPU. ICPP (2017). Batcher: Sorting networks and their applications. AFIPS (1968).
#include "index.clh"
#include "team.clh"
#define SORTED int
#include "search.clh"
#include "products.clh"
#ifndef EACH
#define EACH 8
#endif
#ifndef WORDS
#define WORDS 31
#endif
#define CAPACITY (EACH * BLOCK)
#define FREE (-1)

// products[i] <- how many products row i of C has; products[rows + 1] <- the most of them, or 2^31 - 1 if those are more.
// They lie in spans[i] columns from origins[i] on, which are looked for where the rows of B are `sorted` and row i has
// more than `few` products.
__kernel void spgemm_pattern_products(long rows, long cols, long lanes, long sorted, long few,
                                      __global const OFF *a_offsets, __global const IDX *a_indices,
                                      __global const OFF *b_offsets, __global const IDX *b_indices,
                                      __global long *products, __global long *origins, __global long *spans)
{
    int lid = (int)get_local_id(0);
    int width = (int)lanes;
    __local long own_of[BLOCK];
    for (long row = get_group_id(0); row < rows; row += get_num_groups(0)) {
        long own = 0;
        for (long k = a_offsets[row] + lid; k < a_offsets[row + 1]; k += lanes)
            own += b_offsets[a_indices[k] + 1] - b_offsets[a_indices[k]];
        long sum = sum_team(own_of, lid, width, own);
        int looks = sorted && sum > few;
        long least = cols;
        long below = 1;
        for (long k = a_offsets[row] + lid; k < (looks ? a_offsets[row + 1] : 0); k += lanes) {
            long begin = b_offsets[a_indices[k]];
            long end = b_offsets[a_indices[k] + 1];
            if (begin < end) {
                least = min(least, (long)b_indices[begin]);
                below = min(below, -(long)b_indices[end - 1]);
            }
        }
        least = min_team(own_of, lid, width, least);
        below = min_team(own_of, lid, width, below);
        if (lid == 0) {
            products[row] = sum;
            atomic_max((volatile __global int *)(products + rows + 1), (int)min(sum, (long)INT_MAX));
            origins[row] = looks ? least : 0;
            spans[row] = looks ? 1 - below - least : cols;
        }
    }
}

// bounds[i] <- the most entries that row i can have: starts[i + 1] - starts[i] are its products.
__kernel void spgemm_pattern_bounds(long rows, long cols, __global const long *starts, __global long *bounds)
{
    for (long row = get_global_id(0); row < rows; row += get_global_size(0))
        bounds[row] = min(starts[row + 1] - starts[row], cols);
}

// bins[i] <- the bin of row i by its products, which are starts[i + 1] - starts[i]: 0 for none, 1 or 2 for at most as many
// as the first or second limit. Of the others, 7 for more than `split_above` entries of A, 3 for at most as many products
// as the third limit in a window of `window1` lanes, 4 for a window of `window2` lanes, 5 for at most as many products as
// the third limit, else 6.
__kernel void spgemm_pattern_bins(long rows, long limit1, long limit2, long limit3, long window1, long window2,
                                  long split_above, __global const long *starts, __global const long *spans,
                                  __global const OFF *a_offsets, __global int *bins)
{
    for (long row = get_global_id(0); row < rows; row += get_global_size(0)) {
        long size = starts[row + 1] - starts[row];
        int fits = size <= limit3;
        int wider = spans[row] <= 32 * WORDS * window2 ? 4 : fits ? 5 : 6;
        int longer = fits && spans[row] <= 32 * WORDS * window1 ? 3 : wider;
        int long_or_split = a_offsets[row + 1] - a_offsets[row] > split_above ? 7 : longer;
        bins[row] = size == 0 ? 0 : size <= limit1 ? 1 : size <= limit2 ? 2 : long_or_split;
    }
}

// bins[i] <- the bin of row i of C by its entries, which are starts[i + 1] - starts[i]: 0 for none, 1 or 2 for at most
// as many as the first or second limit, where the row of A has at most `most_left` entries and the row of C at most
// `most_products` products. Of the others, 3 where the rows of B have `least_part` products or more on average in each
// slice of up to `slice` entries, else 4.
__kernel void spgemm_pattern_sum_bins(long rows, long limit1, long limit2, long slice, long most_left, long most_products,
                                      long least_part, __global const long *starts, __global const long *products,
                                      __global const OFF *a_offsets, __global int *bins)
{
    for (long row = get_global_id(0); row < rows; row += get_global_size(0)) {
        long size = starts[row + 1] - starts[row];
        long own = products[row + 1] - products[row];
        long left = a_offsets[row + 1] - a_offsets[row];
        long parts = max(1l, left * ((size + slice - 1) / slice));
        int is_short = left <= most_left && own <= most_products;
        int longer = own / parts >= least_part ? 3 : 4;
        int bin = is_short && size <= limit1 ? 1 : is_short && size <= limit2 ? 2 : longer;
        bins[row] = size == 0 ? 0 : bin;
    }
}

// bin_starts[b] <- how many of the sorted bins are below b.
__kernel void spgemm_pattern_bin_starts(long rows, long count, __global const int *bins, __global long *bin_starts)
{
    for (long bin = get_global_id(0); bin < count; bin += get_global_size(0))
        bin_starts[bin] = count_below(bins, rows, bin);
}

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

// The number of products of the entries that the lanes have, those of `k` before `end`.
static long products_from(__local long *ends, __local long *origins, int lid, int lanes, long k, long end,
                          __global const IDX *a_indices, __global const OFF *b_offsets)
{
    long begin = k < end ? b_offsets[a_indices[k]] : 0;
    long length = k < end ? b_offsets[a_indices[k] + 1] - begin : 0;
    return count_products(ends, origins, lid, lanes, begin, length);
}

// The column of product p.
static IDX column_of(__local const long *ends, __local const long *origins, int lanes, long p,
                     __global const IDX *b_indices)
{
    return b_indices[origins[owner_of(ends, lanes, p)] + p];
}

__kernel void spgemm_pattern_sort(long first, long end, long lanes, __global const long *order,
                                  __global const OFF *a_offsets, __global const IDX *a_indices,
                                  __global const OFF *b_offsets, __global const IDX *b_indices,
                                  __global const long *starts, __global long *counts, __global IDX *columns)
{
    int lid = (int)get_local_id(0);
    int width = (int)lanes;
    __local IDX list[CAPACITY];
    __local long ends[BLOCK];
    __local long origins[BLOCK];
    for (long i = first + get_group_id(0); i < end; i += get_num_groups(0)) {
        long row = order ? order[i] : i;
        int n = 0;
        for (long k = a_offsets[row]; k < a_offsets[row + 1]; k += width) {
            long count = products_from(ends, origins, lid, width, k + lid, a_offsets[row + 1], a_indices, b_offsets);
            for (long p = lid; p < count; p += width)
                list[n + p] = column_of(ends, origins, width, p, b_indices);
            n += (int)count;
        }
        sort_first(list, n, lid, width);
        int found = 0;
        for (int base = 0; base < n; base += width) {
            int at = base + lid;
            int is_new = at < n && (at == 0 || list[at] != list[max(at - 1, 0)]);
            long all;
            long before = scan_team(ends, lid, width, is_new, &all);
            if (columns && is_new)
                columns[starts[row] + found + before] = list[at];
            found += (int)all;
        }
        if (counts && lid == 0)
            counts[row] = found;
        barrier(CLK_LOCAL_MEM_FENCE);
    }
}

// A row is taken by as many windows as its span needs.
__kernel void spgemm_pattern_window(long first, long end, long lanes, __global const long *order,
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
__kernel void spgemm_pattern_hash(long first, long end, long lanes, __global const long *order,
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

// A work-group has `words` words of `bitmaps`, which are zeros before and after.
__kernel void spgemm_pattern_bitmap(long first, long end, long lanes, long cols, long words,
                                    __global const long *order, __global const OFF *a_offsets,
                                    __global const IDX *a_indices, __global const OFF *b_offsets,
                                    __global const IDX *b_indices, __global const long *starts,
                                    __global long *counts, __global IDX *columns, __global uint *bitmaps)
{
    int lid = (int)get_local_id(0);
    int width = (int)lanes;
    __local long extremes[BLOCK];
    __local long ends[BLOCK];
    __local long origins[BLOCK];
    __global uint *bitmap = bitmaps + get_group_id(0) * words;
    for (long i = first + get_group_id(0); i < end; i += get_num_groups(0)) {
        long row = order[i];
        long found = 0;
        long from = 0;
        while (from < cols) {
            // The window begins with the least column that is left, and ends with the greatest if it reaches so far.
            long least = cols;
            long below = 1;
            for (long k = a_offsets[row]; k < a_offsets[row + 1]; k += width) {
                long count = products_from(ends, origins, lid, width, k + lid, a_offsets[row + 1], a_indices, b_offsets);
                for (long p = lid; p < count; p += width) {
                    long column = column_of(ends, origins, width, p, b_indices);
                    least = column >= from ? min(least, column) : least;
                    below = min(below, -column);
                }
            }
            least = min_team(extremes, lid, width, least);
            long greatest = -min_team(extremes, lid, width, below);
            long origin = least - least % 32;
            long window_end = least < cols ? min(greatest + 1, origin + 32 * words) : origin;
            for (long k = a_offsets[row]; k < a_offsets[row + 1]; k += width) {
                long count = products_from(ends, origins, lid, width, k + lid, a_offsets[row + 1], a_indices, b_offsets);
                for (long p = lid; p < count; p += width) {
                    long column = column_of(ends, origins, width, p, b_indices);
                    if (column >= least && column < window_end)
                        atomic_or(bitmap + (column - origin) / 32, 1u << (int)((column - origin) % 32));
                }
            }
            barrier(CLK_GLOBAL_MEM_FENCE | CLK_LOCAL_MEM_FENCE);
            long used = (window_end - origin + 31) / 32;
            for (long base = 0; base < used; base += width) {
                long at = base + lid;
                uint word = at < used ? bitmap[at] : 0;
                long all;
                long before = scan_team(ends, lid, width, popcount(word), &all);
                if (word)
                    bitmap[at] = 0;
                if (columns) {
                    long to = starts[row] + found + before;
                    for (; word; word &= word - 1)
                        columns[to++] = (IDX)(origin + 32 * at + 31 - (int)clz(word & -word));
                }
                found += all;
            }
            barrier(CLK_GLOBAL_MEM_FENCE | CLK_LOCAL_MEM_FENCE);
            from = least < cols ? window_end : cols;
        }
        if (counts && lid == 0)
            counts[row] = found;
    }
}

// slices[i] <- the number of slices of up to `size` elements of the row at place first + i.
__kernel void spgemm_pattern_slices(long first, long end, long size, __global const long *order,
                                    __global const OFF *offsets, __global long *slices)
{
    for (long i = first + get_global_id(0); i < end; i += get_global_size(0)) {
        long row = order[i];
        slices[i - first] = (offsets[row + 1] - offsets[row] + size - 1) / size;
    }
}

// Marks the columns of the rows at places `from` up to `to` in bitmaps of `words` words, one for each of these rows: a
// work-group takes up to `size` entries of a row of A. `slices` are the numbers of such slices before each row from `first`
// on.
__kernel void spgemm_pattern_mark(long first, long from, long to, long lanes, long size, long words,
                                  __global const long *slices, __global const long *order,
                                  __global const OFF *a_offsets, __global const IDX *a_indices,
                                  __global const OFF *b_offsets, __global const IDX *b_indices, __global uint *bitmaps)
{
    int lid = (int)get_local_id(0);
    int width = (int)lanes;
    __local long ends[BLOCK];
    __local long origins[BLOCK];
    for (long i = slices[from - first] + get_group_id(0); i < slices[to - first]; i += get_num_groups(0)) {
        long place = place_of(slices, to - first, i);
        long row = order[first + place];
        long begin = a_offsets[row] + (i - slices[place]) * size;
        long end = min(begin + size, (long)a_offsets[row + 1]);
        __global uint *bitmap = bitmaps + (first + place - from) * words;
        for (long k = begin; k < end; k += width) {
            long count = products_from(ends, origins, lid, width, k + lid, end, a_indices, b_offsets);
            for (long p = lid; p < count; p += width) {
                long column = column_of(ends, origins, width, p, b_indices);
                atomic_or(bitmap + column / 32, 1u << (int)(column % 32));
            }
        }
    }
}

// Writes or counts the columns that are marked for the rows at places `from` up to `to`, and clears their bitmaps. A
// work-group takes a row.
__kernel void spgemm_pattern_collect(long from, long to, long lanes, long words, __global const long *order,
                                     __global const long *starts, __global long *counts, __global IDX *columns,
                                     __global uint *bitmaps)
{
    int lid = (int)get_local_id(0);
    int width = (int)lanes;
    __local long sums[BLOCK];
    for (long i = from + get_group_id(0); i < to; i += get_num_groups(0)) {
        long row = order[i];
        __global uint *bitmap = bitmaps + (i - from) * words;
        long found = 0;
        for (long base = 0; base < words; base += width) {
            long at = base + lid;
            uint word = at < words ? bitmap[at] : 0;
            long all;
            long before = scan_team(sums, lid, width, popcount(word), &all);
            if (word)
                bitmap[at] = 0;
            if (columns) {
                long place = starts[row] + found + before;
                for (; word; word &= word - 1)
                    columns[place++] = (IDX)(32 * at + 31 - (int)clz(word & -word));
            }
            found += all;
        }
        if (counts && lid == 0)
            counts[row] = found;
    }
}

// Moves the columns of rows from where they were found, with room between them, to where they belong. A team takes a
// row.
__kernel void spgemm_pattern_compact(long rows, long lanes, __global const long *found_starts,
                                     __global const long *starts, __global const IDX *found, __global IDX *columns)
{
    int lid = (int)get_local_id(0);
    for (long row = get_group_id(0); row < rows; row += get_num_groups(0)) {
        long n = starts[row + 1] - starts[row];
        for (long k = lid; k < n; k += lanes)
            columns[starts[row] + k] = found[found_starts[row] + k];
    }
}

// The starts of rows as offsets.
__kernel void spgemm_pattern_offsets(long n, __global const long *starts, __global OFF *c_offsets)
{
    for (long i = get_global_id(0); i < n; i += get_global_size(0))
        c_offsets[i] = (OFF)starts[i];
}

// The offsets as starts of rows.
__kernel void spgemm_pattern_starts(long n, __global const OFF *offsets, __global long *starts)
{
    for (long i = get_global_id(0); i < n; i += get_global_size(0))
        starts[i] = offsets[i];
}

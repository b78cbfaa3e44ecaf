// spgemm_bitmaps: the columns of rows of C = A B, for compressed rows of A and B, found by bitmaps in global memory:
// row i of C is the union of the rows of B that the entries of row i of A name. Rows come in an order of their sizes.
// Kernels count the columns of rows, and write them in order from `starts` on where there are `columns`. bitmap: a
// work-group takes a row, and marks its columns, one window after the other. mark: a work-group takes a slice of a long
// row of A, and marks columns in a bitmap of the row, which collect writes in order. Reads A once and its rows of B
// once, bitmap twice for each window; writes C. Macros: IDX, OFF, BLOCK (lanes of the largest team).   Launch: any
// number of work-groups of `lanes`, a power of two up to BLOCK.
#include "index.clh"
#include "team.clh"
#include "products.clh"
#include "columns.clh"

// A work-group has `words` words of `bitmaps`, which are zeros before and after.
__kernel void spgemm_bitmaps_bitmap(long first, long end, long lanes, long cols, long words, __global const long *order,
                                    __global const OFF *a_offsets, __global const IDX *a_indices,
                                    __global const OFF *b_offsets, __global const IDX *b_indices,
                                    __global const long *starts, __global long *counts, __global IDX *columns,
                                    __global uint *bitmaps)
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

// Marks the columns of the rows at places `from` up to `to` in bitmaps of `words` words, one for each of these rows: a
// work-group takes up to `size` entries of a row of A. `slices` are the numbers of such slices before each row from
// `first` on.
__kernel void spgemm_bitmaps_mark(long first, long from, long to, long lanes, long size, long words,
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
__kernel void spgemm_bitmaps_collect(long from, long to, long lanes, long words, __global const long *order,
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

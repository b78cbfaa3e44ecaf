// spgemm_bitmaps: the columns of rows of C = A B, for compressed rows of A and B, found by bitmaps in global memory:
// row i of C is the union of the rows of B that the entries of row i of A name. Rows come in an order of their sizes.
// Kernels count the columns of rows, and write them in order from `starts` on where there are `columns`. bitmap: a
// block takes a row, and marks its columns, one window after the other. mark: a block takes a slice of a long row of A,
// and marks columns in a bitmap of the row, which collect writes in order. Reads A once and its rows of B once, bitmap
// twice for each window; writes C. Macros: IDX, OFF, WORDS_PER_LANE = 4 (words of a bitmap at once), BLOCK (lanes of
// the largest team).   Launch: any number of blocks of 256 threads, as many as `lanes`.
#include "grid.cuh"
#include "apart.cuh"
#include "index.cuh"
#include "warp.cuh"
#include "team.cuh"
#include "search.cuh"
#include "columns.cuh"
#ifndef WORDS_PER_LANE
#define WORDS_PER_LANE 4
#endif

// A block has `words` words of `bitmaps`, which are zeros before and after.
KERNEL spgemm_bitmaps_bitmap(long long first, long long end, long long lanes, long long cols, long long words,
                             const long long *__restrict__ order, const Off *__restrict__ a_offsets,
                             const Idx *__restrict__ a_indices, const Off *__restrict__ b_offsets,
                             const Idx *__restrict__ b_indices, const long long *__restrict__ starts,
                             long long *__restrict__ counts, Idx *__restrict__ columns,
                             unsigned int *__restrict__ bitmaps)
{
    let_next_begin();
    int lane = threadIdx.x;
    int width = (int)lanes;
    unsigned int *bitmap = bitmaps + blockIdx.x * words;
    for (long long i = first + blockIdx.x; i < end; i += gridDim.x) {
        long long row = order[i];
        long long found = 0;
        long long from = 0;
        while (from < cols) {
            // The window begins with the least column that is left, and ends with the greatest if it reaches so far.
            long long least = cols;
            long long below = 1;
            auto compare = [&](long long column) {
                least = column >= from ? min(least, column) : least;
                below = min(below, -column);
            };
            for_each_column(width, a_offsets[row], a_offsets[row + 1], a_indices, b_offsets, b_indices, compare);
            least = min_team(width, least);
            long long greatest = -min_team(width, below);
            long long origin = least - least % 32;
            long long window_end = least < cols ? min(greatest + 1, origin + 32 * words) : origin;
            auto mark = [&](long long column) {
                if (column >= least && column < window_end)
                    atomicOr(bitmap + (column - origin) / 32, 1u << (int)((column - origin) % 32));
            };
            for_each_column(width, a_offsets[row], a_offsets[row + 1], a_indices, b_offsets, b_indices, mark);
            sync_team(width);
            long long used = (window_end - origin + 31) / 32;
            for (long long base = 0; base < used; base += width) {
                long long at = base + lane;
                unsigned int word = at < used ? bitmap[at] : 0;
                int all;
                int before = scan_team(width, __popc(word), &all);
                if (word)
                    bitmap[at] = 0;
                if (columns) {
                    long long to = starts[row] + found + before;
                    for (; word; word &= word - 1)
                        columns[to++] = (Idx)(origin + 32 * at + __ffs(word) - 1);
                }
                found += all;
            }
            sync_team(width);
            from = least < cols ? window_end : cols;
        }
        if (counts && lane == 0)
            counts[row] = found;
    }
    end_after_last();
}

// Marks the columns of the rows at places `from` up to `to` in bitmaps of `words` words, one for each of these rows: a
// block takes up to `size` entries of a row of A. `slices` are the numbers of such slices before each row from `first` on.
KERNEL spgemm_bitmaps_mark(long long first, long long from, long long to, long long lanes, long long size,
                           long long words, const long long *__restrict__ slices, const long long *__restrict__ order,
                           const Off *__restrict__ a_offsets, const Idx *__restrict__ a_indices,
                           const Off *__restrict__ b_offsets, const Idx *__restrict__ b_indices,
                           unsigned int *__restrict__ bitmaps)
{
    let_next_begin();
    for (long long i = slices[from - first] + blockIdx.x; i < slices[to - first]; i += gridDim.x) {
        long long place = count_below(slices, to - first, i + 1) - 1;
        long long row = order[first + place];
        long long begin = a_offsets[row] + (i - slices[place]) * size;
        long long end = min(begin + size, (long long)a_offsets[row + 1]);
        unsigned int *bitmap = bitmaps + (first + place - from) * words;
        auto mark = [&](Idx column) {
            atomicOr(bitmap + column / 32, 1u << column % 32);
        };
        for_each_column((int)lanes, begin, end, a_indices, b_offsets, b_indices, mark);
    }
    end_after_last();
}

// Writes or counts the columns that are marked for the rows at places `from` up to `to`, and clears their bitmaps. A
// block takes a row.
KERNEL spgemm_bitmaps_collect(long long from, long long to, long long lanes, long long words,
                              const long long *__restrict__ order, const long long *__restrict__ starts,
                              long long *__restrict__ counts, Idx *__restrict__ columns,
                              unsigned int *__restrict__ bitmaps)
{
    let_next_begin();
    for (long long i = from + blockIdx.x; i < to; i += gridDim.x) {
        long long row = order[i];
        unsigned int *bitmap = bitmaps + (i - from) * words;
        long long found = 0;
        for (long long base = 0; base < words; base += WORDS_PER_LANE * lanes) {
            long long at = base + WORDS_PER_LANE * threadIdx.x;
            unsigned int own[WORDS_PER_LANE];
            int count = 0;
#pragma unroll
            for (int word = 0; word < WORDS_PER_LANE; word++) {
                own[word] = at + word < words ? bitmap[at + word] : 0;
                count += __popc(own[word]);
            }
            int all;
            long long at_place = (columns ? starts[row] : 0) + found + scan_team((int)lanes, count, &all);
#pragma unroll
            for (int word = 0; word < WORDS_PER_LANE; word++) {
                if (own[word])
                    bitmap[at + word] = 0;
                if (columns)
                    write_together(own[word], 32 * (at + word), columns + at_place);
                at_place += __popc(own[word]);
            }
            found += all;
        }
        if (counts && threadIdx.x == 0)
            counts[row] = found;
    }
    end_after_last();
}

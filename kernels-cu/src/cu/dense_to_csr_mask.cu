// dense_to_csr_mask: dense to compressed rows, as in dense_to_csr.cu, in two passes: the first stores a bit for each
// element, the second reads only where there are entries.
// One block per BLOCK / 32 rows at a time, one warp per row, in the steps of dense_steps.cuh; bit l of word m of a step
// is lane l's m-th column. Reads the elements once and the entries' again, writes the entries once.
// Macros: SCALAR, IDX, OFF, WIDE (1: VECTOR elements are 16 bytes), BLOCK, TOGETHER = 2 (steps in flight).   Launch:
// any number of blocks of BLOCK threads.
// A row has ceil(cols / (32*VECTOR)) * VECTOR words. With WIDE, col_step is 1; start, stride and row_step are multiples
// of VECTOR.
#include "grid.cuh"
#include "scalar.cuh"
#include "index.cuh"
#include "dense_rows.cuh"
#include "pack.cuh"
#include "warp.cuh"
#include "dense_steps.cuh"
#include "block.cuh"
#ifndef TOGETHER
#define TOGETHER 2
#endif

struct __align__(4 * VECTOR) Words
{
    unsigned int of[VECTOR];
};

// counts[row] for all rows, and one zero more at the end; the mask.
KERNEL dense_to_csr_mask_count(long long all_rows, long long rows, long long cols, const T *__restrict__ a,
                               long long start, long long stride, long long row_step, long long col_step, int threshold,
                               REAL tolerance, long long *__restrict__ counts, Words *__restrict__ mask)
{
    long long steps = (cols + STEP - 1) / STEP;
    int lane = lane_index();
    for (long long row = warp_index(); row <= all_rows; row += warp_count()) {
        long long count = 0;
        long long at = row_start(row, rows, start, stride, row_step);
        for (long long first = 0; first < steps && row < all_rows; first += TOGETHER) {
            Pack packs[TOGETHER];
#pragma unroll
            for (int i = 0; i < TOGETHER; i++) {
                long long col = (first + i) * STEP + lane * VECTOR;
                packs[i] = load_pack(a, at + col * col_step, cols - col);
            }
#pragma unroll
            for (int i = 0; i < TOGETHER; i++)
                if (first + i < steps) {
                    long long col = (first + i) * STEP + lane * VECTOR;
                    Words words;
#pragma unroll
                    for (int m = 0; m < VECTOR; m++) {
                        bool is_entry = col + m < cols && keeps(packs[i].part[m], threshold, tolerance);
                        words.of[m] = __ballot_sync(ALL_LANES, is_entry);
                        count += is_entry;
                    }
                    if (lane == 0)
                        mask[row * steps + first + i] = words;
                }
        }
        count = sum_lanes(count);
        if (lane == 0)
            counts[row] = count;
    }
}

// A lane reads its columns only if one of them has an entry. Entries are collected in shared memory, so that
// neighbouring lanes write neighbouring places. The last rows come first: the first pass left them in the cache.
// Nothing is written if the capacity does not suffice for all entries.
KERNEL dense_to_csr_mask_fill(long long all_rows, long long rows, long long cols, const T *__restrict__ a,
                              long long start, long long stride, long long row_step, long long col_step,
                              const long long *__restrict__ starts, const Words *__restrict__ mask,
                              Idx *__restrict__ indices, T *__restrict__ values, long long capacity)
{
    __shared__ short entry_cols[WARPS][STEP];
    __shared__ T entry_values[WARPS][STEP];
    short *own_cols = entry_cols[threadIdx.x / WARP];
    T *own_values = entry_values[threadIdx.x / WARP];
    int lane = lane_index();
    long long steps = (cols + STEP - 1) / STEP;
    for (long long row = rows_that_fit(all_rows, starts, capacity) - 1 - warp_index(); row >= 0; row -= warp_count()) {
        long long at = row_start(row, rows, start, stride, row_step);
        long long to = starts[row];
        long long end = starts[row + 1];
        for (long long first = 0; first < steps && to < end; first += TOGETHER) {
            StepEntries entries[TOGETHER];
            Pack packs[TOGETHER];
#pragma unroll
            for (int i = 0; i < TOGETHER; i++) {
                Words words = Words();
                if (first + i < steps)
                    words = mask[row * steps + first + i];
                entries[i] = entries_of_step(words.of);
            }
#pragma unroll
            for (int i = 0; i < TOGETHER; i++) {
                long long col = (first + i) * STEP + lane * VECTOR;
                if (entries[i].bits)
                    packs[i] = load_pack(a, at + col * col_step, cols - col);
            }
#pragma unroll
            for (int i = 0; i < TOGETHER; i++) {
                gather_step(entries[i], packs[i], 0, own_cols, own_values);
                __syncwarp();
                for (int k = lane; k < entries[i].count; k += WARP) {
                    indices[to + k] = (Idx)((first + i) * STEP + own_cols[k]);
                    values[to + k] = own_values[k];
                }
                __syncwarp();
                to += entries[i].count;
            }
        }
    }
}

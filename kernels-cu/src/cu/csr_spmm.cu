// csr_spmm: C <- alpha A B + beta C for compressed rows and dense B, C: element (i, j) is at start + i*row_step +
// j*col_step.
// row_per_thread: one thread per row with all its columns. crc, cwm: one warp per row and 32 or 128 columns, which
// reads an entry once for all of them. Reads A once per column (row_per_thread) or slice of columns, B by rows per
// entry, writes C once.
// Macros: SCALAR, IDX, OFF, CONJ (1 conjugates A), COLUMNS_PER_LANE = 4 (of cwm).   Launch: any number of blocks of up
// to 256 threads, of whole warps for the warp kernels.
#include "grid.cuh"
#include "scalar.cuh"
#include "index.cuh"
#include "entry.cuh"
#include "warp_scalar.cuh"
#include "staged_entries.cuh"
#ifndef COLUMNS_PER_LANE
#define COLUMNS_PER_LANE 4
#endif

// A thread takes a row, with all its columns, and every thread_count()-th row after it.
KERNEL csr_spmm_row_per_thread(long long rows, long long cols, const Off *__restrict__ offsets,
                               const Idx *__restrict__ indices, const T *__restrict__ values, ACC alpha,
                               const T *__restrict__ b, long long b_start, long long b_row, long long b_col, ACC beta,
                               T *__restrict__ c, long long c_start, long long c_row, long long c_col)
{
    for (long long row = thread_index(); row < rows; row += thread_count()) {
        long long begin = offsets[row];
        long long end = offsets[row + 1];
        for (long long col = 0; col < cols; col++) {
            ACC sum = ACC(0);
            for (long long k = begin; k < end; k++)
                sum += mul(entry(values, k), load(b, b_start + indices[k] * b_row + col * b_col));
            update(c, c_start + row * c_row + col * c_col, mul(alpha, sum), beta);
        }
    }
}

// Coalesced row caching: a warp takes 32 columns of a row, a column a lane; 32 entries at a time are staged in shared
// memory and used by every lane.
KERNEL csr_spmm_crc(long long rows, long long cols, const Off *__restrict__ offsets, const Idx *__restrict__ indices,
                    const T *__restrict__ values, ACC alpha, const T *__restrict__ b, long long b_start,
                    long long b_row, long long b_col, ACC beta, T *__restrict__ c, long long c_start, long long c_row,
                    long long c_col)
{
    __shared__ StagedEntries staged[WARPS];
    long long slices = (cols + WARP - 1) / WARP;
    for (long long tile = warp_index(); tile < rows * slices; tile += warp_count()) {
        long long row = tile / slices;
        long long col = tile % slices * WARP + lane_index();
        ACC sum = sum_column(staged + threadIdx.x / WARP, offsets[row], offsets[row + 1], indices, values, b, b_start,
                             b_row, b_col, col, cols);
        if (col < cols)
            update(c, c_start + row * c_row + col * c_col, mul(alpha, sum), beta);
    }
}

// Coarse-grained warp merging: a warp takes COLUMNS_PER_LANE * 32 columns of a row, each lane every 32nd of them. The
// lanes read 32 entries at a time and pass them around by shuffles: with K = 128 shared memory took 1.1 to 3 times as
// long on an H200.
KERNEL csr_spmm_cwm(long long rows, long long cols, const Off *__restrict__ offsets, const Idx *__restrict__ indices,
                    const T *__restrict__ values, ACC alpha, const T *__restrict__ b, long long b_start,
                    long long b_row, long long b_col, ACC beta, T *__restrict__ c, long long c_start, long long c_row,
                    long long c_col)
{
    int lane = lane_index();
    long long slices = (cols + COLUMNS_PER_LANE * WARP - 1) / (COLUMNS_PER_LANE * WARP);
    for (long long tile = warp_index(); tile < rows * slices; tile += warp_count()) {
        long long row = tile / slices;
        long long col = tile % slices * (COLUMNS_PER_LANE * WARP) + lane;
        long long end = offsets[row + 1];
        ACC sums[COLUMNS_PER_LANE];
        for (int m = 0; m < COLUMNS_PER_LANE; m++)
            sums[m] = ACC(0);
        for (long long base = offsets[row]; base < end; base += WARP) {
            int count = (int)min((long long)WARP, end - base);
            long long own_row = 0;
            ACC own_entry = ACC(0);
            if (lane < count) {
                own_row = b_start + indices[base + lane] * b_row;
                own_entry = entry(values, base + lane);
            }
            for (int k = 0; k < count; k++) {
                long long b_at = shuffle(own_row, k);
                ACC value = shuffle(own_entry, k);
#pragma unroll
                for (int m = 0; m < COLUMNS_PER_LANE; m++)
                    if (col + m * WARP < cols)
                        sums[m] += mul(value, load(b, b_at + (col + m * WARP) * b_col));
            }
        }
#pragma unroll
        for (int m = 0; m < COLUMNS_PER_LANE; m++)
            if (col + m * WARP < cols)
                update(c, c_start + row * c_row + (col + m * WARP) * c_col, mul(alpha, sums[m]), beta);
    }
}

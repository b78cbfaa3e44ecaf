// dense_to_csr_staged: fills the compressed rows of dense_to_csr.cu as seed 000 does: lanes stage elements in shared
// memory, and one lane writes the entries among them in order. Reads the elements once, writes the entries once. The
// other kernels write in parallel, and are faster.
// Macros: SCALAR, IDX, OFF.   Launch: any number of blocks of whole warps, up to 256 threads.
#include "grid.cuh"
#include "scalar.cuh"
#include "index.cuh"
#include "dense_rows.cuh"

KERNEL dense_to_csr_fill_staged(long long all_rows, long long rows, long long cols, const T *__restrict__ a,
                                long long start, long long stride, long long row_step, long long col_step,
                                int threshold, REAL tolerance, const long long *__restrict__ starts,
                                Idx *__restrict__ indices, T *__restrict__ values, long long capacity)
{
    __shared__ T staged_by_warps[MAX_THREADS];
    T *staged = staged_by_warps + threadIdx.x / WARP * WARP;
    long long filled = rows_that_fit(all_rows, starts, capacity);
    for (long long row = warp_index(); row < filled; row += warp_count()) {
        long long at = row_start(row, rows, start, stride, row_step);
        long long to = starts[row];
        for (long long base = 0; base < cols; base += WARP) {
            int lanes = (int)min((long long)WARP, cols - base);
            if (lane_index() < lanes)
                staged[lane_index()] = a[at + (base + lane_index()) * col_step];
            __syncwarp();
            if (lane_index() == 0) {
                for (int lane = 0; lane < lanes; lane++) {
                    if (keeps(staged[lane], threshold, tolerance)) {
                        indices[to] = (Idx)(base + lane);
                        values[to] = staged[lane];
                        to++;
                    }
                }
            }
            __syncwarp();
        }
    }
}

// csr_spmm_split_atomic: C <- alpha A B + beta C for compressed rows in chunks (csr_chunks.cu), the longest first. The
// chunks of a long row are added by atomic additions, in an order that differs from run to run, and with it the last
// bits.
// One warp per chunk and 32 columns, a column a lane. Reads A once per 32 columns, a row of B per entry, writes C once.
// Macros: SCALAR, IDX, OFF, CONJ (1 conjugates A).   Launch: any number of blocks of whole warps, up to 256 threads.
// A chunk that is a whole row has slot -1 and writes C. The others are added to the sums of their row, element (k, col)
// at k*cols + col, zeros before; partial_sums.cu makes C of them.
// B and C are dense: element (i, j) is at start + i*row_step + j*col_step.
#include "grid.cuh"
#include "scalar.cuh"
#include "index.cuh"
#include "entry.cuh"
#include "staged_entries.cuh"
#include "atomic_add.cuh"

// A warp takes a chunk and 32 columns.
KERNEL csr_spmm_row_split_atomic(long long chunks, long long cols, const long long *__restrict__ begins,
                                 const int *__restrict__ lengths, const long long *__restrict__ rows,
                                 const long long *__restrict__ slots, const Idx *__restrict__ indices,
                                 const T *__restrict__ values, ACC alpha, const T *__restrict__ b, long long b_start,
                                 long long b_row, long long b_col, ACC beta, T *__restrict__ c, long long c_start,
                                 long long c_row, long long c_col, ACC *__restrict__ partial)
{
    let_next_begin();
    __shared__ StagedEntries staged[WARPS];
    long long slices = (cols + WARP - 1) / WARP;
    for (long long tile = warp_index(); tile < chunks * slices; tile += warp_count()) {
        long long chunk = tile % chunks;
        long long col = tile / chunks * WARP + lane_index();
        long long begin = begins[chunk];
        ACC sum = sum_column(staged + threadIdx.x / WARP, begin, begin + lengths[chunk], indices, values, b, b_start,
                             b_row, b_col, col, cols);
        if (col >= cols)
            continue;
        long long slot = slots[chunk];
        if (slot >= 0)
            add_atomically(&partial[slot * cols + col], sum);
        else
            update(c, c_start + rows[chunk] * c_row + col * c_col, mul(alpha, sum), beta);
    }
}

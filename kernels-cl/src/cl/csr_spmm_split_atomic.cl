// csr_spmm_split_atomic: C <- alpha A B + beta C for compressed rows in chunks (csr_chunks.cl), the longest first. The
// chunks of a long row are added by atomic additions, in an order that differs from run to run, and with it the last
// bits.
// One warp per chunk and 32 columns, a column a lane. Reads A once per 32 columns, a row of B per
// entry, writes C once.
// Macros: SCALAR, IDX, OFF, CONJ (1 conjugates A), NV_ARCH = 0 (lanes.clh).   Launch: any number of
// work-groups of 32, or on NVIDIA's devices of whole warps.
// A chunk that is a whole row has slot -1 and writes C. The others are added to the sums of their row, element (k, col)
// at k*cols + col, zeros before; partial_sums.cl makes C of them.
// B and C are dense: element (i, j) is at start + i*row_step + j*col_step.
#include "scalar.clh"
#include "index.clh"
#include "entry.clh"
#include "lanes.clh"
#include "atomic_add.clh"
#define LANES WARP

// A warp takes a chunk and 32 columns.
__kernel OF_ANY_WARPS
void csr_spmm_row_split_atomic(long chunks, long cols, __global const long *begins, __global const int *lengths,
                               __global const long *rows, __global const long *slots, __global const IDX *indices,
                               __global const T *values, ACC alpha, __global const T *b, long b_start, long b_row,
                               long b_col, ACC beta, __global T *c, long c_start, long c_row, long c_col,
                               __global ACC *partial)
{
    int lid = (int)get_local_id(0);
    long slices = (cols + LANES - 1) / LANES;
    for (long tile = warp_index(lid); tile < chunks * slices; tile += warp_count()) {
        long chunk = tile % chunks;
        long col = tile / chunks * LANES + lid % LANES;
        if (col < cols) {
            long begin = begins[chunk];
            long end = begin + lengths[chunk];
            long slot = slots[chunk];
            ACC sum = (ACC)(0);
            for (long k = begin; k < end; k++)
                sum += mul(entry(values, k), load(b, b_start + indices[k] * b_row + col * b_col));
            if (slot >= 0)
                add_atomically(&partial[slot * cols + col], sum);
            else
                update(c, c_start + rows[chunk] * c_row + col * c_col, mul(alpha, sum), beta);
        }
    }
}

// csr_row_blocks: row blocks of compressed rows (row_block.cuh) for csr_spmv_row_blocks.cu and csr_spmm_row_blocks.cu,
// and the sums of the rows that have pieces in several blocks.
// One thread per block to find them, striding over the grid: reads some offsets, writes four words. One block of threads
// per row with pieces and 32 columns for their sums: reads each partial sum once, writes C once.
// Macros: SCALAR, IDX (unused), OFF (type of offsets), MAX_THREADS = 1024 (the largest block).   Launch: any number of
// blocks of up to 256 threads; sums of any power of two from 32 to MAX_THREADS.
#ifndef MAX_THREADS
#define MAX_THREADS 1024
#endif
#include "grid.cuh"
#include "scalar.cuh"
#include "index.cuh"
#include "row_block.cuh"

// block_starts[2*b] <- the first row that begins in block b, block_starts[2*b + 1] <- its first entry; rows and nnz at
// the end.
KERNEL csr_row_blocks_search(long long blocks, long long size, long long rows, const Off *__restrict__ offsets,
                             long long *__restrict__ block_starts)
{
    for (long long b = thread_index(); b <= blocks; b += thread_count()) {
        long long low = 0;
        long long high = rows;
        while (low < high) {
            long long mid = low + (high - low) / 2;
            if (b < blocks && mid + offsets[mid] >= b * size)
                high = mid;
            else
                low = mid + 1;
        }
        block_starts[2 * b] = low;
        block_starts[2 * b + 1] = offsets[low];
    }
}

// pieces[b] <- 1 if block b has a piece of a row; split_rows[b] <- 1 if that row begins in it; one zero more at the end.
// Exclusive scans make of them the index of the block's partial sums, and that of the row.
KERNEL csr_row_blocks_count(long long blocks, long long size, const long long *__restrict__ block_starts, long long *__restrict__ pieces,
                            long long *__restrict__ split_rows)
{
    for (long long b = thread_index(); b <= blocks; b += thread_count()) {
        bool goes_on = b < blocks && row_block(b, size, block_starts).goes_on;
        pieces[b] = goes_on;
        split_rows[b] = goes_on && block_starts[2 * b] < block_starts[2 * b + 2];
    }
}

// rows[i] <- row i of those with pieces, starts[i] <- the index of its first piece; at the end their number.
KERNEL csr_row_blocks_fill(long long blocks, const long long *__restrict__ block_starts,
                           const long long *__restrict__ pieces, const long long *__restrict__ split_rows,
                           long long *__restrict__ rows, long long *__restrict__ starts)
{
    for (long long b = thread_index(); b <= blocks; b += thread_count()) {
        long long i = split_rows[b];
        if (b == blocks) {
            starts[i] = pieces[b];
        } else if (i < split_rows[b + 1]) {
            rows[i] = block_starts[2 * b + 2] - 1;
            starts[i] = pieces[b];
        }
    }
}

// The rows with pieces: element (piece, col) of the partial sums is at piece*cols + col. A block takes a row and up to
// 32 columns: neighbouring threads have neighbouring columns, and every blockDim.x / lanes-th piece; a fixed tree adds
// these sums.
KERNEL csr_row_blocks_sums(long long splits, long long cols, const long long *__restrict__ rows,
                           const long long *__restrict__ starts, ACC alpha, ACC beta, T *__restrict__ c,
                           long long c_start, long long c_row, long long c_col, const ACC *__restrict__ partial)
{
    wait_for_last();
    __shared__ ACC sums[MAX_THREADS];
    int lanes = 1;
    while (lanes < WARP && lanes < cols)
        lanes *= 2;
    long long slices = (cols + lanes - 1) / lanes;
    for (long long tile = blockIdx.x; tile < splits * slices; tile += gridDim.x) {
        long long split = tile / slices;
        long long col = tile % slices * lanes + threadIdx.x % lanes;
        ACC sum = ACC(0);
        if (col < cols)
#pragma unroll 4
            for (long long piece = starts[split] + threadIdx.x / lanes; piece < starts[split + 1];
                 piece += blockDim.x / lanes)
                sum += partial[piece * cols + col];
        sums[threadIdx.x] = sum;
        __syncthreads();
        for (int left = blockDim.x / 2; left >= lanes; left /= 2) {
            if (threadIdx.x < left)
                sums[threadIdx.x] += sums[threadIdx.x + left];
            __syncthreads();
        }
        if (threadIdx.x < lanes && col < cols)
            update(c, c_start + rows[split] * c_row + col * c_col, mul(alpha, sums[threadIdx.x]), beta);
        __syncthreads();
    }
}

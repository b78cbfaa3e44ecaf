// csr_row_blocks: row blocks of compressed rows (row_block.clh) for csr_spmv_row_blocks.cl and csr_spmm_row_blocks.cl,
// and the sums of the rows that have pieces in several blocks.
// One work-item per block to find them, striding over the grid: reads some offsets, writes four words. One work-group per
// row with pieces and 32 columns for their sums: reads each partial sum once, writes C once.
// Macros: SCALAR, IDX (unused), OFF (type of offsets), MAX_THREADS = 1024 (the largest work-group of sums).   Launch: any
// number of work-groups of any size; sums of any power of two from 32 to MAX_THREADS.
#ifndef MAX_THREADS
#define MAX_THREADS 1024
#endif
#include "scalar.clh"
#include "index.clh"
#include "row_block.clh"
#define WARP 32

// block_starts[2*b] <- the first row that begins in block b, block_starts[2*b + 1] <- its first entry; rows and nnz at
// the end.
__kernel void csr_row_blocks_search(long blocks, long size, long rows, __global const OFF *offsets,
                                    __global long *block_starts)
{
    for (long b = get_global_id(0); b <= blocks; b += get_global_size(0)) {
        long low = 0;
        long high = rows;
        while (low < high) {
            long mid = low + (high - low) / 2;
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
__kernel void csr_row_blocks_count(long blocks, long size, __global const long *block_starts, __global long *pieces,
                                   __global long *split_rows)
{
    for (long b = get_global_id(0); b <= blocks; b += get_global_size(0)) {
        int goes_on = b < blocks && row_block(b, size, block_starts).goes_on;
        pieces[b] = goes_on;
        split_rows[b] = goes_on && block_starts[2 * b] < block_starts[2 * b + 2];
    }
}

// rows[i] <- row i of those with pieces, starts[i] <- the index of its first piece; at the end their number.
__kernel void csr_row_blocks_fill(long blocks, __global const long *block_starts, __global const long *pieces,
                                  __global const long *split_rows, __global long *rows, __global long *starts)
{
    for (long b = get_global_id(0); b <= blocks; b += get_global_size(0)) {
        long i = split_rows[b];
        if (b == blocks) {
            starts[i] = pieces[b];
        } else if (i < split_rows[b + 1]) {
            rows[i] = block_starts[2 * b + 2] - 1;
            starts[i] = pieces[b];
        }
    }
}

// The rows with pieces: element (piece, col) of the partial sums is at piece*cols + col. A work-group takes a row and up
// to 32 columns: neighbouring work-items have neighbouring columns, and every get_local_size(0) / lanes-th piece; a fixed
// tree adds these sums.
__kernel void csr_row_blocks_sums(long splits, long cols, __global const long *rows, __global const long *starts,
                                  ACC alpha, ACC beta, __global T *c, long c_start, long c_row, long c_col,
                                  __global const ACC *partial)
{
    int lid = (int)get_local_id(0);
    int threads = (int)get_local_size(0);
    __local ACC sums[MAX_THREADS];
    int lanes = 1;
    while (lanes < WARP && lanes < cols)
        lanes *= 2;
    long slices = (cols + lanes - 1) / lanes;
    for (long tile = get_group_id(0); tile < splits * slices; tile += get_num_groups(0)) {
        long split = tile / slices;
        long col = tile % slices * lanes + lid % lanes;
        ACC sum = (ACC)(0);
        if (col < cols)
            for (long piece = starts[split] + lid / lanes; piece < starts[split + 1]; piece += threads / lanes)
                sum += partial[piece * cols + col];
        sums[lid] = sum;
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int left = threads / 2; left >= lanes; left /= 2) {
            if (lid < left)
                sums[lid] += sums[lid + left];
            barrier(CLK_LOCAL_MEM_FENCE);
        }
        if (lid < lanes && col < cols)
            update(c, c_start + rows[split] * c_row + col * c_col, mul(alpha, sums[lid]), beta);
        barrier(CLK_LOCAL_MEM_FENCE);
    }
}

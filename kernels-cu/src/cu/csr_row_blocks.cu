// csr_row_blocks: row blocks of compressed rows (row_block.cuh) for csr_spmv_row_blocks.cu and csr_spmm_row_blocks.cu.
// One thread per block, striding over the grid: reads some offsets, writes four words.
// Macros: IDX (unused), OFF (type of offsets).   Launch: any number of blocks of up to 256 threads.
#include "grid.cuh"
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

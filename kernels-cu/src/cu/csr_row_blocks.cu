// csr_row_blocks: row blocks of compressed rows (row_block.cuh) for csr_spmv_row_blocks.cu and csr_spmm_row_blocks.cu.
// One thread per block, striding over the grid: reads some offsets, writes four words. One per sampled row: reads up to
// SAMPLED of its columns.
// Macros: IDX (type of indices), OFF (type of offsets), SAMPLED = 64 (columns of a sampled row).
// Launch: any number of blocks of up to 256 threads.
#include "grid.cuh"
#include "index.cuh"
#include "row_block.cuh"
#ifndef SAMPLED
#define SAMPLED 64
#endif

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

// parts[b] <- 1 if block b ends with a part of a row, else 0; split_rows[b] <- 1 if that row also begins in block b.
// Both have a zero at the end. Their exclusive scans are the indices of the partial sums and of the split rows.
KERNEL csr_row_blocks_count(long long blocks, long long size, const long long *__restrict__ block_starts,
                            long long *__restrict__ parts, long long *__restrict__ split_rows)
{
    for (long long b = thread_index(); b <= blocks; b += thread_count()) {
        bool goes_on = b < blocks && row_block(b, size, block_starts).goes_on;
        parts[b] = goes_on;
        split_rows[b] = goes_on && block_starts[2 * b] < block_starts[2 * b + 2];
    }
}

// rows[i] <- the i-th split row, starts[i] <- the index of its first partial sum; the last element of starts is the
// number of partial sums.
KERNEL csr_row_blocks_fill(long long blocks, const long long *__restrict__ block_starts,
                           const long long *__restrict__ parts, const long long *__restrict__ split_rows,
                           long long *__restrict__ rows, long long *__restrict__ starts)
{
    for (long long b = thread_index(); b <= blocks; b += thread_count()) {
        long long i = split_rows[b];
        if (b == blocks) {
            starts[i] = parts[b];
        } else if (i < split_rows[b + 1]) {
            rows[i] = block_starts[2 * b + 2] - 1;
            starts[i] = parts[b];
        }
    }
}

// near[k] <- 1 if the first SAMPLED columns and the last column of row k*step are within `most` of each other, -1 if
// not, 0 if the row has fewer than two entries; for `count` rows.
KERNEL csr_row_blocks_near(long long count, long long step, long long most, const Off *__restrict__ offsets,
                           const Idx *__restrict__ indices, long long *__restrict__ near)
{
    for (long long k = thread_index(); k < count; k += thread_count()) {
        long long begin = offsets[k * step];
        long long end = offsets[k * step + 1];
        near[k] = 0;
        if (end - begin < 2)
            continue;
        long long first = indices[end - 1];
        long long last = first;
        for (long long at = begin; at < min(end, begin + SAMPLED); at++) {
            first = min(first, (long long)indices[at]);
            last = max(last, (long long)indices[at]);
        }
        near[k] = last - first <= most ? 1 : -1;
    }
}

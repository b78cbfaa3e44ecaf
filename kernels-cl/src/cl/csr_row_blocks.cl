// csr_row_blocks: row blocks of compressed rows (row_block.clh) for csr_spmv_row_blocks.cl and csr_spmm_row_blocks.cl.
// One work-item per block, striding over the grid: reads some offsets, writes four words. One per sampled row:
// reads up to SAMPLED of its columns.
// Macros: IDX (type of indices), OFF (type of offsets), SAMPLED = 64 (columns of a sampled row).
// Launch: any number of work-groups of any size.
#include "index.clh"
#include "row_block.clh"
#ifndef SAMPLED
#define SAMPLED 64
#endif

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

// parts[b] <- 1 if block b ends with a part of a row, else 0; split_rows[b] <- 1 if that row also begins in block b.
// Both have a zero at the end. Their exclusive scans are the indices of the partial sums and of the split rows.
__kernel void csr_row_blocks_count(long blocks, long size, __global const long *block_starts, __global long *parts,
                                   __global long *split_rows)
{
    for (long b = get_global_id(0); b <= blocks; b += get_global_size(0)) {
        int goes_on = b < blocks && row_block(b, size, block_starts).goes_on;
        parts[b] = goes_on;
        split_rows[b] = goes_on && block_starts[2 * b] < block_starts[2 * b + 2];
    }
}

// rows[i] <- the i-th split row, starts[i] <- the index of its first partial sum; the last element of starts is the
// number of partial sums.
__kernel void csr_row_blocks_fill(long blocks, __global const long *block_starts, __global const long *parts,
                                  __global const long *split_rows, __global long *rows, __global long *starts)
{
    for (long b = get_global_id(0); b <= blocks; b += get_global_size(0)) {
        long i = split_rows[b];
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
__kernel void csr_row_blocks_near(long count, long step, long most, __global const OFF *offsets,
                                  __global const IDX *indices, __global long *near)
{
    for (long k = get_global_id(0); k < count; k += get_global_size(0)) {
        long begin = offsets[k * step];
        long end = offsets[k * step + 1];
        near[k] = 0;
        if (end - begin < 2)
            continue;
        long first = indices[end - 1];
        long last = first;
        for (long at = begin; at < min(end, begin + SAMPLED); at++) {
            first = min(first, (long)indices[at]);
            last = max(last, (long)indices[at]);
        }
        near[k] = last - first <= most ? 1 : -1;
    }
}

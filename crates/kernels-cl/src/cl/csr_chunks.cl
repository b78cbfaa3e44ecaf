// Rows cut into chunks of at most CHUNK entries, so that long ones are shared by many work-groups: chunk c of row r
// holds its entries c*CHUNK .. (c + 1)*CHUNK. Every row has a chunk, empty ones too. For the plan of csr_spmm_split.cl.
// Takes IDX (unused) and OFF. A work-item takes a row and every get_global_size(0)-th one after it.
#include "index.clh"
#include "chunk.clh"

// chunks[row] <- its chunks; splits[row] <- the same where there are several, otherwise 0; one zero more at the end.
// Exclusive scans of the two make chunk_starts and split_starts.
__kernel void csr_chunks_count(long rows, __global const OFF *offsets, __global long *chunks, __global long *splits)
{
    for (long row = get_global_id(0); row <= rows; row += get_global_size(0)) {
        long count = 0;
        if (row < rows)
            count = max(((long)(offsets[row + 1] - offsets[row]) + CHUNK - 1) / CHUNK, 1L);
        chunks[row] = count;
        splits[row] = count > 1 ? count : 0;
    }
}

// chunk_rows[chunk] <- its row, for all chunks and for those of split rows; keys[chunk] <- a number that is the smaller
// the more entries the chunk has, for radix_sort.cl, and positions[chunk] <- chunk.
__kernel void csr_chunks_fill(long rows, __global const OFF *offsets, __global const long *chunk_starts,
                              __global const long *split_starts, __global long *chunk_rows, __global long *split_rows,
                              __global uint *keys, __global long *positions)
{
    for (long row = get_global_id(0); row < rows; row += get_global_size(0)) {
        long count = chunk_starts[row + 1] - chunk_starts[row];
        for (long c = 0; c < count; c++) {
            long chunk = chunk_starts[row] + c;
            long entries = min((long)CHUNK, (long)(offsets[row + 1] - offsets[row]) - c * CHUNK);
            chunk_rows[chunk] = row;
            keys[chunk] = (uint)(CHUNK - entries);
            positions[chunk] = chunk;
            if (count > 1)
                split_rows[split_starts[row] + c] = row;
        }
    }
}

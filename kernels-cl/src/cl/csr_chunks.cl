// csr_chunks: rows cut into chunks of at most `most` entries, so that many work-groups can work on a long row: chunk c
// of row r has its entries c*most .. (c + 1)*most. Every row has a chunk, empty ones too. For the plans of
// csr_spmm_split.cl and csr_spmm_reduce.cl.
// One work-item per row, or per chunk (csr_chunks_order), striding over the grid. Reads the offsets, writes a few words
// per chunk.
// Macros: IDX (unused), OFF (type of offsets).   Launch: any number of work-groups of any size.
#include "index.clh"

// chunks[row] <- its chunks; splits[row] <- 1 if there are several, otherwise 0; partials[row] <- their partial sums,
// one a chunk and at most `most_sums`, where there are several, otherwise 0; one zero more at the end. Exclusive scans
// make of them chunk_starts, split_numbers and partial_starts.
__kernel void csr_chunks_count(long rows, long most, long most_sums, __global const OFF *offsets,
                               __global long *chunks, __global long *splits, __global long *partials)
{
    for (long row = get_global_id(0); row <= rows; row += get_global_size(0)) {
        long count = 0;
        if (row < rows)
            count = max(((long)(offsets[row + 1] - offsets[row]) + most - 1) / most, 1L);
        chunks[row] = count;
        splits[row] = count > 1;
        partials[row] = count > 1 ? min(count, most_sums) : 0;
    }
}

// The class of `entries` entries: those of one class have the same highest `bits` + 1 bits, so that longer rows never
// have a smaller class.
static uint length_class(long entries, long bits)
{
    int low = 0;
    while (entries >> low >= 2L << bits)
        low++;
    return ((uint)low << bits) + (uint)(entries >> low);
}

// chunk_rows[chunk] <- its row; split_rows[i] <- row i of those with several chunks, split_starts[i] <- its first
// partial sum, at the end their number; keys[chunk] <- a number that is the smaller the higher the class of the chunk's
// length is, for radix_sort.cl.
__kernel void csr_chunks_fill(long rows, long most, long bits, __global const OFF *offsets,
                              __global const long *chunk_starts, __global const long *split_numbers,
                              __global const long *partial_starts, __global long *chunk_rows, __global long *split_rows,
                              __global long *split_starts, __global uint *keys)
{
    for (long row = get_global_id(0); row <= rows; row += get_global_size(0)) {
        long split = split_numbers[row];
        bool is_split = row < rows && split < split_numbers[row + 1];
        if (is_split)
            split_rows[split] = row;
        if (is_split || row == rows)
            split_starts[split] = partial_starts[row];
        long count = row < rows ? chunk_starts[row + 1] - chunk_starts[row] : 0;
        for (long c = 0; c < count; c++) {
            long chunk = chunk_starts[row] + c;
            long entries = min(most, (long)(offsets[row + 1] - offsets[row]) - c * most);
            chunk_rows[chunk] = row;
            keys[chunk] = length_class(most, bits) - length_class(entries, bits);
        }
    }
}

// The chunks for csr_spmm_split.cl in the order `order`: chunk i begins at entry begins[i], has lengths[i]
// entries of row rows[i], and writes its sums at index slots[i], or is a whole row (-1). A work-item takes a chunk.
__kernel void csr_chunks_order(long count, long most, __global const OFF *offsets, __global const long *order,
                               __global const long *chunk_rows, __global const long *chunk_starts,
                               __global const long *partial_starts, __global long *begins, __global int *lengths,
                               __global long *rows, __global long *slots)
{
    for (long i = get_global_id(0); i < count; i += get_global_size(0)) {
        long chunk = order[i];
        long row = chunk_rows[chunk];
        long number = chunk - chunk_starts[row];
        long begin = offsets[row] + number * most;
        begins[i] = begin;
        lengths[i] = (int)min(most, (long)offsets[row + 1] - begin);
        rows[i] = row;
        bool is_row = chunk_starts[row + 1] - chunk_starts[row] == 1;
        slots[i] = is_row ? -1 : min(partial_starts[row] + number, partial_starts[row + 1] - 1);
    }
}

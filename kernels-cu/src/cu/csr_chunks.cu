// csr_chunks: rows cut into chunks of at most `most` entries, so that many blocks can work on a long row: chunk c of
// row r has its entries c*most .. (c + 1)*most. Every row has a chunk, empty ones too. For the plans of
// csr_spmm_split.cu and csr_spmm_reduce.cu.
// One thread per row, or per chunk (csr_chunks_order), striding over the grid. Reads the offsets, writes a few words
// per chunk.
// Macros: IDX (unused), OFF (type of offsets).   Launch: any number of blocks of up to 256 threads.
#include "grid.cuh"
#include "index.cuh"

// chunks[row] <- its chunks; splits[row] <- 1 if there are several, otherwise 0; partials[row] <- their partial sums, one
// a chunk and at most `most_sums`, where there are several, otherwise 0; one zero more at the end. Exclusive scans make
// of them chunk_starts, split_numbers and partial_starts.
KERNEL csr_chunks_count(long long rows, long long most, long long most_sums, const Off *__restrict__ offsets,
                        long long *__restrict__ chunks, long long *__restrict__ splits,
                        long long *__restrict__ partials)
{
    for (long long row = thread_index(); row <= rows; row += thread_count()) {
        long long count = 0;
        if (row < rows)
            count = max(((long long)(offsets[row + 1] - offsets[row]) + most - 1) / most, 1ll);
        chunks[row] = count;
        splits[row] = count > 1;
        partials[row] = count > 1 ? min(count, most_sums) : 0;
    }
}

// The class of `entries` entries: those of one class have the same highest `bits` + 1 bits, so that longer rows never
// have a smaller class.
__device__ unsigned int length_class(long long entries, long long bits)
{
    int low = 0;
    while (entries >> low >= 2ll << bits)
        low++;
    return ((unsigned int)low << bits) + (unsigned int)(entries >> low);
}

// chunk_rows[chunk] <- its row; split_rows[i] <- row i of those with several chunks, split_starts[i] <- its first partial
// sum, at the end their number; keys[chunk] <- a number that is the smaller the higher the class of the chunk's length
// is, for radix_sort.cu.
KERNEL csr_chunks_fill(long long rows, long long most, long long bits, const Off *__restrict__ offsets,
                       const long long *__restrict__ chunk_starts, const long long *__restrict__ split_numbers,
                       const long long *__restrict__ partial_starts, long long *__restrict__ chunk_rows,
                       long long *__restrict__ split_rows, long long *__restrict__ split_starts,
                       unsigned int *__restrict__ keys)
{
    for (long long row = thread_index(); row <= rows; row += thread_count()) {
        long long split = split_numbers[row];
        bool is_split = row < rows && split < split_numbers[row + 1];
        if (is_split)
            split_rows[split] = row;
        if (is_split || row == rows)
            split_starts[split] = partial_starts[row];
        long long count = row < rows ? chunk_starts[row + 1] - chunk_starts[row] : 0;
        for (long long c = 0; c < count; c++) {
            long long chunk = chunk_starts[row] + c;
            long long entries = min(most, (long long)(offsets[row + 1] - offsets[row]) - c * most);
            chunk_rows[chunk] = row;
            keys[chunk] = length_class(most, bits) - length_class(entries, bits);
        }
    }
}

// The chunks for csr_spmm_split.cu in the order `order`: chunk i begins at entry begins[i], has lengths[i]
// entries of row rows[i], and writes its sums at index slots[i], or is a whole row (-1). A thread takes a chunk.
KERNEL csr_chunks_order(long long count, long long most, const Off *__restrict__ offsets,
                        const long long *__restrict__ order, const long long *__restrict__ chunk_rows,
                        const long long *__restrict__ chunk_starts, const long long *__restrict__ partial_starts,
                        long long *__restrict__ begins, int *__restrict__ lengths, long long *__restrict__ rows,
                        long long *__restrict__ slots)
{
    for (long long i = thread_index(); i < count; i += thread_count()) {
        long long chunk = order[i];
        long long row = chunk_rows[chunk];
        long long number = chunk - chunk_starts[row];
        long long begin = offsets[row] + number * most;
        bool is_row = chunk_starts[row + 1] - chunk_starts[row] == 1;
        begins[i] = begin;
        lengths[i] = (int)min(most, (long long)offsets[row + 1] - begin);
        rows[i] = row;
        slots[i] = is_row ? -1 : min(partial_starts[row] + number, partial_starts[row + 1] - 1);
    }
}

// unpack: compressed rows of a batch from what messages carry in place of offsets and indices: a bit for each element,
// rows padded to whole bytes, the lowest bit first; or the entries of each row, with indices of a larger matrix.
// Values need no kernel. One thread per word of 32 bits, per row or per offset, striding over the grid. Bits: reads each
// twice, and 8 bytes per word of their prefix sums; counts: reads each once. Writes offsets and indices once.
// Macros: IDX, OFF.   Launch: any number of blocks of up to 256 threads.
#include "grid.cuh"
#include "index.cuh"
#define BITS 32

// Word k of a row of line_bytes bytes; bytes behind its end count as zero.
static __device__ unsigned int word_of(const unsigned char *line, long long k, long long line_bytes)
{
    unsigned int bits = 0;
    for (int byte = 0; byte < BITS / 8; byte++)
        if (4 * k + byte < line_bytes)
            bits |= (unsigned int)line[4 * k + byte] << 8 * byte;
    return bits;
}

// counts[w] <- the bits of word w that are set; one zero more at the end. A row has line_words words.
KERNEL unpack_count_bits(long long words, long long line_words, long long line_bytes,
                         const unsigned char *__restrict__ bitmap, long long *__restrict__ counts)
{
    for (long long w = thread_index(); w <= words; w += thread_count()) {
        long long count = 0;
        if (w < words)
            count = __popc(word_of(bitmap + w / line_words * line_bytes, w % line_words, line_bytes));
        counts[w] = count;
    }
}

// The columns of the bits that are set, those of word w from starts[w] on.
KERNEL unpack_bits(long long words, long long line_words, long long line_bytes,
                   const unsigned char *__restrict__ bitmap, const long long *__restrict__ starts,
                   Idx *__restrict__ indices)
{
    for (long long w = thread_index(); w < words; w += thread_count()) {
        unsigned int bits = word_of(bitmap + w / line_words * line_bytes, w % line_words, line_bytes);
        Idx first = (Idx)(w % line_words * BITS);
        for (long long to = starts[w]; bits != 0; to++) {
            indices[to] = first + (Idx)(__ffs(bits) - 1);
            bits &= bits - 1;
        }
    }
}

// wide[row] <- narrow[row], the entries of a row; one zero more at the end.
KERNEL unpack_counts(long long rows, const Idx *__restrict__ narrow, long long *__restrict__ wide)
{
    for (long long row = thread_index(); row <= rows; row += thread_count())
        wide[row] = row < rows ? narrow[row] : 0;
}

// offsets[i] for all of `rows` rows and one more of every member; row r of all begins at starts[r * step].
KERNEL unpack_offsets(long long n, long long rows, long long step, const long long *__restrict__ starts,
                      Off *__restrict__ offsets)
{
    for (long long i = thread_index(); i < n; i += thread_count()) {
        long long first = i / (rows + 1) * rows;
        offsets[i] = (Off)(starts[(first + i % (rows + 1)) * step] - starts[first * step]);
    }
}

// Subtracts the base of its member from every index; a member has `rows` rows.
KERNEL unpack_local(long long all_rows, long long rows, const long long *__restrict__ starts,
                    const long long *__restrict__ bases, Idx *__restrict__ indices)
{
    for (long long row = thread_index(); row < all_rows; row += thread_count())
        for (long long k = starts[row]; k < starts[row + 1]; k++)
            indices[k] -= (Idx)bases[row / rows];
}

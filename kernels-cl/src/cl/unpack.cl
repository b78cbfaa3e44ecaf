// unpack: compressed rows of a batch from what messages carry in place of offsets and indices: a bit for each element,
// rows padded to whole bytes, the lowest bit first; or the entries of each row, with indices of a larger matrix.
// Values need no kernel. One work-item per word of 32 bits, per row or per offset, striding over the grid. Bits: reads
// each twice, and 8 bytes per word of their prefix sums; counts: reads each once. Writes offsets and indices once.
// Macros: IDX, OFF.   Launch: any number of work-groups of any size.
#include "index.clh"
#define BITS 32

// Word k of a row of line_bytes bytes; bytes behind its end count as zero.
static uint word_of(__global const uchar *line, long k, long line_bytes)
{
    uint bits = 0;
    for (int byte = 0; byte < BITS / 8; byte++)
        if (4 * k + byte < line_bytes)
            bits |= (uint)line[4 * k + byte] << 8 * byte;
    return bits;
}

// counts[w] <- the bits of word w that are set; one zero more at the end. A row has line_words words.
__kernel void unpack_count_bits(long words, long line_words, long line_bytes, __global const uchar *bitmap,
                                __global long *counts)
{
    for (long w = get_global_id(0); w <= words; w += get_global_size(0)) {
        long count = 0;
        if (w < words)
            count = popcount(word_of(bitmap + w / line_words * line_bytes, w % line_words, line_bytes));
        counts[w] = count;
    }
}

// The columns of the bits that are set, those of word w from starts[w] on.
__kernel void unpack_bits(long words, long line_words, long line_bytes, __global const uchar *bitmap,
                          __global const long *starts, __global IDX *indices)
{
    for (long w = get_global_id(0); w < words; w += get_global_size(0)) {
        uint bits = word_of(bitmap + w / line_words * line_bytes, w % line_words, line_bytes);
        IDX first = (IDX)(w % line_words * BITS);
        for (long to = starts[w]; bits != 0; to++) {
            uint lowest = bits & (0u - bits);
            indices[to] = first + (IDX)(BITS - 1 - clz(lowest));
            bits ^= lowest;
        }
    }
}

// wide[row] <- narrow[row], the entries of a row; one zero more at the end.
__kernel void unpack_counts(long rows, __global const IDX *narrow, __global long *wide)
{
    for (long row = get_global_id(0); row <= rows; row += get_global_size(0)) {
        long count = 0;
        if (row < rows)
            count = narrow[row];
        wide[row] = count;
    }
}

// offsets[i] for all of `rows` rows and one more of every member; row r of all begins at starts[r * step].
__kernel void unpack_offsets(long n, long rows, long step, __global const long *starts, __global OFF *offsets)
{
    for (long i = get_global_id(0); i < n; i += get_global_size(0)) {
        long first = i / (rows + 1) * rows;
        offsets[i] = (OFF)(starts[(first + i % (rows + 1)) * step] - starts[first * step]);
    }
}

// Subtracts the base of its member from every index; a member has `rows` rows.
__kernel void unpack_local(long all_rows, long rows, __global const long *starts, __global const long *bases,
                           __global IDX *indices)
{
    for (long row = get_global_id(0); row < all_rows; row += get_global_size(0))
        for (long k = starts[row]; k < starts[row + 1]; k++)
            indices[k] -= (IDX)bases[row / rows];
}

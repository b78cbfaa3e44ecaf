// What is wrong with compressed rows that come from elsewhere, as bits of problems[0], which is zero before: OFFSETS
// where the offsets do not rise from 0 to nnz, RANGE where an index is not in 0 .. cols, FALLS where an index is less
// than the one before it in its row, REPEATS where it is the same.
// Takes IDX and OFF (the types of indices and offsets).
#include "grid.cuh"
#include "index.cuh"
#define OFFSETS 1
#define RANGE 2
#define FALLS 4
#define REPEATS 8

// A thread takes a row, and one takes both ends.
KERNEL validate_offsets(long long rows, long long nnz, const Off *__restrict__ offsets, int *problems)
{
    int found = 0;
    for (long long row = thread_index(); row <= rows; row += thread_count()) {
        bool wrong = row < rows ? offsets[row] > offsets[row + 1] : offsets[0] != 0 || offsets[rows] != nnz;
        if (wrong)
            found = OFFSETS;
    }
    if (found)
        atomicOr(problems, found);
}

// Only for offsets that are right. A warp takes a row.
KERNEL validate_indices(long long rows, long long cols, const Off *__restrict__ offsets,
                        const Idx *__restrict__ indices, int *problems)
{
    int found = 0;
    for (long long row = warp_index(); row < rows; row += warp_count()) {
        long long begin = offsets[row];
        long long end = offsets[row + 1];
        for (long long k = begin + lane_index(); k < end; k += WARP) {
            if (indices[k] < 0 || indices[k] >= cols)
                found |= RANGE;
            if (k > begin && indices[k] < indices[k - 1])
                found |= FALLS;
            if (k > begin && indices[k] == indices[k - 1])
                found |= REPEATS;
        }
    }
    if (found)
        atomicOr(problems, found);
}

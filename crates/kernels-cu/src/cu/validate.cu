// What is wrong with compressed rows that come from elsewhere. Each kernel writes where the first problem of a kind is,
// and leaves the word as it is where there is none: the caller begins with all bits one.
// Takes IDX and OFF (the types of indices and offsets).
#include "grid.cuh"
#include "index.cuh"

typedef unsigned long long Place;

// first[0] <- the first row with offsets[row] > offsets[row + 1]. A thread takes a row.
KERNEL validate_offsets(long long rows, const Off *__restrict__ offsets, Place *first)
{
    for (long long row = thread_index(); row < rows; row += thread_count())
        if (offsets[row] > offsets[row + 1])
            atomicMin(first, (Place)row);
}

// first[0] <- the first position whose index is not in 0 .. cols; first[1] <- the first whose index is less than the
// one before it in the row; first[2] <- the first whose index is the same as that. The offsets are monotone, and end
// within the indices. A warp takes a row.
KERNEL validate_indices(long long rows, long long cols, const Off *__restrict__ offsets,
                        const Idx *__restrict__ indices, Place *first)
{
    for (long long row = warp_index(); row < rows; row += warp_count()) {
        long long begin = offsets[row];
        for (long long k = begin + lane_index(); k < offsets[row + 1]; k += WARP) {
            if (indices[k] < 0 || indices[k] >= cols)
                atomicMin(&first[0], (Place)k);
            if (k > begin && indices[k] < indices[k - 1])
                atomicMin(&first[1], (Place)k);
            if (k > begin && indices[k] == indices[k - 1])
                atomicMin(&first[2], (Place)k);
        }
    }
}

// validate: problems of compressed rows from foreign arrays, as bits of problems[0], which is zero before: OFFSETS if
// the offsets do not rise from 0 to nnz, RANGE if an index is not in 0 .. cols, FALLS if an index is less than the one
// before it in its row, REPEATS if it is the same.
// One work-item per row for the offsets, one work-group of 32 per row for the indices; reads each array once, writes
// only if there is a problem.
// Macros: IDX, OFF (types of indices and offsets).   Launch: offsets any number of work-groups of any size; indices any
// number of work-groups of 32.
#include "index.clh"
#define LANES 32
#define OFFSETS 1
#define RANGE 2
#define FALLS 4
#define REPEATS 8

// A work-item takes a row, and one takes both ends.
__kernel void validate_offsets(long rows, long nnz, __global const OFF *offsets, __global int *problems)
{
    int found = 0;
    for (long row = get_global_id(0); row <= rows; row += get_global_size(0)) {
        int wrong = row < rows ? offsets[row] > offsets[row + 1] : offsets[0] != 0 || offsets[rows] != nnz;
        if (wrong)
            found = OFFSETS;
    }
    if (found)
        atomic_or(problems, found);
}

// Only for offsets that are right. A work-group of 32 lanes takes a row. Problems that others have found are not set
// again: where most rows have one, the work-items would wait for each other.
__kernel __attribute__((reqd_work_group_size(LANES, 1, 1)))
void validate_indices(long rows, long cols, __global const OFF *offsets, __global const IDX *indices,
                      __global int *problems)
{
    int lid = (int)get_local_id(0);
    int found = 0;
    for (long row = get_group_id(0); row < rows; row += get_num_groups(0)) {
        long begin = offsets[row];
        long end = offsets[row + 1];
        for (long k = begin + lid; k < end; k += LANES) {
            if (indices[k] < 0 || indices[k] >= cols)
                found |= RANGE;
            if (k > begin && indices[k] < indices[k - 1])
                found |= FALLS;
            if (k > begin && indices[k] == indices[k - 1])
                found |= REPEATS;
        }
    }
    if (found & ~*(volatile __global int *)problems)
        atomic_or(problems, found);
}

// coo_merge: one value for each run of sorted entries with one coordinate. Entry k in sorted order is
// values[positions[k]] and belongs to run starts[k + 1] - 1, which it begins if starts[k] < starts[k + 1];
// coordinates.cl makes starts.
// One work-item per entry; one per run adds or copies. Reads starts and positions once, gathers the values, writes a
// value per run.
// Macros: SCALAR, POS (type of positions: int, long).   Launch: any number of work-groups of any size.
#include "scalar.clh"
#ifndef POS
#error "POS is missing: int or long"
#endif

// The sum of each run in its order, from the first entry on (so that a lone -0 stays what it is).
__kernel void coo_merge_sum(long n, __global const long *starts, __global const POS *positions,
                            __global const T *values, __global T *merged)
{
    for (long k = get_global_id(0); k < n; k += get_global_size(0))
        if (starts[k] < starts[k + 1]) {
            ACC sum = load(values, positions[k]);
            for (long next = k + 1; next < n && starts[next] == starts[next + 1]; next++)
                sum += load(values, positions[next]);
            store(merged, starts[k], sum);
        }
}

// The last entry of each run.
__kernel void coo_merge_last(long n, __global const long *starts, __global const POS *positions,
                             __global const T *values, __global T *merged)
{
    for (long k = get_global_id(0); k < n; k += get_global_size(0))
        if (k + 1 == n || starts[k + 1] < starts[k + 2])
            merged[starts[k + 1] - 1] = values[positions[k]];
}

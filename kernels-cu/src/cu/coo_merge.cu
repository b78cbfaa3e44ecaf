// coo_merge: one value for each run of sorted entries with one coordinate. Entry k in sorted order is
// values[positions[k]] and belongs to run starts[k + 1] - 1, which it begins if starts[k] < starts[k + 1];
// coordinates.cu makes starts.
// One thread per entry; one per run adds or copies. Reads starts and positions once, gathers the values, writes a value
// per run.
// Macros: SCALAR, POS (type of positions: int, long).   Launch: any number of blocks of up to 256 threads.
#include "grid.cuh"
#include "scalar.cuh"
#include "types.cuh"
#ifndef POS
#error "POS is missing: int or long"
#endif

typedef TYPE(POS) Position;

// The sum of each run in its order, from the first entry on (so that a lone -0 stays what it is).
KERNEL coo_merge_sum(long long n, const long long *__restrict__ starts, const Position *__restrict__ positions,
                     const T *__restrict__ values, T *__restrict__ merged)
{
    for (long long k = thread_index(); k < n; k += thread_count())
        if (starts[k] < starts[k + 1]) {
            ACC sum = load(values, positions[k]);
            for (long long next = k + 1; next < n && starts[next] == starts[next + 1]; next++)
                sum += load(values, positions[next]);
            store(merged, starts[k], sum);
        }
}

// The last entry of each run.
KERNEL coo_merge_last(long long n, const long long *__restrict__ starts, const Position *__restrict__ positions,
                      const T *__restrict__ values, T *__restrict__ merged)
{
    for (long long k = thread_index(); k < n; k += thread_count())
        if (k + 1 == n || starts[k + 1] < starts[k + 2])
            merged[starts[k + 1] - 1] = values[positions[k]];
}

// Entries in order of their coordinates, major (the row of CSR) before minor: radix_sort.cu sorts the positions of the
// entries by one index and then by the other, and coo_merge.cu adds the values. `major` and `minor` are the indices of
// the entries in that order.
// Takes IDX and OFF (the types of indices and offsets).
#include "grid.cuh"
#include "index.cuh"
#include "search.cuh"

// major[k] <- the row of entry k of compressed rows. A warp takes a row.
KERNEL coordinates_rows(long long rows, const Off *__restrict__ offsets, Idx *__restrict__ major)
{
    for (long long row = warp_index(); row < rows; row += warp_count())
        for (long long k = offsets[row] + lane_index(); k < offsets[row + 1]; k += WARP)
            major[k] = (Idx)row;
}

// positions[k] <- k. A thread takes an entry, here and below.
KERNEL coordinates_positions(long long n, long long *__restrict__ positions)
{
    for (long long k = thread_index(); k < n; k += thread_count())
        positions[k] = k;
}

// flags[k] <- 1 where entry k begins a run of one coordinate, else 0; one zero more at the end. An exclusive scan makes
// starts.
KERNEL coordinates_heads(long long n, const Idx *__restrict__ major, const Idx *__restrict__ minor,
                         long long *__restrict__ flags)
{
    for (long long k = thread_index(); k <= n; k += thread_count())
        flags[k] = k < n && (k == 0 || major[k] != major[k - 1] || minor[k] != minor[k - 1]);
}

// indices <- the minor index of each run.
KERNEL coordinates_minor(long long n, const Idx *__restrict__ minor, const long long *__restrict__ starts,
                         Idx *__restrict__ indices)
{
    for (long long k = thread_index(); k < n; k += thread_count())
        if (starts[k] < starts[k + 1])
            indices[starts[k]] = minor[k];
}

// offsets[i] <- the runs before row i, for i = 0 .. rows. A thread takes a row.
KERNEL coordinates_offsets(long long rows, long long n, const Idx *__restrict__ major,
                           const long long *__restrict__ starts, Off *__restrict__ offsets)
{
    for (long long row = thread_index(); row <= rows; row += thread_count())
        offsets[row] = (Off)starts[count_below(major, n, row)];
}

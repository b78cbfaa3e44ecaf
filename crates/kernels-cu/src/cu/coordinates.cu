// From coordinates to compressed rows and back, and from compressed rows to compressed columns. A key holds both
// coordinates: the major one (the row of CSR) above `minor_bits` bits of the minor one. radix_sort.cu sorts the keys,
// from bit `minor_bits` on where the minor coordinates are in order already; coo_merge.cu adds the values.
// Takes IDX and OFF (the types of indices and offsets).
#include "grid.cuh"
#include "index.cuh"
#include "search.cuh"

typedef unsigned long long Key;

// row_idx[k] <- the row of entry k. A warp takes a row.
KERNEL coordinates_rows(long long rows, const Off *__restrict__ offsets, Idx *__restrict__ row_idx)
{
    for (long long row = warp_index(); row < rows; row += warp_count())
        for (long long k = offsets[row] + lane_index(); k < offsets[row + 1]; k += WARP)
            row_idx[k] = (Idx)row;
}

// keys[k] <- the coordinates of entry k; positions[k] <- k. A thread takes an entry, here and below.
KERNEL coordinates_keys(long long n, const Idx *__restrict__ major, const Idx *__restrict__ minor, int minor_bits,
                        Key *__restrict__ keys, long long *__restrict__ positions)
{
    for (long long k = thread_index(); k < n; k += thread_count()) {
        keys[k] = (Key)major[k] << minor_bits | (Key)minor[k];
        positions[k] = k;
    }
}

// flags[k] <- 1 where entry k of the sorted ones begins a run of one coordinate, or everywhere without `merge`; one
// zero more at the end. An exclusive scan makes starts.
KERNEL coordinates_heads(long long n, const Key *__restrict__ keys, int merge, long long *__restrict__ flags)
{
    for (long long k = thread_index(); k <= n; k += thread_count())
        flags[k] = k < n && (!merge || k == 0 || keys[k] != keys[k - 1]);
}

// indices <- the minor coordinate of each run.
KERNEL coordinates_minor(long long n, const Key *__restrict__ keys, int minor_bits,
                         const long long *__restrict__ starts, Idx *__restrict__ indices)
{
    Key mask = ((Key)1 << minor_bits) - 1;
    for (long long k = thread_index(); k < n; k += thread_count())
        if (starts[k] < starts[k + 1])
            indices[starts[k]] = (Idx)(keys[k] & mask);
}

// offsets[i] <- the runs before row i, for i = 0 .. rows. A thread takes a row.
KERNEL coordinates_offsets(long long rows, long long n, const Key *__restrict__ keys, int minor_bits,
                           const long long *__restrict__ starts, Off *__restrict__ offsets)
{
    for (long long row = thread_index(); row <= rows; row += thread_count())
        offsets[row] = (Off)starts[count_below(keys, n, (Key)row << minor_bits)];
}

// Entries in order of their coordinates, major (the row of CSR) before minor: radix_sort.cl sorts the positions of the
// entries by one index and then by the other, and coo_merge.cl adds the values. `major` and `minor` are the indices of
// the entries in that order.
// Takes IDX and OFF (the types of indices and offsets).
#include "index.clh"
#define SORTED IDX
#include "search.clh"

// major[k] <- the row of entry k of compressed rows. A work-group takes a row.
__kernel void coordinates_rows(long rows, __global const OFF *offsets, __global IDX *major)
{
    int lid = (int)get_local_id(0);
    for (long row = get_group_id(0); row < rows; row += get_num_groups(0))
        for (long k = offsets[row] + lid; k < offsets[row + 1]; k += get_local_size(0))
            major[k] = (IDX)row;
}

// positions[k] <- k. A work-item takes an entry, here and below.
__kernel void coordinates_positions(long n, __global long *positions)
{
    for (long k = get_global_id(0); k < n; k += get_global_size(0))
        positions[k] = k;
}

// flags[k] <- 1 where entry k begins a run of one coordinate, else 0; one zero more at the end. An exclusive scan makes
// starts.
__kernel void coordinates_heads(long n, __global const IDX *major, __global const IDX *minor, __global long *flags)
{
    for (long k = get_global_id(0); k <= n; k += get_global_size(0)) {
        long flag = 0;
        if (k < n)
            flag = k == 0 || major[k] != major[k - 1] || minor[k] != minor[k - 1];
        flags[k] = flag;
    }
}

// indices <- the minor index of each run.
__kernel void coordinates_minor(long n, __global const IDX *minor, __global const long *starts, __global IDX *indices)
{
    for (long k = get_global_id(0); k < n; k += get_global_size(0))
        if (starts[k] < starts[k + 1])
            indices[starts[k]] = minor[k];
}

// offsets[i] <- the runs before row i, for i = 0 .. rows. A work-item takes a row.
__kernel void coordinates_offsets(long rows, long n, __global const IDX *major, __global const long *starts,
                                  __global OFF *offsets)
{
    for (long row = get_global_id(0); row <= rows; row += get_global_size(0))
        offsets[row] = (OFF)starts[count_below(major, n, row)];
}

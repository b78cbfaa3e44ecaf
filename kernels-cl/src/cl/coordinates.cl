// coordinates: entries in order of their coordinates, major (the row of CSR) before minor. radix_sort.cl sorts keys of
// both indices, and coo_merge.cl adds the values; `major` and `minor` are the indices in that order.
// One work-item per entry, or one work-group per row (coordinates_rows); one work-item per row (coordinates_offsets),
// which searches. Otherwise reads its arrays and writes its result once.
// Macros: IDX (type of indices), OFF (type of offsets, positions or keys).   Launch: any number of work-groups of any
// size.
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

// positions[k] <- first + k. A work-item takes an entry, here and below.
__kernel void coordinates_positions(long n, long first, __global OFF *positions)
{
    for (long k = get_global_id(0); k < n; k += get_global_size(0))
        positions[k] = (OFF)(first + k);
}

// wide[i] <- offsets[i], in 8 bytes.
__kernel void coordinates_wide_offsets(long n, __global const OFF *offsets, __global long *wide)
{
    for (long i = get_global_id(0); i < n; i += get_global_size(0))
        wide[i] = offsets[i];
}

// keys[k] <- both indices, the major one above the `minor_bits` bits of the other.
__kernel void coordinates_pack(long n, __global const IDX *major, __global const IDX *minor, int minor_bits,
                               __global OFF *keys)
{
    for (long k = get_global_id(0); k < n; k += get_global_size(0))
        keys[k] = (OFF)((ulong)major[k] << minor_bits | (ulong)minor[k]);
}

static ulong key_of(OFF key)
{
    return sizeof(OFF) == 4 ? (ulong)(uint)key : (ulong)key;
}

// The indices in keys.
__kernel void coordinates_split(long n, __global const OFF *keys, int minor_bits, __global IDX *major,
                                __global IDX *minor)
{
    for (long k = get_global_id(0); k < n; k += get_global_size(0)) {
        ulong key = key_of(keys[k]);
        major[k] = (IDX)(key >> minor_bits);
        minor[k] = (IDX)(key & ((1ul << minor_bits) - 1));
    }
}

// found[0] <- 1 if a coordinate occurs twice; otherwise nothing is written.
__kernel void coordinates_repeats(long n, __global const IDX *major, __global const IDX *minor, __global int *found)
{
    int repeats = 0;
    for (long k = get_global_id(0) + 1; k < n; k += get_global_size(0))
        repeats |= major[k] == major[k - 1] && minor[k] == minor[k - 1];
    if (repeats)
        atomic_or(found, 1);
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

// offsets[i] <- the runs before row i, for i = 0 .. rows; without starts, a null pointer, an entry is a run. A
// work-item takes a row.
__kernel void coordinates_offsets(long rows, long n, __global const IDX *major, __global const long *starts,
                                  __global OFF *offsets)
{
    for (long row = get_global_id(0); row <= rows; row += get_global_size(0)) {
        long entries = count_below(major, n, row);
        offsets[row] = (OFF)(starts ? starts[entries] : entries);
    }
}

// coordinates: entries in order of their coordinates, major (the row of CSR) before minor. radix_sort.cu sorts keys of
// both indices, and coo_merge.cu adds the values; `major` and `minor` are the indices in that order.
// One thread per entry, or one warp per row (coordinates_rows); one thread per row (coordinates_offsets), which
// searches. Otherwise reads its arrays and writes its result once.
// Macros: IDX (type of indices), OFF (type of offsets, positions or keys).   Launch: any number of blocks of up to 256
// threads, of whole warps for the warp kernels.
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

// positions[k] <- first + k. A thread takes an entry, here and below.
KERNEL coordinates_positions(long long n, long long first, Off *__restrict__ positions)
{
    for (long long k = thread_index(); k < n; k += thread_count())
        positions[k] = (Off)(first + k);
}

// wide[i] <- offsets[i], in 8 bytes.
KERNEL coordinates_wide_offsets(long long n, const Off *__restrict__ offsets, long long *__restrict__ wide)
{
    for (long long i = thread_index(); i < n; i += thread_count())
        wide[i] = offsets[i];
}

// keys[k] <- both indices, the major one above the `minor_bits` bits of the other.
KERNEL coordinates_pack(long long n, const Idx *__restrict__ major, const Idx *__restrict__ minor, int minor_bits,
                        Off *__restrict__ keys)
{
    for (long long k = thread_index(); k < n; k += thread_count())
        keys[k] = (Off)((unsigned long long)major[k] << minor_bits | (unsigned long long)minor[k]);
}

static __device__ unsigned long long key_of(Off key)
{
    return sizeof(Off) == 4 ? (unsigned int)key : (unsigned long long)key;
}

// The indices in keys.
KERNEL coordinates_split(long long n, const Off *__restrict__ keys, int minor_bits, Idx *__restrict__ major,
                         Idx *__restrict__ minor)
{
    for (long long k = thread_index(); k < n; k += thread_count()) {
        unsigned long long key = key_of(keys[k]);
        major[k] = (Idx)(key >> minor_bits);
        minor[k] = (Idx)(key & ((1ull << minor_bits) - 1));
    }
}

// found[0] <- 1 if a coordinate occurs twice; otherwise nothing is written.
KERNEL coordinates_repeats(long long n, const Idx *__restrict__ major, const Idx *__restrict__ minor,
                           int *__restrict__ found)
{
    bool repeats = false;
    for (long long k = thread_index() + 1; k < n; k += thread_count())
        repeats |= major[k] == major[k - 1] && minor[k] == minor[k - 1];
    if (repeats)
        atomicOr(found, 1);
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

// offsets[i] <- the runs before row i, for i = 0 .. rows; without starts, a null pointer, an entry is a run. A thread
// takes a row.
KERNEL coordinates_offsets(long long rows, long long n, const Idx *__restrict__ major,
                           const long long *__restrict__ starts, Off *__restrict__ offsets)
{
    for (long long row = thread_index(); row <= rows; row += thread_count()) {
        long long entries = count_below(major, n, row);
        offsets[row] = (Off)(starts ? starts[entries] : entries);
    }
}

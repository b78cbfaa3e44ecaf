// prune: flags of the entries that stay, and the starts of rows among them.
// One thread per entry, or per row, striding over the grid; reads values or offsets once, writes a flag or an offset.
// Macros: SCALAR, OFF (type of offsets; IDX is the same).   Launch: any number of blocks of up to 256 threads.
#include "grid.cuh"
#include "scalar.cuh"
#include "index.cuh"

// flags[k] <- 1 where entry k stays; one zero more at the end.
KERNEL prune_flags(long long n, const T *__restrict__ values, int threshold, REAL tolerance,
                   long long *__restrict__ flags)
{
    for (long long k = thread_index(); k <= n; k += thread_count())
        flags[k] = k < n && keeps(values[k], threshold, tolerance);
}

// offsets[i] <- how many of the entries before from[i] stay.
KERNEL prune_offsets(long long n, const Off *__restrict__ from, const long long *__restrict__ starts,
                     Off *__restrict__ offsets)
{
    for (long long i = thread_index(); i < n; i += thread_count())
        offsets[i] = (Off)starts[from[i]];
}

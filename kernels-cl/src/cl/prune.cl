// prune: flags of the entries that stay, and the starts of rows among them.
// One work-item per entry, or per row, striding over the grid; reads values or offsets once, writes a flag or an
// offset.
// Macros: SCALAR, OFF (type of offsets; IDX is the same).   Launch: any number of work-groups of any size.
#include "scalar.clh"
#include "index.clh"

// flags[k] <- 1 where entry k stays; one zero more at the end.
__kernel void prune_flags(long n, __global const T *values, int threshold, REAL tolerance, __global long *flags)
{
    for (long k = get_global_id(0); k <= n; k += get_global_size(0)) {
        long flag = 0;
        if (k < n)
            flag = keeps(values[k], threshold, tolerance);
        flags[k] = flag;
    }
}

// offsets[i] <- how many of the entries before from[i] stay.
__kernel void prune_offsets(long n, __global const OFF *from, __global const long *starts, __global OFF *offsets)
{
    for (long i = get_global_id(0); i < n; i += get_global_size(0))
        offsets[i] = (OFF)starts[from[i]];
}

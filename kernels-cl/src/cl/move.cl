// move: moves words bit for bit.
// One work-item per word, striding over the grid; reads and writes each word at most once.
// Macros: WORD (ushort, uint, ulong, ulong2).   Launch: any number of work-groups of any size.
#ifndef WORD
#error "WORD is missing: ushort, uint, ulong or ulong2"
#endif

// to[starts[k]] <- from[k] where starts[k] < starts[k + 1].
__kernel void move_compact(long n, __global const long *starts, __global const WORD *from, __global WORD *to)
{
    for (long k = get_global_id(0); k < n; k += get_global_size(0))
        if (starts[k] < starts[k + 1])
            to[starts[k]] = from[k];
}

// to[k] <- zero.
__kernel void move_zeros(long n, __global WORD *to)
{
    for (long k = get_global_id(0); k < n; k += get_global_size(0))
        to[k] = (WORD)(0);
}

// gather: gathers words bit for bit.
// One work-item per word, striding over the grid; reads a position and a word, writes a word.
// Macros: WORD (ushort, uint, ulong, ulong2), POS (type of positions: int, long).   Launch: any number of work-groups
// of any size.
#ifndef WORD
#error "WORD is missing: ushort, uint, ulong or ulong2"
#endif
#ifndef POS
#error "POS is missing: int or long"
#endif

// to[k] <- the word at positions[k] of `head`, from position `split` on of `tail`; zero where the position is -1.
__kernel void gather_words(long n, __global const POS *positions, long split, __global const WORD *head,
                           __global const WORD *tail, __global WORD *to)
{
    for (long k = get_global_id(0); k < n; k += get_global_size(0)) {
        long position = positions[k];
        WORD word = (WORD)(0);
        if (position >= split)
            word = tail[position - split];
        else if (position >= 0)
            word = head[position];
        to[k] = word;
    }
}

// move: moves words bit for bit.
// One thread per word, striding over the grid; reads and writes each word at most once.
// Macros: WORD (ushort, uint, ulong, ulong2).   Launch: any number of blocks of up to 256 threads.
#include "grid.cuh"
#include "types.cuh"
#ifndef WORD
#error "WORD is missing: ushort, uint, ulong or ulong2"
#endif

typedef TYPE(WORD) Word;

// to[starts[k]] <- from[k] where starts[k] < starts[k + 1].
KERNEL move_compact(long long n, const long long *__restrict__ starts, const Word *__restrict__ from,
                    Word *__restrict__ to)
{
    for (long long k = thread_index(); k < n; k += thread_count())
        if (starts[k] < starts[k + 1])
            to[starts[k]] = from[k];
}

// to[k] <- zero.
KERNEL move_zeros(long long n, Word *__restrict__ to)
{
    for (long long k = thread_index(); k < n; k += thread_count())
        to[k] = Word();
}

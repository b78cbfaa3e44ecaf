// to_host: copies a few numbers to memory of the host that the device can write, which a kernel does in 2 us where the
// copy engine takes 8 among other kernels.
// One thread per word, striding over the grid; reads and writes each word once.
// Macros: WORD (ushort, uint, ulong, ulong2).   Launch: any number of blocks of up to 256 threads.
#include "grid.cuh"
#include "types.cuh"
#ifndef WORD
#error "WORD is missing: ushort, uint, ulong or ulong2"
#endif

typedef TYPE(WORD) Word;

// to[k] <- from[start + k].
KERNEL to_host_words(long long n, const Word *__restrict__ from, long long start, Word *__restrict__ to)
{
    for (long long k = thread_index(); k < n; k += thread_count())
        to[k] = from[start + k];
}

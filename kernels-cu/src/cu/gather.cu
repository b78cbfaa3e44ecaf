// gather: gathers words bit for bit.
// One thread per word, striding over the grid; reads a position and a word, writes a word.
// Macros: WORD (ushort, uint, ulong, ulong2), POS (type of positions: int, long).   Launch: any number of blocks of up
// to 256 threads.
#include "grid.cuh"
#include "types.cuh"
#ifndef WORD
#error "WORD is missing: ushort, uint, ulong or ulong2"
#endif
#ifndef POS
#error "POS is missing: int or long"
#endif

typedef TYPE(WORD) Word;
typedef TYPE(POS) Position;

// to[k] <- the word at positions[k] of `head`, from position `split` on of `tail`; zero where the position is -1.
KERNEL gather_words(long long n, const Position *__restrict__ positions, long long split, const Word *__restrict__ head,
                    const Word *__restrict__ tail, Word *__restrict__ to)
{
    for (long long k = thread_index(); k < n; k += thread_count()) {
        long long position = positions[k];
        Word word = Word();
        if (position >= split)
            word = tail[position - split];
        else if (position >= 0)
            word = head[position];
        to[k] = word;
    }
}

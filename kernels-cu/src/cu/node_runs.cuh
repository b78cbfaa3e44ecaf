// Runs of UNKNOWNS neighbouring elements: a row of a square block of a matrix whose nodes have as many unknowns. Takes
// UNKNOWNS (1 to 6). Needs scalar.cuh and evict_first.cuh before.
#ifndef UNKNOWNS
#error "UNKNOWNS is missing: 1 to 6"
#endif
#define RUN_BYTES (UNKNOWNS * (int)sizeof(T))
// Bytes of the longest word that divides a run.
#define WORD_BYTES ((RUN_BYTES & -RUN_BYTES) < 16 ? (RUN_BYTES & -RUN_BYTES) : 16)

typedef WordOf<WORD_BYTES>::Word Word;

// Loads a run, which begins with a word, by words.
template <typename Load> static __device__ void load_run(Load load_word, T *to, const T *from)
{
#pragma unroll
    for (int word = 0; word < RUN_BYTES / WORD_BYTES; word++)
        ((Word *)to)[word] = load_word((const Word *)from + word);
}

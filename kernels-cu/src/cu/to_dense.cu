// to_dense: entries to a dense array. Entries of one coordinate are side by side, in the order in which they are added;
// entry k is at positions[k] of a matrix of any format. Its values are in `head`, those from position `split` on in
// `tail` (HYB has two arrays).
// One thread per entry; the first of a coordinate adds. Reads coordinates and positions once, gathers values, writes
// one element per coordinate.
// Macros: SCALAR, IDX (type of coordinates), POS (type of positions), each int or long.   Launch: any number of blocks
// of up to 256 threads.
#include "grid.cuh"
#include "scalar.cuh"
#include "types.cuh"
#ifndef IDX
#error "IDX is missing: int or long"
#endif
#ifndef POS
#error "POS is missing: int or long"
#endif

typedef TYPE(IDX) Idx;
typedef TYPE(POS) Position;

static __device__ ACC entry(long long split, const T *head, const T *tail, long long position)
{
    return position < split ? load(head, position) : load(tail, position - split);
}

// The sum of each run of one coordinate (i, j), from its first entry on (so that a lone -0 stays what it is), to
// element start + i*i_step + j*j_step. A thread takes an entry; the first of a run adds.
KERNEL to_dense_sum(long long n, const Idx *__restrict__ i, const Idx *__restrict__ j,
                    const Position *__restrict__ positions, long long split, const T *__restrict__ head,
                    const T *__restrict__ tail, T *__restrict__ to, long long start, long long i_step, long long j_step)
{
    for (long long k = thread_index(); k < n; k += thread_count())
        if (k == 0 || i[k] != i[k - 1] || j[k] != j[k - 1]) {
            ACC sum = entry(split, head, tail, positions[k]);
            for (long long next = k + 1; next < n && i[next] == i[k] && j[next] == j[k]; next++)
                sum += entry(split, head, tail, positions[next]);
            store(to, start + i[k] * i_step + j[k] * j_step, sum);
        }
}

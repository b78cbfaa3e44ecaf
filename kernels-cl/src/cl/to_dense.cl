// to_dense: entries to a dense array. Entries of one coordinate are side by side, in the order in which they are added;
// entry k is at positions[k] of a matrix of any format. Its values are in `head`, those from position `split` on in
// `tail` (HYB has two arrays).
// One work-item per entry; the first of a coordinate adds. Reads coordinates and positions once, gathers values, writes
// one element per coordinate.
// Macros: SCALAR, IDX (type of coordinates), POS (type of positions), each int or long.   Launch: any number of
// work-groups of any size.
#include "scalar.clh"
#ifndef IDX
#error "IDX is missing: int or long"
#endif
#ifndef POS
#error "POS is missing: int or long"
#endif

static ACC entry(long split, __global const T *head, __global const T *tail, long position)
{
    return position < split ? load(head, position) : load(tail, position - split);
}

// The sum of each run of one coordinate (i, j), from its first entry on (so that a lone -0 stays what it is), to
// element start + i*i_step + j*j_step. A work-item takes an entry; the first of a run adds.
__kernel void to_dense_sum(long n, __global const IDX *i, __global const IDX *j, __global const POS *positions,
                           long split, __global const T *head, __global const T *tail, __global T *to, long start,
                           long i_step, long j_step)
{
    for (long k = get_global_id(0); k < n; k += get_global_size(0))
        if (k == 0 || i[k] != i[k - 1] || j[k] != j[k - 1]) {
            ACC sum = entry(split, head, tail, positions[k]);
            for (long next = k + 1; next < n && i[next] == i[k] && j[next] == j[k]; next++)
                sum += entry(split, head, tail, positions[next]);
            store(to, start + i[k] * i_step + j[k] * j_step, sum);
        }
}

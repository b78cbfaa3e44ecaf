// coo_spmv_atomic: sums <- sums + A x for coordinates in any order, by atomic additions; vector_update makes y of the
// sums. The order of summation, and with it the last bits, differ from run to run.
// One work-item per entry, striding over the grid. Reads A once, gathers x, one atomic addition per entry.
// Macros: SCALAR, IDX (type of indices; OFF is the same), CONJ (1 conjugates A).   Launch: any number of work-groups of
// any size.
#include "scalar.clh"
#include "index.clh"
#include "entry.clh"

// The word of a REAL, and how one is exchanged for another.
#if SCALAR == F64 || SCALAR == C64
#ifndef cl_khr_int64_base_atomics
#error "cl_khr_int64_base_atomics is missing: the device cannot exchange words of 64 bits"
#endif
#pragma OPENCL EXTENSION cl_khr_int64_base_atomics : enable
typedef ulong Word;
#define AS_WORD as_ulong
#define AS_REAL as_double
#define EXCHANGE atom_cmpxchg
#else
typedef uint Word;
#define AS_WORD as_uint
#define AS_REAL as_float
#define EXCHANGE atomic_cmpxchg
#endif

// Exchanges the sum for one with the value, from the guess that it is zero on, until no other work-item comes between.
static void add_real(volatile __global Word *sum, REAL value)
{
    Word found = 0;
    Word before;
    do {
        before = found;
        found = EXCHANGE(sum, before, AS_WORD(AS_REAL(before) + value));
    } while (found != before);
}

static void add(__global ACC *sum, ACC value)
{
    volatile __global Word *words = (volatile __global Word *)sum;
#if COMPLEX
    add_real(words, value.x);
    add_real(words + 1, value.y);
#else
    add_real(words, value);
#endif
}

// A work-item takes an entry and every get_global_size(0)-th one after it.
__kernel void coo_spmv_atomic(long nnz, __global const IDX *row_idx, __global const IDX *col_idx,
                              __global const T *values, __global const T *x, long x_start, __global ACC *sums)
{
    for (long n = get_global_id(0); n < nnz; n += get_global_size(0))
        add(&sums[row_idx[n]], mul(entry(values, n), load(x, x_start + col_idx[n])));
}

// coo_spmv_atomic: sums <- sums + A x for coordinates in any order, by atomic additions; vector_update makes y of the
// sums. The order of summation, and with it the last bits, differ from run to run.
// One work-item per entry, striding over the grid. Reads A once, gathers x, one atomic addition per entry.
// Macros: SCALAR, IDX (type of indices; OFF is the same), CONJ (1 conjugates A).   Launch: any number of work-groups of
// any size.
#include "scalar.clh"
#include "index.clh"
#include "entry.clh"
#include "atomic_add.clh"

// A work-item takes an entry and every get_global_size(0)-th one after it.
__kernel void coo_spmv_atomic(long nnz, __global const IDX *row_idx, __global const IDX *col_idx,
                              __global const T *values, __global const T *x, long x_start, __global ACC *sums)
{
    for (long n = get_global_id(0); n < nnz; n += get_global_size(0))
        add_atomically(&sums[row_idx[n]], mul(entry(values, n), load(x, x_start + col_idx[n])));
}

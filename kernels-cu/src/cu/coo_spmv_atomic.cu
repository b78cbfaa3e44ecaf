// coo_spmv_atomic: sums <- sums + A x for coordinates in any order, by atomic additions; vector_update makes y of the
// sums. The order of summation, and with it the last bits, differ from run to run.
// One thread per entry, striding over the grid. Reads A once, gathers x, one atomic addition per entry.
// Macros: SCALAR, IDX (type of indices; OFF is the same), CONJ (1 conjugates A).   Launch: any number of blocks of up
// to 256 threads.
#include "grid.cuh"
#include "scalar.cuh"
#include "index.cuh"
#include "entry.cuh"
#include "atomic_add.cuh"

// A thread takes an entry and every thread_count()-th one after it.
KERNEL coo_spmv_atomic(long long nnz, const Idx *__restrict__ row_idx, const Idx *__restrict__ col_idx,
                       const T *__restrict__ values, const T *__restrict__ x, long long x_start, ACC *sums)
{
    for (long long n = thread_index(); n < nnz; n += thread_count())
        add_atomically(&sums[row_idx[n]], mul(entry(values, n), load(x, x_start + col_idx[n])));
}

// sums <- sums + A x for coordinates in any order, by atomic additions: the order of the summation, and with it the
// last bits, differ from run to run. vector_update makes y of the sums.
// Takes SCALAR, IDX (the type of indices; OFF is the same) and CONJ: 1 conjugates the entries of A.
#include "grid.cuh"
#include "scalar.cuh"
#include "index.cuh"
#include "entry.cuh"

static __device__ void add(ACC *sum, ACC value)
{
#if COMPLEX
    atomicAdd(&sum->x, value.x);
    atomicAdd(&sum->y, value.y);
#else
    atomicAdd(sum, value);
#endif
}

// A thread takes an entry and every thread_count()-th one after it.
KERNEL coo_spmv_atomic(long long nnz, const Idx *__restrict__ row_idx, const Idx *__restrict__ col_idx,
                       const T *__restrict__ values, const T *__restrict__ x, long long x_start, ACC *sums)
{
    for (long long n = thread_index(); n < nnz; n += thread_count())
        add(&sums[row_idx[n]], mul(entry(values, n), load(x, x_start + col_idx[n])));
}

// csr_deltas_evict_first: y <- alpha A x + beta y for compressed rows with columns of 16 bits, as in csr_deltas.cu, for a
// matrix of about the second cache to twice of it (evict_first.cuh).
// One thread per row, striding over the grid; reads values, deltas, bases and offsets once, gathers x, writes y once.
// Macros: SCALAR, IDX (type of bases), OFF, CONJ (1 conjugates A), WINDOWS (1, 16).   Launch: any number of blocks of up to
// 256 threads.
#include "grid.cuh"
#include "scalar.cuh"
#include "index.cuh"
#include "entry.cuh"
#include "warp_scalar.cuh"
#include "deltas.cuh"
#include "evict_first.cuh"

KERNEL csr_deltas_evict_first_spmv(long long rows, const Off *__restrict__ offsets, const Idx *__restrict__ bases,
                                   const unsigned short *__restrict__ deltas, const T *__restrict__ values, ACC alpha,
                                   const T *__restrict__ x, long long x_start, ACC beta, T *__restrict__ y,
                                   long long y_start)
{
    multiply_by_threads(LoadToEvictFirst(), rows, offsets, bases, deltas, values, alpha, x + x_start, beta, y + y_start);
}

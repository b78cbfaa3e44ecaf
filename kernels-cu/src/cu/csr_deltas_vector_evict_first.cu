// csr_deltas_vector_evict_first: y <- alpha A x + beta y for compressed rows that are not short with columns of 16
// bits, as in csr_deltas_vector.cu, for a matrix of about the second cache to twice of it (evict_first.cuh).
// LANES lanes per row, 32 / LANES rows per warp, striding over the grid; reads values, deltas, bases and offsets once, by
// words of 16 or 32 bytes of values, gathers x, writes y once.
// Macros: SCALAR, IDX (type of bases), OFF, CONJ (1 conjugates A), WINDOWS (1, 16), LANES (2, 4, 8, 16, 32), EACH = 16
// bytes of values, 32 if they have 8 and four lanes or more take a row (neighbouring entries that a lane reads at once, if
// they have more than 2).   Launch: any number of blocks of whole warps, up to 256 threads.
#include "grid.cuh"
#include "scalar.cuh"
#include "index.cuh"
#include "entry.cuh"
#include "warp_scalar.cuh"
#ifndef LANES
#error "LANES is missing: 2, 4, 8, 16 or 32"
#endif
#ifndef EACH
#define EACH (sizeof(T) == 8 && LANES > 2 ? 4 : (int)(16 / sizeof(T)))
#endif
#include "deltas.cuh"
#include "evict_first.cuh"

KERNEL csr_deltas_vector_evict_first(long long rows, const Off *__restrict__ offsets, const Idx *__restrict__ bases,
                                     const unsigned short *__restrict__ deltas, const T *__restrict__ values, ACC alpha,
                                     const T *__restrict__ x, long long x_start, ACC beta, T *__restrict__ y,
                                     long long y_start)
{
    multiply_by_lanes<LANES>(LoadToEvictFirst(), rows, offsets, bases, deltas, values, alpha, x + x_start, beta,
                             y + y_start);
}

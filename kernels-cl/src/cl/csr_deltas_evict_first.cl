// csr_deltas_evict_first: y <- alpha A x + beta y for compressed rows with columns of 16 bits, as in csr_deltas.cl, for
// a matrix of about the L2 cache to twice of it (words.clh).
// One work-item per row, striding over the grid; reads values, deltas, bases and offsets once, gathers x, writes y
// once.
// Macros: SCALAR, IDX (type of bases), OFF, CONJ (1 conjugates A), WINDOWS (1, 16), NV_ARCH = 0 (lanes.clh).   Launch:
// any number of work-groups of any size.
#include "scalar.clh"
#include "index.clh"
#include "entry.clh"
#include "lanes.clh"
#include "words.clh"
#include "deltas.clh"
#include "deltas_products.clh"

__kernel void csr_deltas_evict_first_spmv(long rows, __global const OFF *offsets, __global const IDX *bases,
                                          __global const ushort *deltas, __global const T *values, ACC alpha,
                                          __global const T *x, long x_start, ACC beta, __global T *y, long y_start)
{
    multiply_by_items(1, eviction_policy(), rows, offsets, bases, deltas, values, alpha, x + x_start, beta,
                      y + y_start);
}

// csr_deltas_vector_evict_first: y <- alpha A x + beta y for compressed rows that are not short with columns of 16
// bits, as in csr_deltas_vector.cl, for a matrix of about the L2 cache to twice of it (words.clh).
// LANES lanes per row, 32 / LANES rows per warp, striding over the grid; reads values, deltas, bases and offsets once,
// by words of 16 or 32 bytes of values, gathers x, writes y once.
// Macros: SCALAR, IDX (type of bases), OFF, CONJ (1 conjugates A), WINDOWS (1, 16), LANES (2, 4, 8, 16, 32), EACH = 16
// bytes of values, 32 if they have 8 and four lanes or more take a row (neighbouring entries that a lane reads at once,
// if they have more than 2), NV_ARCH = 0 (lanes.clh).   Launch: any number of work-groups of 32, or with shuffles of
// 256.
#include "scalar.clh"
#include "index.clh"
#include "entry.clh"
#include "lanes.clh"
#include "words.clh"
#include "deltas.clh"
#ifndef LANES
#error "LANES is missing: 2, 4, 8, 16 or 32"
#endif
#ifndef EACH
#define EACH (sizeof(T) == 8 && LANES > 2 ? 4 : (int)(16 / sizeof(T)))
#endif
#include "deltas_products.clh"

__kernel OF_WARPS
void csr_deltas_vector_evict_first(long rows, __global const OFF *offsets, __global const IDX *bases,
                                   __global const ushort *deltas, __global const T *values, ACC alpha,
                                   __global const T *x, long x_start, ACC beta, __global T *y, long y_start)
{
    int lid = (int)get_local_id(0);
    __local ACC exchange[WARP];
    multiply_by_lanes(lid, LANES, 1, eviction_policy(), rows, offsets, bases, deltas, values, alpha, x + x_start, beta,
                      y + y_start, exchange);
}

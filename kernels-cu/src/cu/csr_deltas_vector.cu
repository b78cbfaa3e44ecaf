// csr_deltas_vector: y <- alpha A x + beta y for compressed rows of ten entries and more, with columns of 16 bits as
// csr_deltas.cu makes them: column = bases[row / ROWS] + deltas[entry].
// LANES lanes per row, 32 / LANES rows per warp, striding over the grid; reads values, deltas, bases and offsets once,
// gathers x, writes y once.
// Macros: SCALAR, IDX (type of bases), OFF, CONJ (1 conjugates A), LANES (2, 4, 8, 16, 32).   Launch: any number of
// blocks of whole warps, up to 256 threads.
#include "grid.cuh"
#include "scalar.cuh"
#include "index.cuh"
#include "entry.cuh"
#include "warp_scalar.cuh"
#ifndef LANES
#error "LANES is missing: 2, 4, 8, 16 or 32"
#endif
#define ROWS 32
#define ROWS_OF_WARP (WARP / LANES)

// A warp takes ROWS_OF_WARP rows: lane l of a row sums its entries l, l + LANES, ...; a fixed tree adds the lanes.
KERNEL csr_deltas_row_per_vector(long long rows, const Off *__restrict__ offsets, const Idx *__restrict__ bases,
                                 const unsigned short *__restrict__ deltas, const T *__restrict__ values, ACC alpha,
                                 const T *__restrict__ x, long long x_start, ACC beta, T *__restrict__ y,
                                 long long y_start)
{
    x += x_start;
    int lane = lane_index() % LANES;
    for (long long first = warp_index() * ROWS_OF_WARP; first < rows; first += warp_count() * ROWS_OF_WARP) {
        long long row = first + lane_index() / LANES;
        ACC sum = ACC(0);
        if (row < rows) {
            const T *own_x = x + bases[row / ROWS];
            UnsignedOff end = offsets[row + 1];
#pragma unroll 4
            for (UnsignedOff k = offsets[row] + lane; k < end; k += LANES)
                sum += mul(entry(values, k), load(own_x, deltas[k]));
        }
        sum = sum_lanes(sum, LANES);
        if (row < rows && lane == 0)
            update(y, y_start + row, mul(alpha, sum), beta);
    }
}

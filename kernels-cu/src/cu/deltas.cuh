// Products with compressed rows whose columns are deltas of 16 bits: column = bases[row / ROWS] + deltas[entry].
// `load_entry` loads deltas and values. Needs entry.cuh and warp_scalar.cuh before.
#include "load_plainly.cuh"
#define ROWS 32

// y <- alpha A x + beta y. A thread takes a row and every thread_count()-th one after it.
template <typename Load>
static __device__ void multiply_by_threads(Load load_entry, long long rows, const Off *offsets, const Idx *bases,
                                           const unsigned short *deltas, const T *values, ACC alpha, const T *x,
                                           ACC beta, T *y)
{
    for (long long row = thread_index(); row < rows; row += thread_count()) {
        ACC sum = ACC(0);
        const T *own_x = x + bases[row / ROWS];
        Off end = offsets[row + 1];
#pragma unroll 4
        for (Off k = offsets[row]; k < end; k++)
            sum += mul(entry_of(load_entry(values + k)), load(own_x, load_entry(deltas + k)));
        update(y, row, mul(alpha, sum), beta);
    }
}

// y <- alpha A x + beta y. A warp takes WARP / lanes rows: lane l of a row sums its entries l, l + lanes, ...; a fixed
// tree adds the lanes.
template <int lanes, typename Load>
static __device__ void multiply_by_lanes(Load load_entry, long long rows, const Off *offsets, const Idx *bases,
                                         const unsigned short *deltas, const T *values, ACC alpha, const T *x, ACC beta,
                                         T *y)
{
    const int rows_of_warp = WARP / lanes;
    int lane = lane_index() % lanes;
    for (long long first = warp_index() * rows_of_warp; first < rows; first += warp_count() * rows_of_warp) {
        long long row = first + lane_index() / lanes;
        ACC sum = ACC(0);
        if (row < rows) {
            const T *own_x = x + bases[row / ROWS];
            UnsignedOff end = offsets[row + 1];
#pragma unroll 4
            for (UnsignedOff k = offsets[row] + lane; k < end; k += lanes)
                sum += mul(entry_of(load_entry(values + k)), load(own_x, load_entry(deltas + k)));
        }
        sum = sum_lanes(sum, lanes);
        if (row < rows && lane == 0)
            update(y, row, mul(alpha, sum), beta);
    }
}

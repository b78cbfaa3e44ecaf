// Products with compressed rows whose columns are deltas of 16 bits: column = bases[row / ROWS] + deltas[entry].
// `load_entry` loads deltas and values, `load_word` neighbouring ones. Needs entry.cuh, index.cuh and warp_scalar.cuh
// before.
#include "load_plainly.cuh"
#include "neighbours.cuh"
#define ROWS 32
// Neighbouring entries that a lane reads at once: a word of values. Those of 2 bytes are read one after the other.
#ifndef EACH
#define EACH ((int)(16 / sizeof(T)))
#endif

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

// A lane's part of the sum of the entries `begin` .. `end` of a row: every `lanes`-th EACH of them, from a multiple of EACH
// on.
template <int lanes, typename Load>
static __device__ ACC sum_of_lane(Load load_word, UnsignedOff begin, UnsignedOff end, UnsignedOff nnz,
                                  const unsigned short *deltas, const T *values, const T *own_x)
{
    ACC sum = ACC(0);
    int lane = lane_index() % lanes;
#if HALF
#pragma unroll 4
    for (UnsignedOff k = begin + lane; k < end; k += lanes)
        sum += mul(entry_of(load_word(values + k)), load(own_x, load_word(deltas + k)));
#else
    for (UnsignedOff at = begin / EACH * EACH + lane * EACH; at < end; at += lanes * EACH) {
        __align__(16) unsigned short own_deltas[EACH];
        __align__(16) T own_values[EACH];
        load_neighbours_by<EACH>(load_word, own_deltas, deltas, at, nnz);
        load_neighbours_by<EACH>(load_word, own_values, values, at, nnz);
#pragma unroll
        for (int k = 0; k < EACH; k++)
            if (at + k >= begin && at + k < end)
                sum += mul(entry_of(own_values[k]), load(own_x, own_deltas[k]));
    }
#endif
    return sum;
}

// y <- alpha A x + beta y. A warp takes WARP / lanes rows; a fixed tree adds the lanes.
template <int lanes, typename Load>
static __device__ void multiply_by_lanes(Load load_word, long long rows, const Off *offsets, const Idx *bases,
                                         const unsigned short *deltas, const T *values, ACC alpha, const T *x, ACC beta,
                                         T *y)
{
    const int rows_of_warp = WARP / lanes;
    UnsignedOff nnz = offsets[rows];
    for (long long first = warp_index() * rows_of_warp; first < rows; first += warp_count() * rows_of_warp) {
        long long row = first + lane_index() / lanes;
        ACC sum = ACC(0);
        if (row < rows)
            sum = sum_of_lane<lanes>(load_word, offsets[row], offsets[row + 1], nnz, deltas, values,
                                     x + bases[row / ROWS]);
        sum = sum_lanes(sum, lanes);
        if (row < rows && lane_index() % lanes == 0)
            update(y, row, mul(alpha, sum), beta);
    }
}

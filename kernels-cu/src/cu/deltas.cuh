// Products with compressed rows whose columns are deltas of 16 bits. ROWS neighbouring rows have their columns in WINDOWS
// windows, each with a base. With one window, column = base + delta; with 16, the upper 4 bits of a delta are the number
// of the window: column = bases[delta >> DELTA_BITS] + (delta & LARGEST_DELTA).
// `load_entry` loads deltas and values, `load_word` neighbouring ones. Needs entry.cuh, index.cuh and warp_scalar.cuh
// before.
#include "load_plainly.cuh"
#include "neighbours.cuh"
#ifndef WINDOWS
#error "WINDOWS is missing: 1 or 16"
#endif
#define ROWS 32
#define DELTA_BITS (WINDOWS > 1 ? 12 : 16)
#define LARGEST_DELTA ((1 << DELTA_BITS) - 1)
// Neighbouring entries that a lane reads at once: a word of values. Those of 2 bytes are read one after the other.
#ifndef EACH
#define EACH ((int)(16 / sizeof(T)))
#endif

// x at the columns of ROWS neighbouring rows.
struct OwnX
{
    const Idx *bases;
    const T *x;

    __device__ OwnX(const T *all, const Idx *all_bases, long long row)
        : bases(all_bases + row / ROWS * WINDOWS), x(WINDOWS > 1 ? all : all + *bases)
    {
    }

    // The element at the column of a delta.
    __device__ ACC operator[](unsigned short delta) const
    {
        return WINDOWS > 1 ? load(x, bases[delta >> DELTA_BITS] + (delta & LARGEST_DELTA)) : load(x, delta);
    }
};

// y <- alpha A x + beta y. A thread takes a row and every thread_count()-th one after it.
template <typename Load>
static __device__ void multiply_by_threads(Load load_entry, long long rows, const Off *offsets, const Idx *bases,
                                           const unsigned short *deltas, const T *values, ACC alpha, const T *x,
                                           ACC beta, T *y)
{
    for (long long row = thread_index(); row < rows; row += thread_count()) {
        ACC sum = ACC(0);
        OwnX own_x(x, bases, row);
        Off end = offsets[row + 1];
#pragma unroll 4
        for (Off k = offsets[row]; k < end; k++)
            sum += mul(entry_of(load_entry(values + k)), own_x[load_entry(deltas + k)]);
        update(y, row, mul(alpha, sum), beta);
    }
}

// A lane's part of the sum of the entries `begin` .. `end` of a row: every `lanes`-th EACH of them, from a multiple of EACH
// on.
template <int lanes, typename Load>
static __device__ ACC sum_of_lane(Load load_word, UnsignedOff begin, UnsignedOff end, UnsignedOff nnz,
                                  const unsigned short *deltas, const T *values, OwnX own_x)
{
    ACC sum = ACC(0);
    int lane = lane_index() % lanes;
#if HALF
#pragma unroll 4
    for (UnsignedOff k = begin + lane; k < end; k += lanes)
        sum += mul(entry_of(load_word(values + k)), own_x[load_word(deltas + k)]);
#else
    for (UnsignedOff at = begin / EACH * EACH + lane * EACH; at < end; at += lanes * EACH) {
        __align__(16) unsigned short own_deltas[EACH];
        __align__(16) T own_values[EACH];
        load_neighbours_by<EACH>(load_word, own_deltas, deltas, at, nnz);
        load_neighbours_by<EACH>(load_word, own_values, values, at, nnz);
#pragma unroll
        for (int k = 0; k < EACH; k++)
            if (at + k >= begin && at + k < end)
                sum += mul(entry_of(own_values[k]), own_x[own_deltas[k]]);
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
                                     OwnX(x, bases, row));
        sum = sum_lanes(sum, lanes);
        if (row < rows && lane_index() % lanes == 0)
            update(y, row, mul(alpha, sum), beta);
    }
}

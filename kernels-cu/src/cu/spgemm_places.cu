// spgemm_places: the values of C = A B, for compressed rows and a C whose pattern is known, in order and without
// repetitions, where rows of B have no column twice. Where each product belongs is found once and stored, so that a run
// only adds. Long rows are those of spgemm_chunks.
// b_rows: b_rows[k] <- where the row of B that entry k of A names begins and ends.
// find: a team of `lanes` has a row: places[starts[i] + p] <- the place of product p of row i, counted in the order of
// A's entries, among the entries of its row of C; where C has no such column, one of the `lanes` places behind them.
// sum: a team has a row of up to EACH * lanes entries, whose sums are in shared memory: its lanes have the products of
// one entry of A after the other. sum_mixed: the same for rows of up to EACH * WARP entries, of which neighbouring
// teams take the longer ones together.
// Reads A, where its rows of B are, the places and these rows once; writes C once.
// Rows come in an order of their lengths, `first` up to `end` of it.
// Macros: SCALAR, IDX, OFF, PLACE (uchar or ushort: the type of places), EACH = 16, 8 or 4 (sums per lane, in 64
// bytes), AHEAD = 2 (entries of A whose rows of B are loaded at once), AT_ONCE = 6 (products of a lane in a long row of
// B), MIN_BLOCKS = 3, 4 or 6 by the types' sizes, BLOCK (threads of the largest block).   Launch: any number of blocks
// of up to BLOCK threads, a multiple of 32, `lanes` a power of two from 2 to 32.
// Gustavson: Two fast algorithms for sparse matrices: multiplication and permuted transposition. ACM TOMS (1978).
#ifndef MIN_BLOCKS
#define MIN_BLOCKS (sizeof(ACC) > 8 ? 3 : sizeof(ACC) > 4 || sizeof(Off) > 4 ? 4 : 6)
#endif
#include "grid.cuh"
#include "apart.cuh"
#include "scalar.cuh"
#include "index.cuh"
#include "team.cuh"
#include "search.cuh"
#include "find.cuh"
#include "products.cuh"
#ifndef EACH
#define EACH (64 / sizeof(ACC))
#endif
#ifndef AHEAD
#define AHEAD 2
#endif
#ifndef AT_ONCE
#define AT_ONCE 6
#endif
#ifndef PLACE
#error "PLACE is missing: uchar or ushort"
#endif
typedef unsigned char type_uchar;
typedef TYPE(PLACE) Place;

// A row of B.
struct __align__(2 * sizeof(Off)) BRow
{
    Off begin;
    Off end;
};

// An entry of A for all lanes: its row of B, and the number of products before it.
struct __align__(16) Step
{
    Off begin;
    int length;
    int before;
    ACC factor;
};

KERNEL spgemm_places_b_rows(long long entries, const Idx *__restrict__ a_indices, const Off *__restrict__ b_offsets,
                            BRow *__restrict__ b_rows)
{
    for (long long k = thread_index(); k < entries; k += thread_count())
        b_rows[k] = {b_offsets[a_indices[k]], b_offsets[a_indices[k] + 1]};
}

KERNEL spgemm_places_find(long long first, long long end, long long lanes, const long long *__restrict__ order,
                          const Off *__restrict__ a_offsets, const BRow *__restrict__ b_rows,
                          const Idx *__restrict__ b_indices, const Off *__restrict__ c_offsets,
                          const Idx *__restrict__ c_indices, const long long *__restrict__ starts,
                          Place *__restrict__ places)
{
    int width = (int)lanes;
    int lane = threadIdx.x % width;
    for (long long i = first + team_index(width); any_of_warp(i < end); i += team_count(width)) {
        TeamRow row = row_at(i, end, order, a_offsets);
        long long begin = row.is_there ? (long long)c_offsets[row.number] : 0;
        int n = row.is_there ? (int)(c_offsets[row.number + 1] - begin) : 0;
        long long start = row.is_there ? starts[row.number] : 0;
        for (long long k = row.begin; any_of_warp(k < row.end); k += width) {
            BRow b_row = k + lane < row.end ? b_rows[k + lane] : BRow{0, 0};
            Products products = products_of(width, b_row.begin, b_row.end - b_row.begin);
            for (long long p = lane; p < products.count; p += width) {
                int owner = owner_of(products, width, p);
                int at = find_sorted(c_indices + begin, n, b_indices[products.origins[owner] + p]);
                int before = owner > 0 ? (int)products.ends[owner - 1] : 0;
                places[start + p] = (Place)(at >= 0 ? at : n + ((int)p - before) % width);
            }
            start += products.count;
        }
    }
}

// Adds the products of `entries` steps, whose rows of B have at most TIMES entries for each lane: `places` and
// `b_values` are those of the lane's first product. A lane without a product adds nothing to sum `unused`, which is its
// own.
template <int TIMES>
static __device__ void add_products(ACC *sums, int unused, const Step *steps, int entries, int lane, int width,
                                    const Place *__restrict__ places, const T *__restrict__ b_values)
{
    for (int first = 0; any_of_warp(first < entries); first += AHEAD) {
        int at[AHEAD][TIMES];
        ACC values[AHEAD][TIMES];
        ACC factors[AHEAD];
#pragma unroll
        for (int ahead = 0; ahead < AHEAD; ahead++) {
            Step step = steps[first + ahead];
            factors[ahead] = step.factor;
#pragma unroll
            for (int time = 0; time < TIMES; time++) {
                bool is_there = lane + time * width < step.length;
                at[ahead][time] = is_there ? places[step.before + time * width] : unused;
                values[ahead][time] = is_there ? load(b_values, step.begin + time * width) : ACC(0);
            }
        }
#pragma unroll
        for (int ahead = 0; ahead < AHEAD; ahead++) {
#pragma unroll
            for (int time = 0; time < TIMES; time++)
                sums[at[ahead][time]] += mul(factors[ahead], values[ahead][time]);
            __syncwarp();
        }
    }
}

// As above, with any number of entries in rows of B, of which a lane has up to AT_ONCE at once.
static __device__ void add_long_products(ACC *sums, int unused, const Step *steps, int entries, int lane, int width,
                                         const Place *__restrict__ places, const T *__restrict__ b_values)
{
    for (int k = 0; any_of_warp(k < entries); k++) {
        Step step = steps[k];
        for (int begin = 0; lane + begin < step.length; begin += AT_ONCE * width) {
            int at[AT_ONCE];
            ACC values[AT_ONCE];
#pragma unroll
            for (int time = 0; time < AT_ONCE; time++) {
                int offset = begin + time * width;
                bool is_there = lane + offset < step.length;
                at[time] = is_there ? places[step.before + offset] : unused;
                values[time] = is_there ? load(b_values, step.begin + offset) : ACC(0);
            }
#pragma unroll
            for (int time = 0; time < AT_ONCE; time++)
                sums[at[time]] += mul(step.factor, values[time]);
        }
        __syncwarp();
    }
}

// A team sums a row, with `sums` and `steps` of its own.
static __device__ void sum_row(TeamRow row, int lane, int width, ACC *sums, Step *steps, const BRow *__restrict__ b_rows,
                               const T *__restrict__ a_values, const T *__restrict__ b_values,
                               const Off *__restrict__ c_offsets, T *__restrict__ c_values,
                               const long long *__restrict__ starts, const Place *__restrict__ places)
{
    long long begin = row.is_there ? (long long)c_offsets[row.number] : 0;
    int n = row.is_there ? (int)(c_offsets[row.number + 1] - begin) : 0;
    const Place *own = places + (row.is_there ? starts[row.number] : 0) + lane;
    for (int at = lane; at < n; at += width)
        sums[at] = ACC(0);
    for (long long k = row.begin; any_of_warp(k < row.end); k += width) {
        Step step = {0, 0, 0, ACC(0)};
        if (k + lane < row.end) {
            BRow b_row = b_rows[k + lane];
            step = {b_row.begin, (int)(b_row.end - b_row.begin), 0, load(a_values, k + lane)};
        }
        int count;
        step.before = scan_team(width, step.length, &count);
        steps[lane] = step;
        __syncwarp();
        int entries = (int)max(0ll, min((long long)width, row.end - k));
        if (!any_of_warp(step.length > width))
            add_products<1>(sums, n + lane, steps, entries, lane, width, own, b_values + lane);
        else if (!any_of_warp(step.length > 2 * width))
            add_products<2>(sums, n + lane, steps, entries, lane, width, own, b_values + lane);
        else if (!any_of_warp(step.length > 3 * width))
            add_products<3>(sums, n + lane, steps, entries, lane, width, own, b_values + lane);
        else
            add_long_products(sums, n + lane, steps, entries, lane, width, own, b_values + lane);
        own += count;
    }
    for (int at = lane; at < n; at += width)
        store(c_values, begin + at, sums[at]);
    __syncwarp();
}

// The first sum and the first step of a team, among those of its warp. Neighbouring teams begin in different banks.
#define STEPS_OF_WARP (WARP + WARP / 2)
#define FIRST_SUM(width) (threadIdx.x / (width) * (EACH + 1) * (width))
#define FIRST_STEP(width) (threadIdx.x / WARP * STEPS_OF_WARP + threadIdx.x % WARP / (width) * ((width) + 1))

KERNEL spgemm_places_sum(long long first, long long end, long long lanes, const long long *__restrict__ order,
                         const Off *__restrict__ a_offsets, const BRow *__restrict__ b_rows,
                         const T *__restrict__ a_values, const T *__restrict__ b_values,
                         const Off *__restrict__ c_offsets, T *__restrict__ c_values,
                         const long long *__restrict__ starts, const Place *__restrict__ places)
{
    let_next_begin();
    __shared__ ACC sums[(EACH + 1) * BLOCK];
    __shared__ Step steps[BLOCK / WARP * STEPS_OF_WARP];
    int width = (int)lanes;
    ACC *own_sums = sums + FIRST_SUM(width);
    Step *own_steps = steps + FIRST_STEP(width);
    for (long long i = first + team_index(width); any_of_warp(i < end); i += team_count(width))
        sum_row(row_at(i, end, order, a_offsets), threadIdx.x % width, width, own_sums, own_steps, b_rows, a_values,
                b_values, c_offsets, c_values, starts, places);
    end_after_last();
}

// A block fewer of the next kernel on a multiprocessor, so that registers suffice.
#undef MIN_BLOCKS
#define MIN_BLOCKS (sizeof(ACC) > 8 ? 2 : sizeof(ACC) > 4 || sizeof(Off) > 4 ? 3 : 5)
KERNEL spgemm_places_sum_mixed(long long first, long long end, long long lanes, const long long *__restrict__ order,
                               const Off *__restrict__ a_offsets, const BRow *__restrict__ b_rows,
                               const T *__restrict__ a_values, const T *__restrict__ b_values,
                               const Off *__restrict__ c_offsets, T *__restrict__ c_values,
                               const long long *__restrict__ starts, const Place *__restrict__ places)
{
    let_next_begin();
    __shared__ ACC sums[(EACH + 1) * BLOCK];
    __shared__ Step steps[BLOCK / WARP * STEPS_OF_WARP];
    int width = (int)lanes;
    for (long long i = first + team_index(width); any_of_warp(i < end); i += team_count(width)) {
        long long row = i >= end ? -1 : order ? order[i] : i;
        long long n = row >= 0 ? (long long)c_offsets[row + 1] - c_offsets[row] : 0;
        take_rows(width, i, end, order, a_offsets, lanes_for(n, EACH, width), [&](TeamRow taken, int lanes) {
            sum_row(taken, threadIdx.x % lanes, lanes, sums + FIRST_SUM(lanes), steps + FIRST_STEP(lanes), b_rows, a_values, b_values,
                    c_offsets, c_values, starts, places);
        });
    }
    end_after_last();
}

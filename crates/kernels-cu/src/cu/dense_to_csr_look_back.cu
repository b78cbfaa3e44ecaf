// Dense to compressed rows, as in dense_to_csr.cu, in a single pass: the entries before a tile are found by decoupled
// look-back. How many entries there are is known at the end, so the caller gives room by a guess: entries past
// `capacity` are counted and not written.
// A warp takes UNITS steps (dense_steps.cuh) one after the other, across the ends of rows; a block, WARPS * UNITS of
// them, a tile. There are ceil(all_rows * ceil(cols / (32*VECTOR)) / (UNITS * BLOCK / 32)) tiles; UNITS = 4.
// With WIDE, VECTOR elements are 16 bytes: col_step is 1; start, stride and row_step are multiples of VECTOR.
// Takes SCALAR, IDX, OFF, WIDE and BLOCK.
#include "grid.cuh"
#include "scalar.cuh"
#include "index.cuh"
#include "dense_rows.cuh"
#include "pack.cuh"
#include "warp.cuh"
#include "dense_steps.cuh"
#include "block.cuh"
#include "look_back.cuh"
#define UNITS 4
#define TILE (WARPS * UNITS)

// A step of a row.
struct Place
{
    long long row;
    long long step;
};

static __device__ Place next_place(Place place, long long steps)
{
    return place.step + 1 < steps ? Place{place.row, place.step + 1} : Place{place.row + 1, 0};
}

// starts[row] <- the entries before row `row`, and their number at the end. cols > 0. For ticket and states:
// look_back.cuh. A block takes a tile when it is done with the one before; taken earlier, it would keep all later ones
// waiting.
KERNEL dense_to_csr_look_back(long long all_rows, long long rows, long long cols, const T *__restrict__ a,
                              long long start, long long stride, long long row_step, long long col_step, int threshold,
                              REAL tolerance, long long *__restrict__ starts, Idx *__restrict__ indices,
                              T *__restrict__ values, long long capacity, unsigned int *ticket, State *states)
{
    __shared__ short kept_cols[WARPS][UNITS * STEP];
    __shared__ T kept_values[WARPS][UNITS * STEP];
    __shared__ int of_warps[WARPS];
    __shared__ Count before_warps[WARPS];
    int warp = threadIdx.x / WARP;
    int lane = lane_index();
    long long steps = (cols + STEP - 1) / STEP;
    long long tiles = (all_rows * steps + TILE - 1) / TILE;
    for (long long tile = next_tile(ticket); tile < tiles; tile = next_tile(ticket)) {
        long long unit = tile * TILE + warp * UNITS;
        Place first = {unit / steps, unit % steps};
        Pack packs[UNITS];
        Place place = first;
#pragma unroll
        for (int u = 0; u < UNITS; u++) {
            long long col = place.step * STEP + lane * VECTOR;
            long long at = row_start(place.row, rows, start, stride, row_step) + col * col_step;
            packs[u] = load_pack(a, at, place.row < all_rows ? cols - col : 0);
            place = next_place(place, steps);
        }
        int counts[UNITS];
        int count = 0;
        place = first;
#pragma unroll
        for (int u = 0; u < UNITS; u++) {
            long long col = place.step * STEP + lane * VECTOR;
            unsigned int words[VECTOR];
#pragma unroll
            for (int m = 0; m < VECTOR; m++) {
                bool keep = place.row < all_rows && col + m < cols && keeps(packs[u].part[m], threshold, tolerance);
                words[m] = __ballot_sync(ALL_LANES, keep);
            }
            Kept kept = kept_of(words);
            gather_step(kept, packs[u], u * STEP, kept_cols[warp] + count, kept_values[warp] + count);
            counts[u] = kept.count;
            count += kept.count;
            place = next_place(place, steps);
        }
        if (lane == 0)
            of_warps[warp] = count;
        __syncthreads();
        if (warp == 0) {
            int own = lane < WARPS ? of_warps[lane] : 0;
            int sum = scan_lanes(own);
            Count before = look_back(tile, shuffle(sum, WARP - 1), states);
            if (lane < WARPS)
                before_warps[lane] = before + sum - own;
        }
        __syncthreads();
        long long to = before_warps[warp];
        int room = (int)max(min((long long)count, capacity - to), 0ll);
        for (int k = lane; k < room; k += WARP) {
            long long step = first.step + kept_cols[warp][k] / STEP;
            while (step >= steps)
                step -= steps;
            indices[to + k] = (Idx)(step * STEP + kept_cols[warp][k] % STEP);
            values[to + k] = kept_values[warp][k];
        }
        place = first;
#pragma unroll
        for (int u = 0; u <= UNITS; u++) {
            if (lane == 0 && place.step == 0 && place.row <= all_rows)
                starts[place.row] = to;
            to += u < UNITS ? counts[u] : 0;
            place = next_place(place, steps);
        }
    }
}

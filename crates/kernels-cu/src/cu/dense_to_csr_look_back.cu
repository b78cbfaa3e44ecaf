// Dense to compressed rows, as in dense_to_csr.cu, in a single pass: the entries before a tile are found by decoupled
// look-back. How many entries there are is known at the end, so the caller gives room by a guess: entries past
// `capacity` are counted and not written.
// A warp takes UNITS steps (dense_steps.cuh) one after the other, across the ends of rows; a block, WARPS * UNITS of
// them, a tile. There are ceil(all_rows * ceil(cols / (32*VECTOR)) / (UNITS * BLOCK / 32)) tiles; UNITS = 8.
// With WIDE, VECTOR elements are 16 bytes: col_step is 1; start, stride and row_step are multiples of VECTOR.
// Takes SCALAR, IDX, OFF, WIDE and BLOCK.
#define LEAST_BLOCKS (sizeof(T) == 2 ? 2 : 4)
#include "grid.cuh"
#include "scalar.cuh"
#include "index.cuh"
#include "dense_rows.cuh"
#include "pack.cuh"
#include "warp.cuh"
#include "dense_steps.cuh"
#include "block.cuh"
#include "look_back.cuh"
#define UNITS 8
// Steps whose entries meet in shared memory at a time.
#define STAGED 4
#define TILE (WARPS * UNITS)

// A step of a row, which begins at `start`.
struct Place
{
    long long row;
    long long step;
    long long start;
};

// starts[row] <- the entries before row `row`, and their number at the end. cols > 0. For states: look_back.cuh. A block
// takes a tile when it is done with the one before; taken earlier, it would keep all later ones waiting.
KERNEL dense_to_csr_look_back(long long all_rows, long long rows, long long cols, const T *__restrict__ a,
                              long long start, long long stride, long long row_step, long long col_step, int threshold,
                              REAL tolerance, long long *__restrict__ starts, Idx *__restrict__ indices,
                              T *__restrict__ values, long long capacity, State *states)
{
    __shared__ short kept_cols[WARPS][STAGED * STEP];
    __shared__ T kept_values[WARPS][STAGED * STEP];
    __shared__ int of_warps[WARPS];
    __shared__ Count before_warps[WARPS];
    int warp = threadIdx.x / WARP;
    int lane = lane_index();
    long long steps = (cols + STEP - 1) / STEP;
    long long tiles = (all_rows * steps + TILE - 1) / TILE;
    auto at = [&](long long row, long long step) {
        return Place{row, step, row_start(row, rows, start, stride, row_step)};
    };
    auto next = [&](Place place) {
        return place.step + 1 < steps ? Place{place.row, place.step + 1, place.start} : at(place.row + 1, 0);
    };
    for (long long tile = next_tile(states); tile < tiles; tile = next_tile(states)) {
        long long unit = tile * TILE + warp * UNITS;
        Place first = at(unit / steps, unit % steps);
        Pack packs[UNITS];
        Place place = first;
#pragma unroll
        for (int u = 0; u < UNITS; u++) {
            long long col = place.step * STEP + lane * VECTOR;
            packs[u] = load_pack(a, place.start + col * col_step, place.row < all_rows ? cols - col : 0);
            place = next(place);
        }
        // Bit u*VECTOR + m tells of the lane's m-th column of step u.
        unsigned long long kept = 0;
        place = first;
#pragma unroll
        for (int u = 0; u < UNITS; u++) {
            long long col = place.step * STEP + lane * VECTOR;
#pragma unroll
            for (int m = 0; m < VECTOR; m++) {
                bool keep = place.row < all_rows && col + m < cols && keeps(packs[u].part[m], threshold, tolerance);
                kept |= (unsigned long long)keep << (u * VECTOR + m);
            }
            place = next(place);
        }
        int count = sum_lanes(__popcll(kept));
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
        place = first;
#pragma unroll
        for (int u = 0; u < UNITS; u += STAGED) {
            int staged = 0;
#pragma unroll
            for (int s = 0; s < STAGED; s++) {
                if (lane == 0 && place.step == 0 && place.row <= all_rows)
                    starts[place.row] = to + staged;
                unsigned int words[VECTOR];
#pragma unroll
                for (int m = 0; m < VECTOR; m++)
                    words[m] = __ballot_sync(ALL_LANES, kept >> ((u + s) * VECTOR + m) & 1);
                Kept of_step = kept_of(words);
                gather_step(of_step, packs[u + s], s * STEP, kept_cols[warp] + staged, kept_values[warp] + staged);
                staged += of_step.count;
                place = next(place);
            }
            __syncwarp();
            int room = (int)max(min((long long)staged, capacity - to), 0ll);
            for (int k = lane; k < room; k += WARP) {
                long long step = first.step + u + kept_cols[warp][k] / STEP;
                while (step >= steps)
                    step -= steps;
                indices[to + k] = (Idx)(step * STEP + kept_cols[warp][k] % STEP);
                values[to + k] = kept_values[warp][k];
            }
            __syncwarp();
            to += staged;
        }
        if (lane == 0 && place.step == 0 && place.row <= all_rows)
            starts[place.row] = to;
    }
}

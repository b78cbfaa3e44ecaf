// Dense to compressed rows, as in dense_to_csr.cu, in a single pass: the entries before a tile are found by decoupled
// look-back. How many entries there are is known at the end, so the caller gives room by a guess: entries past
// `capacity` are counted and not written.
// Rows are cut into steps of 32*VECTOR columns, lane l with the columns l*VECTOR .. (l + 1)*VECTOR of a step. A warp
// takes UNITS steps one after the other, across the ends of rows; a block, WARPS * UNITS of them, a tile.
// There are ceil(all_rows * ceil(cols / (32*VECTOR)) / (8 * BLOCK / 32)) tiles.
// With WIDE, VECTOR elements are 16 bytes: col_step is 1; start, stride and row_step are multiples of VECTOR.
// Takes SCALAR, IDX, OFF, WIDE and BLOCK.
#include "grid.cuh"
#include "scalar.cuh"
#include "index.cuh"
#include "dense_rows.cuh"
#include "pack.cuh"
#include "warp.cuh"
#include "block.cuh"
#include "look_back.cuh"
#define STEP (WARP * VECTOR)
#define UNITS 8
#define TILE (WARPS * UNITS)

typedef unsigned long long Count;

// starts[row] <- the entries before row `row`, and their number at the end. cols > 0. ticket, flags, own_sums and
// whole_sums: look_back.cuh, a word a tile.
KERNEL dense_to_csr_look_back(long long all_rows, long long rows, long long cols, const T *__restrict__ a,
                              long long start, long long stride, long long row_step, long long col_step, int threshold,
                              REAL tolerance, long long *__restrict__ starts, Idx *__restrict__ indices,
                              T *__restrict__ values, long long capacity, unsigned int *ticket, unsigned int *flags,
                              Count *own_sums, Count *whole_sums)
{
    __shared__ int of_warps[WARPS];
    __shared__ Count before_tile;
    int warp = threadIdx.x / WARP;
    int lane = lane_index();
    unsigned int before_lane = (1u << lane) - 1u;
    long long steps = (cols + STEP - 1) / STEP;
    long long units = all_rows * steps;
    long long tiles = (units + TILE - 1) / TILE;
    for (long long tile = next_tile(ticket); tile < tiles; tile = next_tile(ticket)) {
        long long first = tile * TILE + warp * UNITS;
        long long row = first / steps;
        long long step = first % steps;
        Pack packs[UNITS];
        unsigned int own[UNITS];
        int place[UNITS];
        int count[UNITS];
#pragma unroll
        for (int u = 0; u < UNITS; u++) {
            long long col = step * STEP + lane * VECTOR;
            bool inside = row < all_rows;
            packs[u] = load_pack(a, inside ? row_start(row, rows, start, stride, row_step) + col * col_step : 0,
                                 inside ? cols - col : 0);
            if (++step == steps) {
                step = 0;
                row++;
            }
        }
        row = first / steps;
        step = first % steps;
        int of_warp = 0;
#pragma unroll
        for (int u = 0; u < UNITS; u++) {
            long long col = step * STEP + lane * VECTOR;
            own[u] = 0;
            place[u] = of_warp;
            count[u] = 0;
#pragma unroll
            for (int m = 0; m < VECTOR; m++) {
                bool kept = row < all_rows && col + m < cols && keeps(packs[u].part[m], threshold, tolerance);
                unsigned int word = __ballot_sync(ALL_LANES, kept);
                own[u] |= (unsigned int)kept << m;
                place[u] += __popc(word & before_lane);
                count[u] += __popc(word);
            }
            of_warp += count[u];
            if (++step == steps) {
                step = 0;
                row++;
            }
        }
        if (lane == 0)
            of_warps[warp] = of_warp;
        __syncthreads();
        if (warp == 0) {
            Count sum = sum_lanes(lane < WARPS ? of_warps[lane] : 0);
            Count before = look_back(tile, sum, flags, own_sums, whole_sums);
            if (lane == 0)
                before_tile = before;
        }
        __syncthreads();
        long long to = before_tile;
        for (int w = 0; w < warp; w++)
            to += of_warps[w];
        row = first / steps;
        step = first % steps;
        long long row_to = to;
#pragma unroll
        for (int u = 0; u < UNITS; u++) {
            long long col = step * STEP + lane * VECTOR;
            if (lane == 0 && step == 0 && row < all_rows)
                starts[row] = row_to;
            row_to += count[u];
            if (lane == 0 && row == all_rows - 1 && step == steps - 1)
                starts[all_rows] = row_to;
            long long at = to + place[u];
#pragma unroll
            for (int m = 0; m < VECTOR; m++)
                if (own[u] >> m & 1u) {
                    if (at < capacity) {
                        indices[at] = (Idx)(col + m);
                        values[at] = packs[u].part[m];
                    }
                    at++;
                }
            if (++step == steps) {
                step = 0;
                row++;
            }
        }
    }
}

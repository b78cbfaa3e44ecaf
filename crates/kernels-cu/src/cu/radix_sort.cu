// A stable sort of keys, each with a position, by DIGIT bits a pass from the lowest bits on: count the digits of every
// tile, an exclusive scan of the counts, scatter. counts[digit*tiles + tile]: tiles = ceil(n / (16 * BLOCK)).
// Takes KEY (uint or ulong) and BLOCK.
// Merrill, Grimshaw: High performance and scalable radix sorting. Parallel Processing Letters 21 (2011).
#include "grid.cuh"
#include "types.cuh"
#include "warp.cuh"
#include "block.cuh"
#ifndef KEY
#error "KEY is missing: uint or ulong"
#endif
#define DIGIT 8
#define DIGITS (1 << DIGIT)
#define ITEMS 16
#define TILE (BLOCK * ITEMS)

typedef TYPE(KEY) Key;

static __device__ int digit_of(Key key, int shift)
{
    return (int)(key >> shift & (DIGITS - 1));
}

// A block takes a tile.
KERNEL radix_sort_count(long long n, const Key *__restrict__ keys, int shift, long long *__restrict__ counts)
{
    __shared__ int own[DIGITS];
    long long tiles = (n + TILE - 1) / TILE;
    for (long long tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
        for (int digit = threadIdx.x; digit < DIGITS; digit += BLOCK)
            own[digit] = 0;
        __syncthreads();
        for (long long k = tile * TILE + threadIdx.x; k < min((tile + 1) * TILE, n); k += BLOCK)
            atomicAdd(&own[digit_of(keys[k], shift)], 1);
        __syncthreads();
        for (int digit = threadIdx.x; digit < DIGITS; digit += BLOCK)
            counts[digit * tiles + tile] = own[digit];
        __syncthreads();
    }
}

// starts[digit] <- the keys of a tile with lower digits, of which counts[digit] tells the number. One warp calls it.
static __device__ void scan_digits(const int *counts, int *starts)
{
    int before = 0;
    for (int first = 0; first < DIGITS; first += WARP) {
        int count = counts[first + lane_index()];
        int sum = before + scan_lanes(count);
        starts[first + lane_index()] = sum - count;
        before = shuffle(sum, WARP - 1);
    }
}

// A block takes a tile, a warp of it the places w*32*ITEMS .. (w + 1)*32*ITEMS, 32 at a time: lanes with one digit find
// each other, and their rank is their order. The tile is sorted in shared memory, so that neighbouring threads write
// neighbouring places.
KERNEL radix_sort_scatter(long long n, const Key *__restrict__ keys, const long long *__restrict__ positions, int shift,
                          const long long *__restrict__ starts, Key *__restrict__ sorted_keys,
                          long long *__restrict__ sorted_positions)
{
    __shared__ int seen[WARPS][DIGITS];
    __shared__ int digit_counts[DIGITS];
    __shared__ int digit_starts[DIGITS];
    __shared__ long long staged[TILE];
    int warp = threadIdx.x / WARP;
    unsigned int before = (1u << lane_index()) - 1u;
    long long tiles = (n + TILE - 1) / TILE;
    for (long long tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
        for (int i = threadIdx.x; i < WARPS * DIGITS; i += BLOCK)
            seen[i / DIGITS][i % DIGITS] = 0;
        __syncthreads();
        long long first = tile * TILE + warp * (WARP * ITEMS) + lane_index();
        Key held[ITEMS];
        int places[ITEMS];
#pragma unroll
        for (int item = 0; item < ITEMS; item++)
            held[item] = first + item * WARP < n ? keys[first + item * WARP] : 0;
#pragma unroll
        for (int item = 0; item < ITEMS; item++) {
            bool inside = first + item * WARP < n;
            int digit = digit_of(held[item], shift);
            unsigned int alike = __match_any_sync(ALL_LANES, inside ? digit : DIGITS);
            places[item] = seen[warp][digit] + __popc(alike & before);
            __syncwarp();
            if (inside && (alike & before) == 0)
                seen[warp][digit] += __popc(alike);
            __syncwarp();
        }
        __syncthreads();
        for (int digit = threadIdx.x; digit < DIGITS; digit += BLOCK) {
            int sum = 0;
            for (int w = 0; w < WARPS; w++) {
                int count = seen[w][digit];
                seen[w][digit] = sum;
                sum += count;
            }
            digit_counts[digit] = sum;
        }
        __syncthreads();
        if (warp == 0)
            scan_digits(digit_counts, digit_starts);
        __syncthreads();
#pragma unroll
        for (int item = 0; item < ITEMS; item++) {
            int digit = digit_of(held[item], shift);
            places[item] += digit_starts[digit] + seen[warp][digit];
            if (first + item * WARP < n)
                staged[places[item]] = (long long)held[item];
        }
        __syncthreads();
        int count = (int)min((long long)TILE, n - tile * TILE);
        long long to[ITEMS];
#pragma unroll
        for (int item = 0; item < ITEMS; item++) {
            int place = item * BLOCK + threadIdx.x;
            if (place < count) {
                Key key = (Key)staged[place];
                int digit = digit_of(key, shift);
                to[item] = starts[digit * tiles + tile] + place - digit_starts[digit];
                sorted_keys[to[item]] = key;
            }
        }
        __syncthreads();
#pragma unroll
        for (int item = 0; item < ITEMS; item++)
            if (first + item * WARP < n)
                staged[places[item]] = positions[first + item * WARP];
        __syncthreads();
#pragma unroll
        for (int item = 0; item < ITEMS; item++) {
            int place = item * BLOCK + threadIdx.x;
            if (place < count)
                sorted_positions[to[item]] = staged[place];
        }
        __syncthreads();
    }
}

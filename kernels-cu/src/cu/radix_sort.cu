// radix_sort: a stable sort of keys, each with a position, by up to DIGIT bits per pass from the lowest bits on: counts
// the digits of every tile, scans the counts of each digit, scatters. `digits` is a power of two from 32 on.
// One block per tile of ITEMS * BLOCK keys (count, scatter) or per digit (starts). A pass reads the keys twice and the
// positions once, and writes both once; counts[digit*tiles + tile], tiles = ceil(n / (ITEMS * BLOCK)).
// Macros: KEY (uint, ulong), POS (type of positions, which fits n: int, long), BLOCK (a power of two, a multiple of
// 32), DIGIT = 8 (bits per pass), ITEMS = 16 (keys of a tile per thread), COUNTS = 8 (tiles per thread at once).
// Launch: any number of blocks of BLOCK threads.
// Merrill, Grimshaw: High performance and scalable radix sorting. Parallel Processing Letters 21 (2011).
#include "grid.cuh"
#include "types.cuh"
#include "warp.cuh"
#include "block.cuh"
#ifndef KEY
#error "KEY is missing: uint or ulong"
#endif
#ifndef POS
#error "POS is missing: int or long"
#endif
#ifndef DIGIT
#define DIGIT 8
#endif
#define DIGITS (1 << DIGIT)
#ifndef ITEMS
#define ITEMS 16
#endif
#define TILE (BLOCK * ITEMS)
#ifndef COUNTS
#define COUNTS 8
#endif

typedef TYPE(KEY) Key;
typedef TYPE(POS) Position;

static __device__ int digit_of(Key key, int shift, int digits)
{
    return (int)(key >> shift & (digits - 1));
}

// A block takes a tile.
KERNEL radix_sort_count(long long n, const Key *__restrict__ keys, int shift, int digits,
                        Position *__restrict__ counts)
{
    __shared__ int own[DIGITS];
    long long tiles = (n + TILE - 1) / TILE;
    for (long long tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
        for (int digit = threadIdx.x; digit < digits; digit += BLOCK)
            own[digit] = 0;
        __syncthreads();
        const Key *of_tile = keys + tile * TILE;
        int count = (int)min((long long)TILE, n - tile * TILE);
#pragma unroll
        for (int item = 0; item < ITEMS; item++) {
            int place = item * BLOCK + threadIdx.x;
            if (place < count)
                atomicAdd(&own[digit_of(of_tile[place], shift, digits)], 1);
        }
        __syncthreads();
        for (int digit = threadIdx.x; digit < digits; digit += BLOCK)
            counts[digit * tiles + tile] = own[digit];
        __syncthreads();
    }
}

// counts[digit*tiles + tile] <- the keys with this digit before the tile; totals[digit] <- all of them. A block takes a
// digit, a thread COUNTS neighbouring tiles at a time.
KERNEL radix_sort_starts(int digits, long long tiles, Position *__restrict__ counts, Position *__restrict__ totals)
{
    for (int digit = blockIdx.x; digit < digits; digit += gridDim.x) {
        Position *of_digit = counts + digit * tiles;
        Position before = 0;
        for (long long first = 0; first < tiles; first += COUNTS * BLOCK) {
            long long tile = first + COUNTS * threadIdx.x;
            Position own[COUNTS];
            Position sum = 0;
#pragma unroll
            for (int i = 0; i < COUNTS; i++) {
                own[i] = tile + i < tiles ? of_digit[tile + i] : 0;
                sum += own[i];
            }
            Position all;
            Position at = before + scan_block(sum, &all) - sum;
#pragma unroll
            for (int i = 0; i < COUNTS; i++) {
                if (tile + i < tiles)
                    of_digit[tile + i] = at;
                at += own[i];
            }
            before += all;
        }
        if (threadIdx.x == 0)
            totals[digit] = before;
    }
}

// starts[digit] <- the keys with lower digits, of which counts[digit] tells the number. One warp calls it.
template <typename V> static __device__ void scan_digits(const V *counts, V *starts, int digits)
{
    V before = 0;
    for (int first = 0; first < digits; first += WARP) {
        V count = counts[first + lane_index()];
        V sum = before + scan_lanes(count);
        starts[first + lane_index()] = sum - count;
        before = shuffle(sum, WARP - 1);
    }
}

// A block takes a tile, a warp of it the places w*32*ITEMS .. (w + 1)*32*ITEMS, 32 at a time: lanes with one digit find
// each other, and their rank is their order. The tile is sorted in shared memory, so that neighbouring threads write
// neighbouring places. Without positions, a null pointer, every key has its own place.
KERNEL radix_sort_scatter(long long n, const Key *__restrict__ keys, const Position *__restrict__ positions, int shift,
                          int digits, const Position *__restrict__ starts, const Position *__restrict__ totals,
                          Key *__restrict__ sorted_keys, Position *__restrict__ sorted_positions)
{
    __shared__ int seen[WARPS][DIGITS];
    __shared__ int digit_counts[DIGITS];
    __shared__ int digit_starts[DIGITS];
    __shared__ Position lower[DIGITS];
    __shared__ Position targets[DIGITS];
    __shared__ union
    {
        Key keys[TILE];
        Position positions[TILE];
    } staged;
    int warp = threadIdx.x / WARP;
    int own = warp * (WARP * ITEMS) + lane_index();
    unsigned int before = (1u << lane_index()) - 1u;
    long long tiles = (n + TILE - 1) / TILE;
    if (warp == 0)
        scan_digits(totals, lower, digits);
    for (long long tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
        Position first = (Position)(tile * TILE);
        int count = (int)min((long long)TILE, n - first);
        for (int i = threadIdx.x; i < WARPS * DIGITS; i += BLOCK)
            seen[i / DIGITS][i % DIGITS] = 0;
        __syncthreads();
        Key own_keys[ITEMS];
        int places[ITEMS];
#pragma unroll
        for (int item = 0; item < ITEMS; item++)
            own_keys[item] = own + item * WARP < count ? keys[first + own + item * WARP] : 0;
#pragma unroll
        for (int item = 0; item < ITEMS; item++) {
            bool inside = own + item * WARP < count;
            int digit = digit_of(own_keys[item], shift, digits);
            unsigned int alike = __match_any_sync(ALL_LANES, inside ? digit : DIGITS);
            places[item] = seen[warp][digit] + __popc(alike & before);
            __syncwarp();
            if (inside && (alike & before) == 0)
                seen[warp][digit] += __popc(alike);
            __syncwarp();
        }
        __syncthreads();
        for (int digit = threadIdx.x; digit < digits; digit += BLOCK) {
            int sum = 0;
            for (int w = 0; w < WARPS; w++) {
                int of_warp = seen[w][digit];
                seen[w][digit] = sum;
                sum += of_warp;
            }
            digit_counts[digit] = sum;
        }
        __syncthreads();
        if (warp == 0)
            scan_digits(digit_counts, digit_starts, digits);
        __syncthreads();
        for (int digit = threadIdx.x; digit < digits; digit += BLOCK)
            targets[digit] = lower[digit] + starts[digit * tiles + tile] - digit_starts[digit];
#pragma unroll
        for (int item = 0; item < ITEMS; item++) {
            int digit = digit_of(own_keys[item], shift, digits);
            places[item] += digit_starts[digit] + seen[warp][digit];
            if (own + item * WARP < count)
                staged.keys[places[item]] = own_keys[item];
        }
        __syncthreads();
        Position to[ITEMS];
#pragma unroll
        for (int item = 0; item < ITEMS; item++) {
            int place = item * BLOCK + threadIdx.x;
            if (place < count) {
                Key key = staged.keys[place];
                to[item] = targets[digit_of(key, shift, digits)] + place;
                sorted_keys[to[item]] = key;
            }
        }
        __syncthreads();
#pragma unroll
        for (int item = 0; item < ITEMS; item++)
            if (own + item * WARP < count) {
                Position k = first + own + item * WARP;
                staged.positions[places[item]] = positions ? positions[k] : k;
            }
        __syncthreads();
#pragma unroll
        for (int item = 0; item < ITEMS; item++) {
            int place = item * BLOCK + threadIdx.x;
            if (place < count)
                sorted_positions[to[item]] = staged.positions[place];
        }
        __syncthreads();
    }
}

// scan_look_back: prefix sums in a single pass by decoupled look-back, of contiguous arrays.
// One block per tile of ITEMS * BLOCK elements; reads and writes each element once.
// Macros: ELEMENT (uint, ulong; sums wrap), BLOCK, ITEMS = 8 (elements per thread).   Launch: any number of blocks of
// BLOCK threads, for ceil(len / (ITEMS * BLOCK)) tiles.
#include "grid.cuh"
#include "types.cuh"
#include "warp.cuh"
#include "block.cuh"
#include "look_back.cuh"
#ifndef ELEMENT
#error "ELEMENT is missing: uint or ulong"
#endif
#ifndef ITEMS
#define ITEMS 8
#endif
#define TILE (BLOCK * ITEMS)

typedef TYPE(ELEMENT) Element;

// out <- prefix sums, inclusive or exclusive. A block takes a tile, a warp of it the places w*32*ITEMS .. (w +
// 1)*32*ITEMS. `in` may be `out`. For states: look_back.cuh.
KERNEL scan_look_back(long long len, int inclusive, const Element *in, long long in_start, Element *out,
                      long long out_start, State *states)
{
    __shared__ Element of_warps[WARPS];
    __shared__ Element before_tile;
    int warp = threadIdx.x / WARP;
    long long tiles = (len + TILE - 1) / TILE;
    for (long long tile = next_tile(states); tile < tiles; tile = next_tile(states)) {
        long long first = tile * TILE + warp * (WARP * ITEMS) + lane_index();
        Element elements[ITEMS];
        Element sums[ITEMS];
        Element of_warp = 0;
#pragma unroll
        for (int item = 0; item < ITEMS; item++) {
            long long p = first + item * WARP;
            elements[item] = p < len ? in[in_start + p] : 0;
        }
#pragma unroll
        for (int item = 0; item < ITEMS; item++) {
            sums[item] = of_warp + scan_lanes(elements[item]);
            of_warp = shuffle(sums[item], WARP - 1);
        }
        if (lane_index() == 0)
            of_warps[warp] = of_warp;
        __syncthreads();
        if (warp == 0) {
            Element own = sum_lanes(lane_index() < WARPS ? of_warps[lane_index()] : Element(0));
            if (lane_index() == 0)
                publish_own(tile, own, states);
            Count before = look_back(tile, own, states);
            if (lane_index() == 0)
                before_tile = (Element)before;
        }
        __syncthreads();
        Element before = before_tile;
        for (int w = 0; w < warp; w++)
            before += of_warps[w];
#pragma unroll
        for (int item = 0; item < ITEMS; item++) {
            long long p = first + item * WARP;
            if (p < len)
                out[out_start + p] = before + sums[item] - (inclusive ? Element(0) : elements[item]);
        }
    }
}

// row_patterns: the patterns of compressed rows, which are their columns counted from the number of the row. Stencils,
// bands and meshes that are numbered along their axes have few. For the plan of csr_spmv_row_patterns.cu.
// A power of two of lanes per row, striding over the grid. Each kernel reads the columns once; find writes a byte per
// row.
// Macros: IDX, OFF, SLOTS = 256 (places for patterns, by their hash), MOST = 192 (patterns that are worth a table).
// Launch: any number of blocks of whole warps, up to 256 threads.
// `found` has the hash of each slot, or zero, then the number of patterns, then 1 if there are more than MOST or two
// have one hash.
#include "grid.cuh"
#include "index.cuh"
#include "warp.cuh"
#ifndef SLOTS
#define SLOTS 256
#endif
#ifndef MOST
#define MOST 192
#endif

// True if there are too many patterns, or two with one hash. Warps that ask before each row wait for one place of the
// second cache, which took half of the time.
static __device__ bool has_failed(const unsigned int *found)
{
    return *(const volatile unsigned int *)(found + SLOTS + 1) != 0;
}

// The same in all lanes of a warp.
static __device__ bool has_failed_for_warp(const unsigned int *found)
{
    return shuffle(has_failed(found) ? 1 : 0, 0) != 0;
}

// The hash of a row's length and columns, never zero. All `lanes` of a row get it; where there is no row it may be any.
static __device__ unsigned int hash_of(const Off *offsets, const Idx *indices, long long row, bool has_row, int lane,
                                       int lanes)
{
    Off begin = has_row ? offsets[row] : 0;
    Off end = has_row ? offsets[row + 1] : 0;
    unsigned int hash = 0;
    for (Off k = begin + lane; k < end; k += lanes) {
        long long column = indices[k] - row;
        unsigned int mixed = ((unsigned int)column + (unsigned int)(column >> 32)) * 0x9e3779b1u;
        mixed = (mixed ^ mixed >> 15) * (2 * (unsigned int)(k - begin) + 0x85ebca6bu);
        hash += mixed ^ mixed >> 13;
    }
    hash = (sum_lanes(hash, lanes) + (unsigned int)(end - begin)) * 0x846ca68bu;
    return (hash ^ hash >> 16) | 1;
}

// The place of a hash, which a thread takes if it is new; -1 if there are too many.
static __device__ int slot_of(unsigned int hash, long long row, unsigned int *found, long long *firsts)
{
    for (int probe = 0; probe < SLOTS; probe++) {
        int slot = (int)((hash >> 20) + probe) & (SLOTS - 1);
        // What the first cache has may be old: then the exchange tells.
        unsigned int there = found[slot];
        if (there == 0)
            there = atomicCAS(found + slot, 0u, hash);
        if (there == 0) {
            firsts[slot] = row;
            return atomicAdd(found + SLOTS, 1u) < MOST ? slot : -1;
        }
        if (there == hash)
            return slot;
        if (has_failed(found))
            return -1;
    }
    return -1;
}

// pattern_of[row] <- the slot of its pattern; firsts[slot] <- the row that took it.
KERNEL row_patterns_find(long long rows, long long lanes, const Off *__restrict__ offsets,
                         const Idx *__restrict__ indices, unsigned int *found, long long *firsts,
                         unsigned char *__restrict__ pattern_of)
{
    int of_warp = WARP / (int)lanes;
    int lane = lane_index() & ((int)lanes - 1);
    if (has_failed_for_warp(found))
        return;
    for (long long first = warp_index() * of_warp; first < rows; first += warp_count() * of_warp) {
        long long row = first + lane_index() / (int)lanes;
        unsigned int hash = hash_of(offsets, indices, row, row < rows, lane, (int)lanes);
        if (row < rows && lane == 0) {
            int slot = slot_of(hash, row, found, firsts);
            if (slot < 0)
                found[SLOTS + 1] = 1;
            pattern_of[row] = (unsigned char)slot;
        }
    }
}

// patterns[slot * longest ..] <- the columns of each slot's first row, counted from it. Fails if a row has others than
// the first of its slot.
KERNEL row_patterns_check(long long rows, long long lanes, long long longest, const Off *__restrict__ offsets,
                          const Idx *__restrict__ indices, const long long *__restrict__ firsts,
                          const unsigned char *__restrict__ pattern_of, Idx *__restrict__ patterns,
                          unsigned int *found)
{
    int of_warp = WARP / (int)lanes;
    int lane = lane_index() & ((int)lanes - 1);
    if (has_failed_for_warp(found))
        return;
    for (long long first = warp_index() * of_warp; first < rows; first += warp_count() * of_warp) {
        long long row = first + lane_index() / (int)lanes;
        if (row >= rows)
            continue;
        int slot = pattern_of[row];
        long long like = firsts[slot];
        Off begin = offsets[row];
        Off like_begin = offsets[like];
        Off length = offsets[row + 1] - begin;
        bool is_same = length == offsets[like + 1] - like_begin;
        for (Off k = lane; is_same && k < length; k += (Off)lanes) {
            long long column = indices[begin + k] - row;
            is_same = column == indices[like_begin + k] - like;
            if (row == like)
                patterns[slot * longest + k] = (Idx)column;
        }
        if (!is_same)
            found[SLOTS + 1] = 1;
    }
}

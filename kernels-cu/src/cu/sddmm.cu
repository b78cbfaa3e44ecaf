// sddmm: c_k <- alpha p_k (u_i . v_j) + beta c_k for the entries k of a sparse P, entry k in row i and column j.
// U and V are dense: element (i, t) is at start + i*row_step + t*col_step, t below `inner`. Rows come from `offsets`
// (compressed rows) or from `row_idx` (coordinates), the other one is null; p_k is 1 where `values` is null.
// A chunk of CHUNK entries finds its rows by one search, whatever their lengths. chunk_per_thread: one thread per
// chunk. lanes_per_entry: one warp per chunk; a lane finds the row and the column of an entry and writes its result,
// and `lanes` neighbours, at least TILE, multiply for TILE entries at a time. Reads P once, a row of U and a row of V
// per entry, writes c once.
// Macros: SCALAR, IDX, OFF (of coordinates the same as IDX), CHUNK = 128, TILE = 4, MIN_BLOCKS = 3.
// Launch: any number of blocks of up to 256 threads, of whole warps for lanes_per_entry, where `lanes` is a power of
// two up to 32.
// With `wide`, a lane reads VECTOR neighbouring elements of 16 bytes together: u_col and v_col are 1; u_start, u_row,
// v_start and v_row are multiples of VECTOR.
// With registers for three blocks on a multiprocessor, f32 with 32 columns takes 0.89 of the time that it takes with
// the compiler's own choice, and with four, where registers spill (H100).
#ifndef MIN_BLOCKS
#define MIN_BLOCKS 3
#endif
#include "grid.cuh"
#include "scalar.cuh"
#include "index.cuh"
#include "warp_scalar.cuh"
#define WIDE 1
#include "pack.cuh"
#include "sampled.cuh"
#include "search.cuh"
#ifndef CHUNK
#define CHUNK 128
#endif
#ifndef TILE
#define TILE 4
#endif

// The row of entry k, which is one of first .. last.
static __device__ long long row_of(const Off *offsets, const Idx *row_idx, long long k, long long first,
                                   long long last)
{
    return row_idx ? (long long)row_idx[k] : first + count_below(offsets + first + 1, last - first, k + 1);
}

// The row of entry k, from `first` on, for a whole warp, whose lanes try 32 rows at a time.
static __device__ long long row_of_warp(const Off *offsets, const Idx *row_idx, long long k, long long first,
                                        long long rows)
{
    if (row_idx)
        return row_idx[k];
    while (rows - first > 1) {
        long long step = (rows - first + WARP - 1) / WARP;
        long long row = first + lane_index() * step;
        unsigned int reached = __ballot_sync(ALL_LANES, row < rows && offsets[row] <= k);
        first += (__popc(reached) - 1) * step;
        rows = min(rows, first + step);
    }
    return first;
}

// The row of entry k, where `row` is that of the entry before.
static __device__ long long next_row(const Off *offsets, const Idx *row_idx, long long k, long long row,
                                     long long last)
{
    return row_idx || offsets[row + 1] <= k ? row_of(offsets, row_idx, k, row, last) : row;
}

// A thread takes a chunk of entries, and every thread_count()-th chunk after it.
KERNEL sddmm_chunk_per_thread(long long entries, long long rows, long long inner, const Off *__restrict__ offsets,
                              const Idx *__restrict__ row_idx, const Idx *__restrict__ indices,
                              const T *__restrict__ values, ACC alpha, const T *__restrict__ u, long long u_start,
                              long long u_row, long long u_col, const T *__restrict__ v, long long v_start,
                              long long v_row, long long v_col, ACC beta, T *__restrict__ c, long long c_start)
{
    long long chunks = (entries + CHUNK - 1) / CHUNK;
    for (long long chunk = thread_index(); chunk < chunks; chunk += thread_count()) {
        long long begin = chunk * CHUNK;
        long long end = min(entries, begin + CHUNK);
        long long row = row_of(offsets, row_idx, begin, 0, rows - 1);
        for (long long k = begin; k < end; k++) {
            row = next_row(offsets, row_idx, k, row, rows - 1);
            long long u_at = u_start + row * u_row;
            long long v_at = v_start + indices[k] * v_row;
            ACC sum = ACC(0);
            for (long long t = 0; t < inner; t++)
                sum += mul(load(u, u_at + t * u_col), load(v, v_at + t * v_col));
            finish(values, alpha, sum, beta, c, c_start, k);
        }
    }
}

// A warp takes a chunk. A lane has an entry of 32 neighbours, whose row and column it finds and whose result it
// writes; `lanes` neighbouring lanes multiply for each of theirs in turn, TILE at a time.
KERNEL sddmm_lanes_per_entry(long long entries, long long rows, long long inner, long long lanes, long long wide,
                             const Off *__restrict__ offsets, const Idx *__restrict__ row_idx,
                             const Idx *__restrict__ indices, const T *__restrict__ values, ACC alpha,
                             const T *__restrict__ u, long long u_start, long long u_row, long long u_col,
                             const T *__restrict__ v, long long v_start, long long v_row, long long v_col, ACC beta,
                             T *__restrict__ c, long long c_start)
{
    int width = max((int)lanes, TILE);
    int team = lane_index() / width;
    int lane = lane_index() % width;
    int teams = WARP / width;
    int steps = width / TILE;
    long long chunks = (entries + CHUNK - 1) / CHUNK;
    for (long long chunk = warp_index(); chunk < chunks; chunk += warp_count()) {
        long long begin = chunk * CHUNK;
        long long end = min(entries, begin + CHUNK);
        long long first = row_of_warp(offsets, row_idx, begin, 0, rows);
        long long last = row_of_warp(offsets, row_idx, end - 1, first, rows);
        for (long long base = begin; base < end; base += WARP) {
            // Teams have neighbouring entries at a time, which often read the same row of U. Behind the end the last
            // entry is computed again and not written.
            long long k = base + lane * teams + team;
            long long entry = min(k, end - 1);
            Idx row = (Idx)row_of(offsets, row_idx, entry, first, last);
            Idx col = load_once(indices + entry);
            ACC own = ACC(0);
            for (int step = 0; step < steps; step++) {
                const T *u_rows[TILE];
                const T *v_rows[TILE];
                ACC sums[TILE];
#pragma unroll
                for (int e = 0; e < TILE; e++) {
                    int from = team * width + e * steps + step;
                    u_rows[e] = u + u_start + shuffle(row, from) * u_row;
                    v_rows[e] = v + v_start + shuffle(col, from) * v_row;
                    sums[e] = ACC(0);
                }
                long long t = lane;
                if (wide) {
                    for (long long p = lane; p < inner / VECTOR; p += width) {
                        Pack u_packs[TILE];
                        Pack v_packs[TILE];
#pragma unroll
                        for (int e = 0; e < TILE; e++) {
                            u_packs[e] = ((const Pack *)u_rows[e])[p];
                            v_packs[e] = ((const Pack *)v_rows[e])[p];
                        }
#pragma unroll
                        for (int e = 0; e < TILE; e++)
#pragma unroll
                            for (int m = 0; m < VECTOR; m++)
                                sums[e] += mul(to_acc(u_packs[e].part[m]), to_acc(v_packs[e].part[m]));
                    }
                    t += inner / VECTOR * VECTOR;
                }
                for (; t < inner; t += width)
#pragma unroll
                    for (int e = 0; e < TILE; e++)
                        sums[e] += mul(load(u_rows[e], t * u_col), load(v_rows[e], t * v_col));
                ACC sum = sum_tile<TILE>(sums, width);
                if (lane % steps == step)
                    own = sum;
            }
            if (k < end)
                finish(values, alpha, own, beta, c, c_start, k);
        }
    }
}

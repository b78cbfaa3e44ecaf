// sddmm: c_k <- alpha p_k (u_i . v_j) + beta c_k for the entries k of a sparse P, entry k in row i and column j.
// U and V are dense: element (i, t) is at start + i*row_step + t*col_step, t below `inner`. Rows come from `offsets`
// (compressed rows) or from `row_idx` (coordinates), the other one is null; p_k is 1 where `values` is null.
// A chunk of CHUNK entries finds its rows by one search, whatever their lengths. chunk_per_thread: one thread per
// chunk. lanes_per_entry: one warp per chunk, `lanes` of it for TILE neighbouring entries, which share what they read
// of a row of U. Reads P once, a row of V per entry, a row of U per entry or once for neighbours of one row, writes c
// once.
// Macros: SCALAR, IDX, OFF (of coordinates the same as IDX), CHUNK = 128, TILE = 4.   Launch: any number of blocks of
// up to 256 threads, of whole warps for lanes_per_entry, where `lanes` is a power of two up to 32.
// With `wide`, a lane reads VECTOR neighbouring elements of 16 bytes together: u_col and v_col are 1; u_start, u_row,
// v_start and v_row are multiples of VECTOR.
#include "grid.cuh"
#include "scalar.cuh"
#include "index.cuh"
#include "warp_scalar.cuh"
#define WIDE 1
#include "pack.cuh"
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

// The row of entry k, where `row` is that of the entry before.
static __device__ long long next_row(const Off *offsets, const Idx *row_idx, long long k, long long row,
                                     long long last)
{
    return row_idx || offsets[row + 1] <= k ? row_of(offsets, row_idx, k, row, last) : row;
}

static __device__ void finish(const T *values, ACC alpha, ACC sum, ACC beta, T *c, long long c_start, long long k)
{
    ACC product = values ? mul(to_acc(load_once(values + k)), sum) : sum;
    update(c, c_start + k, mul(alpha, product), beta);
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

// A warp takes a chunk: `lanes` neighbouring lanes have TILE neighbouring entries at a time.
KERNEL sddmm_lanes_per_entry(long long entries, long long rows, long long inner, long long lanes, long long wide,
                             const Off *__restrict__ offsets, const Idx *__restrict__ row_idx,
                             const Idx *__restrict__ indices, const T *__restrict__ values, ACC alpha,
                             const T *__restrict__ u, long long u_start, long long u_row, long long u_col,
                             const T *__restrict__ v, long long v_start, long long v_row, long long v_col, ACC beta,
                             T *__restrict__ c, long long c_start)
{
    int width = (int)lanes;
    int team = lane_index() / width;
    int lane = lane_index() % width;
    int step = WARP / width * TILE;
    long long chunks = (entries + CHUNK - 1) / CHUNK;
    for (long long chunk = warp_index(); chunk < chunks; chunk += warp_count()) {
        long long begin = chunk * CHUNK;
        long long end = min(entries, begin + CHUNK);
        long long first = row_of(offsets, row_idx, begin, 0, rows - 1);
        long long last = row_of(offsets, row_idx, end - 1, first, rows - 1);
        for (long long base = begin; base < end; base += step) {
            long long k = base + team * TILE;
            long long u_at[TILE];
            long long v_at[TILE];
            ACC sums[TILE];
            // Behind the end the last entry is computed again and not written.
            long long row = row_of(offsets, row_idx, min(k, end - 1), first, last);
#pragma unroll
            for (int e = 0; e < TILE; e++) {
                long long entry = min(k + e, end - 1);
                row = next_row(offsets, row_idx, entry, row, last);
                u_at[e] = u_start + row * u_row;
                v_at[e] = v_start + load_once(indices + entry) * v_row;
                sums[e] = ACC(0);
            }
            if (wide) {
                for (long long t = lane * VECTOR; t < inner; t += width * VECTOR) {
                    Pack v_packs[TILE];
#pragma unroll
                    for (int e = 0; e < TILE; e++)
                        v_packs[e] = load_pack(v, v_at[e] + t, inner - t);
                    Pack u_pack = load_pack(u, u_at[0] + t, inner - t);
#pragma unroll
                    for (int e = 0; e < TILE; e++) {
                        if (e > 0 && u_at[e] != u_at[e - 1])
                            u_pack = load_pack(u, u_at[e] + t, inner - t);
#pragma unroll
                        for (int m = 0; m < VECTOR; m++)
                            sums[e] += mul(to_acc(u_pack.part[m]), to_acc(v_packs[e].part[m]));
                    }
                }
            } else {
                for (long long t = lane; t < inner; t += width)
#pragma unroll
                    for (int e = 0; e < TILE; e++)
                        sums[e] += mul(load(u, u_at[e] + t * u_col), load(v, v_at[e] + t * v_col));
            }
#pragma unroll
            for (int e = 0; e < TILE; e++) {
                ACC sum = sum_lanes(sums[e], width);
                if (e % width == lane && k + e < end)
                    finish(values, alpha, sum, beta, c, c_start, k + e);
            }
        }
    }
}

// sddmm: c_k <- alpha p_k (u_i . v_j) + beta c_k for the entries k of a sparse P, entry k in row i and column j.
// U and V are dense: element (i, t) is at start + i*row_step + t*col_step, t below `inner`. Rows come from `offsets`
// (compressed rows) or from `row_idx` (coordinates), the other one is null; p_k is 1 where `values` is null.
// A chunk of CHUNK entries finds its rows by one search, whatever their lengths. chunk_per_thread: one work-item per
// chunk. lanes_per_entry: one work-group of 32 per chunk, `lanes` of them for TILE neighbouring entries, which share
// what they read of a row of U. Reads P once, a row of V per entry, a row of U per entry or once for neighbours of one
// row, writes c once.
// Macros: SCALAR, IDX, OFF (of coordinates the same as IDX), CHUNK = 128, TILE = 4.   Launch: any number of work-groups
// of any size, of 32 for lanes_per_entry, where `lanes` is a power of two up to 32.
// With `wide`, a lane reads VECTOR neighbouring elements of 16 bytes together: u_col and v_col are 1; u_start, u_row,
// v_start and v_row are multiples of VECTOR.
#include "scalar.clh"
#include "index.clh"
#define WIDE 1
#include "pack.clh"
#define SORTED OFF
#include "search.clh"
#define WARP 32
#ifndef CHUNK
#define CHUNK 128
#endif
#ifndef TILE
#define TILE 4
#endif

// The row of entry k, which is one of first .. last.
static long row_of(__global const OFF *offsets, __global const IDX *row_idx, long k, long first, long last)
{
    return row_idx ? (long)row_idx[k] : first + count_below(offsets + first + 1, last - first, k + 1);
}

// The row of entry k, where `row` is that of the entry before.
static long next_row(__global const OFF *offsets, __global const IDX *row_idx, long k, long row, long last)
{
    return row_idx || offsets[row + 1] <= k ? row_of(offsets, row_idx, k, row, last) : row;
}

static void finish(__global const T *values, ACC alpha, ACC sum, ACC beta, __global T *c, long c_start, long k)
{
    ACC product = values ? mul(load(values, k), sum) : sum;
    update(c, c_start + k, mul(alpha, product), beta);
}

// A work-item takes a chunk of entries, and every get_global_size(0)-th chunk after it.
__kernel void sddmm_chunk_per_thread(long entries, long rows, long inner, __global const OFF *offsets,
                                     __global const IDX *row_idx, __global const IDX *indices,
                                     __global const T *values, ACC alpha, __global const T *u, long u_start,
                                     long u_row, long u_col, __global const T *v, long v_start, long v_row, long v_col,
                                     ACC beta, __global T *c, long c_start)
{
    long chunks = (entries + CHUNK - 1) / CHUNK;
    for (long chunk = get_global_id(0); chunk < chunks; chunk += get_global_size(0)) {
        long begin = chunk * CHUNK;
        long end = min(entries, begin + CHUNK);
        long row = row_of(offsets, row_idx, begin, 0, rows - 1);
        for (long k = begin; k < end; k++) {
            row = next_row(offsets, row_idx, k, row, rows - 1);
            long u_at = u_start + row * u_row;
            long v_at = v_start + indices[k] * v_row;
            ACC sum = (ACC)(0);
            for (long t = 0; t < inner; t++)
                sum += mul(load(u, u_at + t * u_col), load(v, v_at + t * v_col));
            finish(values, alpha, sum, beta, c, c_start, k);
        }
    }
}

// A work-group of 32 takes a chunk: `lanes` neighbouring lanes have TILE neighbouring entries at a time.
__kernel __attribute__((reqd_work_group_size(WARP, 1, 1)))
void sddmm_lanes_per_entry(long entries, long rows, long inner, long lanes, long wide, __global const OFF *offsets,
                           __global const IDX *row_idx, __global const IDX *indices, __global const T *values,
                           ACC alpha, __global const T *u, long u_start, long u_row, long u_col, __global const T *v,
                           long v_start, long v_row, long v_col, ACC beta, __global T *c, long c_start)
{
    int lid = (int)get_local_id(0);
    int team = lid / (int)lanes;
    int lane = lid % (int)lanes;
    __local ACC shared[TILE][WARP];
    long chunks = (entries + CHUNK - 1) / CHUNK;
    for (long chunk = get_group_id(0); chunk < chunks; chunk += get_num_groups(0)) {
        long begin = chunk * CHUNK;
        long end = min(entries, begin + CHUNK);
        long first = row_of(offsets, row_idx, begin, 0, rows - 1);
        long last = row_of(offsets, row_idx, end - 1, first, rows - 1);
        for (long base = begin; base < end; base += WARP / lanes * TILE) {
            long k = base + team * TILE;
            long u_at[TILE];
            long v_at[TILE];
            ACC sums[TILE];
            // Behind the end the last entry is computed again and not written.
            long row = row_of(offsets, row_idx, min(k, end - 1), first, last);
            for (int e = 0; e < TILE; e++) {
                long entry = min(k + e, end - 1);
                row = next_row(offsets, row_idx, entry, row, last);
                u_at[e] = u_start + row * u_row;
                v_at[e] = v_start + indices[entry] * v_row;
                sums[e] = (ACC)(0);
            }
            if (wide) {
                for (long t = lane * VECTOR; t < inner; t += lanes * VECTOR) {
                    Pack v_packs[TILE];
                    for (int e = 0; e < TILE; e++)
                        v_packs[e] = load_pack(v, v_at[e] + t, inner - t);
                    Pack u_pack = load_pack(u, u_at[0] + t, inner - t);
                    for (int e = 0; e < TILE; e++) {
                        if (e > 0 && u_at[e] != u_at[e - 1])
                            u_pack = load_pack(u, u_at[e] + t, inner - t);
                        for (int m = 0; m < VECTOR; m++)
                            sums[e] += mul(to_acc(u_pack.part[m]), to_acc(v_packs[e].part[m]));
                    }
                }
            } else {
                for (long t = lane; t < inner; t += lanes)
                    for (int e = 0; e < TILE; e++)
                        sums[e] += mul(load(u, u_at[e] + t * u_col), load(v, v_at[e] + t * v_col));
            }
            for (int e = 0; e < TILE; e++)
                shared[e][lid] = sums[e];
            barrier(CLK_LOCAL_MEM_FENCE);
            for (int half_lanes = (int)lanes / 2; half_lanes > 0; half_lanes /= 2) {
                if (lane < half_lanes)
                    for (int e = 0; e < TILE; e++)
                        shared[e][lid] += shared[e][lid + half_lanes];
                barrier(CLK_LOCAL_MEM_FENCE);
            }
            for (int e = lane; e < TILE && k + e < end; e += (int)lanes)
                finish(values, alpha, shared[e][lid - lane], beta, c, c_start, k + e);
            barrier(CLK_LOCAL_MEM_FENCE);
        }
    }
}

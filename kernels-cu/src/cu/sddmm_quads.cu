// sddmm_quads: c_k <- alpha p_k (u_i . v_j) + beta c_k for the entries k of a sparse P in compressed rows whose columns
// ascend; p_k is 1 where `values` is null. Rows of U and V lie side by side: u_col and v_col are 1; `inner` and all
// starts and steps are multiples of VECTOR, the elements of 16 bytes; a row has TEAM * VECTOR elements at least, and a
// row's step is below 2^32 bytes. The plan cuts the columns into panels, and the entries of each row and panel into
// quads of up to QUAD neighbours, in the order of panels, then rows: quad q is of row quad_rows[q] / QUAD and has
// quad_rows[q] % QUAD + 1 entries from quad_firsts[q] on, in the columns from quad_cols[q * QUAD] on. A block takes
// `chunk` quads one after the other, so that the panel's rows of V stay in the first cache. A warp takes 32 quads and
// multiplies for 32 entries at a time: a team of TEAM lanes for TEAM of them, of TEAM / QUAD rows; a lane has every
// TEAM-th 16 bytes of each of their rows. Reads 8 bytes and four columns per quad, a row of V per entry and one of U
// per quad, in panels mostly from the first cache; writes c once. Macros: SCALAR, IDX, OFF, TEAM (lanes: 2, 4 or 8),
// QUAD = 4, MIN_BLOCKS = 4, or 2 with 8 lanes (blocks per multiprocessor). Launch: sddmm_quads with a block of up to
// 256 threads, of whole warps, for each `chunk` quads; the others with any number of blocks of up to 256 threads. Hong,
// Sukumaran-Rajam, Nisa, Singh, Sadayappan: Adaptive sparse tiling for sparse matrix multiplication. PPoPP (2019):
// samples products by panels, too.
#ifndef TEAM
#error "TEAM is missing: 2, 4 or 8"
#endif
#ifndef MIN_BLOCKS
#define MIN_BLOCKS (TEAM == 8 ? 2 : 4)
#endif
#include "grid.cuh"
#include "scalar.cuh"
#include "index.cuh"
#include "warp_scalar.cuh"
#define WIDE 1
#include "pack.cuh"
#include "sampled.cuh"
#include "search.cuh"
#include "row_packs.cuh"
#ifndef QUAD
#define QUAD 4
#endif
#define QUADS_OF_WARP (WARP / QUAD)
#define QUADS_OF_TEAM (TEAM > QUAD ? TEAM / QUAD : 1)

// Unsigned where Idx is int, so that one instruction multiplies it.
typedef decltype(Idx() + 0u) UnsignedIdx;

// The quads of segment s, the entries splits[s] .. splits[s + rows] of a row in a panel.
static __device__ long long quads_of(const Off *splits, long long rows, long long s)
{
    return (splits[s + rows] - splits[s] + QUAD - 1) / QUAD;
}

// counts[s] <- the quads of segment s; counts[segments] <- 0.
KERNEL sddmm_quads_count(long long rows, long long segments, const Off *__restrict__ splits,
                         long long *__restrict__ counts)
{
    for (long long s = thread_index(); s <= segments; s += thread_count())
        counts[s] = s < segments ? quads_of(splits, rows, s) : 0;
}

// The columns of a quad's entries; the last one stands for those that are missing.
struct __align__(16) Columns
{
    Idx of[QUAD];
};

// Writes each quad, one per thread; starts[s] is the first of segment s, starts[segments] the number of all.
KERNEL sddmm_quads_fill(long long quads, long long rows, long long segments, const Off *__restrict__ splits,
                        const Idx *__restrict__ indices, const long long *__restrict__ starts,
                        Idx *__restrict__ quad_cols, UnsignedIdx *__restrict__ quad_rows,
                        Off *__restrict__ quad_firsts)
{
    for (long long q = thread_index(); q < quads; q += thread_count()) {
        long long s = count_below(starts, segments, q + 1) - 1;
        long long first = splits[s] + (q - starts[s]) * QUAD;
        int last = (int)min(splits[s + rows] - first, (long long)QUAD) - 1;
        Columns columns;
        for (int e = 0; e < QUAD; e++)
            columns.of[e] = indices[first + min(e, last)];
        ((Columns *)quad_cols)[q] = columns;
        quad_rows[q] = (UnsignedIdx)(s % rows) * QUAD + last;
        quad_firsts[q] = (Off)first;
    }
}

// The column of entry e of the team of `lane`, of the quads from that of lane `first` on.
static __device__ Idx column_of(const Columns &columns, int first, int e)
{
    int quad = first + (lane_index() / TEAM * TEAM + e) / QUAD;
#if TEAM < QUAD
    Idx lower = shuffle(columns.of[e], quad);
    Idx upper = shuffle(columns.of[e + TEAM], quad);
    return lane_index() & TEAM ? upper : lower;
#else
    return shuffle(columns.of[e % QUAD], quad);
#endif
}

// A part of a block's quads.
struct Range
{
    int first;
    int end;
};

// The quads from `base` on that this warp takes: 32, or equally many per warp if fewer are left.
static __device__ Range warps_share(int base, int end)
{
    int warps = blockDim.x / WARP;
    int share = min(WARP, ((end - base + warps - 1) / warps + QUADS_OF_WARP - 1) / QUADS_OF_WARP * QUADS_OF_WARP);
    int first = base + threadIdx.x / WARP * share;
    return {first, min(end, first + share)};
}

KERNEL sddmm_quads(long long quads, long long chunk, long long inner, const Idx *__restrict__ quad_cols,
                   const UnsignedIdx *__restrict__ quad_rows, const Off *__restrict__ quad_firsts,
                   const T *__restrict__ values, ACC alpha, const T *__restrict__ u, long long u_start,
                   long long u_row, long long u_col, const T *__restrict__ v, long long v_start, long long v_row,
                   long long v_col, ACC beta, T *__restrict__ c, long long c_start)
{
    int lane = lane_index() % TEAM;
    int packs = (int)(inner / VECTOR);
    RowPacks u_packs = {address_of(u + u_start) + lane * sizeof(Pack), (unsigned int)(u_row * sizeof(T))};
    RowPacks v_packs = {address_of(v + v_start) + lane * sizeof(Pack), (unsigned int)(v_row * sizeof(T))};
    long long begin = blockIdx.x * chunk;
    const Columns *columns = (const Columns *)quad_cols + begin;
    quad_rows += begin;
    quad_firsts += begin;
    int end = (int)min(quads - begin, chunk);
    // A lane has a quad of the warp's. The next ones are on their way while the warp multiplies; two rounds at a time
    // take no moves between registers, which would wait for them.
    Range own = warps_share(0, end);
    int next = min(own.first + lane_index(), end - 1);
    Columns next_cols = columns[next];
    UnsignedIdx next_row = load_once(quad_rows + next);
    Off next_first = load_once(quad_firsts + next);
#pragma unroll 2
    for (int base = 0; base < end; base += blockDim.x) {
        int own_first = own.first;
        int own_end = own.end;
        Columns cols = next_cols;
        UnsignedIdx row = next_row;
        Off first = next_first;
        own = warps_share(base + blockDim.x, end);
        next = min(own.first + lane_index(), end - 1);
        next_cols = columns[next];
        next_row = load_once(quad_rows + next);
        next_first = load_once(quad_firsts + next);
#pragma unroll 1
        for (int s = 0; s < own_end - own_first; s += QUADS_OF_WARP) {
            const Pack *u_rows[QUADS_OF_TEAM];
            const Pack *v_rows[TEAM];
            ACC sums[TEAM];
#pragma unroll
            for (int e = 0; e < TEAM; e++) {
                if (e % QUAD == 0)
                    u_rows[e / QUAD] =
                        u_packs.of(shuffle(row, s + (lane_index() / TEAM * TEAM + e) / QUAD) / QUAD);
                v_rows[e] = v_packs.of((UnsignedIdx)column_of(cols, s, e));
                sums[e] = ACC(0);
            }
#pragma unroll 1
            for (int p = lane;;) {
                Pack a[QUADS_OF_TEAM];
                Pack b[TEAM];
#pragma unroll
                for (int q = 0; q < QUADS_OF_TEAM; q++)
                    a[q] = *u_rows[q];
#pragma unroll
                for (int e = 0; e < TEAM; e++)
                    b[e] = *v_rows[e];
#pragma unroll
                for (int e = 0; e < TEAM; e++)
                    sums[e] = add_products(sums[e], a[e / QUAD], b[e]);
                p += TEAM;
                if (p >= packs)
                    break;
#pragma unroll
                for (int q = 0; q < QUADS_OF_TEAM; q++)
                    u_rows[q] += TEAM;
#pragma unroll
                for (int e = 0; e < TEAM; e++)
                    v_rows[e] += TEAM;
            }
            ACC sum = sum_tile<TEAM>(sums, TEAM);
            int quad = s + lane_index() / QUAD;
            int last = (int)(shuffle(row, quad) % QUAD);
            Off k = shuffle(first, quad) + lane_index() % QUAD;
            if (own_first + quad < own_end && lane_index() % QUAD <= last)
                finish(values, alpha, sum, beta, c, c_start, k);
        }
    }
}

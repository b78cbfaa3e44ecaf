// sddmm_aligned: c_k <- alpha p_k (u_i . v_j) + beta c_k for the entries k of a sparse P, entry k in row row_idx[k] and
// column indices[k]; p_k is 1 where `values` is null. Rows of U and V lie side by side: u_col and v_col are 1; `inner`
// and all starts and steps are multiples of VECTOR, the elements of 16 bytes; a row has TEAM * VECTOR elements at least,
// and a row's step is below 2^32 bytes.
// A warp takes 32 neighbouring entries, every warp_count()-th 32 after them, and reads the coordinates of the next ones
// in the meantime. A team of TEAM lanes has TEAM of these entries, and a lane every TEAM-th 16 bytes of each of their
// rows. Where the entries of every team are of two rows at most, U is read once for each of the two. Reads P once, a
// row of V per entry, a row of U once or twice per team or per entry, writes c once.
// Macros: SCALAR, IDX (int or long), TEAM = 8, MIN_BLOCKS = 2.
// Launch: any number of blocks of up to 256 threads, of whole warps; best are those that run at once.
#ifndef MIN_BLOCKS
#define MIN_BLOCKS 2
#endif
#include "grid.cuh"
#include "scalar.cuh"
#include "types.cuh"
#include "warp_scalar.cuh"
#define WIDE 1
#include "pack.cuh"
#include "sampled.cuh"
#include "row_packs.cuh"
#ifndef IDX
#error "IDX is missing: int or long"
#endif
#ifndef TEAM
#define TEAM 8
#endif

typedef TYPE(IDX) Idx;
// Unsigned where Idx is int, so that one instruction multiplies it.
typedef decltype(Idx() + 0u) UnsignedIdx;

KERNEL sddmm_aligned(long long entries, long long inner, const Idx *__restrict__ row_idx,
                     const Idx *__restrict__ indices, const T *__restrict__ values, ACC alpha,
                     const T *__restrict__ u, long long u_start, long long u_row, long long u_col,
                     const T *__restrict__ v, long long v_start, long long v_row, long long v_col, ACC beta,
                     T *__restrict__ c, long long c_start)
{
    int lane = lane_index() % TEAM;
    int team_first = lane_index() - lane;
    int packs = (int)(inner / VECTOR);
    RowPacks u_packs = {address_of(u + u_start) + lane * sizeof(Pack), (unsigned int)(u_row * sizeof(T))};
    RowPacks v_packs = {address_of(v + v_start) + lane * sizeof(Pack), (unsigned int)(v_row * sizeof(T))};
    long long stride = warp_count() * WARP;
    long long first = warp_index() * WARP;
    long long next = min(first + lane_index(), entries - 1);
    Idx next_row = load_once(row_idx + next);
    Idx next_col = load_once(indices + next);
    for (; first < entries; first += stride) {
        Idx row = next_row;
        Idx col = next_col;
        next = min(first + stride + lane_index(), entries - 1);
        next_row = load_once(row_idx + next);
        next_col = load_once(indices + next);

        const Pack *v_rows[TEAM];
        ACC sums[TEAM];
#pragma unroll
        for (int e = 0; e < TEAM; e++) {
            v_rows[e] = v_packs.of((UnsignedIdx)shuffle_team<TEAM>(col, e));
            sums[e] = ACC(0);
        }
        Idx row_a = shuffle_team<TEAM>(row, 0);
        Idx row_b = shuffle_team<TEAM>(row, TEAM - 1);
        if (__all_sync(ALL_LANES, row == row_a || row == row_b)) {
            unsigned int in_a = __ballot_sync(ALL_LANES, row == row_a) >> team_first;
            const Pack *u_a = u_packs.of((UnsignedIdx)row_a);
            const Pack *u_b = u_packs.of((UnsignedIdx)row_b);
            for (int p = lane;;) {
                Pack a = *u_a;
                Pack b = *u_b;
                Pack v_own[TEAM];
#pragma unroll
                for (int e = 0; e < TEAM; e++)
                    v_own[e] = *v_rows[e];
#pragma unroll
                for (int e = 0; e < TEAM; e++)
                    sums[e] = add_products(sums[e], in_a >> e & 1 ? a : b, v_own[e]);
                p += TEAM;
                if (p >= packs)
                    break;
                u_a += TEAM;
                u_b += TEAM;
#pragma unroll
                for (int e = 0; e < TEAM; e++)
                    v_rows[e] += TEAM;
            }
        } else {
            const Pack *u_rows[TEAM];
#pragma unroll
            for (int e = 0; e < TEAM; e++)
                u_rows[e] = u_packs.of((UnsignedIdx)shuffle_team<TEAM>(row, e));
#pragma unroll 1
            for (int p = 0; p < packs - lane; p += TEAM) {
                Pack v_own[TEAM];
#pragma unroll
                for (int e = 0; e < TEAM; e++)
                    v_own[e] = v_rows[e][p];
#pragma unroll
                for (int e = 0; e < TEAM; e++)
                    sums[e] = add_products(sums[e], u_rows[e][p], v_own[e]);
            }
        }
        ACC sum = sum_tile<TEAM>(sums, TEAM);
        long long k = first + lane_index();
        if (k < entries)
            finish(values, alpha, sum, beta, c, c_start, k);
    }
}

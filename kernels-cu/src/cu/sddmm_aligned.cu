// sddmm_aligned: c_k <- alpha p_k (u_i . v_j) + beta c_k for the entries k of a sparse P, entry k in row row_idx[k] and
// column indices[k]; p_k is 1 where `values` is null. Rows of U and V lie side by side: u_col and v_col are 1; `inner`
// and all starts and steps are multiples of VECTOR, the elements of 16 bytes; a row's step is below 2^32 bytes.
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
#ifndef IDX
#error "IDX is missing: int or long"
#endif
#ifndef TEAM
#define TEAM 8
#endif

typedef TYPE(IDX) Idx;
// Unsigned where Idx is int, so that one instruction multiplies it.
typedef decltype(Idx() + 0u) UnsignedIdx;

// The packs of row `index` of a matrix whose rows are `step_bytes` apart.
static __device__ const Pack *packs_of(const T *matrix, Idx index, unsigned int step_bytes)
{
    return (const Pack *)((const char *)matrix + (unsigned long long)(UnsignedIdx)index * step_bytes);
}

static __device__ ACC add_products(ACC sum, Pack a, Pack b)
{
#pragma unroll
    for (int m = 0; m < VECTOR; m++)
        sum += mul(to_acc(a.part[m]), to_acc(b.part[m]));
    return sum;
}

KERNEL sddmm_aligned(long long entries, long long inner, const Idx *__restrict__ row_idx,
                     const Idx *__restrict__ indices, const T *__restrict__ values, ACC alpha,
                     const T *__restrict__ u, long long u_start, long long u_row, long long u_col,
                     const T *__restrict__ v, long long v_start, long long v_row, long long v_col, ACC beta,
                     T *__restrict__ c, long long c_start)
{
    int lane = lane_index() % TEAM;
    int team_first = lane_index() - lane;
    int packs = (int)(inner / VECTOR);
    unsigned int u_bytes = (unsigned int)(u_row * sizeof(T));
    unsigned int v_bytes = (unsigned int)(v_row * sizeof(T));
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
            v_rows[e] = packs_of(v + v_start, shuffle(col, team_first + e), v_bytes);
            sums[e] = ACC(0);
        }
        Idx row_a = shuffle(row, team_first);
        Idx row_b = shuffle(row, team_first + TEAM - 1);
        if (__all_sync(ALL_LANES, row == row_a || row == row_b)) {
            unsigned int in_a = __ballot_sync(ALL_LANES, row == row_a) >> team_first;
            const Pack *u_a = packs_of(u + u_start, row_a, u_bytes);
            const Pack *u_b = packs_of(u + u_start, row_b, u_bytes);
            for (int p = lane; p < packs; p += TEAM) {
                Pack a = u_a[p];
                Pack b = u_b[p];
                Pack v_packs[TEAM];
#pragma unroll
                for (int e = 0; e < TEAM; e++)
                    v_packs[e] = v_rows[e][p];
#pragma unroll
                for (int e = 0; e < TEAM; e++)
                    sums[e] = add_products(sums[e], in_a >> e & 1 ? a : b, v_packs[e]);
            }
        } else {
            Idx rows[TEAM];
#pragma unroll
            for (int e = 0; e < TEAM; e++)
                rows[e] = shuffle(row, team_first + e);
#pragma unroll 1
            for (int p = lane; p < packs; p += TEAM) {
                Pack v_packs[TEAM];
#pragma unroll
                for (int e = 0; e < TEAM; e++)
                    v_packs[e] = v_rows[e][p];
#pragma unroll
                for (int e = 0; e < TEAM; e++)
                    sums[e] = add_products(sums[e], packs_of(u + u_start, rows[e], u_bytes)[p], v_packs[e]);
            }
        }
        ACC sum = sum_tile<TEAM>(sums, TEAM);
        long long k = first + lane_index();
        if (k < entries)
            finish(values, alpha, sum, beta, c, c_start, k);
    }
}

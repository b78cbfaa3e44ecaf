// csr_spmm_panels: C <- alpha A B + beta C for compressed rows of which neighbours have many columns in common, by
// panels of 4 rows (csr_panels.cu): a row of B is read once for all of them.
// LANES lanes per panel and slice of COLUMNS columns, striding over the grid. Reads A once per slice, a row of B's slice
// per slot, writes C once.
// Macros: SCALAR, IDX, OFF, CONJ (1 conjugates A), WIDE (1: 16 bytes per lane), LANES (8, 16, 32), MIN_BLOCKS = 2
// to 4 by LANES and the types' sizes (blocks per multiprocessor), IN_FLIGHT = 4 (rows of B at once).   Launch: any number of
// blocks of whole warps, up to 256 threads.
// B and C are dense: element (i, j) is at start + i*row_step + j*col_step. With WIDE, a lane has VECTOR neighbouring
// columns of 16 bytes together: b_col and c_col are 1; cols, b_start, b_row, c_start and c_row are multiples of VECTOR.
// After Hong, Sukumaran-Rajam, Nisa, Singh, Sadayappan: Adaptive sparse tiling for sparse matrix multiplication. PPoPP
// (2019), whose panels have their dense columns in shared memory.
#ifndef MIN_BLOCKS
#define MIN_BLOCKS (sizeof(ACC) > 8 || sizeof(T) < 4 ? 2 : LANES == WARP ? 4 : 3)
#endif
#include "grid.cuh"
#include "scalar.cuh"
#include "index.cuh"
#include "entry.cuh"
#include "pack.cuh"
#include "update_pack.cuh"
#include "panel.cuh"
#ifndef LANES
#error "LANES is missing: 8, 16 or 32"
#endif
#ifndef IN_FLIGHT
#define IN_FLIGHT 4
#endif
#define COLUMNS (LANES * VECTOR)
#define TEAMS (MAX_THREADS / LANES)
#define PLACES_PER_LANE (PLACES / LANES)
#define FIRST_ROW_PLACES 0x11111111u

// column * step. With WIDE a step is below 2^31, so that one instruction multiplies.
static __device__ long long product(Idx column, long long step)
{
    return column * (WIDE ? (long long)(int)step : step);
}

// The panels of A.
struct Panels
{
    const Off *offsets;
    const long long *starts;
    const Idx *columns;
    const unsigned int *places;
    const T *values;
};

// A group of slots: their columns, and the entries of the lane, zeros at places without one.
struct Group
{
    Idx columns[SLOTS];
    unsigned int places;
    ACC entries[PLACES_PER_LANE];
};

static __device__ bool is_finite(ACC value)
{
#if COMPLEX
    return isfinite(value.x) && isfinite(value.y);
#else
    return isfinite(value);
#endif
}

// sums <- the products of a panel's entries and VECTOR columns of B, from position b_at of its first row on.
static __device__ void multiply_entries(ACC (*sums)[VECTOR], Panels a, long long panel, long long rows, const T *b,
                                        long long b_at, long long b_row)
{
#pragma unroll
    for (int r = 0; r < ROWS; r++) {
        long long at = panel * ROWS + r < rows ? (long long)a.offsets[panel * ROWS + r] : 0;
#pragma unroll
        for (int m = 0; m < VECTOR; m++)
            sums[r][m] = ACC(0);
        for (long long slot = a.starts[panel] * SLOTS; slot < a.starts[panel + 1] * SLOTS; slot++)
            if (a.places[slot / SLOTS] >> (slot % SLOTS * ROWS + r) & 1) {
                ACC value = entry(a.values, at++);
                Pack pack = load_pack(b, b_at + a.columns[slot] * b_row, VECTOR);
#pragma unroll
                for (int m = 0; m < VECTOR; m++)
                    sums[r][m] += mul(value, to_acc(pack.part[m]));
            }
    }
}

// LANES lanes take a panel. All its places are multiplied, those without an entry as zeros; where a sum is not finite,
// the entries alone, since an infinity of B is for the rows that have an entry for it.
KERNEL csr_spmm_panels(long long rows, long long cols, const Off *__restrict__ offsets,
                       const long long *__restrict__ starts, const Idx *__restrict__ columns,
                       const unsigned int *__restrict__ places, const T *__restrict__ values, ACC alpha,
                       const T *__restrict__ b, long long b_start, long long b_row, long long b_col, ACC beta,
                       T *__restrict__ c, long long c_start, long long c_row, long long c_col)
{
    __shared__ ACC staged[TEAMS][2][PLACES];
    int side = 0; // in turn over all panels: a lane writes on one side while others read the other
    int lane = lane_index() % LANES;
    unsigned int team = ALL_LANES >> (WARP - LANES) << (lane_index() - lane);
    unsigned int own_row_places = FIRST_ROW_PLACES << lane % ROWS;
    long long panels = (rows + ROWS - 1) / ROWS;
    long long slices = (cols + COLUMNS - 1) / COLUMNS;
    for (long long tile = thread_index() / LANES; tile < panels * slices; tile += thread_count() / LANES) {
        long long slice = tile < panels ? 0 : tile / panels;
        long long panel = tile - slice * panels;
        long long row = panel * ROWS;
        long long col = slice * COLUMNS + lane * VECTOR;
        bool has_column = col < cols;
        long long b_at = in_register(b_start + col * b_col);
        long long stop = starts[panel + 1];
        // The next entry of the lane's row.
        Off at = row + lane % ROWS < rows ? offsets[row + lane % ROWS] : 0;
        auto load_group = [&](long long number) {
            Group group = {};
            if (number < stop) {
                group.places = places[number];
#pragma unroll
                for (int s = 0; s < SLOTS; s++)
                    group.columns[s] = columns[number * SLOTS + s];
#pragma unroll
                for (int k = 0; k < PLACES_PER_LANE; k++) {
                    unsigned int place = 1u << (k * LANES + lane);
                    if (group.places & place)
                        group.entries[k] = entry(values, at + __popc(group.places & own_row_places & (place - 1)));
                }
                at += __popc(group.places & own_row_places);
            }
            return group;
        };
        Pack loaded[IN_FLIGHT];
        auto load_rows_of_b = [&](const Group &group, int first) {
#pragma unroll
            for (int k = 0; k < IN_FLIGHT; k++)
                loaded[k] = load_pack(b, b_at + product(group.columns[first + k], b_row), has_column ? VECTOR : 0);
        };
        ACC sums[ROWS][VECTOR] = {};
        Group next = load_group(starts[panel]);
        for (long long number = starts[panel]; number < stop; number++) {
            Group group = next;
            load_rows_of_b(group, 0);
            ACC *entries = staged[threadIdx.x / LANES][side];
            side ^= 1;
#pragma unroll
            for (int k = 0; k < PLACES_PER_LANE; k++)
                entries[k * LANES + lane] = group.entries[k];
            __syncwarp(team);
            next = load_group(number + 1);
#pragma unroll
            for (int first = 0; first < SLOTS; first += IN_FLIGHT) {
                if (first > 0 && group.places >> first * ROWS == 0)
                    break;
                if (first > 0)
                    load_rows_of_b(group, first);
#pragma unroll
                for (int k = 0; k < IN_FLIGHT; k++)
#pragma unroll
                    for (int r = 0; r < ROWS; r++)
#pragma unroll
                        for (int m = 0; m < VECTOR; m++)
                            sums[r][m] += mul(entries[(first + k) * ROWS + r], to_acc(loaded[k].part[m]));
            }
        }
        if (!has_column)
            continue;
        bool are_finite = true;
#pragma unroll
        for (int k = 0; k < ROWS * VECTOR; k++)
            are_finite = are_finite && is_finite(sums[k / VECTOR][k % VECTOR]);
        if (!are_finite)
            multiply_entries(sums, {offsets, starts, columns, places, values}, panel, rows, b, b_at, b_row);
#pragma unroll
        for (int r = 0; r < ROWS; r++)
            if (row + r < rows)
                update_pack(c, c_start + (row + r) * c_row + col * c_col, alpha, sums[r], beta);
    }
}

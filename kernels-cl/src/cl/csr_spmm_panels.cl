// csr_spmm_panels: C <- alpha A B + beta C for compressed rows of which neighbours have many columns in common, by
// panels of 4 rows (csr_panels.cl): a row of B is read once for all of them.
// LANES lanes per panel and slice of COLUMNS columns, striding over the grid. Reads A once per slice, a row of B's
// slice per slot, writes C once.
// Macros: SCALAR, IDX, OFF, CONJ (1 conjugates A), WIDE (1: 16 bytes per lane), LANES (8, 16, 32), IN_FLIGHT = 4 (rows
// of B at once), NV_ARCH = 0 (lanes.clh).   Launch: any number of work-groups of 32, or on NVIDIA's devices of 256.
// B and C are dense: element (i, j) is at start + i*row_step + j*col_step. With WIDE, a lane has VECTOR neighbouring
// columns of 16 bytes together: b_col and c_col are 1; cols, b_start, b_row, c_start and c_row are multiples of VECTOR.
// After Hong, Sukumaran-Rajam, Nisa, Singh, Sadayappan: Adaptive sparse tiling for sparse matrix multiplication. PPoPP
// (2019), whose panels have their dense columns in local memory.
#include "scalar.clh"
#include "index.clh"
#include "entry.clh"
#include "lanes.clh"
#include "pack.clh"
#include "panel.clh"
#ifndef LANES
#error "LANES is missing: 8, 16 or 32"
#endif
#ifndef IN_FLIGHT
#define IN_FLIGHT 4
#endif
#define COLUMNS (LANES * VECTOR)

// The matrix by panels, and B.
typedef struct
{
    long rows;
    __global const OFF *offsets;
    __global const long *starts;
    __global const IDX *columns;
    __global const uint *places;
    __global const T *values;
    __global const T *b;
    long b_row;
} Product;

// sums <- the products of a panel's entries and VECTOR columns of B, from position b_at of its first row on.
static void multiply_entries(ACC (*sums)[VECTOR], const Product *a, long panel, long b_at)
{
    long at[ROWS];
    for (int r = 0; r < ROWS; r++) {
        at[r] = panel * ROWS + r < a->rows ? a->offsets[panel * ROWS + r] : 0;
        for (int m = 0; m < VECTOR; m++)
            sums[r][m] = (ACC)(0);
    }
    for (long group = a->starts[panel]; group < a->starts[panel + 1]; group++) {
        uint left = a->places[group];
        for (int first = 0; first < SLOTS && left != 0; first += IN_FLIGHT) {
            Pack loaded[IN_FLIGHT];
            for (int k = 0; k < IN_FLIGHT; k++)
                loaded[k] = load_pack(a->b, b_at + a->columns[group * SLOTS + first + k] * a->b_row, VECTOR);
            for (int k = 0; k < IN_FLIGHT; k++, left >>= ROWS) {
                for (int r = 0; r < ROWS; r++) {
                    if (left >> r & 1) {
                        ACC value = entry(a->values, at[r]++);
                        for (int m = 0; m < VECTOR; m++)
                            sums[r][m] += mul(value, to_acc(loaded[k].part[m]));
                    }
                }
            }
        }
    }
}

#if SHUFFLES
#define PLACES (ROWS * SLOTS)
#define PLACES_PER_LANE (PLACES / LANES)
#define FIRST_ROW_PLACES 0x11111111u
#define TEAMS (WARPS_OF_GROUP * WARP / LANES)

// A group of slots, and a lane's part of its entries.
typedef struct
{
    uint places;
    IDX columns[SLOTS];
    ACC entries[PLACES_PER_LANE];
} Group;

// Group number `number`, empty from `stop` on; `at` is the next entry of the lane's row.
static Group load_group(const Product *a, long number, long stop, int lane, long *at)
{
    Group group;
    group.places = number < stop ? a->places[number] : 0;
#pragma unroll
    for (int s = 0; s < SLOTS; s++)
        group.columns[s] = number < stop ? a->columns[number * SLOTS + s] : 0;
    uint own_row = group.places & FIRST_ROW_PLACES << lane % ROWS;
#pragma unroll
    for (int k = 0; k < PLACES_PER_LANE; k++) {
        uint place = 1u << (k * LANES + lane);
        group.entries[k] = group.places & place ? entry(a->values, *at + popcount(own_row & (place - 1))) : (ACC)(0);
    }
    *at += popcount(own_row);
    return group;
}

// The same as multiply_entries by all places of a panel, those without an entry as zeros, with the entries of a group
// in local memory. Where a sum is not finite, it is by the entries alone, since an infinity of B is for the rows that
// have an entry for it.
static void multiply_places(ACC (*sums)[VECTOR], const Product *a, long panel, long b_at, int has_column, int lane,
                            uint team, __local ACC *staged, int *side)
{
    long row = panel * ROWS + lane % ROWS;
    long at = row < a->rows ? a->offsets[row] : 0;
    long stop = a->starts[panel + 1];
#pragma unroll
    for (int r = 0; r < ROWS; r++)
#pragma unroll
        for (int m = 0; m < VECTOR; m++)
            sums[r][m] = (ACC)(0);
    Group next = load_group(a, a->starts[panel], stop, lane, &at);
    for (long number = a->starts[panel]; number < stop; number++) {
        Group group = next;
        __local ACC *entries = staged + *side * PLACES;
        *side ^= 1;
#pragma unroll
        for (int k = 0; k < PLACES_PER_LANE; k++)
            entries[k * LANES + lane] = group.entries[k];
        sync_lanes(team);
        next = load_group(a, number + 1, stop, lane, &at);
#pragma unroll
        for (int first = 0; first < SLOTS; first += IN_FLIGHT) {
            if (first == 0 || group.places >> first * ROWS != 0) {
                Pack loaded[IN_FLIGHT];
#pragma unroll
                for (int k = 0; k < IN_FLIGHT; k++)
                    loaded[k] = load_pack(a->b, b_at + group.columns[first + k] * a->b_row, has_column ? VECTOR : 0);
#pragma unroll
                for (int k = 0; k < IN_FLIGHT; k++)
#pragma unroll
                    for (int r = 0; r < ROWS; r++)
#pragma unroll
                        for (int m = 0; m < VECTOR; m++)
                            sums[r][m] += mul(entries[(first + k) * ROWS + r], to_acc(loaded[k].part[m]));
            }
        }
    }
    int are_finite = 1;
#pragma unroll
    for (int r = 0; r < ROWS; r++)
#pragma unroll
        for (int m = 0; m < VECTOR; m++)
            are_finite = are_finite && isfinite(magnitude(sums[r][m]));
    if (has_column && !are_finite)
        multiply_entries(sums, a, panel, b_at);
}
#endif

// LANES lanes take a panel.
__kernel OF_WARPS
void csr_spmm_panels(long rows, long cols, __global const OFF *offsets, __global const long *starts,
                     __global const IDX *columns, __global const uint *places, __global const T *values, ACC alpha,
                     __global const T *b, long b_start, long b_row, long b_col, ACC beta, __global T *c, long c_start,
                     long c_row, long c_col)
{
    int lid = (int)get_local_id(0);
    int lane = lid % LANES;
    long panels = (rows + ROWS - 1) / ROWS;
    long slices = (cols + COLUMNS - 1) / COLUMNS;
    long teams = get_global_size(0) / LANES;
    Product a = {rows, offsets, starts, columns, places, values, b, b_row};
#if SHUFFLES
    __local ACC staged[TEAMS][2 * PLACES];
    int side = 0; // in turn over all panels: a lane writes on one side while others read the other
    uint team = ~0u >> (WARP - LANES) << lid % WARP / LANES * LANES;
#endif
    for (long tile = get_global_id(0) / LANES; tile < panels * slices; tile += teams) {
        long panel = tile % panels;
        long row = panel * ROWS;
        long col = tile / panels * COLUMNS + lane * VECTOR;
        long b_at = b_start + col * b_col;
        ACC sums[ROWS][VECTOR];
#if SHUFFLES
        multiply_places(sums, &a, panel, b_at, col < cols, lane, team, staged[lid / LANES], &side);
#else
        if (col < cols)
            multiply_entries(sums, &a, panel, b_at);
#endif
        if (col < cols)
            for (int r = 0; r < ROWS && row + r < rows; r++)
                for (int m = 0; m < VECTOR; m++)
                    update(c, c_start + (row + r) * c_row + (col + m) * c_col, mul(alpha, sums[r][m]), beta);
    }
}

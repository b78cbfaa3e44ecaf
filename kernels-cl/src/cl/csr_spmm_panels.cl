// csr_spmm_panels: C <- alpha A B + beta C for compressed rows of which neighbours have many columns in common, by
// panels of 4 rows (csr_panels.cl): a row of B is read once for all of them.
// LANES lanes per panel and slice of COLUMNS columns, striding over the grid. Reads A once per slice, a row of B's slice
// per slot, writes C once.
// Macros: SCALAR, IDX, OFF, CONJ (1 conjugates A), WIDE (1: 16 bytes per lane), LANES (8, 16, 32), IN_FLIGHT = 4 (rows
// of B at once).   Launch: any number of work-groups of 32.
// B and C are dense: element (i, j) is at start + i*row_step + j*col_step. With WIDE, a lane has VECTOR neighbouring
// columns of 16 bytes together: b_col and c_col are 1; cols, b_start, b_row, c_start and c_row are multiples of VECTOR.
// After Hong, Sukumaran-Rajam, Nisa, Singh, Sadayappan: Adaptive sparse tiling for sparse matrix multiplication. PPoPP
// (2019), whose panels have their dense columns in local memory.
#include "scalar.clh"
#include "index.clh"
#include "entry.clh"
#include "pack.clh"
#include "panel.clh"
#ifndef LANES
#error "LANES is missing: 8, 16 or 32"
#endif
#ifndef IN_FLIGHT
#define IN_FLIGHT 4
#endif
#define WARP 32
#define COLUMNS (LANES * VECTOR)

// LANES lanes take a panel.
__kernel __attribute__((reqd_work_group_size(WARP, 1, 1)))
void csr_spmm_panels(long rows, long cols, __global const OFF *offsets, __global const long *starts,
                     __global const IDX *columns, __global const uint *places, __global const T *values, ACC alpha,
                     __global const T *b, long b_start, long b_row, long b_col, ACC beta, __global T *c, long c_start,
                     long c_row, long c_col)
{
    int lid = (int)get_local_id(0);
    long panels = (rows + ROWS - 1) / ROWS;
    long slices = (cols + COLUMNS - 1) / COLUMNS;
    long teams = get_num_groups(0) * (WARP / LANES);
    for (long tile = get_group_id(0) * (WARP / LANES) + lid / LANES; tile < panels * slices; tile += teams) {
        long panel = tile % panels;
        long row = panel * ROWS;
        long col = tile / panels * COLUMNS + lid % LANES * VECTOR;
        if (col < cols) {
            long b_at = b_start + col * b_col;
            ACC sums[ROWS][VECTOR];
            long at[ROWS];
            for (int r = 0; r < ROWS; r++) {
                at[r] = row + r < rows ? offsets[row + r] : 0;
                for (int m = 0; m < VECTOR; m++)
                    sums[r][m] = (ACC)(0);
            }
            for (long group = starts[panel]; group < starts[panel + 1]; group++) {
                uint left = places[group];
                for (int first = 0; first < SLOTS && left != 0; first += IN_FLIGHT) {
                    Pack loaded[IN_FLIGHT];
                    for (int k = 0; k < IN_FLIGHT; k++)
                        loaded[k] = load_pack(b, b_at + columns[group * SLOTS + first + k] * b_row, VECTOR);
                    for (int k = 0; k < IN_FLIGHT; k++, left >>= ROWS) {
                        for (int r = 0; r < ROWS; r++) {
                            if (left >> r & 1) {
                                ACC value = entry(values, at[r]++);
                                for (int m = 0; m < VECTOR; m++)
                                    sums[r][m] += mul(value, to_acc(loaded[k].part[m]));
                            }
                        }
                    }
                }
            }
            for (int r = 0; r < ROWS && row + r < rows; r++)
                for (int m = 0; m < VECTOR; m++)
                    update(c, c_start + (row + r) * c_row + (col + m) * c_col, mul(alpha, sums[r][m]), beta);
        }
    }
}

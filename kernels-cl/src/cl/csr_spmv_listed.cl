// csr_spmv_listed: y <- alpha A x + beta y for compressed rows of which most are empty, by a list of the others.
// LANES lanes per listed row, 32 / LANES of them per warp, and one work-item per row for those that are not listed, all
// striding over the grid. Reads values, indices and the list once, a bit per row, gathers x, writes y once.
// Macros: SCALAR, IDX, OFF, CONJ (1 conjugates A), LANES (2, 4, 8, 16, 32), NV_ARCH = 0 (lanes.clh).   Launch: any
// number of work-groups of 32, or with shuffles of 256; count and fill of any size.
// The plan has a bit for each row with entries, and of these rows, in order, the numbers and the first entries.
#include "scalar.clh"
#include "index.clh"
#include "entry.clh"
#include "lanes.clh"
#ifndef LANES
#error "LANES is missing: 2, 4, 8, 16 or 32"
#endif
#define ROWS_OF_WARP (WARP / LANES)

// counts[row] <- 1 if the row has entries, otherwise 0; one zero more at the end. A work-item takes a row.
__kernel void csr_spmv_listed_count(long rows, __global const OFF *offsets, __global long *counts)
{
    for (long row = get_global_id(0); row <= rows; row += get_global_size(0))
        counts[row] = row < rows && offsets[row] < offsets[row + 1];
}

// Sets the bits of the rows with entries and lists them; starts are the counts, scanned. Behind the last one stands the
// end of the entries. A work-item takes a row.
__kernel void csr_spmv_listed_fill(long rows, __global const OFF *offsets, __global const long *starts,
                                   __global uint *bits, __global IDX *listed, __global OFF *begins)
{
    for (long row = get_global_id(0); row <= rows; row += get_global_size(0)) {
        int is_end = row == rows;
        if (!is_end && offsets[row] == offsets[row + 1])
            continue;
        begins[starts[row]] = offsets[row];
        if (!is_end) {
            atomic_or(bits + row / WARP, 1u << row % WARP);
            listed[starts[row]] = (IDX)row;
        }
    }
}

// A warp takes ROWS_OF_WARP listed rows: lane l of a row sums its entries l, l + LANES, ...; a fixed tree adds the
// lanes. A work-item takes a row that may be not listed.
__kernel OF_WARPS
void csr_spmv_listed(long rows, long filled, __global const uint *bits, __global const IDX *listed,
                     __global const OFF *begins, __global const IDX *indices, __global const T *values, ACC alpha,
                     __global const T *x, long x_start, ACC beta, __global T *y, long y_start)
{
    int lid = (int)get_local_id(0);
    __local ACC exchange[WARP];
    int lane = lid % LANES;
    for (long first = warp_index(lid) * ROWS_OF_WARP; first < filled; first += warp_count() * ROWS_OF_WARP) {
        long at = first + lid % WARP / LANES;
        ACC sum = (ACC)(0);
        if (at < filled) {
            long end = begins[at + 1];
            for (long k = begins[at] + lane; k < end; k += LANES)
                sum += mul(entry(values, k), load(x, x_start + indices[k]));
        }
        sum = sum_lanes(lid, sum, LANES, exchange);
        if (at < filled && lane == 0)
            update(y, y_start + listed[at], mul(alpha, sum), beta);
    }
    for (long row = get_global_id(0); row < rows; row += get_global_size(0))
        if ((bits[row / WARP] >> row % WARP & 1) == 0)
            update(y, y_start + row, (ACC)(0), beta);
}

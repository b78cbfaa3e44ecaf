// coo_spmv: sums <- sums + A x for coordinates; vector_update makes y of the sums.
// Segmented: 32 lanes per interval of entries, one entry per lane and step; reads A once, gathers x, updates each sum
// once per interval. Sequential: one work-item for all entries.
// Macros: SCALAR, IDX (type of indices; OFF is the same), CONJ (1 conjugates A), BLOCK (a power of two, a multiple of
// 32).   Launch: segmented any number of work-groups of BLOCK; carries one work-group of BLOCK; sequential one
// work-item.
#include "scalar.clh"
#include "index.clh"
#include "entry.clh"
#ifndef BLOCK
#error "BLOCK is missing: the size of a work-group"
#endif
#define LANES 32

static ACC product(__global const IDX *col_idx, __global const T *values, __global const T *x, long x_start, long at)
{
    return mul(entry(values, at), load(x, x_start + col_idx[at]));
}

// One work-item takes the entries begin .. end one by one, in any order of rows.
__kernel void coo_spmv_sequential(long begin, long end, __global const IDX *row_idx, __global const IDX *col_idx,
                                  __global const T *values, __global const T *x, long x_start, __global ACC *sums)
{
    for (long n = begin; n < end; n++)
        sums[row_idx[n]] += product(col_idx, values, x, x_start, n);
}

// Rows in order. Warp w of the grid owns the units of 32 entries w*per_warp .. (w + 1)*per_warp, cut at `units`, and
// walks them: products, a sum by rows over the 32 lanes, and the last row's sum carried into the next step. A row that
// ends inside the interval has one writer; what is left at the end goes to carry_row[w], carry_sum[w].
// A warp without entries only takes part in the barriers.
__kernel __attribute__((reqd_work_group_size(BLOCK, 1, 1)))
void coo_spmv_segmented(long units, long per_warp, __global const IDX *row_idx, __global const IDX *col_idx,
                        __global const T *values, __global const T *x, long x_start, __global ACC *sums,
                        __global long *carry_row, __global ACC *carry_sum)
{
    int lid = (int)get_local_id(0);
    int lane = lid % LANES;
    __local long rows[BLOCK];
    __local ACC vals[BLOCK];
    long first_warp = get_group_id(0) * (BLOCK / LANES);
    long warp = first_warp + lid / LANES;
    long begin = min(warp * per_warp, units);
    long steps = min((warp + 1) * per_warp, units) - begin;
    // The first warp of a work-group has the most steps of it.
    long group_begin = min(first_warp * per_warp, units);
    long group_steps = min((first_warp + 1) * per_warp, units) - group_begin;

    if (lane == LANES - 1) {
        rows[lid] = steps > 0 ? (long)row_idx[begin * LANES] : -1;
        vals[lid] = (ACC)(0);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    for (long k = 0; k < group_steps; k++) {
        int active = k < steps;
        long row = -1;
        ACC val = (ACC)(0);
        if (active) {
            long n = (begin + k) * LANES + lane;
            row = row_idx[n];
            val = product(col_idx, values, x, x_start, n);
            if (lane == 0) {
                if (row == rows[lid + LANES - 1])
                    val += vals[lid + LANES - 1];
                else
                    sums[rows[lid + LANES - 1]] += vals[lid + LANES - 1];
            }
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        if (active) {
            rows[lid] = row;
            vals[lid] = val;
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int d = 1; d < LANES; d *= 2) {
            ACC left = (ACC)(0);
            if (active && lane >= d && rows[lid - d] == row)
                left = vals[lid - d];
            barrier(CLK_LOCAL_MEM_FENCE);
            if (active) {
                val += left;
                vals[lid] = val;
            }
            barrier(CLK_LOCAL_MEM_FENCE);
        }
        if (active && lane < LANES - 1 && rows[lid + 1] != row)
            sums[row] += val;
    }
    if (lane == LANES - 1 && steps > 0) {
        carry_row[warp] = rows[lid];
        carry_sum[warp] = vals[lid];
    }
}

// One work-group adds the carries of `active` warps to the sums, BLOCK of them at a time.
__kernel __attribute__((reqd_work_group_size(BLOCK, 1, 1)))
void coo_spmv_carries(long active, __global const long *carry_row, __global const ACC *carry_sum, __global ACC *sums)
{
    int lid = (int)get_local_id(0);
    __local long rows[BLOCK + 1];
    __local ACC vals[BLOCK];
    if (lid == 0)
        rows[BLOCK] = -1;
    for (long base = 0; base < active; base += BLOCK) {
        int real = base + lid < active;
        long row = -1;
        ACC val = (ACC)(0);
        if (real) {
            row = carry_row[base + lid];
            val = carry_sum[base + lid];
        }
        rows[lid] = row;
        vals[lid] = val;
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int d = 1; d < BLOCK; d *= 2) {
            ACC left = (ACC)(0);
            if (lid >= d && rows[lid - d] == row)
                left = vals[lid - d];
            barrier(CLK_LOCAL_MEM_FENCE);
            val += left;
            vals[lid] = val;
            barrier(CLK_LOCAL_MEM_FENCE);
        }
        if (real && rows[lid + 1] != row)
            sums[row] += val;
        barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    }
}

// csr_spmm: C <- alpha A B + beta C for compressed rows and dense B, C: element (i, j) is at start + i*row_step +
// j*col_step.
// row_per_thread: one work-item per row with all its columns. crc, cwm: one work-group of 32 per row and 32 or 128
// columns, which reads an entry once for all of them. Reads A once per column (row_per_thread) or slice of columns, B
// by rows per entry, writes C once.
// Macros: SCALAR, IDX, OFF, CONJ (1 conjugates A), COLUMNS_PER_LANE = 4 (of cwm).   Launch: any number of work-groups
// of any size, of 32 for the warp kernels.
#include "scalar.clh"
#include "index.clh"
#include "entry.clh"
#define LANES 32
#ifndef COLUMNS_PER_LANE
#define COLUMNS_PER_LANE 4
#endif

// A work-item takes a row, with all its columns, and every get_global_size(0)-th row after it.
__kernel void csr_spmm_row_per_thread(long rows, long cols, __global const OFF *offsets, __global const IDX *indices,
                                      __global const T *values, ACC alpha, __global const T *b, long b_start,
                                      long b_row, long b_col, ACC beta, __global T *c, long c_start, long c_row,
                                      long c_col)
{
    for (long row = get_global_id(0); row < rows; row += get_global_size(0)) {
        long begin = offsets[row];
        long end = offsets[row + 1];
        for (long col = 0; col < cols; col++) {
            ACC sum = (ACC)(0);
            for (long k = begin; k < end; k++)
                sum += mul(entry(values, k), load(b, b_start + indices[k] * b_row + col * b_col));
            update(c, c_start + row * c_row + col * c_col, mul(alpha, sum), beta);
        }
    }
}

// Coalesced row caching: a work-group of 32 lanes takes 32 columns of a row, a column a lane; 32 entries at a time are
// staged in local memory and used by every lane.
__kernel __attribute__((reqd_work_group_size(LANES, 1, 1)))
void csr_spmm_crc(long rows, long cols, __global const OFF *offsets, __global const IDX *indices,
                  __global const T *values, ACC alpha, __global const T *b, long b_start, long b_row, long b_col,
                  ACC beta, __global T *c, long c_start, long c_row, long c_col)
{
    int lid = (int)get_local_id(0);
    __local long b_rows[LANES];
    __local ACC entries[LANES];
    long slices = (cols + LANES - 1) / LANES;
    for (long tile = get_group_id(0); tile < rows * slices; tile += get_num_groups(0)) {
        long row = tile / slices;
        long col = tile % slices * LANES + lid;
        long end = offsets[row + 1];
        ACC sum = (ACC)(0);
        for (long base = offsets[row]; base < end; base += LANES) {
            int staged = (int)min((long)LANES, end - base);
            if (lid < staged) {
                b_rows[lid] = b_start + indices[base + lid] * b_row;
                entries[lid] = entry(values, base + lid);
            }
            barrier(CLK_LOCAL_MEM_FENCE);
            if (col < cols)
                for (int k = 0; k < staged; k++)
                    sum += mul(entries[k], load(b, b_rows[k] + col * b_col));
            barrier(CLK_LOCAL_MEM_FENCE);
        }
        if (col < cols)
            update(c, c_start + row * c_row + col * c_col, mul(alpha, sum), beta);
    }
}

// Coarse-grained warp merging: as above with 128 columns a work-group, four a lane, 32 apart.
__kernel __attribute__((reqd_work_group_size(LANES, 1, 1)))
void csr_spmm_cwm(long rows, long cols, __global const OFF *offsets, __global const IDX *indices,
                  __global const T *values, ACC alpha, __global const T *b, long b_start, long b_row, long b_col,
                  ACC beta, __global T *c, long c_start, long c_row, long c_col)
{
    int lid = (int)get_local_id(0);
    __local long b_rows[LANES];
    __local ACC entries[LANES];
    long slices = (cols + COLUMNS_PER_LANE * LANES - 1) / (COLUMNS_PER_LANE * LANES);
    for (long tile = get_group_id(0); tile < rows * slices; tile += get_num_groups(0)) {
        long row = tile / slices;
        long col = tile % slices * (COLUMNS_PER_LANE * LANES) + lid;
        long end = offsets[row + 1];
        ACC sums[COLUMNS_PER_LANE];
        for (int m = 0; m < COLUMNS_PER_LANE; m++)
            sums[m] = (ACC)(0);
        for (long base = offsets[row]; base < end; base += LANES) {
            int staged = (int)min((long)LANES, end - base);
            if (lid < staged) {
                b_rows[lid] = b_start + indices[base + lid] * b_row;
                entries[lid] = entry(values, base + lid);
            }
            barrier(CLK_LOCAL_MEM_FENCE);
            for (int k = 0; k < staged; k++)
                for (int m = 0; m < COLUMNS_PER_LANE; m++)
                    if (col + m * LANES < cols)
                        sums[m] += mul(entries[k], load(b, b_rows[k] + (col + m * LANES) * b_col));
            barrier(CLK_LOCAL_MEM_FENCE);
        }
        for (int m = 0; m < COLUMNS_PER_LANE; m++)
            if (col + m * LANES < cols)
                update(c, c_start + row * c_row + (col + m * LANES) * c_col, mul(alpha, sums[m]), beta);
    }
}

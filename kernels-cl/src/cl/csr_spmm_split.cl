// csr_spmm_split: C <- alpha A B + beta C for compressed rows in chunks (csr_chunks.cl), the longest first, so that
// neighbours have equal work (row swizzle).
// LANES lanes per chunk and slice of COLUMNS columns; 32 / LANES neighbouring chunks side by side. All chunks have the
// columns of a slice before the next slice begins, so that a slice of B can stay in the cache. Reads A once per slice,
// a row of B's slice per entry, writes C once.
// Macros: SCALAR, IDX, OFF, CONJ (1 conjugates A), WIDE (words of 16 bytes per lane: 1, 2; 0: one column), LANES (2, 4,
// 8, 16, 32), NV_ARCH = 0 (lanes.clh).   Launch: any number of work-groups of 32; row_split on NVIDIA's devices of
// whole warps.
// A chunk that is a whole row has sum index -1 and writes C; the others write partial sums, element (k, col) at k*cols
// + col, which partial_sums.cl adds.
// B and C are dense: element (i, j) is at start + i*row_step + j*col_step. With WIDE, a word has VECTOR neighbouring
// columns: b_col and c_col are 1; cols, b_start, b_row, c_start and c_row are multiples of VECTOR.
// Yang, Buluc, Owens: Design principles for sparse matrix multiplication on the GPU. Euro-Par (2018).
// Gale, Zaharia, Young, Elsen: Sparse GPU kernels for deep learning. SC (2020).
#include "scalar.clh"
#include "index.clh"
#include "entry.clh"
#include "lanes.clh"
#include "pack.clh"
#ifndef LANES
#error "LANES is missing: 2, 4, 8, 16 or 32"
#endif
#define PACKS (WIDE > 1 ? WIDE : 1)
#define PACK_STEP (LANES * VECTOR)
#define COLUMNS (PACK_STEP * PACKS)
#define TOGETHER (WARP / LANES)

// packed[row*cols + col] <- B(row, col). A work-group of 32 lanes takes a row.
__kernel __attribute__((reqd_work_group_size(WARP, 1, 1)))
void csr_spmm_pack(long rows, long cols, __global const T *b, long b_start, long b_row, long b_col, __global T *packed)
{
    int lid = (int)get_local_id(0);
    for (long row = get_group_id(0); row < rows; row += get_num_groups(0))
        for (long col = lid; col < cols; col += WARP)
            packed[row * cols + col] = b[b_start + row * b_row + col * b_col];
}

// A warp takes TOGETHER chunks.
__kernel OF_ANY_WARPS
void csr_spmm_row_split(long chunks, long cols, __global const long *begins, __global const int *lengths,
                        __global const long *rows, __global const long *slots, __global const IDX *indices,
                        __global const T *values, ACC alpha, __global const T *b, long b_start, long b_row,
                        long b_col, ACC beta, __global T *c, long c_start, long c_row, long c_col,
                        __global ACC *partial)
{
    int lid = (int)get_local_id(0);
    long slices = (cols + COLUMNS - 1) / COLUMNS;
    long steps = (chunks + TOGETHER - 1) / TOGETHER;
    for (long tile = warp_index(lid); tile < steps * slices; tile += warp_count()) {
        long chunk = tile % steps * TOGETHER + lid % WARP / LANES;
        long col = tile / steps * COLUMNS + lid % LANES * VECTOR;
        int packs = 0;
        for (int p = 0; p < PACKS; p++)
            packs += chunk < chunks && col + p * PACK_STEP < cols;
        if (packs > 0) {
            long begin = begins[chunk];
            long end = begin + lengths[chunk];
            long slot = slots[chunk];
            long row = rows[chunk];
            ACC sums[PACKS][VECTOR];
            // With constant indices alone, sums stay in registers.
#pragma unroll
            for (int p = 0; p < PACKS; p++)
#pragma unroll
                for (int m = 0; m < VECTOR; m++)
                    sums[p][m] = (ACC)(0);
            for (long k = begin; k < end; k++) {
                ACC value = entry(values, k);
                long b_at = b_start + indices[k] * b_row + col * b_col;
#pragma unroll
                for (int p = 0; p < PACKS; p++) {
                    if (p < packs) {
                        Pack pack = load_pack(b, b_at + p * PACK_STEP, VECTOR);
#pragma unroll
                        for (int m = 0; m < VECTOR; m++)
                            sums[p][m] += mul(value, to_acc(pack.part[m]));
                    }
                }
            }
#pragma unroll
            for (int p = 0; p < PACKS; p++) {
                long first = col + p * PACK_STEP;
#pragma unroll
                for (int m = 0; m < VECTOR; m++) {
                    if (p < packs && slot >= 0)
                        partial[slot * cols + first + m] = sums[p][m];
                    else if (p < packs)
                        update(c, c_start + row * c_row + (first + m) * c_col, mul(alpha, sums[p][m]), beta);
                }
            }
        }
    }
}

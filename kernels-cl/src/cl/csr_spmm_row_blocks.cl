// csr_spmm_row_blocks: C <- alpha A B + beta C for compressed rows that are short, by row blocks (row_block.clh): a
// walk over the entries of neighbouring rows has the rows of B for the next entries on their way, whatever row they are
// of. LANES lanes per row block and slice of COLUMNS columns, striding over the grid. Reads A once per slice, a row of
// B's slice per entry, writes C once.
// Macros: SCALAR, IDX, OFF, CONJ (1 conjugates A), WIDE (words of 16 bytes per lane: 1, 2; 0: one column), LANES (4, 8,
// 16, 32), IN_FLIGHT = 4, or 2 with two words (entries at once).   Launch: any number of work-groups of 32.
// The parts of a row that spans several blocks write partial sums, element (slots[block], col) at slots[block]*cols +
// col, which partial_sums.cl adds. B and C are dense: element (i, j) is at start + i*row_step + j*col_step. With WIDE,
// a word has VECTOR neighbouring columns: b_col and c_col are 1; cols, b_start, b_row, c_start and c_row are multiples
// of VECTOR. After Merrill, Garland: Merge-based parallel sparse matrix-vector multiplication. SC (2016).
#include "scalar.clh"
#include "index.clh"
#include "entry.clh"
#include "pack.clh"
#include "row_block.clh"
#ifndef LANES
#error "LANES is missing: 4, 8, 16 or 32"
#endif
#define PACKS (WIDE > 1 ? WIDE : 1)
#define PACK_STEP (LANES * VECTOR)
#define COLUMNS (PACK_STEP * PACKS)
#ifndef IN_FLIGHT
#define IN_FLIGHT (4 / PACKS)
#endif
#define WARP 32

// LANES lanes take a row block. Positions of entries count from the first of the block. Sums and loaded words have
// constant indices alone: otherwise NVIDIA's compiler puts them into memory, which took 2 to 4 times as long.
__kernel __attribute__((reqd_work_group_size(WARP, 1, 1)))
void csr_spmm_row_blocks(long blocks, long size, long cols, __global const long *block_starts, __global const long *slots, __global const OFF *offsets,
                         __global const IDX *indices, __global const T *values, ACC alpha, __global const T *b,
                         long b_start, long b_row, long b_col, ACC beta, __global T *c, long c_start, long c_row,
                         long c_col, __global ACC *partial)
{
    int lid = (int)get_local_id(0);
    long slices = (cols + COLUMNS - 1) / COLUMNS;
    long teams = get_num_groups(0) * (WARP / LANES);
    for (long tile = get_group_id(0) * (WARP / LANES) + lid / LANES; tile < blocks * slices; tile += teams) {
        long number = tile % blocks;
        long col = tile / blocks * COLUMNS + lid % LANES * VECTOR;
        if (col < cols) {
            RowBlock block = row_block(number, size, block_starts);
            int length = (int)(block.stop - block.begin);
            int packs = (int)min((long)PACKS, (cols - col + PACK_STEP - 1) / PACK_STEP);
            ACC sums[PACKS][VECTOR];
#pragma unroll
            for (int p = 0; p < PACKS; p++)
#pragma unroll
                for (int m = 0; m < VECTOR; m++)
                    sums[p][m] = (ACC)(0);
            long row = block.first;
            int row_end = row < block.last ? (int)(offsets[row + 1] - block.begin) : length;
            for (int at = 0; at < length || row < block.last; at += IN_FLIGHT) {
                Pack loaded[IN_FLIGHT][PACKS];
#pragma unroll
                for (int k = 0; k < IN_FLIGHT; k++)
                    if (at + k < length) {
                        long b_at = b_start + indices[block.begin + at + k] * b_row + col * b_col;
#pragma unroll
                        for (int p = 0; p < PACKS; p++)
                            if (p < packs)
                                loaded[k][p] = load_pack(b, b_at + p * PACK_STEP, VECTOR);
                    }
#pragma unroll
                for (int k = 0; k < IN_FLIGHT; k++) {
                    while (row < block.last && at + k >= row_end) {
                        long c_at = c_start + row * c_row + col * c_col;
#pragma unroll
                        for (int p = 0; p < PACKS; p++) {
#pragma unroll
                            for (int m = 0; m < VECTOR; m++) {
                                if (p < packs)
                                    update(c, c_at + (p * PACK_STEP + m) * c_col, mul(alpha, sums[p][m]), beta);
                                sums[p][m] = (ACC)(0);
                            }
                        }
                        row++;
                        row_end = row < block.last ? (int)(offsets[row + 1] - block.begin) : length;
                    }
                    if (at + k < length) {
                        ACC value = entry(values, block.begin + at + k);
#pragma unroll
                        for (int p = 0; p < PACKS; p++)
#pragma unroll
                            for (int m = 0; m < VECTOR; m++)
                                if (p < packs)
                                    sums[p][m] += mul(value, to_acc(loaded[k][p].part[m]));
                    }
                }
            }
            if (block.goes_on)
#pragma unroll
                for (int p = 0; p < PACKS; p++)
#pragma unroll
                    for (int m = 0; m < VECTOR; m++)
                        if (p < packs)
                            partial[slots[number] * cols + col + p * PACK_STEP + m] = sums[p][m];
        }
    }
}

// C <- alpha A B + beta C for compressed rows that are cut into chunks (csr_chunks.cl), taken in the order `order`: the
// longest first gives neighbours equal work (row swizzle). A chunk that is a whole row writes C; the others leave
// partial sums, element (split, col) at split*cols + col, which a second kernel adds in order.
// B and C are dense, element (i, j) at start + i*row_step + j*col_step. With WIDE, a lane takes VECTOR neighbouring
// columns of 16 bytes together: b_col and c_col are 1; cols, b_start, b_row, c_start and c_row are multiples of VECTOR.
// Takes SCALAR, IDX, OFF, CONJ, WIDE and LANES: 4, 8, 16 or 32.
// Yang, Buluc, Owens: Design principles for sparse matrix multiplication on the GPU. Euro-Par (2018).
// Gale, Zaharia, Young, Elsen: Sparse GPU kernels for deep learning. SC (2020).
#include "scalar.clh"
#include "index.clh"
#include "entry.clh"
#include "pack.clh"
#include "chunk.clh"
#ifndef LANES
#error "LANES is missing: 4, 8, 16 or 32"
#endif
#define WARP 32
#define COLUMNS (LANES * VECTOR)
#define TOGETHER (WARP / LANES)

// A work-group of 32 lanes takes a chunk and LANES*VECTOR columns. It stages 32 entries at a time in local memory and
// multiplies TOGETHER of them at a time, LANES lanes each; a fixed tree adds what the lanes of a column have.
__kernel __attribute__((reqd_work_group_size(WARP, 1, 1)))
void csr_spmm_row_split(long chunks, __global const long *order, __global const long *chunk_rows,
                        __global const long *chunk_starts, __global const long *split_starts, long cols,
                        __global const OFF *offsets, __global const IDX *indices, __global const T *values, ACC alpha,
                        __global const T *b, long b_start, long b_row, long b_col, ACC beta, __global T *c,
                        long c_start, long c_row, long c_col, __global ACC *partial)
{
    int lid = (int)get_local_id(0);
    __local long b_rows[WARP];
    __local ACC entries[WARP];
    __local ACC of_lanes[VECTOR * WARP];
    long slices = (cols + COLUMNS - 1) / COLUMNS;
    for (long tile = get_group_id(0); tile < chunks * slices; tile += get_num_groups(0)) {
        long chunk = order[tile / slices];
        long col = tile % slices * COLUMNS + lid % LANES * VECTOR;
        long row = chunk_rows[chunk];
        long number = chunk - chunk_starts[row];
        long begin = offsets[row] + number * CHUNK;
        long end = min(begin + CHUNK, (long)offsets[row + 1]);
        ACC sums[VECTOR];
        for (int m = 0; m < VECTOR; m++)
            sums[m] = (ACC)(0);
        for (long base = begin; base < end; base += WARP) {
            int staged = (int)min((long)WARP, end - base);
            if (lid < staged) {
                b_rows[lid] = b_start + indices[base + lid] * b_row;
                entries[lid] = entry(values, base + lid);
            }
            barrier(CLK_LOCAL_MEM_FENCE);
            if (col < cols)
                for (int k = lid / LANES; k < staged; k += TOGETHER) {
                    Pack pack = load_pack(b, b_rows[k] + col * b_col, VECTOR);
                    for (int m = 0; m < VECTOR; m++)
                        sums[m] += mul(entries[k], to_acc(pack.part[m]));
                }
            barrier(CLK_LOCAL_MEM_FENCE);
        }
        for (int m = 0; m < VECTOR; m++)
            of_lanes[m * WARP + lid] = sums[m];
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int lanes = WARP / 2; lanes >= LANES; lanes /= 2) {
            if (lid < lanes)
                for (int m = 0; m < VECTOR; m++)
                    of_lanes[m * WARP + lid] += of_lanes[m * WARP + lid + lanes];
            barrier(CLK_LOCAL_MEM_FENCE);
        }
        if (lid < LANES && col < cols) {
            if (chunk_starts[row + 1] - chunk_starts[row] > 1) {
                for (int m = 0; m < VECTOR; m++)
                    partial[(split_starts[row] + number) * cols + col + m] = of_lanes[m * WARP + lid];
            } else {
                for (int m = 0; m < VECTOR; m++)
                    update(c, c_start + row * c_row + (col + m) * c_col, mul(alpha, of_lanes[m * WARP + lid]), beta);
            }
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
}

// The rows of several chunks: a work-item takes a column of such a row.
__kernel void csr_spmm_row_split_sums(long splits, __global const long *split_rows, __global const long *split_starts,
                                      long cols, ACC alpha, ACC beta, __global T *c, long c_start, long c_row,
                                      long c_col, __global const ACC *partial)
{
    for (long i = get_global_id(0); i < splits * cols; i += get_global_size(0)) {
        long split = i / cols;
        long col = i % cols;
        long row = split_rows[split];
        if (split == split_starts[row]) {
            ACC sum = (ACC)(0);
            for (long s = split; s < split_starts[row + 1]; s++)
                sum += partial[s * cols + col];
            update(c, c_start + row * c_row + col * c_col, mul(alpha, sum), beta);
        }
    }
}

// C <- alpha A B + beta C for compressed rows that are cut into chunks (csr_chunks.cu), taken in the order `order`: the
// longest first gives neighbours equal work (row swizzle). A chunk that is a whole row writes C; the others leave
// partial sums, element (split, col) at split*cols + col, which a second kernel adds in order.
// B and C are dense, element (i, j) at start + i*row_step + j*col_step. With WIDE, a lane takes VECTOR neighbouring
// columns of 16 bytes together: b_col and c_col are 1; cols, b_start, b_row, c_start and c_row are multiples of VECTOR.
// A warp takes a chunk and LANES*VECTOR columns: LANES lanes an entry, 32 / LANES entries at a time.
// Takes SCALAR, IDX, OFF, CONJ, WIDE and LANES: 4, 8, 16 or 32.
// Yang, Buluc, Owens: Design principles for sparse matrix multiplication on the GPU. Euro-Par (2018).
// Gale, Zaharia, Young, Elsen: Sparse GPU kernels for deep learning. SC (2020).
#include "grid.cuh"
#include "scalar.cuh"
#include "index.cuh"
#include "entry.cuh"
#include "warp_scalar.cuh"
#include "pack.cuh"
#include "chunk.cuh"
#ifndef LANES
#error "LANES is missing: 4, 8, 16 or 32"
#endif
#define COLUMNS (LANES * VECTOR)
#define TOGETHER (WARP / LANES)
#define IN_FLIGHT (LANES < 8 ? LANES : 8)

// The entries begin .. end of a row times VECTOR columns of B, which begin at `b_at` in row 0. Lane l has those with
// number l / LANES modulo TOGETHER, and in the end the sum of all. Lanes without columns pass entries on.
static __device__ void sum_entries(ACC *sums, long long begin, long long end, const Idx *indices, const T *values,
                                   const T *b, long long b_at, long long b_row, bool has_columns)
{
    int lane = lane_index();
    for (long long base = begin; base < end; base += WARP) {
        int held = (int)min((long long)WARP, end - base);
        Idx own_index = 0;
        ACC own_entry = ACC(0);
        if (lane < held) {
            own_index = indices[base + lane];
            own_entry = entry(values, base + lane);
        }
#pragma unroll IN_FLIGHT
        for (int first = 0; first < held; first += TOGETHER) {
            int k = first + lane / LANES;
            long long b_index = shuffle(own_index, k);
            ACC value = shuffle(own_entry, k);
            if (k < held && has_columns) {
                Pack pack = load_pack(b, b_at + b_index * b_row, VECTOR);
#pragma unroll
                for (int m = 0; m < VECTOR; m++)
                    sums[m] += mul(value, to_acc(pack.part[m]));
            }
        }
    }
    for (int m = 0; m < VECTOR; m++)
        for (int mask = LANES; mask < WARP; mask *= 2)
            sums[m] += shuffle_xor(sums[m], mask);
}

KERNEL csr_spmm_row_split(long long chunks, const long long *__restrict__ order,
                          const long long *__restrict__ chunk_rows, const long long *__restrict__ chunk_starts,
                          const long long *__restrict__ split_starts, long long cols, const Off *__restrict__ offsets,
                          const Idx *__restrict__ indices, const T *__restrict__ values, ACC alpha,
                          const T *__restrict__ b, long long b_start, long long b_row, long long b_col, ACC beta,
                          T *__restrict__ c, long long c_start, long long c_row, long long c_col,
                          ACC *__restrict__ partial)
{
    int lane = lane_index();
    long long slices = (cols + COLUMNS - 1) / COLUMNS;
    for (long long tile = warp_index(); tile < chunks * slices; tile += warp_count()) {
        long long chunk = order[tile / slices];
        long long col = tile % slices * COLUMNS + lane % LANES * VECTOR;
        long long row = chunk_rows[chunk];
        long long number = chunk - chunk_starts[row];
        long long begin = offsets[row] + number * CHUNK;
        long long end = min(begin + CHUNK, (long long)offsets[row + 1]);
        ACC sums[VECTOR];
        for (int m = 0; m < VECTOR; m++)
            sums[m] = ACC(0);
        sum_entries(sums, begin, end, indices, values, b, b_start + col * b_col, b_row, col < cols);
        if (lane < LANES && col < cols) {
            if (chunk_starts[row + 1] - chunk_starts[row] > 1) {
                for (int m = 0; m < VECTOR; m++)
                    partial[(split_starts[row] + number) * cols + col + m] = sums[m];
            } else {
                for (int m = 0; m < VECTOR; m++)
                    update(c, c_start + row * c_row + (col + m) * c_col, mul(alpha, sums[m]), beta);
            }
        }
    }
}

// The rows of several chunks: a thread takes a column of such a row.
KERNEL csr_spmm_row_split_sums(long long splits, const long long *__restrict__ split_rows,
                               const long long *__restrict__ split_starts, long long cols, ACC alpha, ACC beta,
                               T *__restrict__ c, long long c_start, long long c_row, long long c_col,
                               const ACC *__restrict__ partial)
{
    for (long long i = thread_index(); i < splits * cols; i += thread_count()) {
        long long split = i / cols;
        long long col = i % cols;
        long long row = split_rows[split];
        if (split == split_starts[row]) {
            ACC sum = ACC(0);
            for (long long s = split; s < split_starts[row + 1]; s++)
                sum += partial[s * cols + col];
            update(c, c_start + row * c_row + col * c_col, mul(alpha, sum), beta);
        }
    }
}

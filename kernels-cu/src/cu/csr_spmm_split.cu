// csr_spmm_split: C <- alpha A B + beta C for compressed rows in chunks (csr_chunks.cu), the longest first, so that
// neighbours have equal work (row swizzle).
// LANES lanes per chunk and slice of COLUMNS columns; 32 / LANES neighbouring chunks side by side. All chunks have the
// columns of a slice before the next slice begins, so that a slice of B can stay in the cache. Reads A once per slice,
// a row of B's slice per entry, writes C once.
// Macros: SCALAR, IDX, OFF, CONJ (1 conjugates A), WIDE (1: 16 bytes per lane), LANES (4, 8, 16, 32), MIN_BLOCKS = 4
// (blocks per multiprocessor), IN_FLIGHT = 4, or 2 with WIDE (entries at once of a whole warp).   Launch: any number of
// blocks of whole warps, up to 256 threads; sums any number of blocks of up to 256 threads.
// A chunk that is a whole row has sum index -1 and writes C; the others write partial sums, element (k, col) at k*cols
// + col, which a second kernel adds in order.
// B and C are dense: element (i, j) is at start + i*row_step + j*col_step. With WIDE, a lane has VECTOR neighbouring
// columns of 16 bytes together: b_col and c_col are 1; cols, b_start, b_row, c_start and c_row are multiples of VECTOR.
// A whole warp has two times 16 bytes per lane, for rows so short that there is little else to wait for.
// Yang, Buluc, Owens: Design principles for sparse matrix multiplication on the GPU. Euro-Par (2018).
// Gale, Zaharia, Young, Elsen: Sparse GPU kernels for deep learning. SC (2020).
#ifndef MIN_BLOCKS
#define MIN_BLOCKS 4
#endif
#include "grid.cuh"
#include "scalar.cuh"
#include "index.cuh"
#include "entry.cuh"
#include "warp_scalar.cuh"
#include "pack.cuh"
#include "update_pack.cuh"
#ifndef LANES
#error "LANES is missing: 4, 8, 16 or 32"
#endif
#define PACKS (WIDE && LANES == WARP ? 2 : 1)
#define PACK_STEP (LANES * VECTOR)
#define COLUMNS (PACK_STEP * PACKS)
#define TOGETHER (WARP / LANES)

#if LANES == WARP
#ifndef IN_FLIGHT
#define IN_FLIGHT (4 / PACKS)
#endif

// Adds IN_FLIGHT entries of those that the lanes hold, from `first` on and before `length`, to sums.
static __device__ void add_entries(ACC (*sums)[VECTOR], int first, int length, Idx own_index, ACC own_entry,
                                   const T *b, long long b_at, long long b_row, int packs)
{
    Pack loaded[IN_FLIGHT][PACKS];
#pragma unroll
    for (int k = 0; k < IN_FLIGHT; k++) {
        long long b_index = shuffle(own_index, first + k);
        int held = first + k < length ? packs : 0;
#pragma unroll
        for (int p = 0; p < PACKS; p++)
            loaded[k][p] =
                load_pack(b, p < held ? b_at + b_index * b_row + p * PACK_STEP : 0, p < held ? VECTOR : 0);
    }
#pragma unroll
    for (int k = 0; k < IN_FLIGHT; k++) {
        ACC value = shuffle(own_entry, first + k);
        if (first + k < length)
#pragma unroll
            for (int p = 0; p < PACKS; p++)
#pragma unroll
                for (int m = 0; m < VECTOR; m++)
                    sums[p][m] += mul(value, to_acc(loaded[k][p].part[m]));
    }
}

// Adds `length` entries from position `begin` on times `packs` packs of B, which begin at `b_at` in row 0, to sums. The
// warp shares the entries; lanes without columns pass them on.
static __device__ void sum_entries(ACC (*sums)[VECTOR], long long begin, int length, const Idx *indices,
                                   const T *values, const T *b, long long b_at, long long b_row, int packs)
{
    int own = lane_index();
    for (int base = 0; base < length; base += WARP) {
        Idx own_index = 0;
        ACC own_entry = ACC(0);
        if (base + own < length) {
            own_index = load_once(indices + begin + base + own);
            own_entry = entry_once(values, begin + base + own);
        }
        for (int first = 0; first < WARP && base + first < length; first += IN_FLIGHT)
            add_entries(sums, first, length - base, own_index, own_entry, b, b_at, b_row, packs);
    }
}
#else
// The same with a few lanes: each reads all entries, which cost a lane no more than a neighbour's.
static __device__ void sum_entries(ACC (*sums)[VECTOR], long long begin, int length, const Idx *indices,
                                   const T *values, const T *b, long long b_at, long long b_row, int packs)
{
    if (packs == 0)
        return;
#pragma unroll 4
    for (long long k = begin; k < begin + length; k++) {
        ACC value = entry(values, k);
        Pack pack = load_pack(b, b_at + indices[k] * b_row, VECTOR);
#pragma unroll
        for (int m = 0; m < VECTOR; m++)
            sums[0][m] += mul(value, to_acc(pack.part[m]));
    }
}
#endif

// packed[row*cols + col] <- B(row, col). A warp takes a row.
KERNEL csr_spmm_pack(long long rows, long long cols, const T *__restrict__ b, long long b_start, long long b_row,
                     long long b_col, T *__restrict__ packed)
{
    for (long long row = warp_index(); row < rows; row += warp_count())
        for (long long col = lane_index(); col < cols; col += WARP)
            packed[row * cols + col] = b[b_start + row * b_row + col * b_col];
}

// A warp takes TOGETHER chunks.
KERNEL csr_spmm_row_split(long long chunks, long long cols, const long long *__restrict__ begins,
                          const int *__restrict__ lengths, const long long *__restrict__ rows,
                          const long long *__restrict__ slots, const Idx *__restrict__ indices,
                          const T *__restrict__ values, ACC alpha, const T *__restrict__ b, long long b_start,
                          long long b_row, long long b_col, ACC beta, T *__restrict__ c, long long c_start,
                          long long c_row, long long c_col, ACC *__restrict__ partial)
{
    let_next_begin();
    int lane = lane_index();
    long long slices = (cols + COLUMNS - 1) / COLUMNS;
    long long steps = (chunks + TOGETHER - 1) / TOGETHER;
    for (long long tile = warp_index(); tile < steps * slices; tile += warp_count()) {
        long long chunk = tile % steps * TOGETHER + lane / LANES;
        long long col = tile / steps * COLUMNS + lane % LANES * VECTOR;
        bool has_chunk = chunk < chunks;
        int length = has_chunk ? lengths[chunk] : 0;
        long long begin = has_chunk ? begins[chunk] : 0;
        long long slot = has_chunk ? slots[chunk] : -1;
        long long row = has_chunk ? rows[chunk] : 0;
        int packs = 0;
        for (int p = 0; p < PACKS; p++)
            packs += has_chunk && col + p * PACK_STEP < cols;
        ACC sums[PACKS][VECTOR];
#pragma unroll
        for (int p = 0; p < PACKS; p++)
#pragma unroll
            for (int m = 0; m < VECTOR; m++)
                sums[p][m] = ACC(0);
        sum_entries(sums, begin, length, indices, values, b, b_start + col * b_col, b_row, packs);
#pragma unroll
        for (int p = 0; p < PACKS; p++, col += PACK_STEP) {
            if (p >= packs)
                break;
            if (slot >= 0) {
                for (int m = 0; m < VECTOR; m++)
                    partial[slot * cols + col + m] = sums[p][m];
            } else {
                update_pack(c, c_start + row * c_row + col * c_col, alpha, sums[p], beta);
            }
        }
    }
}

// The rows of several chunks: a thread takes a column of such a row.
KERNEL csr_spmm_row_split_sums(long long splits, long long cols, const long long *__restrict__ split_rows,
                               const long long *__restrict__ split_starts, ACC alpha, ACC beta,
                               T *__restrict__ c, long long c_start, long long c_row, long long c_col,
                               const ACC *__restrict__ partial)
{
    wait_for_last();
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

// csr_spmm_split: C <- alpha A B + beta C for compressed rows in chunks (csr_chunks.cu), the longest first, so that
// neighbours have equal work (row swizzle).
// LANES lanes per chunk and slice of COLUMNS columns; 32 / LANES neighbouring chunks side by side. All chunks have the
// columns of a slice before the next slice begins, so that a slice of B can stay in the cache. Reads A once per slice,
// a row of B's slice per entry, writes C once.
// Macros: SCALAR, IDX, OFF, CONJ (1 conjugates A), WIDE (words of 16 bytes per lane: 1, 2; 0: one column), LANES (2, 4, 8,
// 16, 32), EACH = 4 (entries that one of two lanes reads at once), LONG = 24 (entries of a chunk from which on it does so),
// MIN_BLOCKS = 4 (blocks per multiprocessor).   Launch: any number of blocks of whole warps, up to 256 threads.
// A chunk that is a whole row has sum index -1 and writes C; the others write partial sums, element (k, col) at k*cols
// + col, which partial_sums.cu adds.
// B and C are dense: element (i, j) is at start + i*row_step + j*col_step. With WIDE, a word has VECTOR neighbouring
// columns: b_col and c_col are 1; cols, b_start, b_row, c_start and c_row are multiples of VECTOR.
// Yang, Buluc, Owens: Design principles for sparse matrix multiplication on the GPU. Euro-Par (2018).
// Gale, Zaharia, Young, Elsen: Sparse GPU kernels for deep learning. SC (2020).
#ifndef MIN_BLOCKS
#define MIN_BLOCKS 4
#endif
#include "grid.cuh"
#include "scalar.cuh"
#include "index.cuh"
#include "entry.cuh"
#include "pack.cuh"
#include "update_pack.cuh"
#include "load_plainly.cuh"
#include "neighbours.cuh"
#ifndef LANES
#error "LANES is missing: 2, 4, 8, 16 or 32"
#endif
#ifndef EACH
#define EACH 4
#endif
#ifndef LONG
#define LONG 24
#endif
#define PACKS (WIDE > 1 ? WIDE : 1)
#define PACK_STEP (LANES * VECTOR)
#define COLUMNS (PACK_STEP * PACKS)
#define TOGETHER (WARP / LANES)

// The packs of a row of B.
struct RowOfB
{
    Pack packs[PACKS];

    // Loads the first `count`, from position `at` on; the others are zeros and not read.
    __device__ void load(const T *b, long long at, int count)
    {
#pragma unroll
        for (int p = 0; p < PACKS; p++)
            packs[p] = load_pack(b, p < count ? at + p * PACK_STEP : 0, p < count ? VECTOR : 0);
    }

    // Adds `value` times the row to sums.
    __device__ void add_to(ACC (*sums)[VECTOR], ACC value) const
    {
#pragma unroll
        for (int p = 0; p < PACKS; p++)
#pragma unroll
            for (int m = 0; m < VECTOR; m++)
                sums[p][m] += mul(value, to_acc(packs[p].part[m]));
    }
};

// Adds the entries `begin` .. `end` times `packs` packs of B, which begin at `b_at` in row 0, to sums. Each lane reads all
// entries, which cost a lane no more than a neighbour's.
static __device__ void sum_entries(ACC (*sums)[VECTOR], long long begin, long long end, const Idx *indices,
                                   const T *values, const T *b, long long b_at, long long b_row, int packs)
{
#pragma unroll 4
    for (long long k = begin; k < end; k++) {
        ACC value = entry(values, k);
        RowOfB row;
        row.load(b, b_at + indices[k] * b_row, packs);
        row.add_to(sums, value);
    }
}

// The same, EACH neighbouring entries at once, from a multiple of EACH on: of many chunks side by side a warp reads as many
// lines for every entry otherwise.
static __device__ void sum_neighbours(ACC (*sums)[VECTOR], long long begin, long long end, const Idx *indices,
                                      const T *values, const T *b, long long b_at, long long b_row, int packs)
{
    for (long long at = begin / EACH * EACH; at < end; at += EACH) {
        __align__(16) Idx cols[EACH];
        __align__(16) T own[EACH];
        load_neighbours_by<EACH>(LoadPlainly(), cols, indices, at, end);
        load_neighbours_by<EACH>(LoadPlainly(), own, values, at, end);
        RowOfB rows[EACH];
#pragma unroll
        for (int k = 0; k < EACH; k++) {
            bool is_own = at + k >= begin && at + k < end;
            rows[k].load(b, b_at + cols[k] * b_row, is_own ? packs : 0);
        }
#pragma unroll
        for (int k = 0; k < EACH; k++)
            if (at + k >= begin && at + k < end)
                rows[k].add_to(sums, entry_of(own[k]));
    }
}

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
        long long end = begin + length;
        long long b_at = b_start + col * b_col;
        if (packs > 0 && LANES == 2 && length >= LONG)
            sum_neighbours(sums, begin, end, indices, values, b, b_at, b_row, packs);
        else if (packs > 0)
            sum_entries(sums, begin, end, indices, values, b, b_at, b_row, packs);
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

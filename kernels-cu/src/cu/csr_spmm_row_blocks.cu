// csr_spmm_row_blocks: C <- alpha A B + beta C for compressed rows that are short, by row blocks (row_block.cuh): a
// walk over the entries of neighbouring rows has the rows of B for the next entries on their way, whatever row they are
// of. LANES lanes per row block and slice of COLUMNS columns, striding over the grid. Reads A once per slice, a row of
// B's slice per entry, writes C once. Macros: SCALAR, IDX, OFF, CONJ (1 conjugates A), WIDE (words of 16 bytes per
// lane: 1, 2; 0: one column), LANES (4, 8, 16, 32), MIN_BLOCKS = 2 to 4 by the types' sizes (blocks per
// multiprocessor), IN_FLIGHT = 4, or 2 with two words (entries at once).   Launch: any number of blocks of whole warps,
// up to 256 threads. The parts of a row that spans several blocks write partial sums, element (slots[block], col) at
// slots[block]*cols + col, which partial_sums.cu adds. B and C are dense: element (i, j) is at start + i*row_step +
// j*col_step. With WIDE, a word has VECTOR neighbouring columns: b_col and c_col are 1; cols, b_start, b_row, c_start
// and c_row are multiples of VECTOR. After Merrill, Garland: Merge-based parallel sparse matrix-vector multiplication.
// SC (2016).
#ifndef MIN_BLOCKS
#define MIN_BLOCKS (sizeof(T) == 4 && sizeof(Idx) == 4 ? 4 : sizeof(ACC) <= 8 ? 3 : 2)
#endif
#include "grid.cuh"
#include "scalar.cuh"
#include "index.cuh"
#include "entry.cuh"
#include "pack.cuh"
#include "update_pack.cuh"
#include "row_block.cuh"
#ifndef LANES
#error "LANES is missing: 4, 8, 16 or 32"
#endif
#define PACKS (WIDE > 1 ? WIDE : 1)
#define PACK_STEP (LANES * VECTOR)
#define COLUMNS (PACK_STEP * PACKS)
#ifndef IN_FLIGHT
#define IN_FLIGHT (4 / PACKS)
#endif

// Neighbouring entries of A.
struct Entries
{
    Idx cols[IN_FLIGHT];
    T values[IN_FLIGHT];
};

// The entries from position `at` on, of which no more than `left` are read.
static __device__ Entries load_entries(const Idx *indices, const T *values, long long at, int left)
{
    Entries entries = {};
#pragma unroll
    for (int k = 0; k < IN_FLIGHT; k++)
        if (k < left) {
            entries.cols[k] = indices[at + k];
            entries.values[k] = values[at + k];
        }
    return entries;
}

// The packs of a row of C, as sums.
struct Sums
{
    ACC of[PACKS][VECTOR];

    __device__ Sums()
    {
#pragma unroll
        for (int p = 0; p < PACKS; p++)
#pragma unroll
            for (int m = 0; m < VECTOR; m++)
                of[p][m] = ACC(0);
    }
};

// LANES lanes take a row block. Positions of entries count from the first of the block.
KERNEL csr_spmm_row_blocks(long long blocks, long long size, long long cols, const long long *__restrict__ block_starts, const long long *__restrict__ slots,
                           const Off *__restrict__ offsets, const Idx *__restrict__ indices,
                           const T *__restrict__ values, ACC alpha, const T *__restrict__ b, long long b_start,
                           long long b_row, long long b_col, ACC beta, T *__restrict__ c, long long c_start,
                           long long c_row, long long c_col, ACC *__restrict__ partial)
{
    let_next_begin();
    long long slices = (cols + COLUMNS - 1) / COLUMNS;
    for (long long tile = thread_index() / LANES; tile < blocks * slices; tile += thread_count() / LANES) {
        long long number = tile % blocks;
        long long col = tile / blocks * COLUMNS + lane_index() % LANES * VECTOR;
        if (col >= cols)
            continue;
        int packs = (int)min((long long)PACKS, (cols - col + PACK_STEP - 1) / PACK_STEP);
        RowBlock block = row_block(number, size, block_starts);
        long long b_at = in_register(b_start + col * b_col);
        long long c_at = c_start + block.first * c_row + col * c_col;
        long long next_at = block.begin;
        long long row = block.first;
        int length = (int)(block.stop - block.begin);
        int rows = (int)(block.last - block.first);
        auto end_of_row = [&](int ahead) {
            return ahead < rows ? (int)(offsets[row + ahead + 1] - block.begin) : length;
        };
        int row_end = end_of_row(0);
        int next_end = end_of_row(1);
        Sums sums;
        auto finish_row = [&]() {
#pragma unroll
            for (int p = 0; p < PACKS; p++)
                if (p < packs)
                    update_pack(c, c_at + p * PACK_STEP, alpha, sums.of[p], beta);
            sums = Sums();
            c_at += c_row;
            row++;
            rows--;
            row_end = next_end;
            next_end = end_of_row(1);
        };
        Entries next = load_entries(indices, values, next_at, length);
        for (int at = 0; at < length; at += IN_FLIGHT) {
            Entries entries = next;
            Pack loaded[IN_FLIGHT][PACKS];
#pragma unroll
            for (int k = 0; k < IN_FLIGHT; k++)
#pragma unroll
                for (int p = 0; p < PACKS; p++)
                    if (at + k < length && p < packs)
                        loaded[k][p] = load_pack(b, b_at + entries.cols[k] * b_row + p * PACK_STEP, VECTOR);
            next_at += IN_FLIGHT;
            next = load_entries(indices, values, next_at, length - at - IN_FLIGHT);
#pragma unroll
            for (int k = 0; k < IN_FLIGHT; k++)
                if (at + k < length) {
                    while (at + k == row_end)
                        finish_row();
                    ACC value = entry_of(entries.values[k]);
#pragma unroll
                    for (int p = 0; p < PACKS; p++)
#pragma unroll
                        for (int m = 0; m < VECTOR; m++)
                            sums.of[p][m] += mul(value, to_acc(loaded[k][p].part[m]));
                }
        }
        while (rows > 0)
            finish_row();
        if (!block.goes_on)
            continue;
#pragma unroll
        for (int p = 0; p < PACKS; p++)
            if (p < packs)
                for (int m = 0; m < VECTOR; m++)
                    partial[slots[number] * cols + col + p * PACK_STEP + m] = sums.of[p][m];
    }
}

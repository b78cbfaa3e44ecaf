// csr_spmm_tensor: C <- alpha A B + beta C for compressed rows in f16 or f32 by tensor cores, which multiply tiles of 8
// rows and 8 columns of A by 16 columns of B at a time and add in single precision. Products of f16 are exact; f32 is
// rounded to the 11 bits of TF32 first. Before sm_80, which has no TF32, f32 is multiplied without tensor cores.
// A window of 8 rows has a slot for each column that it has entries in, and one more where a column repeats within a
// row; 8 slots are a tile. Where columns ascend in rows the slots of a window are the fewest; they may stand in any
// order.
// One warp per window and COLUMNS columns; reads A once per such slice, a row of B's slice per slot, writes C once.
// Macros: SCALAR (F16 or F32), IDX, OFF, PACK_BYTES (8 or 16, of neighbouring columns of B a lane), MIN_BLOCKS = 4 (blocks per
// multiprocessor).   Launch: any number of blocks of whole warps, up to 256 threads.
// B and C are dense: element (i, j) is at start + i*row_step + j*col_step.
// An infinity or a NaN of B spoils the rows of A without an entry for it: where a sum is none of the finite numbers that
// finite products have, the window's entries are multiplied one by one.
// Wang, Feng, Wang, Huang, Ding: TC-GNN, bridging sparse GNN computation and dense tensor cores on GPUs. USENIX ATC
// (2023): the columns of a window of rows, side by side.
// Shi, Li, Xu, Fu, Wang, Wu: FlashSparse, minimizing computation redundancy for fast sparse matrix multiplications on
// tensor cores. PPoPP (2025): windows of 8 rows, by the transposed product.
#ifndef MIN_BLOCKS
#define MIN_BLOCKS 4
#endif
#ifndef PACK_BYTES
#error "PACK_BYTES is missing: 8 or 16"
#endif
#define WIDE 1
#include "grid.cuh"
#include "scalar.cuh"
#include "index.cuh"
#include "warp.cuh"
#include "pack.cuh"
#include "update_pack.cuh"
// The rows of a window and the slots of a tile. PAIRS lanes share VECTOR columns of C, which each has for two rows.
#define ROWS 8
#define SLOTS ROWS
#define PAIRS (SLOTS / 2)
#define TEAMS (WARP / ROWS)
#define COLUMNS (WARP / PAIRS * VECTOR)

// Calls take(window, slot, column, position) for the slots of the warp's window, each lane of 8 with its row's position
// of the entry in that column, -1 where it has none; returns the number of slots. A warp has TEAMS windows.
template <typename TAKE>
static __device__ long long for_each_slot(long long row, long long rows, const Off *offsets, const Idx *indices,
                                          TAKE take)
{
    Off at = row < rows ? offsets[row] : 0;
    Off end = row < rows ? offsets[row + 1] : 0;
    long long slot = 0;
    while (__any_sync(ALL_LANES, at < end)) {
        bool has_entry = at < end;
        unsigned long long own = has_entry ? (unsigned long long)indices[at] : ~0ull;
        unsigned long long least = own;
        for (int d = 1; d < ROWS; d *= 2)
            least = min(least, __shfl_xor_sync(ALL_LANES, least, d));
        bool is_least = has_entry && own == least;
        if (least != ~0ull)
            take(slot++, (Idx)least, is_least ? at : (Off)-1);
        at += is_least;
    }
    return slot;
}

// tiles[window] <- the tiles of a window; one zero more at the end. An exclusive scan makes `starts`. A warp takes TEAMS
// windows.
KERNEL csr_spmm_tensor_count(long long rows, const Off *__restrict__ offsets, const Idx *__restrict__ indices,
                             long long *__restrict__ tiles)
{
    long long windows = (rows + ROWS - 1) / ROWS;
    int lane = lane_index();
    for (long long first = warp_index() * TEAMS; first <= windows; first += warp_count() * TEAMS) {
        long long window = first + lane / ROWS;
        long long slots = for_each_slot(window * ROWS + lane % ROWS, rows, offsets, indices,
                                        [](long long, Idx, Off) {});
        if (lane % ROWS == 0 && window <= windows)
            tiles[window] = (slots + SLOTS - 1) / SLOTS;
    }
}

// columns[slot] <- the column of a slot; positions[slot * ROWS + row] <- the position of its entry in a row of the
// window, -1 where there is none. Slots past a window's last have column 0 and no entries. A warp takes TEAMS windows.
KERNEL csr_spmm_tensor_fill(long long rows, const Off *__restrict__ offsets, const Idx *__restrict__ indices,
                            const long long *__restrict__ starts, Idx *__restrict__ columns,
                            Off *__restrict__ positions)
{
    long long windows = (rows + ROWS - 1) / ROWS;
    int lane = lane_index();
    for (long long first = warp_index() * TEAMS; first < windows; first += warp_count() * TEAMS) {
        long long window = first + lane / ROWS;
        long long begin = window < windows ? starts[window] * SLOTS : 0;
        long long end = window < windows ? starts[window + 1] * SLOTS : 0;
        auto write = [&](long long slot, Idx column, Off position) {
            positions[(begin + slot) * ROWS + lane % ROWS] = position;
            if (lane % ROWS == 0)
                columns[begin + slot] = column;
        };
        long long slot = for_each_slot(window * ROWS + lane % ROWS, rows, offsets, indices, write);
        for (; begin + slot < end; slot++)
            write(slot, 0, -1);
    }
}

// The lane's part of a tile: the columns of its two slots, and their values in its row.
struct Tile
{
    Idx first, second;
    T first_value, second_value;
};

#if SCALAR == F16
static __device__ unsigned int two(T first, T second)
{
    return first | (unsigned int)second << 16;
}
#elif __CUDA_ARCH__ >= 800
// The nearest number of TF32, ties away from zero.
static __device__ unsigned int rounded(float value)
{
    unsigned int bits;
    asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(bits) : "f"(value));
    return bits;
}
#endif

// sums <- sums + C for 16 rows, 2 columns of B, and 8 columns, the rows of the window: a lane adds its values of the
// tile times `first` and `second`, its elements of the rows of B in both slots.
static __device__ void multiply(float *sums, const T *first, const T *second, const Tile &tile)
{
#if SCALAR == F16
    asm("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3};"
        : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])
        : "r"(two(first[0], second[0])), "r"(two(first[1], second[1])),
          "r"(two(tile.first_value, tile.second_value)));
#elif __CUDA_ARCH__ >= 800
    asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
        "{%0, %1, %2, %3};"
        : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])
        : "r"(rounded(first[0])), "r"(rounded(first[1])), "r"(rounded(second[0])), "r"(rounded(second[1])),
          "r"(rounded(tile.first_value)), "r"(rounded(tile.second_value)));
#else
    int pair = lane_index() % PAIRS;
    for (int slot = 0; slot < SLOTS; slot++) {
        int from = slot / 2;
        const T *b = slot % 2 ? second : first;
        T value = slot % 2 ? tile.second_value : tile.first_value;
        for (int m = 0; m < 4; m++) {
            T of_b = __shfl_sync(ALL_LANES, b[m / 2], lane_index() - pair + from);
            sums[m] += of_b * __shfl_sync(ALL_LANES, value, (2 * pair + m % 2) * PAIRS + from);
        }
    }
#endif
}

// VECTOR columns of a row of B; those past the first `left` are zeros.
static __device__ Pack b_pack(const T *b, long long at, long long b_col, long long left, bool in_words)
{
    if (in_words)
        return load_pack(b, at, left);
    Pack pack;
#pragma unroll
    for (int m = 0; m < VECTOR; m++)
        pack.part[m] = m < left ? b[at + m * b_col] : T(0);
    return pack;
}

// C is made transposed: the 16 rows of a multiplication are columns of B, of which a lane has VECTOR beside each other,
// two for each multiplication, and its 8 columns are the rows of the window, of which a lane has two.
KERNEL csr_spmm_tensor(long long rows, long long cols, const long long *__restrict__ starts,
                       const Idx *__restrict__ columns, const Off *__restrict__ positions,
                       const T *__restrict__ values, ACC alpha, const T *__restrict__ b, long long b_start,
                       long long b_row, long long b_col, ACC beta, T *__restrict__ c, long long c_start,
                       long long c_row, long long c_col)
{
    int group = lane_index() / PAIRS;
    int pair = lane_index() % PAIRS;
    bool has_b_words = b_col == 1 && b_row % VECTOR == 0 && b_start % VECTOR == 0;
    bool has_c_words = c_col == 1 && c_row % VECTOR == 0 && c_start % VECTOR == 0;
    long long windows = (rows + ROWS - 1) / ROWS;
    long long slices = (cols + COLUMNS - 1) / COLUMNS;
    for (long long item = warp_index(); item < windows * slices; item += warp_count()) {
        long long window = item / slices;
        long long col = item % slices * COLUMNS + group * VECTOR;
        long long left = cols - col;
        long long end = starts[window + 1] * SLOTS;
        auto row_of_b = [&](Idx column) {
            return b_pack(b, b_start + column * b_row + col * b_col, b_col, left, has_b_words);
        };
        auto value_at = [&](long long slot, int row) {
            Off position = positions[slot * ROWS + row];
            return position < 0 ? T(0) : values[position];
        };
        auto load_tile = [&](long long slot) {
            Tile tile = {};
            if (slot < end) {
                tile.first = columns[slot + 2 * pair];
                tile.second = columns[slot + 2 * pair + 1];
                tile.first_value = value_at(slot + 2 * pair, group);
                tile.second_value = value_at(slot + 2 * pair + 1, group);
            }
            return tile;
        };
        // sums[j][2 * h + r]: column 2 * j + h of the lane's, row 2 * pair + r of the window.
        float sums[VECTOR / 2][4] = {};
        long long begin = starts[window] * SLOTS;
        Tile next = load_tile(begin);
        for (long long slot = begin; slot < end; slot += SLOTS) {
            Tile tile = next;
            Pack first = row_of_b(tile.first);
            Pack second = row_of_b(tile.second);
            next = load_tile(slot + SLOTS);
#pragma unroll
            for (int j = 0; j < VECTOR / 2; j++)
                multiply(sums[j], first.part + 2 * j, second.part + 2 * j, tile);
        }
        bool is_special = false;
#pragma unroll
        for (int m = 0; m < 2 * VECTOR; m++)
            is_special |= !isfinite(sums[m / 4][m % 4]);
        if (is_special) {
#pragma unroll
            for (int m = 0; m < 2 * VECTOR; m++)
                sums[m / 4][m % 4] = 0;
            for (long long slot = begin; slot < end; slot++) {
                Pack pack = row_of_b(columns[slot]);
#pragma unroll
                for (int r = 0; r < 2; r++)
                    if (positions[slot * ROWS + 2 * pair + r] >= 0)
#pragma unroll
                        for (int m = 0; m < VECTOR; m++)
                            sums[m / 2][m % 2 * 2 + r] += to_acc(value_at(slot, 2 * pair + r)) * to_acc(pack.part[m]);
            }
        }
#pragma unroll
        for (int r = 0; r < 2; r++) {
            long long row = window * ROWS + 2 * pair + r;
            if (row >= rows)
                continue;
            long long c_at = c_start + row * c_row + col * c_col;
            ACC of_row[VECTOR];
#pragma unroll
            for (int m = 0; m < VECTOR; m++)
                of_row[m] = sums[m / 2][m % 2 * 2 + r];
            if (has_c_words && left >= VECTOR)
                update_pack(c, c_at, alpha, of_row, beta);
            else
#pragma unroll
                for (int m = 0; m < VECTOR; m++)
                    if (m < left)
                        update(c, c_at + m * c_col, mul(alpha, of_row[m]), beta);
        }
    }
}

// Dense to compressed rows, as in dense_to_csr.cl, in two passes of which the second reads only where entries stand:
// the first keeps a bit for each element.
// A work-group takes BLOCK / 32 rows at a time, 32 lanes of it a row in steps of 32*VECTOR columns: lane l has the
// columns l*VECTOR .. (l + 1)*VECTOR of a step, and bit l of word m tells of its m-th column. A row has
// ceil(cols / (32*VECTOR)) * VECTOR words.
// With WIDE, VECTOR elements are 16 bytes: col_step is 1; start, stride and row_step are multiples of VECTOR.
// Takes SCALAR, IDX, OFF, WIDE and BLOCK, the size of a work-group: a power of two and a multiple of 32.
#include "scalar.clh"
#include "index.clh"
#include "dense_rows.clh"
#include "pack.clh"
#ifndef BLOCK
#error "BLOCK is missing"
#endif
#define LANES 32
#define ROWS (BLOCK / LANES)
#define STEP (LANES * VECTOR)
#define TOGETHER 4
#define WORDS (TOGETHER * VECTOR)

typedef struct {
    uint of[VECTOR];
} Words;

// counts[row] for all rows, and one zero more at the end; the mask. A fixed tree adds what the lanes count.
__kernel __attribute__((reqd_work_group_size(BLOCK, 1, 1)))
void dense_to_csr_mask_count(long all_rows, long rows, long cols, __global const T *a, long start, long stride,
                             long row_step, long col_step, int threshold, REAL tolerance, __global long *counts,
                             __global Words *mask)
{
    int lid = (int)get_local_id(0);
    int lane = lid % LANES;
    int own = lid / LANES;
    __local uint words[ROWS][WORDS];
    __local long sums[BLOCK];
    long steps = (cols + STEP - 1) / STEP;
    for (long base = get_group_id(0) * ROWS; base <= all_rows; base += get_num_groups(0) * ROWS) {
        long row = base + own;
        long own_cols = row < all_rows ? cols : 0;
        long own_start = row_start(row, rows, start, stride, row_step);
        long count = 0;
        for (long first = 0; first < steps; first += TOGETHER) {
            for (int word = lane; word < WORDS; word += LANES)
                words[own][word] = 0;
            barrier(CLK_LOCAL_MEM_FENCE);
            for (int i = 0; i < TOGETHER; i++) {
                long col = (first + i) * STEP + lane * VECTOR;
                Pack pack = load_pack(a, own_start + col * col_step, own_cols - col);
                for (int m = 0; m < VECTOR; m++)
                    if (col + m < own_cols && keeps(pack.part[m], threshold, tolerance)) {
                        atomic_or(&words[own][i * VECTOR + m], 1u << lane);
                        count++;
                    }
            }
            barrier(CLK_LOCAL_MEM_FENCE);
            for (int word = lane; word < WORDS; word += LANES)
                if (row < all_rows && first + word / VECTOR < steps)
                    mask[row * steps + first + word / VECTOR].of[word % VECTOR] = words[own][word];
        }
        sums[lid] = count;
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int lanes = LANES / 2; lanes > 0; lanes /= 2) {
            if (lane < lanes)
                sums[lid] += sums[lid + lanes];
            barrier(CLK_LOCAL_MEM_FENCE);
        }
        if (lane == 0 && row <= all_rows)
            counts[row] = sums[lid];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
}

// A lane reads its columns where one of them holds an entry. Entries meet in local memory, so that neighbouring lanes
// write neighbouring places. The last rows come first: the first pass left them in the cache. Nothing is written where
// there is no room for all entries.
__kernel __attribute__((reqd_work_group_size(BLOCK, 1, 1)))
void dense_to_csr_mask_fill(long all_rows, long rows, long cols, __global const T *a, long start, long stride,
                            long row_step, long col_step, __global const long *starts, __global const Words *mask,
                            __global IDX *indices, __global T *values, long capacity)
{
    int lid = (int)get_local_id(0);
    int lane = lid % LANES;
    int own = lid / LANES;
    __local short kept_cols[ROWS][STEP];
    __local T kept_values[ROWS][STEP];
    uint before = (1u << lane) - 1u;
    long steps = (cols + STEP - 1) / STEP;
    long filled = rows_with_room(all_rows, starts, capacity);
    for (long base = get_group_id(0) * ROWS; base < filled; base += get_num_groups(0) * ROWS) {
        long row = filled - 1 - base - own;
        long to = row >= 0 ? starts[row] : 0;
        for (long step = 0; step < steps; step++) {
            uint kept = 0;
            int place = 0;
            int count = 0;
            for (int m = 0; m < VECTOR && row >= 0; m++) {
                uint word = mask[row * steps + step].of[m];
                kept |= (word >> lane & 1u) << m;
                place += popcount(word & before);
                count += popcount(word);
            }
            if (kept) {
                long col = step * STEP + lane * VECTOR;
                long at = row_start(row, rows, start, stride, row_step) + col * col_step;
                Pack pack = load_pack(a, at, cols - col);
                for (int m = 0; m < VECTOR; m++)
                    if (kept >> m & 1u) {
                        kept_cols[own][place] = (short)(lane * VECTOR + m);
                        kept_values[own][place] = pack.part[m];
                        place++;
                    }
            }
            barrier(CLK_LOCAL_MEM_FENCE);
            for (int k = lane; k < count; k += LANES) {
                indices[to + k] = (IDX)(step * STEP + kept_cols[own][k]);
                values[to + k] = kept_values[own][k];
            }
            barrier(CLK_LOCAL_MEM_FENCE);
            to += count;
        }
    }
}

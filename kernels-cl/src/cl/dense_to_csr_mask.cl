// dense_to_csr_mask: dense to compressed rows, as in dense_to_csr.cl, in two passes: the first stores a bit for each
// element, the second reads only where there are entries.
// One work-group per BLOCK / 32 rows at a time, 32 lanes per row, in steps of 32*VECTOR columns: lane l has the columns
// l*VECTOR .. (l + 1)*VECTOR of a step. Reads the elements once and the entries' again, writes the entries once.
// Macros: SCALAR, IDX, OFF, WIDE (1: VECTOR elements are 16 bytes), BLOCK (a power of two, a multiple of 32),
// TOGETHER = 8, or 4 where VECTOR is 8 (steps in flight).   Launch: any number of work-groups of BLOCK.
// Eight elements of a lane, those of 8 / VECTOR steps, are a byte of the mask; a row has ceil(cols / 256) * 32 bytes,
// 32 lanes after 32 lanes. With WIDE, col_step is 1; start, stride and row_step are multiples of VECTOR.
#include "scalar.clh"
#include "index.clh"
#include "dense_rows.clh"
#include "pack.clh"
#ifndef BLOCK
#error "BLOCK is missing: the size of a work-group"
#endif
#define LANES 32
#define ROWS (BLOCK / LANES)
#define STEP (LANES * VECTOR)
#ifndef TOGETHER
#define TOGETHER (VECTOR == 8 ? 4 : 8)
#endif
#define STRETCH (TOGETHER * STEP)
#define BYTE_COLS (8 * LANES)
#define BYTE_STEPS (8 / VECTOR)
#define BYTES (TOGETHER / BYTE_STEPS)

// A counter for each of TOGETHER steps: up to STEP entries fit COUNTER_BITS.
typedef ulong Counters;
#define COUNTER_BITS (64 / TOGETHER)
#define COUNTER(counters, step) ((int)((counters) >> ((step) * COUNTER_BITS) & (((ulong)1 << COUNTER_BITS) - 1)))

// The elements of a lane in steps of which the first stands at `at`; the row has `left` columns from there on.
static void load_steps(Pack *packs, __global const T *a, long at, long col_step, long left)
{
#pragma unroll
    for (int i = 0; i < TOGETHER; i++)
        packs[i] = load_pack(a, at + i * STEP * col_step, left - i * STEP);
}

// counts[row] for all rows, and one zero more at the end; the mask. A fixed tree adds what the lanes count.
__kernel __attribute__((reqd_work_group_size(BLOCK, 1, 1)))
void dense_to_csr_mask_count(long all_rows, long rows, long cols, __global const T *a, long start, long stride,
                             long row_step, long col_step, int threshold, REAL tolerance, __global long *counts,
                             __global uchar *mask)
{
    int lid = (int)get_local_id(0);
    int lane = lid % LANES;
    __local long sums[BLOCK];
    long row_bytes = (cols + BYTE_COLS - 1) / BYTE_COLS * LANES;
    for (long base = get_group_id(0) * ROWS; base <= all_rows; base += get_num_groups(0) * ROWS) {
        long row = base + lid / LANES;
        long count = 0;
        for (long first = 0; first < cols && row < all_rows; first += STRETCH) {
            long col = first + lane * VECTOR;
            Pack packs[TOGETHER];
            load_steps(packs, a, row_start(row, rows, start, stride, row_step) + col * col_step, col_step, cols - col);
            __global uchar *bytes = mask + row * row_bytes + first / 8 + lane;
            for (int b = 0; b < BYTES; b++) {
                uint bits = 0;
                for (int e = 0; e < 8; e++) {
                    int i = b * BYTE_STEPS + e / VECTOR;
                    int is_entry = keeps(packs[i].part[e % VECTOR], threshold, tolerance);
                    bits |= (uint)(is_entry && col + i * STEP + e % VECTOR < cols) << e;
                }
                if (first + b * BYTE_COLS < cols)
                    bytes[b * LANES] = (uchar)bits;
                count += popcount(bits);
            }
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

// The sums over lanes 0 .. lane of a row, and of all its lanes in `total`. Every lane of the work-group calls it.
static Counters sum_before(__local Counters (*sums)[BLOCK], int lid, Counters own, Counters *total)
{
    int lane = lid % LANES;
    int from = 0;
    Counters sum = own;
    sums[from][lid] = sum;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int lanes = 1; lanes < LANES; lanes *= 2) {
        if (lane >= lanes)
            sum += sums[from][lid - lanes];
        from = 1 - from;
        sums[from][lid] = sum;
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    *total = sums[from][lid | (LANES - 1)];
    return sum;
}

// A lane reads its columns only if one of them has an entry. Entries are collected in local memory, so that
// neighbouring lanes write neighbouring places. The last rows come first: the first pass left them in the cache.
// Nothing is written if the capacity does not suffice for all entries.
__kernel __attribute__((reqd_work_group_size(BLOCK, 1, 1)))
void dense_to_csr_mask_fill(long all_rows, long rows, long cols, __global const T *a, long start, long stride,
                            long row_step, long col_step, __global const long *starts, __global const uchar *mask,
                            __global IDX *indices, __global T *values, long capacity)
{
    int lid = (int)get_local_id(0);
    int lane = lid % LANES;
    int own = lid / LANES;
    __local Counters sums[2][BLOCK];
    __local short entry_cols[ROWS][STRETCH];
    __local T entry_values[ROWS][STRETCH];
    long row_bytes = (cols + BYTE_COLS - 1) / BYTE_COLS * LANES;
    long filled = rows_that_fit(all_rows, starts, capacity);
    for (long base = get_group_id(0) * ROWS; base < filled; base += get_num_groups(0) * ROWS) {
        long row = filled - 1 - base - own;
        long to = row >= 0 ? starts[row] : 0;
        for (long first = 0; first < cols; first += STRETCH) {
            long col = first + lane * VECTOR;
            long at = row_start(row, rows, start, stride, row_step) + col * col_step;
            __global const uchar *bytes = mask + row * row_bytes + first / 8 + lane;
            uint bits[BYTES];
            for (int b = 0; b < BYTES; b++)
                bits[b] = row >= 0 && first + b * BYTE_COLS < cols ? bytes[b * LANES] : 0;
            Pack packs[TOGETHER];
            Counters counters = 0;
            for (int i = 0; i < TOGETHER; i++) {
                uint entry_bits = bits[i / BYTE_STEPS] >> (i % BYTE_STEPS * VECTOR) & ((1u << VECTOR) - 1);
                if (entry_bits)
                    packs[i] = load_pack(a, at + i * STEP * col_step, cols - col - i * STEP);
                counters += (Counters)popcount(entry_bits) << (i * COUNTER_BITS);
            }
            Counters total;
            Counters before = sum_before(sums, lid, counters, &total) - counters;
            int count = 0;
            for (int i = 0; i < TOGETHER; i++) {
                uint entry_bits = bits[i / BYTE_STEPS] >> (i % BYTE_STEPS * VECTOR) & ((1u << VECTOR) - 1);
                int position = count + COUNTER(before, i);
                for (int m = 0; m < VECTOR; m++)
                    if (entry_bits >> m & 1u) {
                        entry_cols[own][position] = (short)(i * STEP + lane * VECTOR + m);
                        entry_values[own][position] = packs[i].part[m];
                        position++;
                    }
                count += COUNTER(total, i);
            }
            barrier(CLK_LOCAL_MEM_FENCE);
            for (int k = lane; k < count; k += LANES) {
                indices[to + k] = (IDX)(first + entry_cols[own][k]);
                values[to + k] = entry_values[own][k];
            }
            to += count;
        }
    }
}

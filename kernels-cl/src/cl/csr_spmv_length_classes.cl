// csr_spmv_length_classes: y <- alpha A x + beta y for compressed rows, by classes of lengths in one launch.
// LANES lanes per short row, MIDDLE_LANES per middle one, a warp per long one, a work-group per slice of a still longer
// one, the slices first. A lane takes EACH neighbouring entries, from a multiple of EACH on; a fixed tree adds the
// lanes. Reads values, indices and offsets once, gathers x, writes y once.
// Macros: SCALAR, IDX, OFF, CONJ (1 conjugates A), LANES (1, 2, 4, 8), BLOCK (a power of two from 32 on), MIDDLE = 128
// (entries of the longest middle row), MIDDLE_LANES = 8, SLICE = 2048 (entries per slice), NV_ARCH = 0 (lanes.clh).
// Launch: any number of work-groups of BLOCK work-items; the plan's kernels any number of work-groups of any size.
// The plan says up to where rows are short, and long, and lists the rows that are not short. The slices of a row leave
// partial sums, which the last slice to be done adds in their order: it is found by a counter, which it leaves at zero.
#include "scalar.clh"
#include "index.clh"
#include "entry.clh"
#include "lanes.clh"
#include "words.clh"
#include "row_steps.clh"
#ifndef LANES
#error "LANES is missing: 1, 2, 4 or 8"
#endif
#ifndef BLOCK
#error "BLOCK is missing: a power of two from 32 on"
#endif
#ifndef MIDDLE
#define MIDDLE 128
#endif
#ifndef MIDDLE_LANES
#define MIDDLE_LANES 8
#endif
#ifndef SLICE
#define SLICE 2048
#endif

// A part of a row that has several or one: its entries, the number of the row's first part, and how many there are.
typedef struct
{
    long row;
    long begin;
    long end;
    long first;
    long count;
} Slice;

// For each row 1 or 0 in `middle` and `of_warps`, by its class, and the number of its slices; a zero more at the end of
// each. Rows of more than `longest_short` entries are listed, those of more than `longest_of_warp` have slices. A
// work-item takes a row.
__kernel void csr_spmv_length_classes_count(long rows, long longest_short, long longest_of_warp,
                                            __global const OFF *offsets, __global long *middle,
                                            __global long *of_warps, __global long *slices)
{
    for (long row = get_global_id(0); row <= rows; row += get_global_size(0)) {
        long length = row < rows ? offsets[row + 1] - offsets[row] : 0;
        int is_listed = length > longest_short;
        int is_sliced = is_listed && length > longest_of_warp;
        middle[row] = is_listed && !is_sliced && length <= MIDDLE;
        of_warps[row] = is_listed && !is_sliced && length > MIDDLE;
        slices[row] = is_sliced ? (length + SLICE - 1) / SLICE : 0;
    }
}

// Lists the middle rows, behind them those of warps, and the slices. `middle`, `of_warps` and `slices` are the counts,
// scanned. A work-item takes a row.
__kernel void csr_spmv_length_classes_fill(long rows, __global const OFF *offsets, __global const long *middle,
                                           __global const long *of_warps, __global const long *slices,
                                           __global IDX *listed, __global Slice *sliced)
{
    for (long row = get_global_id(0); row < rows; row += get_global_size(0)) {
        if (middle[row] < middle[row + 1])
            listed[middle[row]] = (IDX)row;
        if (of_warps[row] < of_warps[row + 1])
            listed[middle[rows] + of_warps[row]] = (IDX)row;
        long first = slices[row];
        long count = slices[row + 1] - first;
        for (long s = 0; s < count; s++) {
            long begin = offsets[row] + s * SLICE;
            long end = min(begin + SLICE, (long)offsets[row + 1]);
            Slice slice = {row, begin, end, first, count};
            sliced[first + s] = slice;
        }
    }
}

// The matrix and the operands. `evicts` is true if entries leave the cache first.
typedef struct
{
    UOFF nnz;
    __global const OFF *offsets;
    __global const IDX *indices;
    __global const T *values;
    ACC alpha;
    __global const T *x;
    ACC beta;
    __global T *y;
    int evicts;
    ulong policy;
} Product;

// This work-item's part of the sum of the entries `begin` .. `end`: every `lanes`-th EACH of them from number `first`
// on.
static ACC sum_of_item(int lanes, UOFF begin, UOFF end, int first, const Product *a)
{
    ACC sum = (ACC)(0);
    for (UOFF at = begin / EACH * EACH + first * EACH; at < end; at += lanes * EACH) {
        Cols cols = load_cols(a->indices, at, a->nnz, a->evicts, a->policy);
        Values values = load_values(a->values, at, a->nnz, a->evicts, a->policy);
        sum += sum_of_step(cols, values, at, begin, end, a->x);
    }
    return sum;
}

#define WORDS_OF_SUM ((int)(sizeof(ACC) / sizeof(uint)))

// A sum, by words.
typedef union
{
    ACC sum;
    uint words[WORDS_OF_SUM];
} SumWords;

// Leaves a sum for another work-group, atomically, so that one that runs elsewhere finds it. Reads it again: the
// result, which is 0, is known only when all words are there.
static uint leave(volatile __global uint *partial, ACC sum)
{
    SumWords own;
    own.sum = sum;
    uint wrong = 0;
    for (int w = 0; w < WORDS_OF_SUM; w++)
        atomic_xchg(partial + w, own.words[w]);
    for (int w = 0; w < WORDS_OF_SUM; w++)
        wrong |= atomic_or(partial + w, 0) ^ own.words[w];
    return wrong;
}

// A sum that another work-group has left.
static ACC left_by_other(volatile __global uint *partial)
{
    SumWords found;
    for (int w = 0; w < WORDS_OF_SUM; w++)
        found.words[w] = atomic_or(partial + w, 0);
    return found.sum;
}

// The number of work-groups for `lanes` lanes per row.
static long groups_for(int lanes, long rows)
{
    return (rows * lanes + BLOCK - 1) / BLOCK;
}

// The short row of this work-item's lanes in work-group number `group` of the class; -1 if there is none.
static long short_row(long group, int lid, long rows)
{
    long row = group * (BLOCK / LANES) + lid / LANES;
    return row < rows ? row : -1;
}

// The same of the `count` rows of a class that are listed.
static long listed_row(int lanes, long group, int lid, long count, __global const IDX *listed)
{
    long at = group * (BLOCK / lanes) + lid / lanes;
    return at < count ? listed[at] : -1;
}

#if SHUFFLES
// y of a row of up to `most` entries by `lanes` neighbouring lanes; none if `row` is -1.
static void multiply_row(int lid, int lanes, long row, UOFF most, const Product *a, __local ACC *exchange)
{
    UOFF begin = row >= 0 ? a->offsets[row] : 0;
    UOFF end = row >= 0 ? a->offsets[row + 1] : 0;
    if (end - begin > most)
        row = -1;
    int lane = lid % lanes;
    ACC sum = row >= 0 ? sum_of_item(lanes, begin, end, lane, a) : (ACC)(0);
    sum = sum_lanes(lid, sum, lanes, exchange);
    if (row >= 0 && lane == 0)
        update(a->y, row, mul(a->alpha, sum), a->beta);
}

// The sum of all work-items of the work-group, for the first one.
static ACC sum_group(int lid, ACC sum, __local ACC *exchange)
{
    exchange[lid] = sum;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int left = BLOCK / 2; left > 0; left /= 2) {
        if (lid < left)
            exchange[lid] += exchange[lid + left];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    sum = exchange[0];
    barrier(CLK_LOCAL_MEM_FENCE);
    return sum;
}

// A work-group takes a slice; the last one of a row adds them.
static void multiply_slice(int lid, long number, __global const Slice *slices, volatile __global uint *partial,
                           volatile __global uint *done, const Product *a, __local ACC *exchange,
                           __local uint *others)
{
    Slice slice = slices[number];
    ACC sum = sum_group(lid, sum_of_item(BLOCK, slice.begin, slice.end, lid, a), exchange);
    int is_last = slice.count == 1;
    if (slice.count > 1) {
        if (lid == 0)
            *others = atomic_add(done + slice.first, 1 + leave(partial + number * WORDS_OF_SUM, sum));
        barrier(CLK_LOCAL_MEM_FENCE);
        is_last = *others + 1 == slice.count;
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (is_last && slice.count > 1) {
        sum = (ACC)(0);
        for (long s = lid; s < slice.count; s += BLOCK)
            sum += left_by_other(partial + (slice.first + s) * WORDS_OF_SUM);
        sum = sum_group(lid, sum, exchange);
        if (lid == 0)
            atomic_xchg(done + slice.first, 0);
    }
    if (is_last && lid == 0)
        update(a->y, slice.row, mul(a->alpha, sum), a->beta);
}

static void multiply(int lid, long rows, UOFF longest_short, long slices, long of_warps, long middle,
                     __global const IDX *listed, __global const Slice *sliced, volatile __global uint *partial,
                     volatile __global uint *done, const Product *a, __local ACC *exchange, __local uint *others)
{
    long middle_from = slices + groups_for(WARP, of_warps);
    long short_from = middle_from + groups_for(MIDDLE_LANES, middle);
    long end = short_from + groups_for(LANES, rows);
    for (long group = get_group_id(0); group < end; group += get_num_groups(0)) {
        if (group >= short_from) {
            multiply_row(lid, LANES, short_row(group - short_from, lid, rows), longest_short, a, exchange);
        } else if (group >= middle_from) {
            long row = listed_row(MIDDLE_LANES, group - middle_from, lid, middle, listed);
            multiply_row(lid, MIDDLE_LANES, row, a->nnz, a, exchange);
        } else if (group >= slices) {
            long row = listed_row(WARP, group - slices, lid, of_warps, listed + middle);
            multiply_row(lid, WARP, row, a->nnz, a, exchange);
        } else {
            multiply_slice(lid, group, sliced, partial, done, a, exchange, others);
        }
    }
}

#else
// The same where lanes meet at barriers, which stand in no branch: whatever their class, work-items add as many lanes.
static void multiply(int lid, long rows, UOFF longest_short, long slices, long of_warps, long middle,
                     __global const IDX *listed, __global const Slice *sliced, volatile __global uint *partial,
                     volatile __global uint *done, const Product *a, __local ACC *exchange, __local uint *others)
{
    long middle_from = slices + groups_for(WARP, of_warps);
    long short_from = middle_from + groups_for(MIDDLE_LANES, middle);
    long end_of_groups = short_from + groups_for(LANES, rows);
    for (long group = get_group_id(0); group < end_of_groups; group += get_num_groups(0)) {
        int lanes = group >= short_from ? LANES : group >= middle_from ? MIDDLE_LANES : group >= slices ? WARP : BLOCK;
        long row = group >= short_from ? short_row(group - short_from, lid, rows)
            : group >= middle_from     ? listed_row(MIDDLE_LANES, group - middle_from, lid, middle, listed)
            : group >= slices          ? listed_row(WARP, group - slices, lid, of_warps, listed + middle)
                                       : sliced[group].row;
        UOFF begin = row >= 0 ? a->offsets[row] : 0;
        UOFF end = row >= 0 ? a->offsets[row + 1] : 0;
        if (group >= short_from && end - begin > longest_short) {
            row = -1;
            end = begin;
        }
        if (group < slices) {
            begin = sliced[group].begin;
            end = sliced[group].end;
        }
        ACC sum = sum_of_item(lanes, begin, end, lid % lanes, a);
        for (int d = BLOCK / 2; d > 0; d /= 2) {
            exchange[lid] = sum;
            barrier(CLK_LOCAL_MEM_FENCE);
            ACC other = exchange[lid ^ d];
            barrier(CLK_LOCAL_MEM_FENCE);
            if (d < lanes)
                sum += other;
        }
        if (lid % lanes == 0 && row >= 0) {
            int is_last = 1;
            if (group < slices && sliced[group].count > 1) {
                long first = sliced[group].first;
                long count = sliced[group].count;
                is_last = atomic_add(done + first, 1 + leave(partial + group * WORDS_OF_SUM, sum)) + 1 == count;
                if (is_last) {
                    sum = (ACC)(0);
                    for (long s = first; s < first + count; s++)
                        sum += left_by_other(partial + s * WORDS_OF_SUM);
                    atomic_xchg(done + first, 0);
                }
            }
            if (is_last)
                update(a->y, row, mul(a->alpha, sum), a->beta);
        }
    }
}
#endif

// `slices` slices in `sliced`; in `listed` `middle` middle rows, and `of_warps` rows of warps behind them.
__kernel __attribute__((reqd_work_group_size(BLOCK, 1, 1)))
void csr_spmv_length_classes(long rows, long nnz, long longest_short, long slices, long of_warps, long middle,
                             __global const IDX *listed, __global const Slice *sliced, __global const OFF *offsets,
                             __global const IDX *indices, __global const T *values, ACC alpha, __global const T *x,
                             long x_start, ACC beta, __global T *y, long y_start, __global ACC *partial,
                             __global uint *done)
{
    int lid = (int)get_local_id(0);
    __local ACC exchange[BLOCK];
    __local uint others;
    Product a = {(UOFF)nnz, offsets, indices, values, alpha, x + x_start, beta, y + y_start, 0, 0};
    multiply(lid, rows, (UOFF)longest_short, slices, of_warps, middle, listed, sliced,
             (volatile __global uint *)partial, done, &a, exchange, &others);
}

// The same for a matrix that does not fit the L2 cache with its operands (words.clh).
__kernel __attribute__((reqd_work_group_size(BLOCK, 1, 1)))
void csr_spmv_length_classes_evict_first(long rows, long nnz, long longest_short, long slices, long of_warps,
                                         long middle, __global const IDX *listed, __global const Slice *sliced,
                                         __global const OFF *offsets, __global const IDX *indices,
                                         __global const T *values, ACC alpha, __global const T *x, long x_start,
                                         ACC beta, __global T *y, long y_start, __global ACC *partial,
                                         __global uint *done)
{
    int lid = (int)get_local_id(0);
    __local ACC exchange[BLOCK];
    __local uint others;
    Product a = {(UOFF)nnz, offsets, indices, values, alpha, x + x_start, beta, y + y_start, 1, eviction_policy()};
    multiply(lid, rows, (UOFF)longest_short, slices, of_warps, middle, listed, sliced,
             (volatile __global uint *)partial, done, &a, exchange, &others);
}

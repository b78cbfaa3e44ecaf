// y <- alpha A x + beta y for compressed rows, by equal shares of entries, whatever the lengths of the rows: a
// work-group of 32 lanes takes STEP neighbouring entries after STEP others, four a lane, and sums the segments between
// the bits that say where rows begin. What a share has of a row that began before goes to head[share], what it has of the
// row that is open at its end to tail[share]; a second kernel adds these in order.
// The plan keeps a bit an entry, the rows that have entries, in order, with the others behind them, and for every share
// how many rows with entries have begun before.
// Takes SCALAR, IDX, OFF and CONJ.
// Blelloch, Heroux, Zagha: Segmented operations for sparse matrix computation on vector multiprocessors. CMU (1993).
// Liu, Vinter: CSR5: an efficient storage format for cross-platform sparse matrix-vector multiplication. ICS (2015).
#include "scalar.clh"
#include "index.clh"
#include "entry.clh"
#define LANES 32
#define EACH 4
#define STEP (LANES * EACH)
#define BITS 32

// counts[row] <- 1 if the row has entries, otherwise 0; one zero more at the end. A work-item takes a row.
__kernel void csr_spmv_segmented_count(long rows, __global const OFF *offsets, __global long *counts)
{
    for (long row = get_global_id(0); row <= rows; row += get_global_size(0))
        counts[row] = row < rows && offsets[row] < offsets[row + 1];
}

// Sets the bit of each row's first entry, and gives each row its place among those with entries or behind them.
// starts are the counts, scanned. A work-item takes a row.
__kernel void csr_spmv_segmented_mark(long rows, __global const OFF *offsets, __global const long *starts,
                                      __global uint *bits, __global IDX *order)
{
    long filled = starts[rows];
    for (long row = get_global_id(0); row < rows; row += get_global_size(0)) {
        long begin = offsets[row];
        int has_entries = begin < offsets[row + 1];
        if (has_entries)
            atomic_or((volatile __global uint *)(bits + begin / BITS), 1u << begin % BITS);
        order[has_entries ? starts[row] : filled + row - starts[row]] = (IDX)row;
    }
}

// begun[share] <- the rows with entries that begin before entry share*size. A work-item takes a share.
__kernel void csr_spmv_segmented_begun(long shares, long size, long rows, __global const OFF *offsets,
                                       __global const long *starts, __global long *begun)
{
    for (long share = get_global_id(0); share <= shares; share += get_global_size(0)) {
        long low = 0;
        long high = rows;
        while (low < high) {
            long mid = (low + high) / 2;
            if (offsets[mid] < share * size)
                low = mid + 1;
            else
                high = mid;
        }
        begun[share] = starts[low];
    }
}

// rows[share] <- the row that is open at the end of the share, if it begins there, otherwise -1; ends[share] <- the last
// share that it has entries in, or -1 - that share if it goes on to the end of that one. A work-item takes a share.
__kernel void csr_spmv_segmented_open(long shares, long size, long nnz, __global const OFF *offsets,
                                      __global const long *begun, __global const IDX *order, __global IDX *rows,
                                      __global long *ends)
{
    for (long share = get_global_id(0); share < shares; share += get_global_size(0)) {
        IDX row = order[begun[share + 1] - 1];
        long end = offsets[row + 1];
        long last = (end - 1) / size;
        rows[share] = offsets[row] >= share * size ? row : -1;
        ends[share] = end < nnz && end % size != 0 ? last : -1 - last;
    }
}

// What the lanes leave each other in a step: the rows begun up to each lane, and sums.
typedef struct
{
    int begun[LANES];
    ACC sums[LANES];
} Left;

// begun[lane] <- the rows begun up to the lane; sums[lane] <- the sum from the last lane that begins a row up to it.
static void sum_segments(int lid, int begins, ACC sum, __local Left *left)
{
    left->begun[lid] = begins;
    left->sums[lid] = sum;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int d = 1; d < LANES; d *= 2) {
        int before = lid >= d ? left->begun[lid - d] : 0;
        barrier(CLK_LOCAL_MEM_FENCE);
        left->begun[lid] += before;
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    for (int d = 1; d < LANES; d *= 2) {
        ACC before = (ACC)(0);
        if (lid >= d && left->begun[lid - d] == left->begun[lid])
            before = left->sums[lid - d];
        barrier(CLK_LOCAL_MEM_FENCE);
        left->sums[lid] += before;
        barrier(CLK_LOCAL_MEM_FENCE);
    }
}

// A work-group takes a share: `size` entries, a multiple of STEP.
__kernel __attribute__((reqd_work_group_size(LANES, 1, 1)))
void csr_spmv_segmented(long size, long nnz, __global const uint *bits, __global const long *begun,
                        __global const IDX *order, __global const IDX *indices, __global const T *values, ACC alpha,
                        __global const T *x, long x_start, ACC beta, __global T *y, long y_start, __global ACC *head,
                        __global ACC *tail)
{
    int lid = (int)get_local_id(0);
    __local Left left;
    for (long share = get_group_id(0); share * size < nnz; share += get_num_groups(0)) {
        long end = min((share + 1) * size, nnz);
        __global const IDX *rows = order + begun[share] - 1;
        int rows_begun = 0;
        ACC carried = (ACC)(0);
        for (long done = share * size; done < end; done += STEP) {
            long at = done + lid * EACH;
            uint begin_bits = at < nnz ? bits[at / BITS] >> at % BITS & ((1 << EACH) - 1) : 0;
            ACC products[EACH];
            for (int each = 0; each < EACH; each++)
                products[each] = at + each < nnz
                    ? mul(entry(values, at + each), load(x, x_start + indices[at + each]))
                    : (ACC)(0);
            ACC last_sum = (ACC)(0);
            for (int each = 0; each < EACH; each++)
                last_sum = (begin_bits >> each & 1) ? products[each] : last_sum + products[each];
            sum_segments(lid, popcount(begin_bits), last_sum, &left);

            int begun_before = lid > 0 ? left.begun[lid - 1] : 0;
            ACC sum = lid > 0 ? left.sums[lid - 1] : (ACC)(0);
            if (begun_before == 0)
                sum = carried + sum;
            int open = rows_begun + begun_before;
            for (int each = 0; each < EACH; each++) {
                if (begin_bits >> each & 1) {
                    if (open == 0)
                        head[share] = sum;
                    else
                        update(y, y_start + rows[open], mul(alpha, sum), beta);
                    sum = (ACC)(0);
                    open++;
                }
                sum += products[each];
            }
            ACC last = left.sums[LANES - 1];
            carried = left.begun[LANES - 1] > 0 ? last : carried + last;
            rows_begun += left.begun[LANES - 1];
            barrier(CLK_LOCAL_MEM_FENCE);
        }
        if (lid == 0)
            tail[share] = carried;
    }
}

// y of the rows that lie in several shares, or end where a share does, and of the rows without entries, which stand in
// `order` from `filled` on. A work-group of 32 lanes takes the row that is open at the end of a share, if it begins
// there.
__kernel __attribute__((reqd_work_group_size(LANES, 1, 1)))
void csr_spmv_segmented_carries(long shares, __global const IDX *open_rows, __global const long *ends, long filled,
                                long rows, __global const IDX *order, ACC alpha, ACC beta, __global T *y, long y_start,
                                __global const ACC *head, __global const ACC *tail)
{
    int lid = (int)get_local_id(0);
    __local ACC sums[LANES];
    for (long share = get_group_id(0); share < shares; share += get_num_groups(0)) {
        IDX row = open_rows[share];
        long end = ends[share];
        long last = end >= 0 ? end : -1 - end;
        ACC sum = (ACC)(0);
        if (row >= 0)
            for (long t = share + lid; t < last; t += LANES)
                sum += tail[t];
        sums[lid] = sum;
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int lanes = LANES / 2; lanes > 0; lanes /= 2) {
            if (lid < lanes)
                sums[lid] += sums[lid + lanes];
            barrier(CLK_LOCAL_MEM_FENCE);
        }
        if (row >= 0 && lid == 0)
            update(y, y_start + row, mul(alpha, sums[0] + (end >= 0 ? head[last] : tail[last])), beta);
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    for (long i = filled + get_global_id(0); i < rows; i += get_global_size(0))
        update(y, y_start + order[i], (ACC)(0), beta);
}

// dense_to_csr_matrix: dense to compressed rows, for a batch of many small members: element (i, j) of member m is at
// start + m*stride + i*row_step + j*col_step. keeps() of scalar.clh selects the entries.
// One work-item or one work-group of 32 per member. Counts the entries of each row, then an exclusive scan of the
// counts, then fills if `capacity` suffices for all rows: reads the elements twice, writes the entries once.
// Macros: SCALAR, IDX, OFF.   Launch: any number of work-groups of any size, of 32 for the warp kernels.
#include "scalar.clh"
#include "index.clh"
#include "dense_rows.clh"
#include "ballot.clh"
#define LANES 32

// The members of `rows` rows that `all_rows` rows are.
static long members_of(long all_rows, long rows)
{
    return rows > 0 ? all_rows / rows : 0;
}

// counts[row] for all rows, and one zero more at the end. A work-item takes a member.
__kernel void dense_to_csr_count_matrix_per_thread(long all_rows, long rows, long cols, __global const T *a, long start,
                                                   long stride, long row_step, long col_step, int threshold,
                                                   REAL tolerance, __global long *counts)
{
    long members = members_of(all_rows, rows);
    if (get_global_id(0) == 0)
        counts[all_rows] = 0;
    for (long member = get_global_id(0); member < members; member += get_global_size(0)) {
        for (long i = 0; i < rows; i++) {
            long at = start + member * stride + i * row_step;
            long count = 0;
            for (long j = 0; j < cols; j++)
                count += keeps(a[at + j * col_step], threshold, tolerance);
            counts[member * rows + i] = count;
        }
    }
}

__kernel void dense_to_csr_fill_matrix_per_thread(long all_rows, long rows, long cols, __global const T *a, long start,
                                                  long stride, long row_step, long col_step, int threshold,
                                                  REAL tolerance, __global const long *starts, __global IDX *indices,
                                                  __global T *values, long capacity)
{
    long members = members_of(rows_that_fit(all_rows, starts, capacity), rows);
    for (long member = get_global_id(0); member < members; member += get_global_size(0)) {
        long to = starts[member * rows];
        for (long i = 0; i < rows; i++) {
            long at = start + member * stride + i * row_step;
            for (long j = 0; j < cols; j++) {
                T value = a[at + j * col_step];
                if (keeps(value, threshold, tolerance)) {
                    indices[to] = (IDX)j;
                    values[to] = value;
                    to++;
                }
            }
        }
    }
}

// The element of a lane at a step of its work-group's walk through a member, row after row, 32 elements a step: short
// rows share a step. Behind the last element, `row` is the number of rows or more.
typedef struct {
    long row, col;
} Walk;

static Walk walk_from(int lid, long cols)
{
    long width = cols > 0 ? cols : 1;
    Walk at = {lid / width, lid % width};
    return at;
}

static Walk walk_on(Walk at, long cols)
{
    at.row += LANES / cols;
    at.col += LANES % cols;
    if (at.col >= cols) {
        at.col -= cols;
        at.row++;
    }
    return at;
}

// The same with a work-group of 32 lanes a member. A lane with the last element of a row knows its entries: those of
// the lanes of that row, by a ballot, and those of the steps before.
__kernel __attribute__((reqd_work_group_size(LANES, 1, 1)))
void dense_to_csr_count_matrix_per_warp(long all_rows, long rows, long cols, __global const T *a, long start,
                                        long stride, long row_step, long col_step, int threshold, REAL tolerance,
                                        __global long *counts)
{
    int lid = (int)get_local_id(0);
    __local uint mask;
    __local long of_last_lane;
    long members = members_of(all_rows, rows);
    if (get_group_id(0) == 0 && lid == 0)
        counts[all_rows] = 0;
    for (long member = get_group_id(0); member < members; member += get_num_groups(0)) {
        long first = member * rows;
        if (cols == 0)
            for (long row = lid; row < rows; row += LANES)
                counts[first + row] = 0;
        Walk at = walk_from(lid, cols);
        long before = 0;
        for (long base = 0; base < rows * cols; base += LANES) {
            long element = start + member * stride + at.row * row_step + at.col * col_step;
            int is_entry = at.row < rows && keeps(a[element], threshold, tolerance);
            uint all = ballot(&mask, lid, is_entry);
            // The lanes of this row up to this one, as the highest bits.
            int others = at.col < lid ? (int)at.col : lid;
            uint of_row = all << (LANES - 1 - lid) >> (LANES - 1 - others);
            long count = popcount(of_row) + (at.col > lid ? before : 0);
            if (at.row < rows && at.col == cols - 1)
                counts[first + at.row] = count;
            if (lid == LANES - 1)
                of_last_lane = count;
            barrier(CLK_LOCAL_MEM_FENCE);
            before = of_last_lane;
            at = walk_on(at, cols);
            barrier(CLK_LOCAL_MEM_FENCE);
        }
    }
}

// Lanes write in parallel, each behind the entries of the lanes before it.
__kernel __attribute__((reqd_work_group_size(LANES, 1, 1)))
void dense_to_csr_fill_matrix_per_warp(long all_rows, long rows, long cols, __global const T *a, long start,
                                       long stride, long row_step, long col_step, int threshold, REAL tolerance,
                                       __global const long *starts, __global IDX *indices, __global T *values,
                                       long capacity)
{
    int lid = (int)get_local_id(0);
    __local uint mask;
    uint lanes_before = (1u << lid) - 1u;
    long members = members_of(rows_that_fit(all_rows, starts, capacity), rows);
    for (long member = get_group_id(0); member < members; member += get_num_groups(0)) {
        long to = starts[member * rows];
        Walk at = walk_from(lid, cols);
        for (long base = 0; base < rows * cols; base += LANES) {
            T value = (T)(0);
            int is_entry = 0;
            if (at.row < rows) {
                value = a[start + member * stride + at.row * row_step + at.col * col_step];
                is_entry = keeps(value, threshold, tolerance);
            }
            uint all = ballot(&mask, lid, is_entry);
            if (is_entry) {
                long position = to + popcount(all & lanes_before);
                indices[position] = (IDX)at.col;
                values[position] = value;
            }
            to += popcount(all);
            at = walk_on(at, cols);
        }
    }
}

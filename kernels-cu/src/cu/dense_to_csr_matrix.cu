// dense_to_csr_matrix: dense to compressed rows, for a batch of many small members: element (i, j) of member m is at
// start + m*stride + i*row_step + j*col_step. keeps() of scalar.cuh selects the entries.
// One thread or one warp per member. Counts the entries of each row, then an exclusive scan of the counts, then fills if
// `capacity` suffices for all rows: reads the elements twice, writes the entries once.
// Macros: SCALAR, IDX, OFF.   Launch: any number of blocks of up to 256 threads, of whole warps for the warp kernels.
#include "grid.cuh"
#include "scalar.cuh"
#include "index.cuh"
#include "dense_rows.cuh"

// The members of `rows` rows that `all_rows` rows are.
static __device__ long long members_of(long long all_rows, long long rows)
{
    return rows > 0 ? all_rows / rows : 0;
}

// counts[row] for all rows, and one zero more at the end. A thread takes a member.
KERNEL dense_to_csr_count_matrix_per_thread(long long all_rows, long long rows, long long cols,
                                            const T *__restrict__ a, long long start, long long stride,
                                            long long row_step, long long col_step, int threshold, REAL tolerance,
                                            long long *__restrict__ counts)
{
    long long members = members_of(all_rows, rows);
    if (thread_index() == 0)
        counts[all_rows] = 0;
    for (long long member = thread_index(); member < members; member += thread_count()) {
        for (long long i = 0; i < rows; i++) {
            long long at = start + member * stride + i * row_step;
            long long count = 0;
            for (long long j = 0; j < cols; j++)
                count += keeps(a[at + j * col_step], threshold, tolerance);
            counts[member * rows + i] = count;
        }
    }
}

KERNEL dense_to_csr_fill_matrix_per_thread(long long all_rows, long long rows, long long cols,
                                           const T *__restrict__ a, long long start, long long stride,
                                           long long row_step, long long col_step, int threshold, REAL tolerance,
                                           const long long *__restrict__ starts, Idx *__restrict__ indices,
                                           T *__restrict__ values, long long capacity)
{
    long long members = members_of(rows_that_fit(all_rows, starts, capacity), rows);
    for (long long member = thread_index(); member < members; member += thread_count()) {
        long long to = starts[member * rows];
        for (long long i = 0; i < rows; i++) {
            long long at = start + member * stride + i * row_step;
            for (long long j = 0; j < cols; j++) {
                T value = a[at + j * col_step];
                if (keeps(value, threshold, tolerance)) {
                    indices[to] = (Idx)j;
                    values[to] = value;
                    to++;
                }
            }
        }
    }
}

// The element of a lane at a step of its warp's walk through a member, row after row, 32 elements a step: short rows
// share a step. Behind the last element, `row` is the number of rows or more.
struct Walk {
    long long row, col, cols;
    long long rows_a_step, cols_a_step;

    __device__ Walk(long long cols) : cols(cols > 0 ? cols : 1)
    {
        row = lane_index() / this->cols;
        col = lane_index() % this->cols;
        rows_a_step = WARP / this->cols;
        cols_a_step = WARP % this->cols;
    }

    __device__ void advance()
    {
        row += rows_a_step;
        col += cols_a_step;
        if (col >= cols) {
            col -= cols;
            row++;
        }
    }
};

// The same with a warp a member. A lane with the last element of a row knows its entries: those of the lanes of that row,
// by a ballot, and those of the steps before.
KERNEL dense_to_csr_count_matrix_per_warp(long long all_rows, long long rows, long long cols, const T *__restrict__ a,
                                          long long start, long long stride, long long row_step, long long col_step,
                                          int threshold, REAL tolerance, long long *__restrict__ counts)
{
    int lane = lane_index();
    long long members = members_of(all_rows, rows);
    if (thread_index() == 0)
        counts[all_rows] = 0;
    for (long long member = warp_index(); member < members; member += warp_count()) {
        long long first = member * rows;
        if (cols == 0)
            for (long long row = lane; row < rows; row += WARP)
                counts[first + row] = 0;
        const T *matrix = a + start + member * stride;
        Walk at(cols);
        long long before = 0;
        for (long long base = 0; base < rows * cols; base += WARP, at.advance()) {
            bool is_entry =
                at.row < rows && keeps(matrix[at.row * row_step + at.col * col_step], threshold, tolerance);
            unsigned int all = __ballot_sync(ALL_LANES, is_entry);
            // The lanes of this row up to this one, as the highest bits.
            int others = at.col < lane ? (int)at.col : lane;
            unsigned int of_row = all << (WARP - 1 - lane) >> (WARP - 1 - others);
            long long count = __popc(of_row) + (at.col > lane ? before : 0);
            if (at.row < rows && at.col == cols - 1)
                counts[first + at.row] = count;
            before = __shfl_sync(ALL_LANES, count, WARP - 1);
        }
    }
}

// Lanes write in parallel, each behind the entries of the lanes before it.
KERNEL dense_to_csr_fill_matrix_per_warp(long long all_rows, long long rows, long long cols, const T *__restrict__ a,
                                         long long start, long long stride, long long row_step, long long col_step,
                                         int threshold, REAL tolerance, const long long *__restrict__ starts,
                                         Idx *__restrict__ indices, T *__restrict__ values, long long capacity)
{
    unsigned int lanes_before = (1u << lane_index()) - 1u;
    long long members = members_of(rows_that_fit(all_rows, starts, capacity), rows);
    for (long long member = warp_index(); member < members; member += warp_count()) {
        const T *matrix = a + start + member * stride;
        long long to = starts[member * rows];
        Walk at(cols);
        for (long long base = 0; base < rows * cols; base += WARP, at.advance()) {
            T value = T(0);
            if (at.row < rows)
                value = matrix[at.row * row_step + at.col * col_step];
            bool is_entry = at.row < rows && keeps(value, threshold, tolerance);
            unsigned int all = __ballot_sync(ALL_LANES, is_entry);
            if (is_entry) {
                long long position = to + __popc(all & lanes_before);
                indices[position] = (Idx)at.col;
                values[position] = value;
            }
            to += __popc(all);
        }
    }
}

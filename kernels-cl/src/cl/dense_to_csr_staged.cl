// dense_to_csr_staged: fills the compressed rows of dense_to_csr.cl as seed 000 does: lanes stage elements in local
// memory, and one lane writes the entries among them in order. Reads the elements once, writes the entries once. The
// other kernels write in parallel, and are faster.
// Macros: SCALAR, IDX, OFF.   Launch: any number of work-groups of 32.
#include "scalar.clh"
#include "index.clh"
#include "dense_rows.clh"
#define LANES 32

__kernel __attribute__((reqd_work_group_size(LANES, 1, 1)))
void dense_to_csr_fill_staged(long all_rows, long rows, long cols, __global const T *a, long start, long stride,
                              long row_step, long col_step, int threshold, REAL tolerance,
                              __global const long *starts, __global IDX *indices, __global T *values, long capacity)
{
    int lid = (int)get_local_id(0);
    __local T staged[LANES];
    long filled = rows_that_fit(all_rows, starts, capacity);
    for (long row = get_group_id(0); row < filled; row += get_num_groups(0)) {
        long at = row_start(row, rows, start, stride, row_step);
        long to = starts[row];
        for (long base = 0; base < cols; base += LANES) {
            int lanes = (int)min((long)LANES, cols - base);
            if (lid < lanes)
                staged[lid] = a[at + (base + lid) * col_step];
            barrier(CLK_LOCAL_MEM_FENCE);
            if (lid == 0) {
                for (int lane = 0; lane < lanes; lane++) {
                    if (keeps(staged[lane], threshold, tolerance)) {
                        indices[to] = (IDX)(base + lane);
                        values[to] = staged[lane];
                        to++;
                    }
                }
            }
            barrier(CLK_LOCAL_MEM_FENCE);
        }
    }
}

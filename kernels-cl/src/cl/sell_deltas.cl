// sell_deltas: y <- alpha A x + beta y for SELL-C-sigma with columns of 16 bits, laid out as in sell_spmv.cl: column =
// bases[position / C] + delta, for the C elements side by side in a slice; delta 65535 is padding. Only if the columns
// of each such C are within 65535 of each other, as those of stencils and bands do. One work-item per row (spmv), one
// work-group of 32 per C elements side by side (make), striding over the grid; reads deltas, bases and values up to
// each row's padding once, gathers x, writes y once. Macros: SCALAR, IDX, OFF (types of columns and of slice offsets).
// Launch: spmv any number of work-groups of any size; make any number of work-groups of 32.
#include "scalar.clh"
#include "index.clh"
#define LANES 32
#include "smallest.clh"
#define PADDING 65535

// Makes bases and deltas of columns; misfits[0] <- 1 if C columns side by side are too far apart. A work-group of 32
// lanes takes a slot. For the plan.
__kernel __attribute__((reqd_work_group_size(LANES, 1, 1)))
void sell_deltas_make(long slots, long slice_height, __global const IDX *col_idx, __global IDX *bases,
                      __global ushort *deltas, __global int *misfits)
{
    int lid = (int)get_local_id(0);
    __local long smallest[LANES];
    for (long slot = get_group_id(0); slot < slots; slot += get_num_groups(0)) {
        long begin = slot * slice_height;
        long base = LONG_MAX;
        for (long l = lid; l < slice_height; l += LANES)
            if (col_idx[begin + l] >= 0)
                base = min(base, (long)col_idx[begin + l]);
        base = smallest_of_group(base, smallest);
        if (lid == 0)
            bases[slot] = (IDX)(base == LONG_MAX ? 0 : base);
        for (long l = lid; l < slice_height; l += LANES) {
            long delta = col_idx[begin + l] < 0 ? PADDING : col_idx[begin + l] - base;
            if (col_idx[begin + l] >= 0 && delta >= PADDING)
                atomic_or(misfits, 1);
            deltas[begin + l] = (ushort)delta;
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
}

// y <- alpha A x + beta y. A work-item takes a lane and every get_global_size(0)-th one after it.
__kernel void sell_deltas_spmv(long rows, long slice_height, __global const OFF *slice_ptr,
                               __global const IDX *row_order, __global const IDX *bases,
                               __global const ushort *deltas, __global const T *values, ACC alpha,
                               __global const T *x, long x_start, ACC beta, __global T *y, long y_start)
{
    for (long position = get_global_id(0); position < rows; position += get_global_size(0)) {
        long slice = position / slice_height;
        long begin = slice_ptr[slice];
        long end = slice_ptr[slice + 1];
        long slot = begin / slice_height;
        ACC sum = (ACC)(0);
        for (long at = begin + position % slice_height; at < end; at += slice_height, slot++) {
            int delta = deltas[at];
            if (delta == PADDING)
                break;
            sum += mul(load(values, at), load(x, x_start + bases[slot] + delta));
        }
        update(y, y_start + row_order[position], mul(alpha, sum), beta);
    }
}

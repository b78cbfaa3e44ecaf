// csr_spmv_sub_group: y <- alpha A x + beta y for compressed rows. Needs cl_khr_subgroup_shuffle.
// One sub-group per row, striding over the grid; reads values, indices and offsets once, gathers x, writes y once.
// Macros: SCALAR, IDX, OFF, CONJ (1 conjugates A).   Launch: any number of work-groups of whole sub-groups.
#include "scalar.clh"
#include "index.clh"
#include "entry.clh"
#include "sub_group.clh"
#pragma OPENCL EXTENSION cl_khr_subgroup_shuffle : enable

// The sum of the values of all lanes, always by the same tree; every lane gets it.
static ACC sum_lanes(ACC value, int lanes)
{
    for (int mask = lanes / 2; mask > 0; mask /= 2) {
#if COMPLEX
        value += (ACC)(sub_group_shuffle_xor(value.x, (uint)mask), sub_group_shuffle_xor(value.y, (uint)mask));
#else
        value += sub_group_shuffle_xor(value, (uint)mask);
#endif
    }
    return value;
}

// A sub-group takes a row and every sub_group_count()-th one after it: lane l sums its entries l, l + lanes, ...
__kernel void csr_spmv_row_per_sub_group(long rows, __global const OFF *offsets, __global const IDX *indices,
                                         __global const T *values, ACC alpha, __global const T *x, long x_start,
                                         ACC beta, __global T *y, long y_start)
{
    int lane = (int)get_sub_group_local_id();
    int lanes = (int)get_sub_group_size();
    for (long row = sub_group_index(); row < rows; row += sub_group_count()) {
        ACC sum = (ACC)(0);
        long end = offsets[row + 1];
        for (long k = offsets[row] + lane; k < end; k += lanes)
            sum += mul(entry(values, k), load(x, x_start + indices[k]));
        sum = sum_lanes(sum, lanes);
        if (lane == 0)
            update(y, y_start + row, mul(alpha, sum), beta);
    }
}

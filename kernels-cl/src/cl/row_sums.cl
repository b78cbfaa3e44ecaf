// row_sums: s <- A 1 for compressed rows: the entries of row i are at offsets[i] .. offsets[i + 1].
// One work-item per row, striding over the grid; reads values and offsets once, writes s once.
// Macros: SCALAR, IDX (unused), OFF (type of offsets).   Launch: any number of work-groups of any size.
#include "scalar.clh"
#include "index.clh"

// A work-item takes a row and every get_global_size(0)-th one after it.
__kernel void row_sums(long rows, __global const OFF *offsets, __global const T *values, __global T *s, long s_start)
{
    for (long row = get_global_id(0); row < rows; row += get_global_size(0)) {
        ACC sum = (ACC)(0);
        long end = offsets[row + 1];
        for (long k = offsets[row]; k < end; k++)
            sum += load(values, k);
        store(s, s_start + row, sum);
    }
}

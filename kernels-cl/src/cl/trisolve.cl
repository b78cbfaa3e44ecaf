// trisolve: op(A) X = B for a triangle of op(A), whose entries a plan has grouped by rows: those of row i are entries
// offsets[i] .. offsets[i + 1]; entry k is in column columns[k] and has the value values[positions[k]]. Entries in the
// other triangle are ignored. `order` has the rows level by level: those of a level need none of each other.
// One work-item per element of X in a level, which subtracts products in the order of the entries; reads columns,
// positions and values once for each column of B, gathers X, writes X once.
// Macros: SCALAR, IDX (type of rows and columns), POS (type of positions), each int or long; CONJ (1 conjugates A).
// Launch: any number of work-groups of any size, one work-group for trisolve_levels.

// Every operation rounds, as on the host.
#pragma OPENCL FP_CONTRACT OFF
#include "scalar.clh"
#include "entry.clh"
#include "quotient.clh"
#ifndef IDX
#error "IDX is missing: int or long"
#endif
#ifndef POS
#error "POS is missing: int or long"
#endif

// Solves a row for one column of B, whose elements and those of X begin at `b` and `x`; sets `zero` if the diagonal is.
static void solve(long row, int lower, int unit, __global const long *offsets, __global const IDX *columns,
                  __global const POS *positions, __global const T *values, __global const T *b, long b_row,
                  __global T *x, long x_row, __global int *zero)
{
    ACC sum = load(b, row * b_row);
    ACC diagonal = (ACC)(0);
    for (long k = offsets[row]; k < offsets[row + 1]; k++) {
        long column = columns[k];
        if (column == row)
            diagonal += entry(values, positions[k]);
        else if (lower ? column < row : column > row)
            sum -= mul(entry(values, positions[k]), load(x, column * x_row));
    }
    if (!unit) {
        if (is_zero(diagonal))
            *zero = 1;
        sum = quotient(sum, diagonal);
    }
    store(x, row * x_row, sum);
}

// Solves the rows order[first .. last], which are of one level, for `cols` columns of B.
__kernel void trisolve_level(long first, long last, long cols, int lower, int unit, __global const IDX *order,
                             __global const long *offsets, __global const IDX *columns, __global const POS *positions,
                             __global const T *values, __global const T *b, long b_start, long b_row, long b_col,
                             __global T *x, long x_start, long x_row, long x_col, __global int *zero)
{
    for (long i = get_global_id(0); i < (last - first) * cols; i += get_global_size(0)) {
        long col = i % cols;
        solve(order[first + i / cols], lower, unit, offsets, columns, positions, values, b + b_start + col * b_col,
              b_row, x + x_start + col * x_col, x_row, zero);
    }
}

// Solves levels `first` .. `last` one after the other: level l has the rows order[starts[l] .. starts[l + 1]].
__kernel void trisolve_levels(long first, long last, long cols, int lower, int unit, __global const long *starts,
                              __global const IDX *order, __global const long *offsets, __global const IDX *columns,
                              __global const POS *positions, __global const T *values, __global const T *b,
                              long b_start, long b_row, long b_col, __global T *x, long x_start, long x_row, long x_col,
                              __global int *zero)
{
    int lid = (int)get_local_id(0);
    for (long level = first; level < last; level++) {
        long end = (starts[level + 1] - starts[level]) * cols;
        for (long i = lid; i < end; i += get_local_size(0)) {
            long col = i % cols;
            solve(order[starts[level] + i / cols], lower, unit, offsets, columns, positions, values,
                  b + b_start + col * b_col, b_row, x + x_start + col * x_col, x_row, zero);
        }
        barrier(CLK_GLOBAL_MEM_FENCE);
    }
}

// zeros[i] <- 1 where the diagonal of row i is zero, else 0.
__kernel void trisolve_zeros(long rows, __global const long *offsets, __global const IDX *columns,
                             __global const POS *positions, __global const T *values, __global int *zeros)
{
    for (long row = get_global_id(0); row < rows; row += get_global_size(0)) {
        ACC diagonal = (ACC)(0);
        for (long k = offsets[row]; k < offsets[row + 1]; k++)
            if (columns[k] == row)
                diagonal += entry(values, positions[k]);
        zeros[row] = is_zero(diagonal);
    }
}

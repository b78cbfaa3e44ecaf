// grouped: products of entries that a plan has grouped: group g has the entries at positions[offsets[g] .. offsets[g +
// 1]] of a matrix of any format. Its values are in `head`, those from position `split` on in `tail` (HYB has two
// arrays).
// One work-item per row, or per element of C, striding over the grid; reads positions and columns once, gathers values
// and x or B, writes y or C once.
// Macros: SCALAR, IDX (type of columns), POS (type of positions), each int or long; CONJ (1 conjugates A).   Launch:
// any number of work-groups of any size.
#include "scalar.clh"
#ifndef IDX
#error "IDX is missing: int or long"
#endif
#ifndef POS
#error "POS is missing: int or long"
#endif
#ifndef CONJ
#error "CONJ is missing: 0 or 1"
#endif

static ACC entry(long split, __global const T *head, __global const T *tail, long position)
{
    ACC value = position < split ? load(head, position) : load(tail, position - split);
#if CONJ
    return conjugate(value);
#else
    return value;
#endif
}

// y <- alpha A x + beta y, where group i is row i and entry k is in column columns[k]. A work-item takes a row and
// every get_global_size(0)-th one after it.
__kernel void grouped_spmv(long rows, __global const long *offsets, __global const IDX *columns,
                           __global const POS *positions, long split, __global const T *head, __global const T *tail,
                           ACC alpha, __global const T *x, long x_start, ACC beta, __global T *y, long y_start)
{
    for (long row = get_global_id(0); row < rows; row += get_global_size(0)) {
        ACC sum = (ACC)(0);
        for (long k = offsets[row]; k < offsets[row + 1]; k++)
            sum += mul(entry(split, head, tail, positions[k]), load(x, x_start + columns[k]));
        update(y, y_start + row, mul(alpha, sum), beta);
    }
}

// C <- alpha A B + beta C likewise; a work-item takes an element of C.
__kernel void grouped_spmm(long rows, long cols, __global const long *offsets, __global const IDX *columns,
                           __global const POS *positions, long split, __global const T *head, __global const T *tail,
                           ACC alpha, __global const T *b, long b_start, long b_row, long b_col, ACC beta,
                           __global T *c, long c_start, long c_row, long c_col)
{
    for (long i = get_global_id(0); i < rows * cols; i += get_global_size(0)) {
        long row = i / cols;
        long col = i % cols;
        ACC sum = (ACC)(0);
        for (long k = offsets[row]; k < offsets[row + 1]; k++)
            sum += mul(entry(split, head, tail, positions[k]), load(b, b_start + columns[k] * b_row + col * b_col));
        update(c, c_start + row * c_row + col * c_col, mul(alpha, sum), beta);
    }
}

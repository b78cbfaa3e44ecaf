// trisolve: op(A) X = B for a triangle of op(A), whose entries a plan has grouped by rows: those of row i are entries
// offsets[i] .. offsets[i + 1]; entry k is in column columns[k] and has the value values[positions[k]]. Entries in the
// other triangle are ignored. `order` has the rows level by level: those of a level need none of each other.
// One thread per element of X in a level, which subtracts products in the order of the entries; reads columns,
// positions and values once for each column of B, gathers X, writes X once.
// Macros: SCALAR, IDX (type of rows and columns), POS (type of positions), each int or long; CONJ (1 conjugates A).
// Launch: any number of blocks of up to 256 threads, one block for trisolve_levels.
#include "grid.cuh"
#include "scalar.cuh"
#include "types.cuh"
#include "entry.cuh"
#include "rounded.cuh"
#ifndef IDX
#error "IDX is missing: int or long"
#endif
#ifndef POS
#error "POS is missing: int or long"
#endif

typedef TYPE(IDX) Idx;
typedef TYPE(POS) Position;

// Solves a row for one column of B, whose elements and those of X begin at `b` and `x`; sets `zero` if the diagonal is.
static __device__ void solve(long long row, int lower, int unit, const long long *offsets, const Idx *columns,
                             const Position *positions, const T *values, const T *b, long long b_row, T *x,
                             long long x_row, int *zero)
{
    ACC sum = load(b, row * b_row);
    ACC diagonal = ACC(0);
    for (long long k = offsets[row]; k < offsets[row + 1]; k++) {
        long long column = columns[k];
        if (column == row)
            diagonal += entry(values, positions[k]);
        else if (lower ? column < row : column > row)
            sum = difference(sum, product(entry(values, positions[k]), load(x, column * x_row)));
    }
    if (!unit) {
        if (is_zero(diagonal))
            *zero = 1;
        sum = quotient(sum, diagonal);
    }
    store(x, row * x_row, sum);
}

// Solves the rows order[first .. last], which are of one level, for `cols` columns of B.
KERNEL trisolve_level(long long first, long long last, long long cols, int lower, int unit,
                      const Idx *__restrict__ order, const long long *__restrict__ offsets,
                      const Idx *__restrict__ columns, const Position *__restrict__ positions,
                      const T *__restrict__ values, const T *__restrict__ b, long long b_start, long long b_row,
                      long long b_col, T *x, long long x_start, long long x_row, long long x_col, int *zero)
{
    for (long long i = thread_index(); i < (last - first) * cols; i += thread_count()) {
        long long col = i % cols;
        solve(order[first + i / cols], lower, unit, offsets, columns, positions, values, b + b_start + col * b_col,
              b_row, x + x_start + col * x_col, x_row, zero);
    }
}

// Solves levels `first` .. `last` one after the other: level l has the rows order[starts[l] .. starts[l + 1]].
KERNEL trisolve_levels(long long first, long long last, long long cols, int lower, int unit,
                       const long long *__restrict__ starts, const Idx *__restrict__ order,
                       const long long *__restrict__ offsets, const Idx *__restrict__ columns,
                       const Position *__restrict__ positions, const T *__restrict__ values, const T *__restrict__ b,
                       long long b_start, long long b_row, long long b_col, T *x, long long x_start, long long x_row,
                       long long x_col, int *zero)
{
    for (long long level = first; level < last; level++) {
        long long end = (starts[level + 1] - starts[level]) * cols;
        for (long long i = threadIdx.x; i < end; i += blockDim.x) {
            long long col = i % cols;
            solve(order[starts[level] + i / cols], lower, unit, offsets, columns, positions, values,
                  b + b_start + col * b_col, b_row, x + x_start + col * x_col, x_row, zero);
        }
        __syncthreads();
    }
}

// zeros[i] <- 1 where the diagonal of row i is zero, else 0.
KERNEL trisolve_zeros(long long rows, const long long *__restrict__ offsets, const Idx *__restrict__ columns,
                      const Position *__restrict__ positions, const T *__restrict__ values, int *__restrict__ zeros)
{
    for (long long row = thread_index(); row < rows; row += thread_count()) {
        ACC diagonal = ACC(0);
        for (long long k = offsets[row]; k < offsets[row + 1]; k++)
            if (columns[k] == row)
                diagonal += entry(values, positions[k]);
        zeros[row] = is_zero(diagonal);
    }
}

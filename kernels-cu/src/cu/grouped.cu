// grouped: products of entries that a plan has grouped: group g has the entries at positions[offsets[g] .. offsets[g +
// 1]] of a matrix of any format. Its values are in `head`, those from position `split` on in `tail` (HYB has two
// arrays).
// One thread per row, or per element of C, striding over the grid; reads positions and columns once, gathers values and
// x or B, writes y or C once.
// Macros: SCALAR, IDX (type of columns), POS (type of positions), each int or long; CONJ (1 conjugates A).   Launch:
// any number of blocks of up to 256 threads.
#include "grid.cuh"
#include "scalar.cuh"
#include "types.cuh"
#include "entry.cuh"
#ifndef IDX
#error "IDX is missing: int or long"
#endif
#ifndef POS
#error "POS is missing: int or long"
#endif

typedef TYPE(IDX) Idx;
typedef TYPE(POS) Position;

static __device__ ACC entry(long long split, const T *head, const T *tail, long long position)
{
    return position < split ? entry(head, position) : entry(tail, position - split);
}

// y <- alpha A x + beta y, where group i is row i and entry k is in column columns[k]. A thread takes a row and
// every thread_count()-th one after it.
KERNEL grouped_spmv(long long rows, const long long *__restrict__ offsets, const Idx *__restrict__ columns,
                    const Position *__restrict__ positions, long long split, const T *__restrict__ head,
                    const T *__restrict__ tail, ACC alpha, const T *__restrict__ x, long long x_start, ACC beta,
                    T *__restrict__ y, long long y_start)
{
    for (long long row = thread_index(); row < rows; row += thread_count()) {
        ACC sum = ACC(0);
        for (long long k = offsets[row]; k < offsets[row + 1]; k++)
            sum += mul(entry(split, head, tail, positions[k]), load(x, x_start + columns[k]));
        update(y, y_start + row, mul(alpha, sum), beta);
    }
}

// C <- alpha A B + beta C likewise; a thread takes an element of C.
KERNEL grouped_spmm(long long rows, long long cols, const long long *__restrict__ offsets,
                    const Idx *__restrict__ columns, const Position *__restrict__ positions, long long split,
                    const T *__restrict__ head, const T *__restrict__ tail, ACC alpha, const T *__restrict__ b,
                    long long b_start, long long b_row, long long b_col, ACC beta, T *__restrict__ c, long long c_start,
                    long long c_row, long long c_col)
{
    for (long long i = thread_index(); i < rows * cols; i += thread_count()) {
        long long row = i / cols;
        long long col = i % cols;
        ACC sum = ACC(0);
        for (long long k = offsets[row]; k < offsets[row + 1]; k++)
            sum += mul(entry(split, head, tail, positions[k]), load(b, b_start + columns[k] * b_row + col * b_col));
        update(c, c_start + row * c_row + col * c_col, mul(alpha, sum), beta);
    }
}

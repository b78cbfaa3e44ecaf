// trisolve_waiting: op(A) X = B as trisolve.cu, in one launch: each element of X waits for those that it needs.
// `states` begins with a ticket, followed by a word for each element, by rows, which is 1 once the element is written;
// all are zeros when the kernel starts. Warps take elements in the order of `order` by the ticket, so that those which
// an element needs are at work already.
// One thread per element of X, which subtracts products in the order of the entries; reads columns, positions and
// values once for each column of B, gathers X and its words, writes X and a word once.
// Macros: SCALAR, IDX (type of rows and columns), POS (type of positions), each int or long; CONJ (1 conjugates A).
// Launch: any number of blocks of up to 256 threads, of whole warps.
// Liu, Li, Hogg, Duff, Vinter: A synchronization-free algorithm for parallel sparse triangular solves. Euro-Par 2016.
#include "grid.cuh"
#include "scalar.cuh"
#include "types.cuh"
#include "entry.cuh"
#include "rounded.cuh"
#include "ready.cuh"
#ifndef IDX
#error "IDX is missing: int or long"
#endif
#ifndef POS
#error "POS is missing: int or long"
#endif

typedef TYPE(IDX) Idx;
typedef TYPE(POS) Position;

KERNEL trisolve_waiting(long long rows, long long cols, int lower, int unit, const Idx *__restrict__ order,
                        const long long *__restrict__ offsets, const Idx *__restrict__ columns,
                        const Position *__restrict__ positions, const T *__restrict__ values, const T *__restrict__ b,
                        long long b_start, long long b_row, long long b_col, T *x, long long x_start, long long x_row,
                        long long x_col, int *zero, unsigned int *states)
{
    unsigned int *ready = states + 1;
    for (;;) {
        unsigned int ticket = 0;
        if (lane_index() == 0)
            ticket = atomicAdd(states, 1u);
        long long first = (long long)__shfl_sync(ALL_LANES, ticket, 0) * WARP;
        if (first >= rows * cols)
            return;
        long long item = first + lane_index();
        bool solves = item < rows * cols;
        long long row = solves ? order[item / cols] : 0;
        long long col = item % cols;
        long long x_first = x_start + col * x_col;
        long long k = solves ? offsets[row] : 0;
        long long end = solves ? offsets[row + 1] : 0;
        ACC sum = solves ? load(b, b_start + row * b_row + col * b_col) : ACC(0);
        ACC diagonal = ACC(0);
        // Lanes may need each other: one that has its element writes it before the others look again.
        while (solves) {
            bool waits = false;
            while (k < end && !waits) {
                long long column = columns[k];
                if (column == row)
                    diagonal += entry(values, positions[k]);
                else if (lower ? column < row : column > row) {
                    waits = !is_ready(&ready[column * cols + col]);
                    if (!waits)
                        sum = difference(sum, product(entry(values, positions[k]), load(x, x_first + column * x_row)));
                }
                if (!waits)
                    k++;
            }
            if (!waits) {
                if (!unit) {
                    if (is_zero(diagonal))
                        *zero = 1;
                    sum = quotient(sum, diagonal);
                }
                store(x, x_first + row * x_row, sum);
                set_ready(&ready[row * cols + col]);
                solves = false;
            }
        }
        __syncwarp();
    }
}

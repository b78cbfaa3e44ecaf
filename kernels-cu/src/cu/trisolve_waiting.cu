// trisolve_waiting: op(A) X = B as trisolve.cu, in one launch: each element of X waits for those that it needs.
// `order` has the places of rows in the order of substitution, so that a row stands behind those that it needs; place p
// is row p of a lower triangle, row rows - 1 - p of an upper one. Blocks take elements in this order by a ticket, so
// that those which an element needs are at work already. `words` begins with the ticket, followed by the words of each
// element of X (ready.cuh), by rows; all are zeros when the kernel starts.
// `lanes` neighbouring lanes per element of X wait for as many others at a time; all of them subtract the products in
// the order of the entries. Reads columns, positions and values once for each column of B, gathers words, writes X and
// its words once.
// Macros: SCALAR, IDX (type of rows and columns), POS (type of positions), each int or long; CONJ (1 conjugates A).
// Launch: any number of blocks of up to 256 threads, of whole warps; `lanes` is a power of two up to 32.
// Liu, Li, Hogg, Duff, Vinter: A synchronization-free algorithm for parallel sparse triangular solves. Euro-Par 2016.
#include "grid.cuh"
#include "scalar.cuh"
#include "types.cuh"
#include "entry.cuh"
#include "rounded.cuh"
#include "warp_scalar.cuh"
#include "ready.cuh"
#ifndef IDX
#error "IDX is missing: int or long"
#endif
#ifndef POS
#error "POS is missing: int or long"
#endif

typedef TYPE(IDX) Idx;
typedef TYPE(POS) Position;

// A lane's entry of a row: its value, and for a product the element of X that it waits for and the lane of this warp
// that has it, or -1.
struct Entry
{
    ACC factor = ACC(0);
    bool is_diagonal = false, is_product = false, waits = false;
    long long needed = -2;
    int source = -1;
};

KERNEL trisolve_waiting(long long rows, long long cols, int lower, int unit, long long lanes,
                        const Idx *__restrict__ order, const long long *__restrict__ offsets,
                        const Idx *__restrict__ columns, const Position *__restrict__ positions,
                        const T *__restrict__ values, const T *__restrict__ b, long long b_start, long long b_row,
                        long long b_col, T *x, long long x_start, long long x_row, long long x_col, int *zero,
                        unsigned long long *words)
{
    int width = (int)lanes;
    int team = lane_index() / width;
    int lane = lane_index() % width;
    unsigned long long *elements = words + 1;
    for (;;) {
        long long first = next_ticket(words) * (blockDim.x / width);
        if (first >= rows * cols)
            return;
        long long item = first + threadIdx.x / width;
        bool solves = item < rows * cols;
        long long row = solves ? order[item / cols] : 0;
        row = lower ? row : rows - 1 - row;
        long long col = item % cols;
        long long element = solves ? row * cols + col : -1;
        long long k = solves ? offsets[row] : 0;
        long long end = solves ? offsets[row + 1] : 0;
        ACC sum = solves ? load(b, b_start + row * b_row + col * b_col) : ACC(0);
        ACC diagonal = ACC(0);
        auto entry_of_lane = [&] {
            Entry found;
            if (k + lane < end) {
                long long column = columns[k + lane];
                found.is_diagonal = column == row;
                found.waits = found.is_product = lower ? column < row : column > row;
                if (found.is_product)
                    found.needed = column * cols + col;
                if (found.is_diagonal || found.is_product)
                    found.factor = entry(values, positions[k + lane]);
            }
            return found;
        };
        Entry own = entry_of_lane();
        bool is_new = true;
        T solution = T(0);
        // Lanes may need each other: they exchange elements, and look for those of other warps, in turn.
        while (__any_sync(ALL_LANES, solves)) {
            if (__any_sync(ALL_LANES, is_new)) {
                for (int other = 0; other < WARP; other += width)
                    if (shuffle(element, other) == own.needed)
                        own.source = other;
                is_new = false;
            }
            T value = shuffle(solution, max(own.source, 0));
            bool is_found = !(__ballot_sync(ALL_LANES, solves) >> max(own.source, 0) & 1);
            if (own.waits && (own.source < 0 ? is_ready(elements, own.needed, &value) : is_found)) {
                own.waits = false;
                own.factor = product(own.factor, to_acc(value));
            }
            unsigned int waiting = __ballot_sync(ALL_LANES, own.waits);
            bool complete = solves && (waiting & lanes_of_team(width)) == 0;
            if (!__any_sync(ALL_LANES, complete))
                continue;
            unsigned int products = __ballot_sync(ALL_LANES, complete && own.is_product);
            unsigned int diagonals = __ballot_sync(ALL_LANES, complete && own.is_diagonal);
#pragma unroll 4
            for (int from = team * width; from < (team + 1) * width; from++) {
                ACC term = shuffle(own.factor, from);
                if (products >> from & 1)
                    sum = difference(sum, term);
                if (diagonals >> from & 1)
                    diagonal += term;
            }
            if (!complete)
                continue;
            k += width;
            if (k < end) {
                own = entry_of_lane();
                is_new = true;
                continue;
            }
            solves = false;
            if (!unit) {
                if (is_zero(diagonal))
                    *zero = 1;
                sum = quotient(sum, diagonal);
            }
            solution = from_acc(sum);
            if (lane == 0) {
                x[x_start + row * x_row + col * x_col] = solution;
                set_ready(elements, element, solution);
            }
        }
    }
}

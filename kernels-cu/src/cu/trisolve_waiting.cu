// trisolve_waiting: op(A) X = B for a triangle of op(A), in one launch: each element of X waits for those that it
// needs. trisolve_waiting_begin, the launch before: words <- 0; zero <- 1 if the diagonal of a row is zero, unless
// `unit`, so that the host knows before the solve has ended.
// Place p of the order of substitution (trisolve_places.cu) is row row_of[p], with the entries starts[p] .. starts[p +
// 1]: entry k has the value values[positions[k]] and needs the element at place sources[k], which is before p, or is on
// the diagonal where that is p; the only entry there has the value values[diagonals[p]], or diagonals[p] is -1. Where
// row_of is null, places are the rows, from the last one on if `reversed`, and starts and sources are the offsets and
// columns of op(A), of which entries of the other triangle are passed over.
// Blocks take elements in this order by a ticket, so that those which an element needs are at work already. `words`
// begins with the ticket, followed by the words of each element of X (ready.cuh), by places; all are zeros when the
// kernel starts. `lanes` neighbouring lanes per element of X wait for as many others at a time; all of them subtract the
// products in the order of the entries. Reads sources, positions and values once for each column of B, gathers words,
// writes X and its words once. To begin reads diagonals and gathers their values.
// Macros: SCALAR, IDX (type of rows and sources), POS (type of positions), each int or long; CONJ (1 conjugates A).
// Launch: any number of blocks of up to 256 threads, of whole warps to solve; `lanes` is a power of two up to 32. A few
// blocks are best for narrow levels: who waits reads words again and again, which delays those that are worked on.
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

// The order of substitution, and the entries in it.
struct Order
{
    long long rows;
    int reversed;
    const Idx *row_of;
    const long long *starts;
    const Idx *sources;

    // The place of a row, or the row at a place, where row_of is null.
    __device__ long long turned(long long at) const { return reversed ? rows - 1 - at : at; }
    __device__ long long row_at(long long place) const { return row_of ? row_of[place] : turned(place); }
    __device__ long long begin(long long place) const { return starts[turned(place)]; }
    __device__ long long end(long long place) const { return starts[turned(place) + 1]; }
    __device__ long long source(long long k) const { return turned(sources[k]); }
};

// A lane's entry of a row: its value, and for a product the element of X that it waits for.
struct Entry
{
    ACC factor = ACC(0);
    bool is_diagonal = false, is_product = false, waits = false;
    long long needed = -1;
};

// The entry on the diagonal at a place: the sum of all of them.
static __device__ ACC diagonal_at(long long place, const Order &order, const Position *positions, const T *values,
                                  const Position *diagonals)
{
    if (diagonals[place] >= 0)
        return entry(values, diagonals[place]);
    ACC sum = ACC(0);
    for (long long k = order.begin(place); k < order.end(place); k++)
        if (order.source(k) == place)
            sum += entry(values, positions[k]);
    return sum;
}

KERNEL trisolve_waiting_begin(long long rows, long long count, int unit, int reversed,
                              const long long *__restrict__ starts, const Idx *__restrict__ sources,
                              const Position *__restrict__ positions, const T *__restrict__ values,
                              const Position *__restrict__ diagonals, int *zero,
                              unsigned long long *__restrict__ words)
{
    Order order = {rows, reversed, nullptr, starts, sources};
    for (long long i = thread_index(); i < max(rows, count); i += thread_count()) {
        if (i < count)
            words[i] = 0;
        if (!unit && i < rows && is_zero(diagonal_at(i, order, positions, values, diagonals)))
            *zero = 1;
    }
}

KERNEL trisolve_waiting(long long rows, long long cols, int unit, int reversed, long long lanes,
                        const Idx *__restrict__ row_of, const long long *__restrict__ starts,
                        const Idx *__restrict__ sources,
                        const Position *__restrict__ positions, const T *__restrict__ values,
                        const T *__restrict__ b, long long b_start, long long b_row, long long b_col, T *x,
                        long long x_start, long long x_row, long long x_col, unsigned long long *words)
{
    Order order = {rows, reversed, row_of, starts, sources};
    int width = (int)lanes;
    int team = lane_index() / width;
    int lane = lane_index() % width;
    long long items = rows * cols;
    Parts<T>::Word *elements = (Parts<T>::Word *)(words + 1);
    unsigned long long next = 0;
    if (threadIdx.x == 0)
        next = atomicAdd(words, 1ull);
    __shared__ unsigned long long ticket;
    for (;;) {
        __syncthreads();
        if (threadIdx.x == 0)
            ticket = next;
        __syncthreads();
        long long first = (long long)ticket * (blockDim.x / width);
        if (first >= items)
            return;
        if (threadIdx.x == 0)
            next = atomicAdd(words, 1ull);
        long long item = first + threadIdx.x / width;
        long long warp_first = first + threadIdx.x / WARP * (WARP / width);
        bool solves = item < items;
        long long place = cols == 1 ? item : item / cols; // a division takes longer than a short row
        long long col = item - place * cols;
        long long row = solves ? order.row_at(place) : 0;
        long long k = solves ? order.begin(place) : 0;
        long long end = solves ? order.end(place) : 0;
        ACC sum = solves ? load(b, b_start + row * b_row + col * b_col) : ACC(0);
        ACC diagonal = ACC(0);
        auto entry_of_lane = [&] {
            Entry found;
            if (k + lane < end) {
                long long source = order.source(k + lane);
                found.is_diagonal = source == place;
                found.waits = found.is_product = source < place;
                found.needed = source * cols + col;
                found.factor = entry(values, positions[k + lane]);
            }
            return found;
        };
        Entry own = entry_of_lane();
        T solution = T(0);
        // Lanes may need each other: they exchange elements, and look for those of other warps, in turn.
        unsigned int busy = __ballot_sync(ALL_LANES, solves);
        while (busy) {
            bool is_near = own.waits && own.needed >= warp_first;
            int from = is_near ? (int)(own.needed - warp_first) * width : 0;
            T value = shuffle(solution, from);
            bool is_found = is_near ? !(busy >> from & 1) : own.waits && is_ready(elements, own.needed, &value);
            if (is_found) {
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
            for (int other = team * width; other < (team + 1) * width; other++) {
                ACC term = shuffle(own.factor, other);
                if (products >> other & 1)
                    sum = difference(sum, term);
                if (diagonals >> other & 1)
                    diagonal += term;
            }
            if (complete) {
                k += width;
                if (k < end) {
                    own = entry_of_lane();
                } else {
                    solves = false;
                    if (!unit)
                        sum = quotient(sum, diagonal);
                    solution = from_acc(sum);
                    if (lane == 0) {
                        set_ready(elements, item, solution);
                        x[x_start + row * x_row + col * x_col] = solution;
                    }
                }
            }
            busy = __ballot_sync(ALL_LANES, solves);
        }
    }
}

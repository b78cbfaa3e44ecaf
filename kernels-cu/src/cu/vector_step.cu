// vector_step: a step of conjugate gradients without a preconditioner, after q = A p: x <- x + alpha p,
// r <- r - alpha q, p <- r + beta p, where alpha = rho / conj(p) q and beta = conj(r) r / rho with the new r.
// Three kernels, of the same launch, one after the other. x moves with p in the last one, which reads p anyway: all
// read seven vectors and write three. Each goes over the vectors against the direction of the one before, so that it
// begins with what that one has left in the cache. A thread takes 16 bytes of each vector a step, striding over the
// grid; blocks add by a fixed tree.
// Macros: SCALAR, BLOCK (a power of two, at least 32).   Launch: any number of blocks of BLOCK threads.
#include "grid.cuh"
#include "scalar.cuh"
#include "warp_scalar.cuh"
#include "block.cuh"
#include "step_numbers.cuh"
#include "rounded.cuh"
// Elements of a run.
#define RUN (16 / (int)sizeof(T))

struct __align__(16) Run
{
    T part[RUN];
};

// The run from `at` on, by one word if `has_words`.
static __device__ Run load_run(const T *from, long long at, bool has_words)
{
    if (has_words)
        return *(const Run *)(from + at);
    Run run;
#pragma unroll
    for (int k = 0; k < RUN; k++)
        run.part[k] = from[at + k];
    return run;
}

static __device__ void store_run(T *to, long long at, Run run, bool has_words)
{
    if (has_words) {
        *(Run *)(to + at) = run;
    } else {
#pragma unroll
        for (int k = 0; k < RUN; k++)
            to[at + k] = run.part[k];
    }
}

// True if runs of a vector are whole words.
static __device__ bool is_aligned(const T *vector)
{
    return (size_t)vector % sizeof(Run) == 0;
}

// Lets threads take the runs of n elements in turn, and then one element each of what is left.
template <typename Work> static __device__ void for_each_run(Work &work, long long n, bool backwards)
{
    long long runs = n / RUN;
    for (long long i = thread_index(); i < runs; i += thread_count())
        work.take_run((backwards ? runs - 1 - i : i) * RUN);
    long long left = runs * RUN + thread_index();
    if (left < n)
        work.take(left);
}

// sum += conj(x) y.
struct Dot
{
    const T *x, *y;
    bool has_words;
    ACC sum;

    __device__ void add(T a, T b) { sum += mul(conjugate(to_acc(a)), to_acc(b)); }
    __device__ void take(long long at) { add(x[at], y[at]); }
    __device__ void take_run(long long at)
    {
        Run a = load_run(x, at, has_words);
        Run b = load_run(y, at, has_words);
#pragma unroll
        for (int k = 0; k < RUN; k++)
            add(a.part[k], b.part[k]);
    }
};

// r <- r + back q, sum += conj(r) r.
struct Advance
{
    const T *q;
    T *r;
    bool has_words;
    ACC back, sum;

    __device__ T move(T residual, T image)
    {
        T moved = from_acc(to_acc(residual) + mul(back, to_acc(image)));
        sum += mul(conjugate(to_acc(moved)), to_acc(moved));
        return moved;
    }
    __device__ void take(long long at) { r[at] = move(r[at], q[at]); }
    __device__ void take_run(long long at)
    {
        Run residual = load_run(r, at, has_words);
        Run image = load_run(q, at, has_words);
#pragma unroll
        for (int k = 0; k < RUN; k++)
            residual.part[k] = move(residual.part[k], image.part[k]);
        store_run(r, at, residual, has_words);
    }
};

// x <- x + alpha p if it `moves`, p <- r + beta p if it `turns`.
struct Turn
{
    const T *r;
    T *p, *x;
    bool has_words, moves, turns;
    ACC alpha, beta;

    __device__ T moved(T iterate, T direction) { return from_acc(to_acc(iterate) + mul(alpha, to_acc(direction))); }
    __device__ T turned(T residual, T direction) { return from_acc(to_acc(residual) + mul(beta, to_acc(direction))); }
    __device__ void take(long long at)
    {
        T direction = p[at];
        if (moves)
            x[at] = moved(x[at], direction);
        if (turns)
            p[at] = turned(r[at], direction);
    }
    __device__ void take_run(long long at)
    {
        Run direction = load_run(p, at, has_words);
        if (moves) {
            Run iterate = load_run(x, at, has_words);
#pragma unroll
            for (int k = 0; k < RUN; k++)
                iterate.part[k] = moved(iterate.part[k], direction.part[k]);
            store_run(x, at, iterate, has_words);
        }
        if (turns) {
            Run residual = load_run(r, at, has_words);
#pragma unroll
            for (int k = 0; k < RUN; k++)
                direction.part[k] = turned(residual.part[k], direction.part[k]);
            store_run(p, at, direction, has_words);
        }
    }
};

// The sums of conj(p) q of each block, with which the workspace begins. Those of conj(r) r follow, and then alpha.
KERNEL vector_step_dot(long long n, const T *__restrict__ p, long long p_start, const T *__restrict__ q,
                       long long q_start, ACC *__restrict__ workspace)
{
    wait_for_last();
    let_next_begin();
    p += p_start;
    q += q_start;
    Dot dot = {p, q, is_aligned(p) && is_aligned(q), ACC(0)};
    for_each_run(dot, n, true);
    ACC sum = reduce_block(dot.sum, Sum());
    if (threadIdx.x == 0)
        workspace[blockIdx.x] = sum;
}

// Moves r. Unless rho and conj(p) q are positive normal numbers, r stays, alpha is 0, and the sums add up to -|rho|.
KERNEL vector_step_advance(long long n, const ACC *__restrict__ rho, long long rho_start, const T *__restrict__ q,
                           long long q_start, T *__restrict__ r, long long r_start, ACC *workspace)
{
    wait_for_last();
    let_next_begin();
    q += q_start;
    r += r_start;
    ACC before = rho[rho_start];
    ACC curvature = sum_of_blocks(workspace);
    bool steps = is_positive_normal(before) && is_positive_normal(curvature);
    ACC alpha = steps ? quotient(before, curvature) : ACC(0);
    Advance advance = {q, r, is_aligned(q) && is_aligned(r), mul(ACC(-1), alpha), ACC(0)};
    if (steps)
        for_each_run(advance, n, false);
    else if (thread_index() == 0)
        advance.sum = ACC(-fabs(real_part(before)));
    ACC sum = reduce_block(advance.sum, Sum());
    if (threadIdx.x == 0)
        workspace[gridDim.x + blockIdx.x] = sum;
    if (thread_index() == 0)
        workspace[2 * gridDim.x] = alpha;
}

// Moves x and turns p, and writes conj(r) r, the next rho, twice. x stays where no step was taken, and p there and
// where conj(r) r is no number.
KERNEL vector_step_turn(long long n, const ACC *__restrict__ rho, long long rho_start, ACC *__restrict__ next,
                        long long next_start, const T *__restrict__ r, long long r_start, T *__restrict__ p,
                        long long p_start, T *__restrict__ x, long long x_start, const ACC *__restrict__ workspace)
{
    wait_for_last();
    let_next_begin();
    r += r_start;
    p += p_start;
    x += x_start;
    ACC before = rho[rho_start];
    ACC squares = sum_of_blocks(workspace + gridDim.x);
    ACC alpha = workspace[2 * gridDim.x];
    if (thread_index() == 0) {
        next[next_start] = squares;
        next[next_start + 1] = squares;
    }
    bool turns = is_positive_normal(before) && real_part(squares) >= 0;
    bool has_words = is_aligned(r) && is_aligned(p) && is_aligned(x);
    Turn turn = {r, p, x, has_words, !is_zero(alpha), turns, alpha, turns ? quotient(squares, before) : ACC(0)};
    if (turn.moves || turn.turns)
        for_each_run(turn, n, true);
}

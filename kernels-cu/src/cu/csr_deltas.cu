// csr_deltas: y <- alpha A x + beta y for compressed rows, as in csr_spmv.cu, with columns of 16 bits (deltas.cuh).
// Only if the columns of each ROWS neighbouring rows are less than 65536 apart, as those of stencils and bands do, or
// in 16 windows of 4096. One thread per row (spmv), one warp per ROWS rows (make), striding over the grid; reads
// values, deltas, bases and offsets once, gathers x, writes y once. Macros: SCALAR, IDX (type of indices), OFF (type of
// offsets), CONJ (1 conjugates A), WINDOWS (1, 16), SHIFT = 8 (columns by which like rows differ), NEAR = 8 KiB of x
// (columns between the first and the last of near ones), APART = 32767 (columns between the first and the last of those
// that lie apart).   Launch: spmv any number of blocks of up to 256 threads; make any number of blocks of whole warps,
// up to 256 threads.
#include "grid.cuh"
#include "scalar.cuh"
#include "index.cuh"
#include "entry.cuh"
#include "warp_scalar.cuh"
#include "smallest.cuh"
#include "search.cuh"
#include "deltas.cuh"
#ifndef APART
#define APART 32767
#endif
#ifndef SHIFT
#define SHIFT 8
#endif
#ifndef NEAR
#define NEAR (8192 / (int)sizeof(T))
#endif

// True if three quarters of a row's first 32 entries have a column up to SHIFT beside one of the row before it, as in
// stencils, bands and meshes with holes: the two read the same lines of x. A warp takes a row.
static __device__ bool is_like_row_before(long long row, const Off *offsets, const Idx *indices)
{
    long long before = offsets[row - 1];
    long long begin = offsets[row];
    int count = (int)min((long long)(offsets[row + 1] - begin), (long long)WARP);
    bool is_close = false;
    if (lane_index() < count) {
        long long column = indices[begin + lane_index()];
        long long at = before + count_below(indices + before, begin - before, column - SHIFT);
        is_close = at < begin && indices[at] <= column + SHIFT;
    }
    return count > 0 && __popc(__ballot_sync(ALL_LANES, is_close)) * 4 >= count * 3;
}

// The eighths of a row's first 32 pairs of neighbouring columns that are within SHIFT columns, rounded down, if its
// last column is more than APART behind the first; otherwise 8. A warp takes a row.
static __device__ int eighths_of_close_pairs(long long row, const Off *offsets, const Idx *indices)
{
    long long begin = offsets[row];
    long long end = offsets[row + 1];
    if (end - begin < 2 || indices[end - 1] - (long long)indices[begin] <= APART)
        return 8;
    long long k = begin + lane_index();
    bool is_close = k + 1 < end && llabs(indices[k + 1] - (long long)indices[k]) <= SHIFT;
    int pairs = (int)min(end - begin - 1, (long long)WARP);
    return __popc(__ballot_sync(ALL_LANES, is_close)) * 8 / pairs;
}

// The row that stands for the ROWS from `first` on. It is another one of each, since blocks of rows that are a part of ROWS
// begin at the same ones in all.
static __device__ long long sample_of(long long first)
{
    return first + (5 * (first / ROWS) + ROWS / 2) % ROWS;
}

// windows[w] <- the first column of window w, the least one behind the window before; `behind_last` where there is none.
// False if more windows are needed. A warp takes the entries `begin` .. `end`, whose least column is `base`.
static __device__ bool set_windows(Idx *windows, long long base, long long behind_last, long long begin, long long end,
                                   const Idx *indices)
{
    if (lane_index() == 0)
        windows[0] = (Idx)base;
    for (int w = 1; w < WINDOWS; w++) {
        long long next = behind_last;
        if (base + LARGEST_DELTA < behind_last)
            for (long long k = begin + lane_index(); k < end; k += WARP)
                if (indices[k] > base + LARGEST_DELTA)
                    next = min(next, (long long)indices[k]);
        base = reduce_lanes(next, Smallest());
        if (lane_index() == 0)
            windows[w] = (Idx)base;
    }
    __syncwarp();
    return behind_last <= base + LARGEST_DELTA + 1;
}

// The delta of a column: its window, the last one that does not begin behind it, and its place there.
static __device__ unsigned short delta_of(long long column, const Idx *windows)
{
    int w = 0;
    while (w + 1 < WINDOWS && windows[w + 1] <= column)
        w++;
    return (unsigned short)((w << DELTA_BITS) + (column - windows[w]));
}

// Makes bases and deltas of columns. found[0] <- 1 if columns of neighbouring rows are too far apart; found[1] += the
// number of ROWS whose sample is like the row before; found[2] += the number of ROWS for which that is so or whose
// columns lie at most NEAR apart; found[3] += the number of the others whose sample has scattered columns, fewer than a
// quarter of which are close; found[4] += the number of ROWS whose sample has clustered columns, fewer than seven eighths
// of which are close. A warp takes ROWS rows. For the plan.
KERNEL csr_deltas_make(long long rows, const Off *__restrict__ offsets, const Idx *__restrict__ indices,
                       Idx *__restrict__ bases, unsigned short *__restrict__ deltas, int *__restrict__ found)
{
    int alike = 0;
    int near = 0;
    int scattered = 0;
    int clustered = 0;
    for (long long first = warp_index() * ROWS; first < rows; first += warp_count() * ROWS) {
        long long begin = offsets[first];
        long long end = offsets[min(first + ROWS, rows)];
        long long base = LARGEST;
        long long last = -1;
        for (long long k = begin + lane_index(); k < end; k += WARP) {
            base = min(base, (long long)indices[k]);
            last = max(last, (long long)indices[k]);
        }
        base = reduce_lanes(base, Smallest());
        last = -reduce_lanes(-last, Smallest());
        long long sample = sample_of(first);
        bool is_alike = sample < rows && is_like_row_before(sample, offsets, indices);
        int close = sample < rows ? eighths_of_close_pairs(sample, offsets, indices) : 8;
        Idx *windows = bases + first / ROWS * WINDOWS;
        bool fits = set_windows(windows, last < 0 ? 0 : base, last + 1, begin, end, indices);
        if (lane_index() == 0) {
            if (!fits)
                found[0] = 1;
            bool is_near = is_alike || last - base <= NEAR;
            alike += is_alike;
            near += is_near;
            scattered += !is_near && close < 2;
            clustered += close < 7;
        }
        for (long long k = begin + lane_index(); k < end; k += WARP)
            deltas[k] = delta_of(indices[k], windows);
    }
    if (alike > 0)
        atomicAdd(found + 1, alike);
    if (near > 0)
        atomicAdd(found + 2, near);
    if (scattered > 0)
        atomicAdd(found + 3, scattered);
    if (clustered > 0)
        atomicAdd(found + 4, clustered);
}

KERNEL csr_deltas_spmv(long long rows, const Off *__restrict__ offsets, const Idx *__restrict__ bases,
                       const unsigned short *__restrict__ deltas, const T *__restrict__ values, ACC alpha,
                       const T *__restrict__ x, long long x_start, ACC beta, T *__restrict__ y, long long y_start)
{
    multiply_by_threads(LoadPlainly(), rows, offsets, bases, deltas, values, alpha, x + x_start, beta, y + y_start);
}

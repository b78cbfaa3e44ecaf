// csr_deltas: y <- alpha A x + beta y for compressed rows, as in csr_spmv.cl, with columns of 16 bits (deltas.clh).
// Only if the columns of each ROWS neighbouring rows are less than 65536 apart, as those of stencils and bands do, or
// in 16 windows of 4096. One work-item per row (spmv), one work-group of 32 per ROWS rows (make), striding over the
// grid; reads values, deltas, bases and offsets once, gathers x, writes y once. Macros: SCALAR, IDX (type of indices),
// OFF (type of offsets), CONJ (1 conjugates A), WINDOWS (1, 16), SHIFT = 8 (columns by which like rows differ), NEAR =
// 8 KiB of x (columns between the first and the last of near ones), APART = 65535 (columns between the first and the
// last of those that lie apart), NV_ARCH = 0 (lanes.clh).   Launch: spmv any number of work-groups of any size; make
// any number of work-groups of 32.
#include "scalar.clh"
#include "index.clh"
#include "entry.clh"
#define LANES 32
#include "smallest.clh"
#include "lanes.clh"
#include "words.clh"
#include "deltas.clh"
#include "deltas_products.clh"
#ifndef APART
#define APART 65535
#endif
#ifndef SHIFT
#define SHIFT 8
#endif
#ifndef NEAR
#define NEAR (8192 / (int)sizeof(T))
#endif

// True if three quarters of a row's first 32 entries have a column up to SHIFT beside one of the row before it, as in
// stencils, bands and meshes with holes: the two read the same lines of x.
static int is_like_row_before(long row, __global const OFF *offsets, __global const IDX *indices)
{
    long at = offsets[row - 1];
    long begin = offsets[row];
    long count = min(offsets[row + 1] - begin, (long)LANES);
    int close = 0;
    for (long k = begin; k < begin + count; k++) {
        while (at < begin && indices[at] < (long)indices[k] - SHIFT)
            at++;
        close += at < begin && indices[at] <= (long)indices[k] + SHIFT;
    }
    return count > 0 && close * 4 >= count * 3;
}

// The eighths of a row's first 32 pairs of neighbouring columns that are within SHIFT columns, rounded down, if its
// last column is more than APART behind the first; otherwise 8.
static int eighths_of_close_pairs(long row, __global const OFF *offsets, __global const IDX *indices)
{
    long begin = offsets[row];
    long end = offsets[row + 1];
    if (end - begin < 2 || indices[end - 1] - (long)indices[begin] <= APART)
        return 8;
    int pairs = (int)min((long)(end - begin - 1), (long)LANES);
    int close = 0;
    for (long k = begin; k < begin + pairs; k++)
        close += abs(indices[k + 1] - (long)indices[k]) <= SHIFT;
    return close * 8 / pairs;
}

// The row that stands for the ROWS from `first` on. It is another one of each, since blocks of rows that are a part of
// ROWS begin at the same ones in all.
static long sample_of(long first)
{
    return first + (5 * (first / ROWS) + ROWS / 2) % ROWS;
}

// windows[w] <- the first column of window w, the least one behind the window before; `behind_last` where there is
// none. Zero if more windows are needed. A work-group takes the entries `begin` .. `end`, whose least column is `base`.
static int set_windows(__global IDX *windows, long base, long behind_last, long begin, long end,
                       __global const IDX *indices, __local long *smallest)
{
    int lid = (int)get_local_id(0);
    if (lid == 0)
        windows[0] = (IDX)base;
    for (int w = 1; w < WINDOWS; w++) {
        long next = behind_last;
        if (base + LARGEST_DELTA < behind_last)
            for (long k = begin + lid; k < end; k += LANES)
                if (indices[k] > base + LARGEST_DELTA)
                    next = min(next, (long)indices[k]);
        barrier(CLK_LOCAL_MEM_FENCE);
        base = smallest_of_group(next, smallest);
        if (lid == 0)
            windows[w] = (IDX)base;
    }
    barrier(CLK_GLOBAL_MEM_FENCE);
    return behind_last <= base + LARGEST_DELTA + 1;
}

// The delta of a column: its window, the last one that does not begin behind it, and its place there.
static ushort delta_of(long column, __global const IDX *windows)
{
    int w = 0;
    while (w + 1 < WINDOWS && windows[w + 1] <= column)
        w++;
    return (ushort)((w << DELTA_BITS) + (column - windows[w]));
}

// Makes bases and deltas of columns. found[0] <- 1 if columns of neighbouring rows are too far apart; found[1] += the
// number of ROWS whose sample is like the row before; found[2] += the number of ROWS for which that is so or whose
// columns lie at most NEAR apart; found[3] += the number of the others whose sample has scattered columns, fewer than a
// quarter of which are close; found[4] += the number of ROWS whose sample has clustered columns, fewer than seven
// eighths of which are close. A work-group takes ROWS rows. For the plan.
__kernel __attribute__((reqd_work_group_size(LANES, 1, 1)))
void csr_deltas_make(long rows, __global const OFF *offsets, __global const IDX *indices, __global IDX *bases,
                     __global ushort *deltas, __global int *found)
{
    int lid = (int)get_local_id(0);
    __local long smallest[LANES];
    int alike = 0;
    int near = 0;
    int scattered = 0;
    int clustered = 0;
    for (long first = get_group_id(0) * (long)ROWS; first < rows; first += get_num_groups(0) * (long)ROWS) {
        long begin = offsets[first];
        long end = offsets[min(first + ROWS, rows)];
        long base = LONG_MAX;
        long last = -1;
        for (long k = begin + lid; k < end; k += LANES) {
            base = min(base, (long)indices[k]);
            last = max(last, (long)indices[k]);
        }
        base = smallest_of_group(base, smallest);
        barrier(CLK_LOCAL_MEM_FENCE);
        last = -smallest_of_group(-last, smallest);
        __global IDX *windows = bases + first / ROWS * WINDOWS;
        int fits = set_windows(windows, last < 0 ? 0 : base, last + 1, begin, end, indices, smallest);
        if (lid == 0) {
            long sample = sample_of(first);
            int is_alike = sample < rows && is_like_row_before(sample, offsets, indices);
            if (!fits)
                atomic_or(found, 1);
            int is_near = is_alike || last - base <= NEAR;
            alike += is_alike;
            near += is_near;
            int close = sample < rows ? eighths_of_close_pairs(sample, offsets, indices) : 8;
            scattered += !is_near && close < 2;
            clustered += close < 7;
        }
        for (long k = begin + lid; k < end; k += LANES)
            deltas[k] = delta_of(indices[k], windows);
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (alike > 0)
        atomic_add(found + 1, alike);
    if (near > 0)
        atomic_add(found + 2, near);
    if (scattered > 0)
        atomic_add(found + 3, scattered);
    if (clustered > 0)
        atomic_add(found + 4, clustered);
}

// y <- alpha A x + beta y. A work-item takes a row and every get_global_size(0)-th one after it.
__kernel void csr_deltas_spmv(long rows, __global const OFF *offsets, __global const IDX *bases,
                              __global const ushort *deltas, __global const T *values, ACC alpha,
                              __global const T *x, long x_start, ACC beta, __global T *y, long y_start)
{
    multiply_by_items(0, 0, rows, offsets, bases, deltas, values, alpha, x + x_start, beta, y + y_start);
}

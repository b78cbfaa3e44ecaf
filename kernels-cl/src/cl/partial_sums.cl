// partial_sums: C <- alpha S + beta C for rows of which several blocks or chunks have left a partial sum: S is the sum
// of those of a row, element (k, col) of the partial sums is at k*cols + col.
// 32 work-items take a row and up to 32 columns: neighbours have neighbouring columns, and every 32 / lanes-th sum.
// Where one had more than MOST_IN_TURN, the whole work-group takes them. Fixed trees add the sums. Reads each partial
// sum once, writes C once.
// Macros: SCALAR, MAX_THREADS = 1024 (the largest work-group), MOST_IN_TURN = 32.   Launch: any number of work-groups
// of any power of two from 32 to MAX_THREADS.
#include "scalar.clh"
#ifndef MAX_THREADS
#define MAX_THREADS 1024
#endif
#ifndef MOST_IN_TURN
#define MOST_IN_TURN 32
#endif
#define WARP 32

// The sum of every `threads` / `lanes`-th before `end`, from that of this work-item on, in the column of its lane.
static ACC sum_of_thread(long begin, long end, int thread, int threads, int lanes, long col, long cols,
                         __global const ACC *partial)
{
    ACC sum = (ACC)(0);
    if (col < cols)
        for (long k = begin + thread / lanes; k < end; k += threads / lanes)
            sum += partial[k * cols + col];
    return sum;
}

// sums[i] <- the sum of those of every `lanes`-th work-item from i on, of `threads`, for i < lanes. All of a group call
// it.
static void add_up(__local ACC *sums, int thread, int threads, int lanes)
{
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int left = threads / 2; left >= lanes; left /= 2) {
        if (thread < left)
            sums[thread] += sums[thread + left];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
}

// rows[i] is row i of those with partial sums, starts[i] its first; at the end their number. A tile is a row and up to
// 32 columns; a work-group has neighbouring tiles, whose partial sums are neighbours in memory.
__kernel void partial_sums(long count, long cols, __global const long *rows, __global const long *starts, ACC alpha,
                         ACC beta, __global T *c, long c_start, long c_row, long c_col, __global const ACC *partial)
{
    __local ACC sums[MAX_THREADS];
    int lid = (int)get_local_id(0);
    int threads = (int)get_local_size(0);
    int lanes = 1;
    while (lanes < WARP && lanes < cols)
        lanes *= 2;
    long few = MOST_IN_TURN * WARP / lanes;
    long slices = (cols + lanes - 1) / lanes;
    long share = (count * slices + get_num_groups(0) - 1) / get_num_groups(0);
    long end = min((long)(get_group_id(0) + 1) * share, count * slices);
    for (long first = get_group_id(0) * share; first < end; first += threads / WARP) {
        long tile = first + lid / WARP;
        long i = min(tile, end - 1) / slices;
        long col = tile % slices * lanes + lid % WARP % lanes;
        bool is_own = tile < end && starts[i + 1] - starts[i] <= few;
        sums[lid] = (ACC)(0);
        if (is_own)
            sums[lid] = sum_of_thread(starts[i], starts[i + 1], lid % WARP, WARP, lanes, col, cols, partial);
        add_up(sums + lid / WARP * WARP, lid % WARP, WARP, lanes);
        if (is_own && lid % WARP < lanes && col < cols)
            update(c, c_start + rows[i] * c_row + col * c_col, mul(alpha, sums[lid]), beta);
        barrier(CLK_LOCAL_MEM_FENCE);
        for (tile = first; tile < min(first + threads / WARP, end); tile++) {
            i = tile / slices;
            if (starts[i + 1] - starts[i] <= few)
                continue;
            col = tile % slices * lanes + lid % lanes;
            sums[lid] = sum_of_thread(starts[i], starts[i + 1], lid, threads, lanes, col, cols, partial);
            add_up(sums, lid, threads, lanes);
            if (lid < lanes && col < cols)
                update(c, c_start + rows[i] * c_row + col * c_col, mul(alpha, sums[lid]), beta);
            barrier(CLK_LOCAL_MEM_FENCE);
        }
    }
}

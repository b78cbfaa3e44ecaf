// spgemm_nodes: neighbouring rows or columns of matrices that are the unknowns of a node: rows with the same columns, and
// columns that are neighbours in every row. A break is a row or column that is in another node than the one before.
// row_breaks, column_breaks: breaks[i] <- 1 at a break, from zeros, by a team of LANES lanes for each row. firsts: the
// first of each node, by the nodes before each row or column. sizes: the rows or columns in nodes of each size. split:
// the breaks of nodes of up to `unknowns`.
// Reads offsets and indices once, an index of the row before with each of row_breaks.
// Macros: IDX, OFF, LANES = 8 (per row), MOST_UNKNOWNS = 6.   Launch: any number of blocks of up to 256 threads.
#include "grid.cuh"
#include "index.cuh"
#ifndef LANES
#define LANES 8
#endif
#ifndef MOST_UNKNOWNS
#define MOST_UNKNOWNS 6
#endif

// Most breaks are marked before, which a load sees without a store.
static __device__ void mark(int *at)
{
    if (*(volatile int *)at == 0)
        atomicExch(at, 1);
}

KERNEL spgemm_nodes_row_breaks(long long rows, const Off *__restrict__ offsets, const Idx *__restrict__ indices,
                               int *__restrict__ breaks)
{
    for (long long row = thread_index() / LANES; row < rows; row += thread_count() / LANES) {
        long long begin = offsets[row];
        long long length = offsets[row + 1] - begin;
        bool differs = row == 0 || begin - offsets[row - 1] != length;
        for (long long k = lane_index() % LANES; !differs && k < length; k += LANES)
            differs = indices[begin + k] != indices[begin - length + k];
        if (differs)
            mark(breaks + row);
    }
}

KERNEL spgemm_nodes_column_breaks(long long rows, const Off *__restrict__ offsets, const Idx *__restrict__ indices,
                                  int *__restrict__ breaks)
{
    if (thread_index() == 0)
        mark(breaks);
    for (long long row = thread_index() / LANES; row < rows; row += thread_count() / LANES) {
        long long begin = offsets[row];
        long long end = offsets[row + 1];
        for (long long k = begin + lane_index() % LANES; k < end; k += LANES) {
            long long column = indices[k];
            if (k == begin || indices[k - 1] != column - 1)
                mark(breaks + column);
            if (k + 1 == end || indices[k + 1] != column + 1)
                mark(breaks + column + 1);
        }
    }
}

KERNEL spgemm_nodes_firsts(long long n, const int *__restrict__ starts, int *__restrict__ firsts)
{
    for (long long i = thread_index(); i <= n; i += thread_count())
        if (i == n || starts[i + 1] > starts[i])
            firsts[starts[i]] = (int)i;
}

// counts[s] <- the rows or columns in nodes of s, or of at least s for MOST_UNKNOWNS, from zeros.
KERNEL spgemm_nodes_sizes(long long n, const int *__restrict__ starts, const int *__restrict__ firsts,
                          long long *__restrict__ counts)
{
    __shared__ int of_block[MOST_UNKNOWNS + 1];
    if (threadIdx.x <= MOST_UNKNOWNS)
        of_block[threadIdx.x] = 0;
    __syncthreads();
    for (long long node = thread_index(); node < starts[n]; node += thread_count()) {
        int size = firsts[node + 1] - firsts[node];
        atomicAdd(of_block + min(size, MOST_UNKNOWNS), size);
    }
    __syncthreads();
    if (threadIdx.x <= MOST_UNKNOWNS)
        atomicAdd((unsigned long long *)counts + threadIdx.x, (unsigned long long)of_block[threadIdx.x]);
}

KERNEL spgemm_nodes_split(long long n, long long unknowns, const int *__restrict__ starts,
                          const int *__restrict__ firsts, int *__restrict__ breaks)
{
    for (long long i = thread_index(); i < n; i += thread_count())
        breaks[i] = (i - firsts[starts[i + 1] - 1]) % unknowns == 0;
}

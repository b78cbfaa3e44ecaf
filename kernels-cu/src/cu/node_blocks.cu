// node_blocks: the square blocks of a matrix whose nodes have several unknowns each.
// With n unknowns, rows i n to i n + n - 1 have the same columns, which come in runs of n from multiples of n on.
// A power of two of lanes per node, LANES where columns are copied, striding over the grid; find reads offsets and
// indices once for each number of unknowns, until one block is wrong; columns reads offsets and one index of each
// block.
// Macros: IDX, OFF, LANES = 8 (per node in columns).   Launch: any number of blocks of whole warps, up to 256 threads.
#include "grid.cuh"
#include "index.cuh"
#ifndef LANES
#define LANES 8
#endif

// True if this lane's blocks of a node of `unknowns` rows are right.
template <int unknowns>
static __device__ bool is_right(long long node, int lanes, const Off *offsets, const Idx *indices)
{
    const Off *own = offsets + node * unknowns;
    long long begin = own[0];
    long long length = own[1] - begin;
    bool right = length % unknowns == 0;
#pragma unroll
    for (int r = 1; r < unknowns; r++)
        right = right && own[r + 1] - own[r] == length;
    if (!right)
        return false;
    for (long long k = lane_index() % lanes * unknowns; k < length; k += lanes * unknowns) {
        long long column = indices[begin + k];
        right = right && column % unknowns == 0;
#pragma unroll
        for (int r = 0; r < unknowns; r++)
#pragma unroll
            for (int e = 0; e < unknowns; e++)
                right = right && indices[begin + r * length + k + e] == column + e;
    }
    return right;
}

// The bit of a number of unknowns if it is one of `candidates`, and a block of this warp's nodes is wrong with it.
template <int unknowns>
static __device__ unsigned int find_wrong(unsigned int candidates, long long rows, int lanes, const Off *offsets,
                                          const Idx *indices)
{
    if ((candidates >> unknowns & 1) == 0)
        return 0;
    long long nodes = rows / unknowns;
    int of_warp = WARP / lanes;
    for (long long first = warp_index() * of_warp; first < nodes; first += warp_count() * of_warp) {
        long long node = first + lane_index() / lanes;
        if (__any_sync(ALL_LANES, node < nodes && !is_right<unknowns>(node, lanes, offsets, indices)))
            return 1u << unknowns;
    }
    return 0;
}

// found[0] gets the bits of those of the numbers `candidates`, from 2 to 6, for which entries are not in blocks.
// `lanes` is a power of two up to WARP.
KERNEL node_blocks_find(long long rows, long long lanes, unsigned int candidates, const Off *__restrict__ offsets,
                        const Idx *__restrict__ indices, unsigned int *__restrict__ found)
{
    unsigned int wrong = find_wrong<2>(candidates, rows, (int)lanes, offsets, indices);
    wrong |= find_wrong<3>(candidates, rows, (int)lanes, offsets, indices);
    wrong |= find_wrong<4>(candidates, rows, (int)lanes, offsets, indices);
    wrong |= find_wrong<5>(candidates, rows, (int)lanes, offsets, indices);
    wrong |= find_wrong<6>(candidates, rows, (int)lanes, offsets, indices);
    if (lane_index() == 0 && wrong != 0)
        atomicOr(found, wrong);
}

// columns <- the first column of each block, node by node.
KERNEL node_blocks_columns(long long nodes, long long unknowns, const Off *__restrict__ offsets,
                           const Idx *__restrict__ indices, Idx *__restrict__ columns)
{
    for (long long node = thread_index() / LANES; node < nodes; node += thread_count() / LANES) {
        long long begin = offsets[node * unknowns];
        long long blocks = (offsets[node * unknowns + 1] - begin) / unknowns;
        Idx *own = columns + begin / (unknowns * unknowns);
        for (long long k = lane_index() % LANES; k < blocks; k += LANES)
            own[k] = indices[begin + k * unknowns];
    }
}

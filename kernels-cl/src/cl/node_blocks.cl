// node_blocks: the square blocks of a matrix whose nodes have several unknowns each.
// With n unknowns, rows i n to i n + n - 1 have the same columns, which come in runs of n from multiples of n on.
// A power of two of lanes per node, LANES where columns are copied, striding over the grid; find reads offsets and
// indices once for each number of unknowns, until one block is wrong; columns reads offsets and one index of each
// block.
// Macros: IDX, OFF, LANES = 8 (per node in columns).   Launch: any number of work-groups of whole warps.
#include "index.clh"
#ifndef LANES
#define LANES 8
#endif

// True if this lane's blocks of a node of `unknowns` rows are right.
static int is_right(int unknowns, long node, int lane, int lanes, __global const OFF *offsets,
                    __global const IDX *indices)
{
    __global const OFF *own = offsets + node * unknowns;
    long begin = own[0];
    long length = own[1] - begin;
    int right = length % unknowns == 0;
    for (int r = 1; r < unknowns; r++)
        right = right && own[r + 1] - own[r] == length;
    for (long k = lane * unknowns; right && k < length; k += lanes * unknowns) {
        long column = indices[begin + k];
        right = column % unknowns == 0;
        for (int r = 0; r < unknowns; r++)
            for (int e = 0; e < unknowns; e++)
                right = right && indices[begin + r * length + k + e] == column + e;
    }
    return right;
}

// found[0] gets the bits of those of the numbers `candidates`, from 2 to 6, for which entries are not in blocks.
// `lanes` is a power of two up to 32.
__kernel void node_blocks_find(long rows, long lanes, uint candidates, __global const OFF *offsets,
                               __global const IDX *indices, __global uint *found)
{
    long first = get_global_id(0) / lanes;
    long teams = get_global_size(0) / lanes;
    int lane = (int)(get_global_id(0) % lanes);
    for (int unknowns = 2; unknowns <= 6; unknowns++) {
        int right = 1;
        if (candidates >> unknowns & 1)
            for (long node = first; right && node < rows / unknowns; node += teams)
                right = is_right(unknowns, node, lane, (int)lanes, offsets, indices);
        if (!right)
            atomic_or(found, 1u << unknowns);
    }
}

// columns <- the first column of each block, node by node.
__kernel void node_blocks_columns(long nodes, long unknowns, __global const OFF *offsets,
                                  __global const IDX *indices, __global IDX *columns)
{
    long teams = get_global_size(0) / LANES;
    for (long node = get_global_id(0) / LANES; node < nodes; node += teams) {
        long begin = offsets[node * unknowns];
        long blocks = (offsets[node * unknowns + 1] - begin) / unknowns;
        __global IDX *own = columns + begin / (unknowns * unknowns);
        for (long k = get_global_id(0) % LANES; k < blocks; k += LANES)
            own[k] = indices[begin + k * unknowns];
    }
}

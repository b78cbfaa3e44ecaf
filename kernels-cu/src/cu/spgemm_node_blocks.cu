// spgemm_node_blocks: the plan of spgemm_node_blocks_sum: for each square block of C = A B the pairs of blocks of A and
// B whose products it sums. With n unknowns, all entries of A, B and C are in blocks of n rows: those of a node have
// the same columns, in runs of n, and blocks are counted node by node.
// count: how many products each block of A has, and its node. pairs: each product with the block of C that it is of,
// which is looked for by halving. lists: the same in the order of C's blocks. heads: where each block of C is.
// Reads offsets and an index of each block for count and heads, besides an index of each product and some of C's for
// pairs, and 16 bytes a product for lists.
// Macros: IDX, OFF, LANES = 8 (per node).   Launch: any number of blocks of up to 256 threads, of whole warps for count
// and heads, `lanes` a power of two up to 32.
#include "grid.cuh"
#include "index.cuh"
#include "block_pairs.cuh"
#ifndef LANES
#define LANES 8
#endif

// The rows of a node: where the first begins, and the entries of each.
struct NodeRows
{
    long long begin;
    long long length;
};

static __device__ NodeRows rows_of(long long node, long long unknowns, const Off *__restrict__ offsets)
{
    long long begin = offsets[node * unknowns];
    return {begin, offsets[node * unknowns + 1] - begin};
}

// counts[k] <- the products of block k of A, and nodes[k] <- its node; counts[blocks + 1] <- the most entries of a row
// of A or of those of B that it names, of `blocks` blocks of A in all.
KERNEL spgemm_node_blocks_count(long long a_nodes, long long blocks, long long unknowns,
                                const Off *__restrict__ a_offsets, const Idx *__restrict__ a_indices,
                                const Off *__restrict__ b_offsets, long long *__restrict__ counts,
                                int *__restrict__ nodes)
{
    for (long long node = thread_index() / LANES; node < a_nodes; node += thread_count() / LANES) {
        NodeRows own = rows_of(node, unknowns, a_offsets);
        long long first = own.begin / (unknowns * unknowns);
        long long longest = own.length;
        for (long long k = lane_index() % LANES; k < own.length / unknowns; k += LANES) {
            NodeRows named = rows_of(a_indices[own.begin + k * unknowns] / unknowns, unknowns, b_offsets);
            counts[first + k] = named.length / unknowns;
            nodes[first + k] = (int)node;
            longest = max(longest, named.length);
        }
        // Most nodes see that they have not the most, without an atomic operation.
        if (longest > *(volatile long long *)(counts + blocks + 1))
            atomicMax((unsigned long long *)(counts + blocks + 1), (unsigned long long)longest);
    }
}

// The block of C that has column `column` of a node whose rows are these.
static __device__ long long find_block(NodeRows rows, long long unknowns, Idx column, const Idx *__restrict__ c_indices)
{
    long long low = 0;
    long long high = rows.length / unknowns - 1;
    while (low < high) {
        long long mid = (low + high) / 2;
        if (c_indices[rows.begin + mid * unknowns] < column)
            low = mid + 1;
        else
            high = mid;
    }
    return rows.begin / (unknowns * unknowns) + low;
}

// pairs[p] <- the blocks of product p, and keys[p] <- the block of C that it is of, for the `blocks` blocks of A,
// before which there are starts[k] products. A team of `lanes` threads has a block of A.
KERNEL spgemm_node_blocks_pairs(long long blocks, long long lanes, long long unknowns,
                                const Off *__restrict__ a_offsets, const Idx *__restrict__ a_indices,
                                const Off *__restrict__ b_offsets, const Idx *__restrict__ b_indices,
                                const Off *__restrict__ c_offsets, const Idx *__restrict__ c_indices,
                                const long long *__restrict__ starts, const int *__restrict__ nodes,
                                Pair *__restrict__ pairs, int *__restrict__ keys)
{
    for (long long block = thread_index() / lanes; block < blocks; block += thread_count() / lanes) {
        NodeRows a = rows_of(nodes[block], unknowns, a_offsets);
        NodeRows c = rows_of(nodes[block], unknowns, c_offsets);
        long long a_offset = (block - a.begin / (unknowns * unknowns)) * unknowns;
        NodeRows b = rows_of(a_indices[a.begin + a_offset] / unknowns, unknowns, b_offsets);
        for (long long k = thread_index() % lanes; k < b.length / unknowns; k += lanes) {
            long long b_begin = b.begin + k * unknowns;
            pairs[starts[block] + k] = {(unsigned int)b_begin, (unsigned short)a_offset, (unsigned short)b.length};
            keys[starts[block] + k] = (int)find_block(c, unknowns, b_indices[b_begin], c_indices);
        }
    }
}

// lists[i] <- the pair at positions[i], and starts[k] <- the first i of block k of C, which keys[i] is; starts[blocks]
// <- n.
KERNEL spgemm_node_blocks_lists(long long n, long long blocks, const int *__restrict__ keys,
                                const int *__restrict__ positions, const Pair *__restrict__ pairs,
                                Pair *__restrict__ lists, int *__restrict__ starts)
{
    for (long long i = thread_index(); i < n; i += thread_count()) {
        lists[i] = pairs[positions[i]];
        if (i == 0 || keys[i - 1] != keys[i])
            starts[keys[i]] = (int)i;
        if (i == n - 1)
            starts[blocks] = (int)n;
    }
}

KERNEL spgemm_node_blocks_heads(long long c_nodes, long long unknowns, const Off *__restrict__ a_offsets,
                                const Off *__restrict__ c_offsets, Head *__restrict__ heads)
{
    for (long long node = thread_index() / LANES; node < c_nodes; node += thread_count() / LANES) {
        NodeRows a = rows_of(node, unknowns, a_offsets);
        NodeRows c = rows_of(node, unknowns, c_offsets);
        Head *own = heads + c.begin / (unknowns * unknowns);
        for (long long k = lane_index() % LANES; k < c.length / unknowns; k += LANES)
            own[k] = {(unsigned int)a.begin, (unsigned int)a.length, (unsigned int)(c.begin + k * unknowns),
                      (unsigned int)c.length};
    }
}

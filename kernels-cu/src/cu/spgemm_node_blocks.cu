// spgemm_node_blocks: the plan of spgemm_node_blocks_sum: for each block of C = A B the pairs of blocks of A and B whose
// products it sums. Rows and columns belong to nodes (nodes.cuh): all entries of A, B and C are in blocks, those of the
// unknowns of two nodes.
// blocks: the blocks of a matrix, node by node, by a warp for each. count: how many products each block of A has.
// pairs: each product with the block of C that it is of, which is looked for by halving. lists: the same in the order of
// C's blocks. heads: where each block of C is.
// Reads an index of each entry in the first row of a node for blocks, 16 bytes of each product and some of C's blocks
// for pairs, and 16 bytes a product for lists.
// Macros: IDX, OFF.   Launch: any number of blocks of up to 256 threads, of whole warps for blocks, `lanes` a
// power of two up to 32.
#include "grid.cuh"
#include "index.cuh"
#include "nodes.cuh"
#include "block_pairs.cuh"

// A block: the node of its rows, its place in each of them, and its first column.
struct __align__(16) Block
{
    int node;
    int place;
    long long column;
};

// starts[i] <- the blocks of node i or, where there is memory for `blocks`, these, with starts[i] before.
KERNEL spgemm_node_blocks_blocks(long long rows, long long unknowns, const int *__restrict__ row_starts,
                                 const int *__restrict__ row_firsts, const int *__restrict__ column_starts,
                                 const Off *__restrict__ offsets, const Idx *__restrict__ indices,
                                 long long *__restrict__ starts, Block *__restrict__ blocks)
{
    Nodes of_rows = {unknowns, row_starts, row_firsts};
    Nodes of_columns = {unknowns, column_starts, nullptr};
    long long nodes = of_rows.count(rows);
    unsigned int before = (1u << lane_index()) - 1;
    for (long long node = warp_index(); node < nodes; node += warp_count()) {
        long long row = of_rows.first(node);
        long long begin = offsets[row];
        long long length = offsets[row + 1] - begin;
        long long count = blocks ? starts[node] : 0;
        for (long long base = 0; base < length; base += WARP) {
            long long k = base + lane_index();
            long long column = k < length ? indices[begin + k] : -1;
            bool begins = column >= 0 && of_columns.is_first(column);
            unsigned int all = __ballot_sync(ALL_LANES, begins);
            if (blocks && begins)
                blocks[count + __popc(all & before)] = {(int)node, (int)k, column};
            count += __popc(all);
        }
        if (!blocks && lane_index() == 0)
            starts[node] = count;
    }
}

// counts[k] <- the products of block k of A; counts[blocks + 1] <- the most entries of a row of A or of those of B that
// it names, of `blocks` blocks of A in all.
KERNEL spgemm_node_blocks_count(long long blocks, long long unknowns, const int *__restrict__ row_firsts,
                                const int *__restrict__ inner_starts, const int *__restrict__ inner_firsts,
                                const Off *__restrict__ a_offsets, const Block *__restrict__ a_blocks,
                                const Off *__restrict__ b_offsets, const long long *__restrict__ b_starts,
                                long long *__restrict__ counts)
{
    Nodes of_rows = {unknowns, nullptr, row_firsts};
    Nodes inner = {unknowns, inner_starts, inner_firsts};
    for (long long k = thread_index(); k < blocks; k += thread_count()) {
        long long named = inner.of(a_blocks[k].column);
        counts[k] = b_starts[named + 1] - b_starts[named];
        long long row = of_rows.first(a_blocks[k].node);
        long long b_row = inner.first(named);
        long long longest = max((long long)(a_offsets[row + 1] - a_offsets[row]),
                                (long long)(b_offsets[b_row + 1] - b_offsets[b_row]));
        // Most blocks see that they have not the most, without an atomic operation.
        if (longest > *(volatile long long *)(counts + blocks + 1))
            atomicMax((unsigned long long *)(counts + blocks + 1), (unsigned long long)longest);
    }
}

// The block with this first column, from `low` up to `end`.
static __device__ long long find_block(long long low, long long end, long long column,
                                       const Block *__restrict__ c_blocks)
{
    long long high = end - 1;
    while (low < high) {
        long long mid = (low + high) / 2;
        if (c_blocks[mid].column < column)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

// pairs[p] <- the blocks of product p, and keys[p] <- the block of C that it is of, for the `blocks` blocks of A,
// before which there are starts[k] products. A team of `lanes` threads has a block of A.
KERNEL spgemm_node_blocks_pairs(long long blocks, long long lanes, long long unknowns,
                                const int *__restrict__ inner_starts, const int *__restrict__ inner_firsts,
                                const Block *__restrict__ a_blocks, const Off *__restrict__ b_offsets,
                                const long long *__restrict__ b_starts, const Block *__restrict__ b_blocks,
                                const long long *__restrict__ c_starts, const Block *__restrict__ c_blocks,
                                const long long *__restrict__ starts, Pair *__restrict__ pairs, int *__restrict__ keys)
{
    Nodes inner = {unknowns, inner_starts, inner_firsts};
    for (long long k = thread_index() / lanes; k < blocks; k += thread_count() / lanes) {
        Block a = a_blocks[k];
        long long named = inner.of(a.column);
        long long row = inner.first(named);
        long long begin = b_offsets[row];
        unsigned short length = (unsigned short)(b_offsets[row + 1] - begin);
        unsigned short sized_length = (unsigned short)(length | inner.size(named) << LENGTH_BITS);
        long long first = b_starts[named];
        for (long long at = thread_index() % lanes; at < b_starts[named + 1] - first; at += lanes) {
            Block b = b_blocks[first + at];
            pairs[starts[k] + at] = {(unsigned int)(begin + b.place), (unsigned short)a.place, sized_length};
            keys[starts[k] + at] = (int)find_block(c_starts[a.node], c_starts[a.node + 1], b.column, c_blocks);
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

KERNEL spgemm_node_blocks_heads(long long blocks, long long unknowns, const int *__restrict__ row_firsts,
                                const int *__restrict__ column_starts, const int *__restrict__ column_firsts,
                                const Off *__restrict__ a_offsets, const Off *__restrict__ c_offsets,
                                const Block *__restrict__ c_blocks, Head *__restrict__ heads)
{
    Nodes of_rows = {unknowns, nullptr, row_firsts};
    Nodes of_columns = {unknowns, column_starts, column_firsts};
    for (long long k = thread_index(); k < blocks; k += thread_count()) {
        Block block = c_blocks[k];
        long long row = of_rows.first(block.node);
        unsigned int a_length = (unsigned int)(a_offsets[row + 1] - a_offsets[row]);
        unsigned int rows = of_rows.size(block.node);
        unsigned int columns = of_columns.size(of_columns.of(block.column));
        heads[k] = {(unsigned int)a_offsets[row], a_length | rows << ROWS_BIT | columns << COLUMNS_BIT,
                    (unsigned int)(c_offsets[row] + block.place), (unsigned int)(c_offsets[row + 1] - c_offsets[row])};
    }
}

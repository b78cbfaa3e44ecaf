// Row blocks: neighbouring rows that together have about as many rows and entries as any other block. A path along the
// rows has a step for a row and one for each of its entries; block b has the rows that begin in its steps b*size ..
// (b + 1)*size, as whole rows. A row that goes on behind the next block's end has a piece in each block on its way.

// Whole rows `first` .. `last` with the entries from `begin` on, and behind these, up to `stop`, a piece of row `last`
// if `goes_on`.
struct RowBlock
{
    long long first;
    long long last;
    long long begin;
    long long stop;
    bool goes_on;
};

// The first row of a block and its first entry, read together.
struct __align__(16) BlockStart
{
    long long row;
    long long entry;
};

// Block `number` of those whose starts the plan has found, a row and an entry for each.
static __device__ RowBlock row_block(long long number, long long size, const long long *block_starts)
{
    BlockStart start = ((const BlockStart *)block_starts)[number];
    BlockStart next = ((const BlockStart *)block_starts)[number + 1];
    RowBlock block = {start.row, next.row, start.entry, next.entry};
    if (block.first == block.last) {
        // No row begins here: the block is in the last row before. What is less than a block belongs to the one before.
        block.begin = number * size - block.first;
        block.goes_on = block.stop - block.begin >= size;
        if (block.stop - block.begin < 2 * size)
            size = block.stop - block.begin;
        block.stop = block.goes_on ? block.begin + size : block.begin;
        block.first -= block.goes_on;
        block.last = block.first;
    } else {
        long long cut = (number + 1) * size - block.last;
        block.goes_on = block.stop - block.begin >= size && block.stop - cut >= size;
        block.last -= block.goes_on;
        if (block.goes_on)
            block.stop = cut;
    }
    return block;
}

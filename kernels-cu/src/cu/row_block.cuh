// Row blocks: neighbouring rows that together have about as many rows and entries as any other block. A path along the
// matrix has one step per row and one per entry; block b has the rows that begin in steps b*size .. (b + 1)*size, as
// whole rows. A row that extends past the end of the next block is split: each block that it reaches has a part of it.

// A block has the whole rows `first` .. `last`, whose entries start at `begin`. If `goes_on`, it also has a part of row
// `last`, whose entries end at `stop`.
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

// Block `number`, from the plan's block_starts: the first row and the first entry of each block.
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

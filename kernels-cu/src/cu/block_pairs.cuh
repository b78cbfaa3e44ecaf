// What a plan stores of a product of matrices whose entries are in blocks. Where blocks differ in size, lengths of rows
// have LENGTH_BITS bits, and the sizes are behind them.
#define LENGTH_BITS 13
#define ROWS_BIT 16
#define COLUMNS_BIT 20

// A block of C: where its first row begins among the values and how far the next one is, and the same for the rows of A
// of its node.
struct __align__(16) Head
{
    unsigned int a_begin;
    unsigned int a_stride;
    unsigned int c_begin;
    unsigned int c_stride;
};

// A block of A and one of B: where B's begins among the values and how far its rows are, and where A's begins in its
// row.
struct __align__(8) Pair
{
    unsigned int b_begin;
    unsigned short a_offset;
    unsigned short b_stride;
};

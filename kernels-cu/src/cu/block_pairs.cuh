// What a plan stores of a product of matrices whose entries are in square blocks.

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

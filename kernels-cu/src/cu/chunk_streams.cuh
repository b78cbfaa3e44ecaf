// What the plan and the runs of spgemm_chunks.cu share: the products of chunks, in streams of groups and segments. Needs
// scalar.cuh, index.cuh and search.cuh before, and EACH and BLOCK.
#define MAX_PRODUCTS (EACH * BLOCK)
// Sources that fit beside the groups of a chunk.
#define MAX_SOURCES ((int)(MAX_PRODUCTS * sizeof(ACC) / sizeof(Source) - MAX_PRODUCTS / WARP))
// The bit of the first product of a run.
#define ENDS (1u << 16)

// A row of B.
struct __align__(2 * sizeof(Off)) BRow
{
    Off begin;
    Off end;
};

// Neighbours in a row of B: the entries of A and of B that make the first product, its number and how many there are.
struct __align__(16) Segment
{
    unsigned int a_entry;
    unsigned int b_entry;
    int product;
    int length;
};

// Products 32 g up to 32 (g + 1) of all chunks: bit l says that a segment begins with product l > 0; `segment` is that of
// product 0.
struct __align__(8) Group
{
    unsigned int bits;
    int segment;
};

// The factors of the products of a segment: an entry of A, and what makes a product's number in its
// chunk that of an entry of B.
struct __align__(8) Source
{
    unsigned int a_entry;
    unsigned int b_shift;
};

// A chunk: the place in C of its first entry, its first group, its first source, and how many products, entries of C and
// sources it has.
struct __align__(16) Chunk
{
    long long place;
    int first_group;
    int first_source;
    int products;
    int entries;
    int sources;
    int unused;
};

// The products of a chunk: the first is the first of a group.
struct Stream
{
    long long first;
    int count;
};

// The row, counted from 0 on, that has an element; `before` are those before each row, and of all.
static __device__ int row_of(const long long *__restrict__ before, long long rows, long long element)
{
    return (int)count_below(before, rows + 1, element + 1) - 1;
}

// The row at a place of the order.
static __device__ long long row_at_place(const long long *__restrict__ order, long long place)
{
    return order ? order[place] : place;
}

// Streams begin with a group, so that each chunk before leaves less than a group unused.
static __device__ Stream stream_of(long long chunk, const int *__restrict__ chunk_starts)
{
    int start = chunk_starts[chunk];
    return {(start / WARP + chunk) * WARP, chunk_starts[chunk + 1] - start};
}

// A product's element of shared memory, where those at multiples of 32, 16 or 8 are in different banks.
static __device__ int padded(int product)
{
    return product + product / WARP;
}

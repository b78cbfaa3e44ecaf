// What the search for strips (spgemm_strips.cu) and their sums (spgemm_strips_sum.cu) share: strips, the segments of B in
// shared memory, and the sizes of programs. Needs scalar.cuh before.

// Elements of 16 bytes.
#define PER_WORD (HALF ? 1 : 16 / (int)sizeof(ACC))

// Rows of one pattern: where their entries begin in A and in C, and their program, and what they need in shared memory.
// From a row to the next are `b_step` elements of B, or, if that is 0, the number that the program has for each
// product.
struct __align__(16) Strip
{
    long long a_begin;
    long long c_begin;
    long long program;
    int first;
    int rows;
    int a_length;
    int c_length;
    int b_step;
    int segments;
    int b_elements;
    int products;
};

// The elements from a row of `length` to the next in shared memory: no more than two lanes read one bank.
static __device__ int stride(int length)
{
    return length % 4 == 0 ? length + 1 : length;
}

static __device__ int rounded_up(int n, int to)
{
    return (n + to - 1) / to * to;
}

// A segment of the values of B that the entries of a strip need, rows that overlap or are neighbours, and its place in shared
// memory.
struct __align__(16) Segment
{
    int begin;
    int length;
    int place;
};

// Integers of a strip's list of products, and of the ends before it.
static __device__ int list_size(Strip strip)
{
    return rounded_up(strip.b_step > 0 ? strip.products : 2 * strip.products, 4);
}

static __device__ int ends_size(Strip strip)
{
    return rounded_up(strip.c_length, 4);
}

// Elements of shared memory for `elements` elements, the first of which can be anywhere in 16 bytes.
static __device__ int with_shift(int elements)
{
    return rounded_up(elements + PER_WORD - 1, PER_WORD);
}

// csr_spmm_reduce: C <- the sum, the mean, the least or the largest of the products a_ij b_jt of the entries of row i,
// for compressed rows and dense B, C: element (i, t) is at start + i*row_step + t*col_step. A row without entries gives
// 0. `arg`, which may be null, gets the position of the entry of the least or largest, the first of several; `entries`
// where there is none. A NaN is least and largest.
// One thread per element of C, or per chunk of a row (csr_chunks.cu) and column, neighbours along a row; reads the entries
// of a row once for neighbouring columns, from a cache, B by rows per entry, writes C once. A chunk that is no whole row
// leaves a partial result, element (k, t) at k*cols + t, which a second kernel combines in order.
// Macros: SCALAR, IDX, OFF.   Launch: any number of blocks of up to 256 threads.
#include "grid.cuh"
#include "scalar.cuh"
#include "index.cuh"

// The values of `by`.
enum { SUM, MEAN, MIN, MAX };

static __device__ REAL real_of(ACC a)
{
#if COMPLEX
    return a.x;
#else
    return a;
#endif
}

static __device__ ACC divided(ACC a, REAL by)
{
#if COMPLEX
    return ACC(a.x / by, a.y / by);
#else
    return a / by;
#endif
}

// True if the least or the largest of products is `next`, where it was `found` before.
static __device__ bool prefers(int by, REAL next, REAL found)
{
    return (by == MIN ? next < found : next > found) || (isnan(next) && !isnan(found));
}

// The result of some products, and the position of the entry of the least or largest.
struct Found
{
    ACC value;
    long long at;
};

// Adds a product or a partial result to those before it, or takes the least or largest of both. `is_first` if there are
// none before.
static __device__ void combine(Found *found, bool is_first, Found next, int by)
{
    if (by <= MEAN)
        found->value += next.value;
    else if (is_first || prefers(by, real_of(next.value), real_of(found->value)))
        *found = next;
}

// The result of the entries `begin` to `end`; position `none` where there is none.
static __device__ Found reduced(long long begin, long long end, long long none, int by, const Idx *indices,
                                const T *values, const T *b, long long b_at, long long b_row)
{
    Found found = {ACC(0), none};
#pragma unroll 4
    for (long long k = begin; k < end; k++)
        combine(&found, k == begin, {mul(load(values, k), load(b, b_at + indices[k] * b_row)), k}, by);
    return found;
}

// C and arg.
struct Target
{
    T *c;
    long long c_start, c_row, c_col;
    long long *arg;
    long long arg_start, arg_row, arg_col;
};

// Writes the result of a row of `length` entries.
static __device__ void write(Target to, long long row, long long col, Found found, int by, long long length)
{
    if (by == MEAN && length > 0)
        found.value = divided(found.value, (REAL)length);
    store(to.c, to.c_start + row * to.c_row + col * to.c_col, found.value);
    if (to.arg)
        to.arg[to.arg_start + row * to.arg_row + col * to.arg_col] = found.at;
}

// A thread takes an element and every thread_count()-th one after it.
KERNEL csr_spmm_reduce_element_per_thread(long long rows, long long cols, long long entries, int by,
                                          const Off *__restrict__ offsets, const Idx *__restrict__ indices,
                                          const T *__restrict__ values, const T *__restrict__ b, long long b_start,
                                          long long b_row, long long b_col, T *__restrict__ c, long long c_start,
                                          long long c_row, long long c_col, long long *__restrict__ arg,
                                          long long arg_start, long long arg_row, long long arg_col)
{
    Target to = {c, c_start, c_row, c_col, arg, arg_start, arg_row, arg_col};
    for (long long i = thread_index(); i < rows * cols; i += thread_count()) {
        long long row = i / cols;
        long long col = i % cols;
        long long begin = offsets[row];
        long long end = offsets[row + 1];
        Found found = reduced(begin, end, entries, by, indices, values, b, b_start + col * b_col, b_row);
        write(to, row, col, found, by, end - begin);
    }
}

// The same for chunks: chunk i has lengths[i] entries of row rows[i] from begins[i] on. It is the whole row where its
// slot is -1, otherwise it leaves its result there, in `partial` and `partial_at`.
KERNEL csr_spmm_reduce_row_split(long long chunks, long long cols, long long entries, int by,
                                 const long long *__restrict__ begins, const int *__restrict__ lengths,
                                 const long long *__restrict__ rows, const long long *__restrict__ slots,
                                 const Idx *__restrict__ indices, const T *__restrict__ values,
                                 const T *__restrict__ b, long long b_start, long long b_row, long long b_col,
                                 T *__restrict__ c, long long c_start, long long c_row, long long c_col,
                                 long long *__restrict__ arg, long long arg_start, long long arg_row, long long arg_col,
                                 ACC *__restrict__ partial, long long *__restrict__ partial_at)
{
    Target to = {c, c_start, c_row, c_col, arg, arg_start, arg_row, arg_col};
    for (long long i = thread_index(); i < chunks * cols; i += thread_count()) {
        long long chunk = i / cols;
        long long col = i % cols;
        long long begin = begins[chunk];
        int length = lengths[chunk];
        Found found = reduced(begin, begin + length, entries, by, indices, values, b, b_start + col * b_col, b_row);
        long long slot = slots[chunk];
        if (slot < 0) {
            write(to, rows[chunk], col, found, by, length);
        } else {
            partial[slot * cols + col] = found.value;
            if (arg)
                partial_at[slot * cols + col] = found.at;
        }
    }
}

// The rows of several chunks: rows[i] has the partial results starts[i] to starts[i + 1]. A thread takes a column of such
// a row.
KERNEL csr_spmm_reduce_combine(long long count, long long cols, int by, const Off *__restrict__ offsets,
                              const long long *__restrict__ rows, const long long *__restrict__ starts,
                              T *__restrict__ c, long long c_start, long long c_row, long long c_col,
                              long long *__restrict__ arg, long long arg_start, long long arg_row, long long arg_col,
                              const ACC *__restrict__ partial, const long long *__restrict__ partial_at)
{
    Target to = {c, c_start, c_row, c_col, arg, arg_start, arg_row, arg_col};
    for (long long i = thread_index(); i < count * cols; i += thread_count()) {
        long long row = rows[i / cols];
        long long col = i % cols;
        long long first = starts[i / cols];
        Found found = {ACC(0), 0};
#pragma unroll 4
        for (long long p = first; p < starts[i / cols + 1]; p++)
            combine(&found, p == first,
                    {partial[p * cols + col], arg ? partial_at[p * cols + col] : 0}, by);
        write(to, row, col, found, by, offsets[row + 1] - offsets[row]);
    }
}

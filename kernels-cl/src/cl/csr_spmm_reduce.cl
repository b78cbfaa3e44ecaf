// csr_spmm_reduce: C <- the sum, the mean, the least or the largest of the products a_ij b_jt of the entries of row i,
// for compressed rows and dense B, C: element (i, t) is at start + i*row_step + t*col_step. A row without entries gives
// 0. `arg`, which may be null, gets the position of the entry of the least or largest, the first of several; `entries`
// where there is none. A NaN is least and largest.
// One work-item per element of C, or per chunk of a row (csr_chunks.cl) and column, neighbours along a row; reads the
// entries of a row once for neighbouring columns, from a cache, B by rows per entry, writes C once. A chunk that is no
// whole row leaves a partial result, element (k, t) at k*cols + t, which a second kernel combines in order.
// Macros: SCALAR, IDX, OFF.   Launch: any number of work-groups of any size.
#include "scalar.clh"
#include "index.clh"

// The values of `by`.
enum { SUM, MEAN, MIN, MAX };

static REAL real_of(ACC a)
{
#if COMPLEX
    return a.x;
#else
    return a;
#endif
}

// True if the least or the largest of products is `next`, where it was `found` before.
static int prefers(int by, REAL next, REAL found)
{
    return (by == MIN ? next < found : next > found) || (isnan(next) && !isnan(found));
}

// The result of some products, and the position of the entry of the least or largest.
typedef struct
{
    ACC value;
    long at;
} Found;

// Adds a product or a partial result to those before it, or takes the least or largest of both. `is_first` if there are
// none before.
static void combine(Found *found, bool is_first, ACC value, long at, int by)
{
    if (by <= MEAN) {
        found->value += value;
    } else if (is_first || prefers(by, real_of(value), real_of(found->value))) {
        found->value = value;
        found->at = at;
    }
}

// The result of the entries `begin` to `end`; position `none` where there is none.
static Found reduced(long begin, long end, long none, int by, __global const IDX *indices, __global const T *values,
                     __global const T *b, long b_at, long b_row)
{
    Found found;
    found.value = (ACC)(0);
    found.at = none;
    for (long k = begin; k < end; k++)
        combine(&found, k == begin, mul(load(values, k), load(b, b_at + indices[k] * b_row)), k, by);
    return found;
}

// The mean of a sum of `length` products; other results as they are.
static ACC finished(ACC value, int by, long length)
{
    return by == MEAN && length > 0 ? value / (REAL)length : value;
}

// A work-item takes an element and every get_global_size(0)-th one after it.
__kernel void csr_spmm_reduce_element_per_thread(long rows, long cols, long entries, int by,
                                                 __global const OFF *offsets, __global const IDX *indices,
                                                 __global const T *values, __global const T *b, long b_start,
                                                 long b_row, long b_col, __global T *c, long c_start, long c_row,
                                                 long c_col, __global long *arg, long arg_start, long arg_row,
                                                 long arg_col)
{
    for (long i = get_global_id(0); i < rows * cols; i += get_global_size(0)) {
        long row = i / cols;
        long col = i % cols;
        long begin = offsets[row];
        long end = offsets[row + 1];
        Found found = reduced(begin, end, entries, by, indices, values, b, b_start + col * b_col, b_row);
        store(c, c_start + row * c_row + col * c_col, finished(found.value, by, end - begin));
        if (arg)
            arg[arg_start + row * arg_row + col * arg_col] = found.at;
    }
}

// The same for chunks: chunk i has lengths[i] entries of row rows[i] from begins[i] on. It is the whole row where its
// slot is -1, otherwise it leaves its result there, in `partial` and, if there is `arg`, in `partial_at`.
__kernel void csr_spmm_reduce_row_split(long chunks, long cols, long entries, int by, __global const long *begins,
                                        __global const int *lengths, __global const long *rows,
                                        __global const long *slots, __global const IDX *indices,
                                        __global const T *values, __global const T *b, long b_start, long b_row,
                                        long b_col, __global T *c, long c_start, long c_row, long c_col,
                                        __global long *arg, long arg_start, long arg_row, long arg_col,
                                        __global ACC *partial, __global long *partial_at)
{
    for (long i = get_global_id(0); i < chunks * cols; i += get_global_size(0)) {
        long chunk = i / cols;
        long col = i % cols;
        long begin = begins[chunk];
        int length = lengths[chunk];
        Found found = reduced(begin, begin + length, entries, by, indices, values, b, b_start + col * b_col, b_row);
        long slot = slots[chunk];
        if (slot >= 0)
            partial[slot * cols + col] = found.value;
        else
            store(c, c_start + rows[chunk] * c_row + col * c_col, finished(found.value, by, length));
        if (arg && slot >= 0)
            partial_at[slot * cols + col] = found.at;
        else if (arg)
            arg[arg_start + rows[chunk] * arg_row + col * arg_col] = found.at;
    }
}

// The rows of several chunks: rows[i] has the partial results starts[i] to starts[i + 1]. A work-item takes a column of
// such a row.
__kernel void csr_spmm_reduce_combine(long count, long cols, int by, __global const OFF *offsets,
                                     __global const long *rows, __global const long *starts, __global T *c,
                                     long c_start, long c_row, long c_col, __global long *arg, long arg_start,
                                     long arg_row, long arg_col, __global const ACC *partial,
                                     __global const long *partial_at)
{
    for (long i = get_global_id(0); i < count * cols; i += get_global_size(0)) {
        long row = rows[i / cols];
        long col = i % cols;
        long first = starts[i / cols];
        Found found;
        found.value = (ACC)(0);
        found.at = 0;
        for (long p = first; p < starts[i / cols + 1]; p++) {
            long at = arg ? partial_at[p * cols + col] : 0;
            combine(&found, p == first, partial[p * cols + col], at, by);
        }
        store(c, c_start + row * c_row + col * c_col, finished(found.value, by, offsets[row + 1] - offsets[row]));
        if (arg)
            arg[arg_start + row * arg_row + col * arg_col] = found.at;
    }
}

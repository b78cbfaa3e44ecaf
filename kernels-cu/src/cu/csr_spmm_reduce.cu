// csr_spmm_reduce: C <- the sum, the mean, the least or the largest of the products a_ij b_jt of the entries of row i,
// for compressed rows and dense B, C: element (i, t) is at start + i*row_step + t*col_step. A row without entries gives
// 0. `arg`, which may be null, gets the position of the entry of the least or largest, the first of several; `entries`
// where there is none. A NaN is least and largest.
// One thread per element, neighbours along a row; reads the entries of a row once for neighbouring columns, from a
// cache, B by rows per entry, writes C once.
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

// A thread takes an element and every thread_count()-th one after it.
KERNEL csr_spmm_reduce_element_per_thread(long long rows, long long cols, long long entries, int by,
                                          const Off *__restrict__ offsets, const Idx *__restrict__ indices,
                                          const T *__restrict__ values, const T *__restrict__ b, long long b_start,
                                          long long b_row, long long b_col, T *__restrict__ c, long long c_start,
                                          long long c_row, long long c_col, long long *__restrict__ arg,
                                          long long arg_start, long long arg_row, long long arg_col)
{
    for (long long i = thread_index(); i < rows * cols; i += thread_count()) {
        long long row = i / cols;
        long long col = i % cols;
        long long begin = offsets[row];
        long long end = offsets[row + 1];
        ACC found = ACC(0);
        long long at = entries;
        for (long long k = begin; k < end; k++) {
            ACC next = mul(load(values, k), load(b, b_start + indices[k] * b_row + col * b_col));
            if (by <= MEAN) {
                found += next;
            } else if (k == begin || prefers(by, real_of(next), real_of(found))) {
                found = next;
                at = k;
            }
        }
        if (by == MEAN && end > begin)
            found = divided(found, (REAL)(end - begin));
        store(c, c_start + row * c_row + col * c_col, found);
        if (arg)
            arg[arg_start + row * arg_row + col * arg_col] = at;
    }
}

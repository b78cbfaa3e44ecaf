// csr_spmm_reduce: C <- the sum, the mean, the least or the largest of the products a_ij b_jt of the entries of row i,
// for compressed rows and dense B, C: element (i, t) is at start + i*row_step + t*col_step. A row without entries gives
// 0. `arg`, which may be null, gets the position of the entry of the least or largest, the first of several; `entries`
// where there is none. A NaN is least and largest.
// One work-item per element, neighbours along a row; reads the entries of a row once for neighbouring columns, from a
// cache, B by rows per entry, writes C once.
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
        ACC found = (ACC)(0);
        long at = entries;
        for (long k = begin; k < end; k++) {
            ACC next = mul(load(values, k), load(b, b_start + indices[k] * b_row + col * b_col));
            if (by <= MEAN) {
                found += next;
            } else if (k == begin || prefers(by, real_of(next), real_of(found))) {
                found = next;
                at = k;
            }
        }
        if (by == MEAN && end > begin)
            found = found / (REAL)(end - begin);
        store(c, c_start + row * c_row + col * c_col, found);
        if (arg)
            arg[arg_start + row * arg_row + col * arg_col] = at;
    }
}

// csr_spmv_sliced_columns: y <- alpha A x + beta y for compressed rows of like lengths whose columns the plan has
// copied into the order in which warps read them. LANES lanes per row, so that a warp takes a slice of WARP / LANES
// neighbouring rows. A step takes EACH neighbouring entries a lane, from a multiple of EACH on; the copy has the
// columns of a slice step by step, EACH for each lane, with zeros where a row has no entry. A fixed tree adds the
// lanes. Reads values, copied columns and offsets once, gathers x, writes y once. Columns, read in whole lines, bypass
// the L1 cache: it has x, and the lines of values that several steps read.
// Macros: SCALAR, IDX, OFF, CONJ (1 conjugates A), LANES (1, 2, 4, 8),
// NV_ARCH = 0 (lanes.clh).   Launch: any number of work-groups of 32, or with shuffles of 256; count of any
// size.
#include "scalar.clh"
#include "index.clh"
#include "entry.clh"
#include "lanes.clh"
#include "words.clh"
#include "row_steps.clh"
#ifndef LANES
#error "LANES is missing: 1, 2, 4 or 8"
#endif
#define ROWS (WARP / LANES)
#define STEP (LANES * EACH)

// steps[slice] <- the most steps of a row of the slice; one zero more at the end. A work-item takes a slice.
__kernel void csr_spmv_sliced_columns_count(long rows, __global const OFF *offsets, __global long *steps)
{
    long slices = (rows + ROWS - 1) / ROWS;
    for (long slice = get_global_id(0); slice <= slices; slice += get_global_size(0)) {
        long most = 0;
        for (long row = slice * ROWS; row < min((slice + 1) * ROWS, rows); row++) {
            long from = offsets[row] / EACH * EACH;
            most = max(most, (offsets[row + 1] - from + STEP - 1) / STEP);
        }
        steps[slice] = most;
    }
}

// Copies the columns. `starts` are the steps, scanned. A warp takes a slice.
__kernel OF_WARPS
void csr_spmv_sliced_columns_fill(long rows, __global const OFF *offsets, __global const IDX *indices,
                                  __global const long *starts, __global IDX *columns)
{
    int lid = (int)get_local_id(0);
    for (long slice = warp_index(lid); slice * ROWS < rows; slice += warp_count()) {
        long row = slice * ROWS + lid % WARP / LANES;
        UOFF begin = row < rows ? offsets[row] : 0;
        UOFF end = row < rows ? offsets[row + 1] : 0;
        UOFF at = begin / EACH * EACH + lid % LANES * EACH;
        for (long step = starts[slice]; step < starts[slice + 1]; step++, at += STEP) {
            __global IDX *own = columns + (step * WARP + lid % WARP) * EACH;
            for (int k = 0; k < EACH; k++)
                own[k] = at + k >= begin && at + k < end ? indices[at + k] : 0;
        }
    }
}

// A warp takes a slice and every warp_count()-th one after it.
__kernel OF_WARPS
void csr_spmv_sliced_columns(long rows, long nnz, __global const long *starts, __global const OFF *offsets,
                             __global const IDX *columns, __global const T *values, ACC alpha, __global const T *x,
                             long x_start, ACC beta, __global T *y, long y_start)
{
    int lid = (int)get_local_id(0);
    __local ACC exchange[WARP];
    x += x_start;
    for (long slice = warp_index(lid); slice * ROWS < rows; slice += warp_count()) {
        long row = slice * ROWS + lid % WARP / LANES;
        UOFF begin = row < rows ? offsets[row] : 0;
        UOFF end = row < rows ? offsets[row + 1] : 0;
        __global const ulong2 *own =
            (__global const ulong2 *)(columns + (starts[slice] * WARP + lid % WARP) * EACH);
        ACC sum = (ACC)(0);
        for (UOFF at = begin / EACH * EACH + lid % LANES * EACH; at < end; at += STEP) {
            ulong2 word = load_past_first_cache(own);
            Cols cols = unpack_cols(word, IDX_BYTES == 4 ? word : load_past_first_cache(own + IDX_BYTES / 8));
            own += WARP * IDX_BYTES / 4;
            sum += sum_of_step(cols, load_values(values, at, (UOFF)nnz, 0, 0), at, begin, end, x);
        }
        sum = sum_lanes(lid, sum, LANES, exchange);
        if (row < rows && lid % LANES == 0)
            update(y, y_start + row, mul(alpha, sum), beta);
    }
}

// coo_spmv: sums <- sums + A x for coordinates; vector_update makes y of the sums.
// Segmented: 32 lanes per interval of entries, one entry per lane and step; reads A once, gathers x, updates each sum
// once per interval. Sequential: one thread for all entries.
// Macros: SCALAR, IDX (type of indices; OFF is the same), CONJ (1 conjugates A), BLOCK (a power of two, a multiple of
// 32).   Launch: segmented any number of blocks of BLOCK threads; carries one block of BLOCK; sequential one thread.
#include "grid.cuh"
#include "scalar.cuh"
#include "index.cuh"
#include "entry.cuh"
#include "warp_scalar.cuh"
#ifndef BLOCK
#error "BLOCK is missing: the size of a block"
#endif

static __device__ ACC product(const Idx *col_idx, const T *values, const T *x, long long x_start, long long at)
{
    return mul(entry(values, at), load(x, x_start + col_idx[at]));
}

// One thread takes the entries begin .. end one by one, in any order of rows.
KERNEL coo_spmv_sequential(long long begin, long long end, const Idx *__restrict__ row_idx,
                           const Idx *__restrict__ col_idx, const T *__restrict__ values, const T *__restrict__ x,
                           long long x_start, ACC *__restrict__ sums)
{
    for (long long n = begin; n < end; n++)
        sums[row_idx[n]] += product(col_idx, values, x, x_start, n);
}

// Rows in order. Warp w of the grid owns the units of 32 entries w*per_warp .. (w + 1)*per_warp, cut at `units`, and
// walks them: products, a sum by rows over the 32 lanes, and the last row's sum carried into the next step. A row that
// ends inside the interval has one writer; what is left at the end goes to carry_row[w], carry_sum[w].
KERNEL coo_spmv_segmented(long long units, long long per_warp, const Idx *__restrict__ row_idx,
                          const Idx *__restrict__ col_idx, const T *__restrict__ values, const T *__restrict__ x,
                          long long x_start, ACC *__restrict__ sums, long long *__restrict__ carry_row,
                          ACC *__restrict__ carry_sum)
{
    int lane = lane_index();
    long long warp = warp_index();
    long long begin = min(warp * per_warp, units);
    long long end = min((warp + 1) * per_warp, units);
    if (begin == end)
        return;
    long long row = row_idx[begin * WARP];
    ACC val = ACC(0);
    for (long long unit = begin; unit < end; unit++) {
        long long carried_row = shuffle(row, WARP - 1);
        ACC carried = shuffle(val, WARP - 1);
        long long n = unit * WARP + lane;
        row = row_idx[n];
        val = product(col_idx, values, x, x_start, n);
        if (lane == 0) {
            if (row == carried_row)
                val += carried;
            else
                sums[carried_row] += carried;
        }
        val = sum_run(row, val);
        long long next_row = __shfl_down_sync(ALL_LANES, row, 1);
        if (lane < WARP - 1 && next_row != row)
            sums[row] += val;
    }
    if (lane == WARP - 1) {
        carry_row[warp] = row;
        carry_sum[warp] = val;
    }
}

// One block adds the carries of `active` warps to the sums, BLOCK of them at a time.
KERNEL coo_spmv_carries(long long active, const long long *__restrict__ carry_row, const ACC *__restrict__ carry_sum,
                        ACC *__restrict__ sums)
{
    int own = threadIdx.x;
    __shared__ long long rows[BLOCK + 1];
    __shared__ ACC vals[BLOCK];
    if (own == 0)
        rows[BLOCK] = -1;
    for (long long base = 0; base < active; base += BLOCK) {
        bool real = base + own < active;
        long long row = -1;
        ACC val = ACC(0);
        if (real) {
            row = carry_row[base + own];
            val = carry_sum[base + own];
        }
        rows[own] = row;
        vals[own] = val;
        __syncthreads();
        for (int d = 1; d < BLOCK; d *= 2) {
            ACC left = ACC(0);
            if (own >= d && rows[own - d] == row)
                left = vals[own - d];
            __syncthreads();
            val += left;
            vals[own] = val;
            __syncthreads();
        }
        if (real && rows[own + 1] != row)
            sums[row] += val;
        __syncthreads();
    }
}

// csr_spmv_row_blocks: y <- alpha A x + beta y for compressed rows, by row blocks: neighbouring rows with about CHUNK
// entries together.
// One work-group per row block: neighbouring work-items compute products of neighbouring entries, which meet in local
// memory; a row longer than CHUNK has the work-group to itself. Reads values, indices and offsets once, gathers x,
// writes y once.
// Macros: SCALAR, IDX, OFF, CONJ (1 conjugates A), BLOCK (a power of two, a multiple of 32), ITEMS = 4 (entries of a
// row block per work-item).   Launch: any number of work-groups of BLOCK, for nnz / CHUNK + 1 row blocks; search any
// number of work-groups of any size.
// Row block b has the rows that begin in the entries b*CHUNK .. (b + 1)*CHUNK.
// After Greathouse, Daga: Efficient sparse matrix-vector multiplication on GPUs using the CSR storage format. SC
// (2014).
#include "scalar.clh"
#include "index.clh"
#include "entry.clh"
#define SORTED OFF
#include "search.clh"
#ifndef BLOCK
#error "BLOCK is missing: the size of a work-group"
#endif
#define LANES 32
#ifndef ITEMS
#define ITEMS 4
#endif
#define CHUNK (ITEMS * BLOCK)

// row_starts[b] <- the first row of row block b, and `rows` at the end. A work-item takes a row block. For the plan.
__kernel void csr_spmv_row_blocks_search(long blocks, long rows, __global const OFF *offsets,
                                         __global long *row_starts)
{
    for (long b = get_global_id(0); b <= blocks; b += get_global_size(0))
        row_starts[b] = count_below(offsets, rows, b * CHUNK);
}

// Lanes for each of so many rows: as many as the work-group has, a power of two from 1 to 32.
static int lanes_a_row(long rows)
{
    int lanes = 1;
    while (lanes < LANES && rows * lanes * 2 <= BLOCK)
        lanes *= 2;
    return lanes;
}

// A work-group takes a row block and every get_num_groups(0)-th one after it. Its rows are summed some at a time, by a
// fixed tree over the lanes of each, and the long row, which is the last, by all lanes.
__kernel __attribute__((reqd_work_group_size(BLOCK, 1, 1)))
void csr_spmv_row_blocks(long blocks, __global const long *row_starts, __global const OFF *offsets,
                         __global const IDX *indices, __global const T *values, ACC alpha, __global const T *x,
                         long x_start, ACC beta, __global T *y, long y_start)
{
    int lid = (int)get_local_id(0);
    __local ACC products[CHUNK];
    __local ACC sums[BLOCK];
    for (long b = get_group_id(0); b < blocks; b += get_num_groups(0)) {
        long first = row_starts[b];
        long last = row_starts[b + 1];
        long begin = offsets[first];
        int long_row = first < last && offsets[last] - begin > CHUNK;
        long together = last - first - long_row;
        int count = (int)(offsets[first + together] - begin);
        for (int k = lid; k < count; k += BLOCK)
            products[k] = mul(entry(values, begin + k), load(x, x_start + indices[begin + k]));
        barrier(CLK_LOCAL_MEM_FENCE);
        int lanes_together = lanes_a_row(together);
        int rows_a_pass = BLOCK / lanes_together;
        long passes = (together + rows_a_pass - 1) / rows_a_pass;
        for (long pass = 0; pass < passes + long_row; pass++) {
            int lanes = pass < passes ? lanes_together : BLOCK;
            int lane = lid % lanes;
            long row = pass < passes ? first + pass * rows_a_pass + lid / lanes : last - 1;
            int own = pass == passes || row < first + together;
            ACC sum = (ACC)(0);
            if (pass == passes)
                for (long k = offsets[row] + lane; k < offsets[row + 1]; k += BLOCK)
                    sum += mul(entry(values, k), load(x, x_start + indices[k]));
            else if (own)
                for (int k = (int)(offsets[row] - begin) + lane; k < (int)(offsets[row + 1] - begin); k += lanes)
                    sum += products[k];
            sums[lid] = sum;
            barrier(CLK_LOCAL_MEM_FENCE);
            for (int half_lanes = lanes / 2; half_lanes > 0; half_lanes /= 2) {
                if (lane < half_lanes)
                    sums[lid] += sums[lid + half_lanes];
                barrier(CLK_LOCAL_MEM_FENCE);
            }
            if (own && lane == 0)
                update(y, y_start + row, mul(alpha, sums[lid]), beta);
            barrier(CLK_LOCAL_MEM_FENCE);
        }
    }
}

// csr_spmv_row_blocks: y <- alpha A x + beta y for compressed rows, by row blocks (row_block.clh): neighbouring rows
// with up to SIZE rows and entries together. One work-group of 32 lanes per row block: neighbouring lanes compute
// products of neighbouring entries, which meet in local memory, and a row takes 1 to 32 lanes to add its own. A row
// longer than SIZE is summed by all lanes. Reads values, indices and offsets once, gathers x, writes y once. Macros:
// SCALAR, IDX, OFF, CONJ (1 conjugates A), EACH = 4 (neighbouring entries per lane), STEPS = 2 (steps of all lanes in a
// row block).   Launch: any number of work-groups of 32. The parts of a row that spans several blocks write partial
// sums, block b to slots[b]; partial_sums.cl adds them. After Greathouse, Daga: Efficient sparse matrix-vector
// multiplication on GPUs using the CSR storage format. SC (2014).
#include "scalar.clh"
#include "index.clh"
#include "entry.clh"
#include "row_block.clh"
#ifndef EACH
#define EACH 4
#endif
#ifndef STEPS
#define STEPS 2
#endif
#define LANES 32
#define SIZE (STEPS * LANES * EACH - EACH)

// Lanes per row of a block with `rows` rows: a power of two from 1 to 32.
static int lanes_a_row(int rows)
{
    int lanes = 1;
    while (lanes < LANES && rows * lanes * 2 <= LANES)
        lanes *= 2;
    return lanes;
}

// A work-group takes a row block. Its rows are summed some at a time, by a fixed tree over the lanes of each, and a row
// longer than SIZE, or a part of one, which is the last, by all lanes.
__kernel __attribute__((reqd_work_group_size(LANES, 1, 1)))
void csr_spmv_row_blocks(long blocks, __global const long *block_starts,
                         __global const long *slots, __global const OFF *offsets, __global const IDX *indices,
                         __global const T *values, ACC alpha, __global const T *x, long x_start, ACC beta,
                         __global T *y, long y_start, __global ACC *partial)
{
    int lid = (int)get_local_id(0);
    __local ACC products[SIZE];
    __local ACC sums[LANES];
    for (long number = get_group_id(0); number < blocks; number += get_num_groups(0)) {
        RowBlock block = row_block(number, SIZE, block_starts);
        int has_long = block.goes_on || block.stop - block.begin >= SIZE;
        int rows = (int)(block.last - block.first) - (has_long && !block.goes_on);
        __global const OFF *ends = offsets + block.first;
        long end = !has_long ? block.stop : rows > 0 ? ends[rows] : block.begin;
        for (int k = lid; k < (int)(end - block.begin); k += LANES)
            products[k] =
                mul(entry(values, block.begin + k), load(x, x_start + indices[block.begin + k]));
        barrier(CLK_LOCAL_MEM_FENCE);
        int lanes_together = lanes_a_row(rows);
        int rows_a_pass = LANES / lanes_together;
        int passes = (rows + rows_a_pass - 1) / rows_a_pass;
        for (int pass = 0; pass < passes + has_long; pass++) {
            int lanes = pass < passes ? lanes_together : LANES;
            int lane = lid % lanes;
            int row = pass < passes ? pass * rows_a_pass + lid / lanes : rows;
            int own = pass == passes || row < rows;
            ACC sum = (ACC)(0);
            if (pass == passes)
                for (long k = end + lane; k < block.stop; k += LANES)
                    sum += mul(entry(values, k), load(x, x_start + indices[k]));
            else if (own)
                for (int k = (int)(ends[row] - block.begin) + lane; k < (int)(ends[row + 1] - block.begin); k += lanes)
                    sum += products[k];
            sums[lid] = sum;
            barrier(CLK_LOCAL_MEM_FENCE);
            for (int half_lanes = lanes / 2; half_lanes > 0; half_lanes /= 2) {
                if (lane < half_lanes)
                    sums[lid] += sums[lid + half_lanes];
                barrier(CLK_LOCAL_MEM_FENCE);
            }
            if (own && lane == 0 && pass == passes && block.goes_on)
                partial[slots[number]] = sums[lid];
            else if (own && lane == 0)
                update(y, y_start + block.first + row, mul(alpha, sums[lid]), beta);
            barrier(CLK_LOCAL_MEM_FENCE);
        }
    }
}

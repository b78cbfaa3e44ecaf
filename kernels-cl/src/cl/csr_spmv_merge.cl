// csr_spmv_merge: y <- alpha A x + beta y for compressed rows of any lengths, along the merge path: the list of the
// rows' ends and the list of the entries are merged.
// One work-group per tile of TILE = ITEMS * BLOCK steps of the merge; reads values, indices and offsets once, gathers
// x, writes y once, and two partial sums per tile.
// Macros: SCALAR, IDX, OFF, CONJ (1 conjugates A), BLOCK (a power of two, a multiple of 32), ITEMS = 5 (steps per
// work-item).   Launch: any number of work-groups of BLOCK, for ceil((rows + nnz) / TILE) tiles; carries any number of
// work-groups of 32; search any number of work-groups of any size.
// A tile sums the rows that begin and end in it. Its part of a row that began before goes to head[tile], its part of a
// row that ends later to tail[tile]; a second kernel adds these in order.
// Merrill, Garland: Merge-based parallel sparse matrix-vector multiplication. SC (2016).
#include "scalar.clh"
#include "index.clh"
#include "entry.clh"
#ifndef BLOCK
#error "BLOCK is missing: the size of a work-group"
#endif
#define LANES 32
#ifndef ITEMS
#define ITEMS 5
#endif
#define TILE (BLOCK * ITEMS)

// The number of `rows` ends before step `step` of the merge with `entries` entries; the ends are in global memory,
// or in local.
#define ROWS_BEFORE(name, ends_type)                                                                                   \
    static long name(long step, ends_type ends, long rows, long entries)                                               \
    {                                                                                                                  \
        long low = max(step - entries, 0L);                                                                            \
        long high = min(step, rows);                                                                                   \
        while (low < high) {                                                                                           \
            long mid = (low + high) / 2;                                                                               \
            if (ends[mid] < step - mid)                                                                                \
                low = mid + 1;                                                                                         \
            else                                                                                                       \
                high = mid;                                                                                            \
        }                                                                                                              \
        return low;                                                                                                    \
    }
ROWS_BEFORE(rows_before, __global const OFF *)
ROWS_BEFORE(tile_rows_before, __local const ushort *)

// tile_rows[t] <- the row that tile t begins in, and `rows` at the end. A work-item takes a tile. For the plan.
__kernel void csr_spmv_merge_search(long tiles, long rows, __global const OFF *offsets, __global long *tile_rows)
{
    long nnz = offsets[rows];
    for (long tile = get_global_id(0); tile <= tiles; tile += get_global_size(0))
        tile_rows[tile] = rows_before(min(tile * TILE, rows + nnz), offsets + 1, rows, nnz);
}

// The sums of runs of equal keys over the work-group, each from the run's begin up to the work-item before this one:
// zero where this one begins a run. all[0] <- the last run's sum. Every work-item calls it.
static ACC sum_before(int lid, int key, int begin_key, ACC sum, __local ushort *keys, __local ACC *sums,
                      __global ACC *all)
{
    keys[lid] = (ushort)key;
    sums[lid] = sum;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int d = 1; d < BLOCK; d *= 2) {
        ACC left = (ACC)(0);
        if (lid >= d && keys[lid - d] == key)
            left = sums[lid - d];
        barrier(CLK_LOCAL_MEM_FENCE);
        sum += left;
        sums[lid] = sum;
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (lid == BLOCK - 1)
        *all = sum;
    return lid > 0 && keys[lid - 1] == begin_key ? sums[lid - 1] : (ACC)(0);
}

// A work-group takes a tile and every get_num_groups(0)-th one after it. When its rows are summed, the memory of the
// ends and the products is used for what they leave.
__kernel __attribute__((reqd_work_group_size(BLOCK, 1, 1)))
void csr_spmv_merge_path(long tiles, long rows, __global const long *tile_rows, __global const OFF *offsets,
                         __global const IDX *indices, __global const T *values, ACC alpha, __global const T *x,
                         long x_start, ACC beta, __global T *y, long y_start, __global ACC *head, __global ACC *tail)
{
    int lid = (int)get_local_id(0);
    __local ushort ends[TILE + 1];
    __local ACC products[TILE];
    long steps = rows + offsets[rows];
    for (long tile = get_group_id(0); tile < tiles; tile += get_num_groups(0)) {
        long first_row = tile_rows[tile];
        long begin = tile * TILE - first_row;
        int tile_steps = (int)min((long)TILE, steps - tile * TILE);
        int ended = (int)(tile_rows[tile + 1] - first_row);
        int entries = tile_steps - ended;
        int began_before = offsets[first_row] < begin;
        for (int i = lid; i < ended; i += BLOCK)
            ends[i] = (ushort)(offsets[first_row + i + 1] - begin);
        if (lid == 0)
            ends[ended] = TILE;
        for (int k = lid; k < entries; k += BLOCK)
            products[k] = mul(entry(values, begin + k), load(x, x_start + indices[begin + k]));
        barrier(CLK_LOCAL_MEM_FENCE);

        int step = min(lid * ITEMS, tile_steps);
        int begin_row = (int)tile_rows_before(step, ends, ended, entries);
        int row = begin_row;
        int k = step - row;
        ACC sum = (ACC)(0);
        ACC begin_sum = (ACC)(0);
        for (int stop = min(step + ITEMS, tile_steps); step < stop; step++) {
            if (k < ends[row]) {
                sum += products[k++];
            } else {
                if (row == begin_row)
                    begin_sum = sum;
                else
                    update(y, y_start + first_row + row, mul(alpha, sum), beta);
                sum = (ACC)(0);
                row++;
            }
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        begin_sum = sum_before(lid, row, begin_row, sum, ends, products, &tail[tile]) + begin_sum;
        if (row > begin_row) {
            if (begin_row == 0 && began_before)
                head[tile] = begin_sum;
            else
                update(y, y_start + first_row + begin_row, mul(alpha, begin_sum), beta);
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
}

// y of the rows that span several tiles. A work-group of 32 lanes takes the tile that such a row ends in; a fixed tree
// adds the lanes.
__kernel __attribute__((reqd_work_group_size(LANES, 1, 1)))
void csr_spmv_merge_carries(long tiles, __global const long *tile_rows, __global const OFF *offsets, ACC alpha,
                            ACC beta, __global T *y, long y_start, __global const ACC *head, __global const ACC *tail)
{
    int lid = (int)get_local_id(0);
    __local ACC sums[LANES];
    for (long tile = get_group_id(0); tile < tiles; tile += get_num_groups(0)) {
        long row = tile_rows[tile];
        int own = offsets[row] < tile * TILE - row && tile_rows[tile + 1] > row;
        ACC sum = (ACC)(0);
        if (own)
            for (long t = (row + offsets[row]) / TILE + lid; t < tile; t += LANES)
                sum += tail[t];
        sums[lid] = sum;
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int lanes = LANES / 2; lanes > 0; lanes /= 2) {
            if (lid < lanes)
                sums[lid] += sums[lid + lanes];
            barrier(CLK_LOCAL_MEM_FENCE);
        }
        if (own && lid == 0)
            update(y, y_start + row, mul(alpha, sums[0] + head[tile]), beta);
        barrier(CLK_LOCAL_MEM_FENCE);
    }
}

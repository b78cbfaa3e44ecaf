// Dense to compressed rows, as in dense_to_csr.cl, in two passes of which the second reads only where entries stand:
// the first keeps a bit for each element.
// A work-group of 32 lanes takes a row in steps of 32*VECTOR columns: lane l has the columns l*VECTOR .. (l + 1)*VECTOR
// of a step, and bit l of word m tells of its m-th column. A row has ceil(cols / (32*VECTOR)) * VECTOR words.
// With WIDE, VECTOR elements are 16 bytes: col_step is 1; start, stride and row_step are multiples of VECTOR.
// Takes SCALAR, IDX, OFF and WIDE.
#include "scalar.clh"
#include "index.clh"
#include "dense_rows.clh"
#include "pack.clh"
#define LANES 32
#define STEP (LANES * VECTOR)

typedef struct {
    uint of[VECTOR];
} Words;

// counts[row] for all rows, and one zero more at the end; the mask. A fixed tree adds what the lanes count.
__kernel __attribute__((reqd_work_group_size(LANES, 1, 1)))
void dense_to_csr_mask_count(long all_rows, long rows, long cols, __global const T *a, long start, long stride,
                             long row_step, long col_step, int threshold, REAL tolerance, __global long *counts,
                             __global Words *mask)
{
    int lid = (int)get_local_id(0);
    __local uint words[VECTOR];
    __local long sums[LANES];
    long steps = (cols + STEP - 1) / STEP;
    for (long row = get_group_id(0); row <= all_rows; row += get_num_groups(0)) {
        long count = 0;
        for (long step = 0; step < steps && row < all_rows; step++) {
            if (lid < VECTOR)
                words[lid] = 0;
            barrier(CLK_LOCAL_MEM_FENCE);
            long col = step * STEP + lid * VECTOR;
            long at = row_start(row, rows, start, stride, row_step) + col * col_step;
            Pack pack = load_pack(a, at, cols - col);
            for (int m = 0; m < VECTOR; m++)
                if (col + m < cols && keeps(pack.part[m], threshold, tolerance)) {
                    atomic_or(&words[m], 1u << lid);
                    count++;
                }
            barrier(CLK_LOCAL_MEM_FENCE);
            if (lid < VECTOR)
                mask[row * steps + step].of[lid] = words[lid];
        }
        sums[lid] = count;
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int lanes = LANES / 2; lanes > 0; lanes /= 2) {
            if (lid < lanes)
                sums[lid] += sums[lid + lanes];
            barrier(CLK_LOCAL_MEM_FENCE);
        }
        if (lid == 0)
            counts[row] = sums[0];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
}

// A lane reads its columns where one of them holds an entry. Entries meet in local memory, so that neighbouring lanes
// write neighbouring places.
__kernel __attribute__((reqd_work_group_size(LANES, 1, 1)))
void dense_to_csr_mask_fill(long all_rows, long rows, long cols, __global const T *a, long start, long stride,
                            long row_step, long col_step, __global const long *starts, __global const Words *mask,
                            __global IDX *indices, __global T *values)
{
    int lid = (int)get_local_id(0);
    __local short kept_cols[STEP];
    __local T kept_values[STEP];
    uint before = (1u << lid) - 1u;
    long steps = (cols + STEP - 1) / STEP;
    for (long row = get_group_id(0); row < all_rows; row += get_num_groups(0)) {
        long to = starts[row];
        long end = starts[row + 1];
        for (long step = 0; step < steps && to < end; step++) {
            uint own = 0;
            int place = 0;
            int count = 0;
            for (int m = 0; m < VECTOR; m++) {
                uint word = mask[row * steps + step].of[m];
                own |= (word >> lid & 1u) << m;
                place += popcount(word & before);
                count += popcount(word);
            }
            if (own) {
                long col = step * STEP + lid * VECTOR;
                long at = row_start(row, rows, start, stride, row_step) + col * col_step;
                Pack pack = load_pack(a, at, cols - col);
                for (int m = 0; m < VECTOR; m++)
                    if (own >> m & 1u) {
                        kept_cols[place] = (short)(lid * VECTOR + m);
                        kept_values[place] = pack.part[m];
                        place++;
                    }
            }
            barrier(CLK_LOCAL_MEM_FENCE);
            for (int k = lid; k < count; k += LANES) {
                indices[to + k] = (IDX)(step * STEP + kept_cols[k]);
                values[to + k] = kept_values[k];
            }
            barrier(CLK_LOCAL_MEM_FENCE);
            to += count;
        }
    }
}

// Dense to compressed rows, as in dense_to_csr.cu, in two passes of which the second reads only where entries stand:
// the first keeps a bit for each element.
// A warp takes a row in steps of 32*VECTOR columns, lane l the columns l*VECTOR .. (l + 1)*VECTOR of a step; bit l of
// word m of a step tells of its m-th. A row has ceil(cols / (32*VECTOR)) * VECTOR words.
// With WIDE, VECTOR elements are 16 bytes: col_step is 1; start, stride and row_step are multiples of VECTOR.
// Takes SCALAR, IDX, OFF and WIDE.
#include "grid.cuh"
#include "scalar.cuh"
#include "index.cuh"
#include "dense_rows.cuh"
#include "pack.cuh"
#define STEP (WARP * VECTOR)

// counts[row] for all rows, and one zero more at the end; the mask.
KERNEL dense_to_csr_mask_count(long long all_rows, long long rows, long long cols, const T *__restrict__ a,
                               long long start, long long stride, long long row_step, long long col_step, int threshold,
                               REAL tolerance, long long *__restrict__ counts, unsigned int *__restrict__ mask)
{
    long long steps = (cols + STEP - 1) / STEP;
    int lane = lane_index();
    for (long long row = warp_index(); row <= all_rows; row += warp_count()) {
        long long count = 0;
        if (row < all_rows) {
            long long at = row_start(row, rows, start, stride, row_step);
            unsigned int *to = mask + row * steps * VECTOR;
#pragma unroll 4
            for (long long step = 0; step < steps; step++) {
                long long col = step * STEP + lane * VECTOR;
                Pack pack = load_pack(a, at + col * col_step, cols - col);
                unsigned int own = 0;
#pragma unroll
                for (int m = 0; m < VECTOR; m++) {
                    bool kept = col + m < cols && keeps(pack.part[m], threshold, tolerance);
                    unsigned int word = __ballot_sync(ALL_LANES, kept);
                    count += __popc(word);
                    if (lane == m)
                        own = word;
                }
                if (lane < VECTOR)
                    to[step * VECTOR + lane] = own;
            }
        }
        if (lane == 0)
            counts[row] = count;
    }
}

// Lanes write in parallel, each behind the entries of the lanes before it.
KERNEL dense_to_csr_mask_fill(long long all_rows, long long rows, long long cols, const T *__restrict__ a,
                              long long start, long long stride, long long row_step, long long col_step,
                              const long long *__restrict__ starts, const unsigned int *__restrict__ mask,
                              Idx *__restrict__ indices, T *__restrict__ values)
{
    long long steps = (cols + STEP - 1) / STEP;
    int lane = lane_index();
    unsigned int before = (1u << lane) - 1u;
    for (long long row = warp_index(); row < all_rows; row += warp_count()) {
        long long at = row_start(row, rows, start, stride, row_step);
        long long to = starts[row];
        const unsigned int *from = mask + row * steps * VECTOR;
#pragma unroll 4
        for (long long step = 0; step < steps; step++) {
            unsigned int own = 0;
            int place = 0;
            int count = 0;
#pragma unroll
            for (int m = 0; m < VECTOR; m++) {
                unsigned int word = from[step * VECTOR + m];
                own |= (word >> lane & 1u) << m;
                place += __popc(word & before);
                count += __popc(word);
            }
            if (own) {
                long long col = step * STEP + lane * VECTOR;
                Pack pack = load_pack(a, at + col * col_step, cols - col);
#pragma unroll
                for (int m = 0; m < VECTOR; m++)
                    if (own >> m & 1u) {
                        indices[to + place] = (Idx)(col + m);
                        values[to + place] = pack.part[m];
                        place++;
                    }
            }
            to += count;
        }
    }
}

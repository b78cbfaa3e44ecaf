// csr_spmv_sliced_columns: y <- alpha A x + beta y for compressed rows of like lengths whose columns the plan has
// copied into the order in which warps read them. LANES lanes per row, so that a warp takes a slice of WARP / LANES
// neighbouring rows. A step takes EACH neighbouring entries a lane, from a multiple of EACH on; the copy has the
// columns of a slice step by step, EACH for each lane, with zeros where a row has no entry. A fixed tree adds the
// lanes. Reads values, copied columns and offsets once, gathers x, writes y once. Columns, read in whole lines, bypass
// the first cache: it has x, and the lines of values that several steps read. Macros: SCALAR, IDX, OFF, CONJ (1
// conjugates A), LANES (1, 2, 4, 8), EACH = 4 (neighbouring entries per lane), MIN_BLOCKS = 2, 4, 6 or 8 by the types'
// sizes (blocks per multiprocessor).   Launch: any number of blocks of up to 256 threads; of whole warps but for count.
#ifndef MIN_BLOCKS
#define MIN_BLOCKS \
    (sizeof(ACC) + sizeof(Idx) <= 8 ? 8 : sizeof(ACC) + sizeof(Idx) <= 12 ? 6 : sizeof(ACC) <= 8 ? 4 : 2)
#endif
#include "grid.cuh"
#include "scalar.cuh"
#include "index.cuh"
#include "entry.cuh"
#include "warp_scalar.cuh"
#include "neighbours.cuh"
#include "row_steps.cuh"
#include "load_plainly.cuh"
#include "past_first_cache.cuh"
#ifndef LANES
#error "LANES is missing: 1, 2, 4 or 8"
#endif
#define ROWS (WARP / LANES)
#define STEP (LANES * EACH)

// The entries of the row of this lane, none past the last row, and the lane's first position, a multiple of EACH.
struct Part
{
    UnsignedOff begin;
    UnsignedOff end;
    UnsignedOff at;

    __device__ Part(const Off *offsets, long long row, long long rows)
        : begin(row < rows ? offsets[row] : Off(0)), end(row < rows ? offsets[row + 1] : Off(0)),
          at(begin / EACH * EACH + lane_index() % LANES * EACH)
    {
    }
};

// steps[slice] <- the most steps of a row of the slice; one zero more at the end. A thread takes a slice.
KERNEL csr_spmv_sliced_columns_count(long long rows, const Off *__restrict__ offsets, long long *__restrict__ steps)
{
    long long slices = (rows + ROWS - 1) / ROWS;
    for (long long slice = thread_index(); slice <= slices; slice += thread_count()) {
        long long most = 0;
        for (long long row = slice * ROWS; row < min((slice + 1) * ROWS, rows); row++) {
            long long from = offsets[row] / EACH * EACH;
            most = max(most, (offsets[row + 1] - from + STEP - 1) / STEP);
        }
        steps[slice] = most;
    }
}

// Copies the columns. `starts` are the steps, scanned. A warp takes a slice.
KERNEL csr_spmv_sliced_columns_fill(long long rows, const Off *__restrict__ offsets, const Idx *__restrict__ indices,
                                    const long long *__restrict__ starts, Idx *__restrict__ columns)
{
    for (long long slice = warp_index(); slice * ROWS < rows; slice += warp_count()) {
        Part part(offsets, slice * ROWS + lane_index() / LANES, rows);
        for (long long step = starts[slice]; step < starts[slice + 1]; step++, part.at += STEP) {
            Idx *own = columns + (step * WARP + lane_index()) * EACH;
            for (int each = 0; each < EACH; each++) {
                UnsignedOff at = part.at + each;
                own[each] = at >= part.begin && at < part.end ? indices[at] : Idx(0);
            }
        }
    }
}

// A warp takes a slice and every warp_count()-th one after it.
KERNEL csr_spmv_sliced_columns(long long rows, long long nnz, const long long *__restrict__ starts,
                               const Off *__restrict__ offsets, const Idx *__restrict__ columns,
                               const T *__restrict__ values, ACC alpha, const T *__restrict__ x, long long x_start,
                               ACC beta, T *__restrict__ y, long long y_start)
{
    x += x_start;
    for (long long slice = warp_index(); slice * ROWS < rows; slice += warp_count()) {
        long long row = slice * ROWS + lane_index() / LANES;
        Part part(offsets, row, rows);
        const Idx *own = columns + (starts[slice] * WARP + lane_index()) * EACH;
        ACC sum = ACC(0);
        for (; part.at < part.end; part.at += STEP, own += WARP * EACH) {
            Step step;
            load_neighbours_by<EACH>(LoadPastFirstCache(), step.cols, own, 0, EACH);
            load_neighbours_by<EACH>(LoadPlainly(), step.values, values, part.at, (UnsignedOff)nnz);
            sum += sum_of(step, part.at, part.begin, part.end, x);
        }
        sum = sum_lanes(sum, LANES);
        if (row < rows && lane_index() % LANES == 0)
            update(y, y_start + row, mul(alpha, sum), beta);
    }
}

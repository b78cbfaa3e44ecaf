// csr_spmv_listed: y <- alpha A x + beta y for compressed rows of which most are empty, by a list of the others.
// LANES lanes per listed row, 32 / LANES of them per warp, and one thread per row for those that are not listed, all
// striding over the grid. Reads values, indices and the list once, a bit per row, gathers x, writes y once.
// Macros: SCALAR, IDX, OFF, CONJ (1 conjugates A), LANES (2, 4, 8, 16, 32).   Launch: any number of blocks of whole
// warps, up to 256 threads.
// The plan has a bit for each row with entries, and of these rows, in order, the numbers and the first entries.
#include "grid.cuh"
#include "scalar.cuh"
#include "index.cuh"
#include "entry.cuh"
#include "warp_scalar.cuh"
#ifndef LANES
#error "LANES is missing: 2, 4, 8, 16 or 32"
#endif
#define ROWS_OF_WARP (WARP / LANES)

// counts[row] <- 1 if the row has entries, otherwise 0; one zero more at the end. A thread takes a row.
KERNEL csr_spmv_listed_count(long long rows, const Off *__restrict__ offsets, long long *__restrict__ counts)
{
    for (long long row = thread_index(); row <= rows; row += thread_count())
        counts[row] = row < rows && offsets[row] < offsets[row + 1];
}

// Sets the bits of the rows with entries and lists them; starts are the counts, scanned. Behind the last one stands the
// end of the entries. A thread takes a row.
KERNEL csr_spmv_listed_fill(long long rows, const Off *__restrict__ offsets, const long long *__restrict__ starts,
                            unsigned int *__restrict__ bits, Idx *__restrict__ listed, Off *__restrict__ begins)
{
    for (long long row = thread_index(); row <= rows; row += thread_count()) {
        bool is_end = row == rows;
        if (!is_end && offsets[row] == offsets[row + 1])
            continue;
        begins[starts[row]] = offsets[row];
        if (!is_end) {
            atomicOr(bits + row / WARP, 1u << row % WARP);
            listed[starts[row]] = (Idx)row;
        }
    }
}

// A warp takes ROWS_OF_WARP listed rows: lane l of a row sums its entries l, l + LANES, ...; a fixed tree adds the lanes.
// A thread takes a row that may be not listed.
KERNEL csr_spmv_listed(long long rows, long long filled, const unsigned int *__restrict__ bits,
                       const Idx *__restrict__ listed, const Off *__restrict__ begins,
                       const Idx *__restrict__ indices, const T *__restrict__ values, ACC alpha,
                       const T *__restrict__ x, long long x_start, ACC beta, T *__restrict__ y, long long y_start)
{
    x += x_start;
    y += y_start;
    int lane = lane_index() % LANES;
    for (long long first = warp_index() * ROWS_OF_WARP; first < filled; first += warp_count() * ROWS_OF_WARP) {
        long long at = first + lane_index() / LANES;
        ACC sum = ACC(0);
        if (at < filled) {
            long long end = begins[at + 1];
            for (long long k = begins[at] + lane; k < end; k += LANES)
                sum += mul(entry_once(values, k), load(x, load_once(indices + k)));
        }
        sum = sum_lanes(sum, LANES);
        if (at < filled && lane == 0)
            update(y, listed[at], mul(alpha, sum), beta);
    }
    for (long long row = thread_index(); row < rows; row += thread_count())
        if ((bits[row / WARP] >> row % WARP & 1) == 0)
            update(y, row, ACC(0), beta);
}

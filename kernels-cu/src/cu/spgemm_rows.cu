// spgemm_rows: the rows of C = A B before their columns are known, for compressed rows of A and B: their products, and
// the bins of rows of like sizes, to find their columns and to sum their values.
// products: a team of `lanes` threads has a row of A, and adds the lengths of the rows of B that its entries name; a
// long row of A is taken by a warp, or by the block. order: a block has all rows. All others: a thread has a row. Reads
// A once, and the offsets of the rows of B that A names, for each entry of A; bins and bounds read 16 to 24 bytes a
// row.
// Macros: IDX, OFF, LONG = 16 (entries of A per lane, above which all lanes of the warp or of the block take a row),
// BLOCK (lanes of the largest team).   Launch: any number of blocks of 256 threads for products, `lanes` a power of two
// up to 32; of any size for others.
#include "grid.cuh"
#include "index.cuh"
#include "team.cuh"
#include "search.cuh"
#ifndef LONG
#define LONG 16
#endif
#define MAX_INT 2147483647

// What is known of a row of C before its columns are found.
struct RowSize
{
    long long products;
    long long least;
    long long greatest;
};

// The products of each `step`th of the entries of A from k up to `end`.
static __device__ long long count_products(long long k, long long end, int step, const Idx *__restrict__ a_indices,
                                           const Off *__restrict__ b_offsets)
{
    long long products = 0;
#pragma unroll 4
    for (; k < end; k += step)
        products += b_offsets[a_indices[k] + 1] - b_offsets[a_indices[k]];
    return products;
}

// Adds up what each `step`th of the entries of A from k up to `end` brings; first and last columns if it `looks`.
static __device__ RowSize size_of(long long k, long long end, int step, bool looks, long long cols,
                                  const Idx *__restrict__ a_indices, const Off *__restrict__ b_offsets,
                                  const Idx *__restrict__ b_indices)
{
    RowSize size = {0, cols, -1};
#pragma unroll 4
    for (; k < end; k += step) {
        long long b_begin = b_offsets[a_indices[k]];
        long long b_end = b_offsets[a_indices[k] + 1];
        bool has_columns = looks && b_begin < b_end;
        long long least = has_columns ? (long long)b_indices[b_begin] : cols;
        long long greatest = has_columns ? (long long)b_indices[b_end - 1] : -1;
        size.products += b_end - b_begin;
        size.least = min(size.least, least);
        size.greatest = max(size.greatest, greatest);
    }
    return size;
}

// The sizes of all lanes of a team together.
static __device__ RowSize size_of_team(int lanes, RowSize own)
{
    RowSize size;
    scan_team(lanes, own.products, &size.products);
    size.least = min_team(lanes, own.least);
    size.greatest = -min_team(lanes, -own.greatest);
    return size;
}

// products[i] <- how many products row i of C has; products[rows + 1] <- the most of them, or 2^31 - 1 if those are
// more. They lie in spans[i] columns from origins[i] on, which are looked for where the rows of B are `sorted` and row
// i has more than `few` products. Rows of A with more than LONG entries for each lane are taken by all lanes of the
// warp, or of the block.
KERNEL spgemm_rows_products(long long rows, long long cols, long long lanes, long long sorted, long long few,
                            const Off *__restrict__ a_offsets, const Idx *__restrict__ a_indices,
                            const Off *__restrict__ b_offsets, const Idx *__restrict__ b_indices,
                            long long *__restrict__ products, long long *__restrict__ origins,
                            long long *__restrict__ spans)
{
    __shared__ long long ranges[2];
    int width = (int)lanes;
    int lane = threadIdx.x % width;
    long long teams = blockDim.x / width;
    for (long long first = blockIdx.x * teams; first < rows; first += gridDim.x * teams) {
        long long row = first + threadIdx.x / width;
        long long begin = row < rows ? a_offsets[row] : 0;
        long long end = row < rows ? a_offsets[row + 1] : 0;
        bool is_for_block = end - begin > LONG * blockDim.x;
        bool some_are = __syncthreads_or(is_for_block);
        bool is_long = end - begin > LONG * width;
        long long short_end = is_long ? begin : end;
        RowSize size = {0, cols, -1};
        scan_team(width, count_products(begin + lane, short_end, width, a_indices, b_offsets), &size.products);
        bool looks = sorted && (is_long || size.products > few);
        if (any_of_warp(looks && !is_long)) {
            RowSize seen = size_of(begin + lane, short_end, width, looks, cols, a_indices, b_offsets, b_indices);
            size = size_of_team(width, seen);
        }
        bool is_for_warp = is_long && !is_for_block;
        for (unsigned int longs = __ballot_sync(ALL_LANES, is_for_warp && lane == 0); longs; longs &= longs - 1) {
            int from = __ffs(longs) - 1;
            long long its_end = __shfl_sync(ALL_LANES, end, from);
            long long its_begin = __shfl_sync(ALL_LANES, begin, from);
            RowSize its = size_of(its_begin + lane_index(), its_end, WARP, sorted, cols, a_indices, b_offsets, b_indices);
            its = size_of_team(WARP, its);
            if (lane_index() == from)
                size = its;
        }
        if (some_are) {
            for (int from = 0; from < blockDim.x; from += width) {
                if (threadIdx.x == from) {
                    ranges[0] = begin;
                    ranges[1] = is_for_block ? end : begin;
                }
                __syncthreads();
                long long its_begin = ranges[0];
                long long its_end = ranges[1];
                __syncthreads();
                if (its_begin < its_end) {
                    RowSize its = size_of(its_begin + threadIdx.x, its_end, blockDim.x, sorted, cols, a_indices, b_offsets,
                                          b_indices);
                    its = size_of_team(blockDim.x, its);
                    if (threadIdx.x == from)
                        size = its;
                }
            }
        }
        if (row < rows && lane == 0) {
            products[row] = size.products;
            int most = (int)min(size.products, (long long)MAX_INT);
            // Most rows see that they have not the most, without an atomic operation.
            if (most > *(volatile int *)(products + rows + 1))
                atomicMax((int *)(products + rows + 1), most);
            origins[row] = looks ? size.least : 0;
            spans[row] = looks ? size.greatest - size.least + 1 : cols;
        }
    }
}

// bounds[i] <- the most entries that row i can have: starts[i + 1] - starts[i] are its products.
KERNEL spgemm_rows_bounds(long long rows, long long cols, const long long *__restrict__ starts,
                          long long *__restrict__ bounds)
{
    for (long long row = thread_index(); row < rows; row += thread_count())
        bounds[row] = min(starts[row + 1] - starts[row], cols);
}

// bins[i] <- the bin of row i by its products, which are starts[i + 1] - starts[i]: 0 for none, 1 or 2 for at most as
// many as the first or second limit. Of the others, 7 for more than `split_above` entries of A, 3 for at most as many
// products as the third limit in up to `near` columns, 4 for up to `far` columns, 5 for at most as many products as the
// third limit, else 6.
KERNEL spgemm_rows_bins(long long rows, long long limit1, long long limit2, long long limit3, long long near,
                        long long far, long long split_above, const long long *__restrict__ starts,
                        const long long *__restrict__ spans, const Off *__restrict__ a_offsets, int *__restrict__ bins)
{
    for (long long row = thread_index(); row < rows; row += thread_count()) {
        long long size = starts[row + 1] - starts[row];
        bool fits = size <= limit3;
        int wider = spans[row] <= far ? 4 : fits ? 5 : 6;
        int longer = fits && spans[row] <= near ? 3 : wider;
        int long_or_split = a_offsets[row + 1] - a_offsets[row] > split_above ? 7 : longer;
        bins[row] = size == 0 ? 0 : size <= limit1 ? 1 : size <= limit2 ? 2 : long_or_split;
    }
}

// bins[i] <- the bin of row i of C by its entries, which are starts[i + 1] - starts[i]: 0 for none, 1 or 2 for at most
// as many as the first or second limit, where the row of A has at most `most_left` entries and the row of C at most
// `most_products` products. Of the others, 3 where the rows of B have `least_part` products or more on average in each
// slice of up to `slice` entries, else 4.
KERNEL spgemm_rows_sum_bins(long long rows, long long limit1, long long limit2, long long slice, long long most_left,
                            long long most_products, long long least_part, const long long *__restrict__ starts,
                            const long long *__restrict__ products, const Off *__restrict__ a_offsets,
                            int *__restrict__ bins)
{
    for (long long row = thread_index(); row < rows; row += thread_count()) {
        long long size = starts[row + 1] - starts[row];
        long long own = products[row + 1] - products[row];
        long long left = a_offsets[row + 1] - a_offsets[row];
        long long parts = max(1ll, left * ((size + slice - 1) / slice));
        bool is_short = left <= most_left && own <= most_products;
        int longer = own / parts >= least_part ? 3 : 4;
        int bin = is_short && size <= limit1 ? 1 : is_short && size <= limit2 ? 2 : longer;
        bins[row] = size == 0 ? 0 : bin;
    }
}

// bin_starts[b] <- how many of the sorted bins are below b; bin_starts[count] <- the last of the starts of rows, for
// the same download.
KERNEL spgemm_rows_bin_starts(long long rows, long long count, const int *__restrict__ bins,
                              const long long *__restrict__ starts, long long *__restrict__ bin_starts)
{
    for (long long bin = thread_index(); bin <= count; bin += thread_count())
        bin_starts[bin] = bin < count ? count_below(bins, rows, bin) : starts[rows];
}

// order <- the rows in order of their bins, which are below 8, and within a bin in the order of the matrix; bin_starts
// as above. One block, of up to 16384 rows, of which a thread has neighbouring ones: it counts those of each bin in 16
// bits.
KERNEL spgemm_rows_order(long long rows, long long count, const int *__restrict__ bins,
                         const long long *__restrict__ starts, long long *__restrict__ order,
                         long long *__restrict__ bin_starts)
{
    long long each = (rows + blockDim.x - 1) / blockDim.x;
    long long first = min(threadIdx.x * each, rows);
    long long end = min(first + each, rows);
    unsigned long long own[2] = {0, 0};
    for (long long row = first; row < end; row++)
        own[bins[row] / 4] += 1ull << 16 * (bins[row] % 4);
    unsigned long long all[2];
    unsigned long long low = scan_team(blockDim.x, own[0], all);
    unsigned long long high = scan_team(blockDim.x, own[1], all + 1);
    // Times 1 at each place, a number has the sums of its fields up to there.
    unsigned long long ones = 0x0001000100010001ull;
    unsigned long long up_to_low = all[0] * ones;
    unsigned long long up_to_high = all[1] * ones + (up_to_low >> 48) * ones;
    unsigned long long before[2] = {up_to_low - all[0], up_to_high - all[1]};
    unsigned long long at[2] = {before[0] + low, before[1] + high};
    for (long long row = first; row < end; row++) {
        int shift = 16 * (bins[row] % 4);
        order[at[bins[row] / 4] >> shift & 0xffff] = row;
        at[bins[row] / 4] += 1ull << shift;
    }
    int bin = threadIdx.x;
    if (bin < count)
        bin_starts[bin] = bin < 8 ? (long long)(before[bin / 4] >> 16 * (bin % 4) & 0xffff) : rows;
    if (threadIdx.x == 0)
        bin_starts[count] = starts[rows];
}

// slices[i] <- the number of slices of up to `size` elements of the row at place first + i.
KERNEL spgemm_rows_slices(long long first, long long end, long long size, const long long *__restrict__ order,
                          const Off *__restrict__ offsets, long long *__restrict__ slices)
{
    for (long long i = first + thread_index(); i < end; i += thread_count()) {
        long long row = order[i];
        slices[i - first] = (offsets[row + 1] - offsets[row] + size - 1) / size;
    }
}

// The starts of rows as offsets.
KERNEL spgemm_rows_offsets(long long n, const long long *__restrict__ starts, Off *__restrict__ c_offsets)
{
    for (long long i = thread_index(); i < n; i += thread_count())
        c_offsets[i] = (Off)starts[i];
}

// The offsets as starts of rows.
KERNEL spgemm_rows_starts(long long n, const Off *__restrict__ offsets, long long *__restrict__ starts)
{
    for (long long i = thread_index(); i < n; i += thread_count())
        starts[i] = offsets[i];
}

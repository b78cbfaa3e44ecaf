// spgemm_rows: the rows of C = A B before their columns are known, for compressed rows of A and B: their products, and
// the bins of rows of like sizes, to find their columns and to sum their values.
// products: a team of `lanes` work-items, which is a work-group, has a row of A, and adds the lengths of the rows of B
// that its entries name. order: a work-group has all rows. All others: a work-item has a row. Reads A once, and the
// offsets of the rows of B that A names, for each entry of A; bins and bounds read 16 to 24 bytes a row.
// Macros: IDX, OFF, BLOCK (lanes of the largest team).   Launch: any number of work-groups of `lanes`, a power of two
// up to BLOCK, for products; of any size for others.
#include "index.clh"
#include "team.clh"
#define SORTED int
#include "search.clh"

// products[i] <- how many products row i of C has; products[rows + 1] <- the most of them, or 2^31 - 1 if those are
// more. They lie in spans[i] columns from origins[i] on, which are looked for where the rows of B are `sorted` and row
// i has more than `few` products.
__kernel void spgemm_rows_products(long rows, long cols, long lanes, long sorted, long few,
                                   __global const OFF *a_offsets, __global const IDX *a_indices,
                                   __global const OFF *b_offsets, __global const IDX *b_indices,
                                   __global long *products, __global long *origins, __global long *spans)
{
    int lid = (int)get_local_id(0);
    int width = (int)lanes;
    __local long own_of[BLOCK];
    for (long row = get_group_id(0); row < rows; row += get_num_groups(0)) {
        long own = 0;
        for (long k = a_offsets[row] + lid; k < a_offsets[row + 1]; k += lanes)
            own += b_offsets[a_indices[k] + 1] - b_offsets[a_indices[k]];
        long sum = sum_team(own_of, lid, width, own);
        int looks = sorted && sum > few;
        long least = cols;
        long below = 1;
        for (long k = a_offsets[row] + lid; k < (looks ? a_offsets[row + 1] : 0); k += lanes) {
            long begin = b_offsets[a_indices[k]];
            long end = b_offsets[a_indices[k] + 1];
            if (begin < end) {
                least = min(least, (long)b_indices[begin]);
                below = min(below, -(long)b_indices[end - 1]);
            }
        }
        least = min_team(own_of, lid, width, least);
        below = min_team(own_of, lid, width, below);
        if (lid == 0) {
            products[row] = sum;
            atomic_max((volatile __global int *)(products + rows + 1), (int)min(sum, (long)INT_MAX));
            origins[row] = looks ? least : 0;
            spans[row] = looks ? 1 - below - least : cols;
        }
    }
}

// bounds[i] <- the most entries that row i can have: starts[i + 1] - starts[i] are its products.
__kernel void spgemm_rows_bounds(long rows, long cols, __global const long *starts, __global long *bounds)
{
    for (long row = get_global_id(0); row < rows; row += get_global_size(0))
        bounds[row] = min(starts[row + 1] - starts[row], cols);
}

// bins[i] <- the bin of row i by its products, which are starts[i + 1] - starts[i]: 0 for none, 1 or 2 for at most as
// many as the first or second limit. Of the others, 7 for more than `split_above` entries of A, 3 for at most as many
// products as the third limit in up to `near` columns, 4 for up to `far` columns, 5 for at most as many products as the
// third limit, else 6.
__kernel void spgemm_rows_bins(long rows, long limit1, long limit2, long limit3, long near, long far, long split_above,
                               __global const long *starts, __global const long *spans, __global const OFF *a_offsets,
                               __global int *bins)
{
    for (long row = get_global_id(0); row < rows; row += get_global_size(0)) {
        long size = starts[row + 1] - starts[row];
        int fits = size <= limit3;
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
__kernel void spgemm_rows_sum_bins(long rows, long limit1, long limit2, long slice, long most_left, long most_products,
                                   long least_part, __global const long *starts, __global const long *products,
                                   __global const OFF *a_offsets, __global int *bins)
{
    for (long row = get_global_id(0); row < rows; row += get_global_size(0)) {
        long size = starts[row + 1] - starts[row];
        long own = products[row + 1] - products[row];
        long left = a_offsets[row + 1] - a_offsets[row];
        long parts = max(1l, left * ((size + slice - 1) / slice));
        int is_short = left <= most_left && own <= most_products;
        int longer = own / parts >= least_part ? 3 : 4;
        int bin = is_short && size <= limit1 ? 1 : is_short && size <= limit2 ? 2 : longer;
        bins[row] = size == 0 ? 0 : bin;
    }
}

// bin_starts[b] <- how many of the sorted bins are below b; bin_starts[count] <- the last of the starts of rows, for
// the same download.
__kernel void spgemm_rows_bin_starts(long rows, long count, __global const int *bins, __global const long *starts,
                                     __global long *bin_starts)
{
    for (long bin = get_global_id(0); bin <= count; bin += get_global_size(0))
        bin_starts[bin] = bin < count ? count_below(bins, rows, bin) : starts[rows];
}

// order <- the rows in order of their bins, which are below 8, and within a bin in the order of the matrix; bin_starts
// as above. One work-group, of up to 16384 rows, of which a work-item has neighbouring ones: it counts those of each
// bin in 16 bits.
__kernel void spgemm_rows_order(long rows, long count, __global const int *bins, __global const long *starts,
                                __global long *order, __global long *bin_starts)
{
    int lid = (int)get_local_id(0);
    int width = (int)get_local_size(0);
    __local long sums[BLOCK];
    long each = (rows + width - 1) / width;
    long first = min(lid * each, rows);
    long end = min(first + each, rows);
    ulong own[2] = {0, 0};
    for (long row = first; row < end; row++)
        own[bins[row] / 4] += (ulong)1 << 16 * (bins[row] % 4);
    long all_low;
    long all_high;
    ulong low = (ulong)scan_team(sums, lid, width, (long)own[0], &all_low);
    ulong high = (ulong)scan_team(sums, lid, width, (long)own[1], &all_high);
    // Times 1 at each place, a number has the sums of its fields up to there.
    ulong ones = 0x0001000100010001;
    ulong up_to_low = (ulong)all_low * ones;
    ulong up_to_high = (ulong)all_high * ones + (up_to_low >> 48) * ones;
    ulong before_low = up_to_low - (ulong)all_low;
    ulong before_high = up_to_high - (ulong)all_high;
    ulong at[2] = {before_low + low, before_high + high};
    for (long row = first; row < end; row++) {
        int shift = 16 * (bins[row] % 4);
        order[at[bins[row] / 4] >> shift & 0xffff] = row;
        at[bins[row] / 4] += (ulong)1 << shift;
    }
    if (lid < count)
        bin_starts[lid] = lid < 8 ? (long)((lid < 4 ? before_low : before_high) >> 16 * (lid % 4) & 0xffff) : rows;
    if (lid == 0)
        bin_starts[count] = starts[rows];
}

// slices[i] <- the number of slices of up to `size` elements of the row at place first + i.
__kernel void spgemm_rows_slices(long first, long end, long size, __global const long *order,
                                 __global const OFF *offsets, __global long *slices)
{
    for (long i = first + get_global_id(0); i < end; i += get_global_size(0)) {
        long row = order[i];
        slices[i - first] = (offsets[row + 1] - offsets[row] + size - 1) / size;
    }
}

// The starts of rows as offsets.
__kernel void spgemm_rows_offsets(long n, __global const long *starts, __global OFF *c_offsets)
{
    for (long i = get_global_id(0); i < n; i += get_global_size(0))
        c_offsets[i] = (OFF)starts[i];
}

// The offsets as starts of rows.
__kernel void spgemm_rows_starts(long n, __global const OFF *offsets, __global long *starts)
{
    for (long i = get_global_id(0); i < n; i += get_global_size(0))
        starts[i] = offsets[i];
}

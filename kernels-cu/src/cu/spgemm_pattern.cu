// spgemm_pattern: the pattern of C = A B, for compressed rows of A and B: row i of C is the union of the rows of B that
// the entries of row i of A name. Each kernel that finds rows does so twice: without `columns` it counts them, then it
// writes them in order from `starts` on.
// A team of `lanes` threads takes a row: a part of a warp, a warp or a block; rows come in an order of their sizes,
// `first` up to `end` of it. Its lanes take an entry of A each, and then share the products of these. sort: the columns
// of up to EACH * lanes products, sorted in shared memory. hash: the same number, in a table of twice as many slots, so
// that only those that differ are sorted. bitmap: any number, a bit for each column of a window, as many windows as the
// row needs. Reads A once and its rows of B once, bitmap twice for each window; writes C.
// Macros: IDX, OFF, EACH = 8 (products per lane), BLOCK (lanes of the largest team).   Launch: any number of blocks
// of 256 threads, `lanes` a power of two up to 32 or 256; bitmap with `lanes` of 256; of any size
// for bins, bin_starts and offsets.
// Nagasaka, Nukada, Matsuoka: High-performance and memory-saving sparse general matrix-matrix multiplication for NVIDIA
// Pascal GPU. ICPP (2017).
#include "grid.cuh"
#include "index.cuh"
#include "warp.cuh"
#include "team.cuh"
#include "search.cuh"
#include "products.cuh"
#ifndef EACH
#define EACH 8
#endif
#define CAPACITY (EACH * BLOCK)
#define FREE (-1)

// products[i] <- how many products row i of C has; bounds[i] <- the most entries that it can have.
KERNEL spgemm_pattern_products(long long rows, long long cols, long long lanes, const Off *__restrict__ a_offsets,
                               const Idx *__restrict__ a_indices, const Off *__restrict__ b_offsets,
                               long long *__restrict__ products, long long *__restrict__ bounds)
{
    for (long long row = warp_index(); row < rows; row += warp_count()) {
        long long sum = 0;
        for (long long k = a_offsets[row] + lane_index(); k < a_offsets[row + 1]; k += lanes)
            sum += b_offsets[a_indices[k] + 1] - b_offsets[a_indices[k]];
        sum = sum_lanes(sum);
        if (lane_index() == 0) {
            products[row] = sum;
            bounds[row] = min(sum, cols);
        }
    }
}

// bins[i] <- 0 for a row without elements, 1 to 3 for one that has at most as many as the first, second or third limit,
// else 4; starts[i + 1] - starts[i] are its elements.
KERNEL spgemm_pattern_bins(long long rows, long long limit1, long long limit2, long long limit3,
                           const long long *__restrict__ starts, int *__restrict__ bins)
{
    for (long long row = thread_index(); row < rows; row += thread_count()) {
        long long size = starts[row + 1] - starts[row];
        bins[row] = (size > 0) + (size > limit1) + (size > limit2) + (size > limit3);
    }
}

// bin_starts[b] <- how many of the sorted bins are below b.
KERNEL spgemm_pattern_bin_starts(long long rows, long long count, const int *__restrict__ bins,
                                 long long *__restrict__ bin_starts)
{
    for (long long bin = thread_index(); bin < count; bin += thread_count())
        bin_starts[bin] = count_below(bins, rows, bin);
}

// Sorts the `size` elements of a list, a power of two, by a bitonic network.
static __device__ void sort_list(Idx *list, int size, int lane, int lanes)
{
    for (int run = 2; run <= size; run *= 2) {
        for (int step = run / 2; step > 0; step /= 2) {
            for (int i = lane; i < size / 2; i += lanes) {
                int low = 2 * i - (i & (step - 1));
                Idx a = list[low];
                Idx b = list[low + step];
                if ((a > b) == ((low & run) == 0)) {
                    list[low] = b;
                    list[low + step] = a;
                }
            }
            sync_team(lanes);
        }
    }
}

// Sorts the first n elements of a list, which has place for the next power of two.
static __device__ void sort_first(Idx *list, int n, int lane, int lanes)
{
    Idx largest = (Idx)((1ull << (8 * sizeof(Idx) - 1)) - 1);
    int size = 1;
    while (size < n)
        size *= 2;
    for (int i = n + lane; i < size; i += lanes)
        list[i] = largest;
    sync_team(lanes);
    sort_list(list, size, lane, lanes);
}

// The products of the entries that the lanes have, those of `k` before `end`.
static __device__ Products products_from(int lanes, long long k, long long end, const Idx *__restrict__ a_indices,
                                         const Off *__restrict__ b_offsets)
{
    long long begin = k < end ? b_offsets[a_indices[k]] : 0;
    long long length = k < end ? b_offsets[a_indices[k] + 1] - begin : 0;
    return products_of(lanes, begin, length);
}

// The column of product p.
static __device__ Idx column_of(const Products &products, int lanes, long long p, const Idx *__restrict__ b_indices)
{
    return b_indices[products.origins[owner_of(products, lanes, p)] + p];
}

KERNEL spgemm_pattern_sort(long long first, long long end, long long lanes, const long long *__restrict__ order,
                           const Off *__restrict__ a_offsets, const Idx *__restrict__ a_indices,
                           const Off *__restrict__ b_offsets, const Idx *__restrict__ b_indices,
                           const long long *__restrict__ starts, long long *__restrict__ counts,
                           Idx *__restrict__ columns)
{
    __shared__ Idx lists[CAPACITY];
    int width = (int)lanes;
    int lane = threadIdx.x % width;
    Idx *list = lists + threadIdx.x / width * (EACH * width);
    for (long long i = first + team_index(width); i < end; i += team_count(width)) {
        long long row = order[i];
        int n = 0;
        for (long long k = a_offsets[row]; k < a_offsets[row + 1]; k += width) {
            Products products = products_from(width, k + lane, a_offsets[row + 1], a_indices, b_offsets);
            for (long long p = lane; p < products.count; p += width)
                list[n + p] = column_of(products, width, p, b_indices);
            n += (int)products.count;
        }
        sort_first(list, n, lane, width);
        int found = 0;
        for (int base = 0; base < n; base += width) {
            int at = base + lane;
            int is_new = at < n && (at == 0 || list[at] != list[max(at - 1, 0)]);
            int all;
            int before = scan_team(width, is_new, &all);
            if (columns && is_new)
                columns[starts[row] + found + before] = list[at];
            found += all;
        }
        if (!columns && lane == 0)
            counts[row] = found;
        sync_team(width);
    }
}

// Puts a column into the table, unless it is there.
static __device__ void insert(int *table, int slots, int column)
{
    int slot = (int)((unsigned int)column * 2654435769u >> 16) & (slots - 1);
    int found = atomicCAS(table + slot, FREE, column);
    while (found != FREE && found != column) {
        slot = (slot + 1) & (slots - 1);
        found = atomicCAS(table + slot, FREE, column);
    }
}

// Columns are below 2^31.
KERNEL spgemm_pattern_hash(long long first, long long end, long long lanes, const long long *__restrict__ order,
                           const Off *__restrict__ a_offsets, const Idx *__restrict__ a_indices,
                           const Off *__restrict__ b_offsets, const Idx *__restrict__ b_indices,
                           const long long *__restrict__ starts, long long *__restrict__ counts,
                           Idx *__restrict__ columns)
{
    __shared__ int tables[2 * CAPACITY];
    __shared__ Idx lists[CAPACITY];
    int width = (int)lanes;
    int slots = 2 * EACH * width;
    int lane = threadIdx.x % width;
    int *table = tables + threadIdx.x / width * slots;
    Idx *list = lists + threadIdx.x / width * (EACH * width);
    for (long long i = first + team_index(width); i < end; i += team_count(width)) {
        long long row = order[i];
        for (int slot = lane; slot < slots; slot += width)
            table[slot] = FREE;
        sync_team(width);
        for (long long k = a_offsets[row]; k < a_offsets[row + 1]; k += width) {
            Products products = products_from(width, k + lane, a_offsets[row + 1], a_indices, b_offsets);
            for (long long p = lane; p < products.count; p += width)
                insert(table, slots, (int)column_of(products, width, p, b_indices));
        }
        sync_team(width);
        int found = 0;
        for (int base = 0; base < slots; base += width) {
            int column = table[base + lane];
            int all;
            int before = scan_team(width, (int)(column != FREE), &all);
            if (column != FREE)
                list[found + before] = column;
            found += all;
        }
        if (columns) {
            sort_first(list, found, lane, width);
            for (int at = lane; at < found; at += width)
                columns[starts[row] + at] = list[at];
        } else if (lane == 0) {
            counts[row] = found;
        }
        sync_team(width);
    }
}

// A block has `words` words of `bitmaps`, which are zeros before and after.
KERNEL spgemm_pattern_bitmap(long long first, long long end, long long lanes, long long cols, long long words,
                             const long long *__restrict__ order, const Off *__restrict__ a_offsets,
                             const Idx *__restrict__ a_indices, const Off *__restrict__ b_offsets,
                             const Idx *__restrict__ b_indices, const long long *__restrict__ starts,
                             long long *__restrict__ counts, Idx *__restrict__ columns,
                             unsigned int *__restrict__ bitmaps)
{
    int lane = threadIdx.x;
    int width = (int)lanes;
    unsigned int *bitmap = bitmaps + blockIdx.x * words;
    for (long long i = first + blockIdx.x; i < end; i += gridDim.x) {
        long long row = order[i];
        long long found = 0;
        long long from = 0;
        while (from < cols) {
            // The window begins with the least column that is left, and ends with the greatest if it reaches so far.
            long long least = cols;
            long long below = 1;
            for (long long k = a_offsets[row]; k < a_offsets[row + 1]; k += width) {
                Products products = products_from(width, k + lane, a_offsets[row + 1], a_indices, b_offsets);
                for (long long p = lane; p < products.count; p += width) {
                    long long column = column_of(products, width, p, b_indices);
                    least = column >= from ? min(least, column) : least;
                    below = min(below, -column);
                }
            }
            least = min_team(width, least);
            long long greatest = -min_team(width, below);
            long long origin = least - least % 32;
            long long window_end = least < cols ? min(greatest + 1, origin + 32 * words) : origin;
            for (long long k = a_offsets[row]; k < a_offsets[row + 1]; k += width) {
                Products products = products_from(width, k + lane, a_offsets[row + 1], a_indices, b_offsets);
                for (long long p = lane; p < products.count; p += width) {
                    long long column = column_of(products, width, p, b_indices);
                    if (column >= least && column < window_end)
                        atomicOr(bitmap + (column - origin) / 32, 1u << (int)((column - origin) % 32));
                }
            }
            sync_team(width);
            long long used = (window_end - origin + 31) / 32;
            for (long long base = 0; base < used; base += width) {
                long long at = base + lane;
                unsigned int word = at < used ? bitmap[at] : 0;
                int all;
                int before = scan_team(width, __popc(word), &all);
                if (word)
                    bitmap[at] = 0;
                if (columns) {
                    long long to = starts[row] + found + before;
                    for (; word; word &= word - 1)
                        columns[to++] = (Idx)(origin + 32 * at + __ffs(word) - 1);
                }
                found += all;
            }
            sync_team(width);
            from = least < cols ? window_end : cols;
        }
        if (!columns && lane == 0)
            counts[row] = found;
    }
}

// The starts of rows as offsets.
KERNEL spgemm_pattern_offsets(long long n, const long long *__restrict__ starts, Off *__restrict__ c_offsets)
{
    for (long long i = thread_index(); i < n; i += thread_count())
        c_offsets[i] = (Off)starts[i];
}

// The offsets as starts of rows.
KERNEL spgemm_pattern_starts(long long n, const Off *__restrict__ offsets, long long *__restrict__ starts)
{
    for (long long i = thread_index(); i < n; i += thread_count())
        starts[i] = offsets[i];
}

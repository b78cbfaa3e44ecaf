// spgemm_pattern: the pattern of C = A B, for compressed rows of A and B: row i of C is the union of the rows of B that
// the entries of row i of A name. Each kernel that finds rows counts their columns, and writes them in order from
// `starts` on where there are `columns`.
// A team of `lanes` threads takes a row: a part of a warp, a warp or a block; rows come in an order of their sizes,
// `first` up to `end` of it. Its lanes take an entry of A each, and then share the products of these. sort: the columns
// of up to EACH * lanes products, sorted in registers. window: a bit for each of 32 * WORDS * lanes neighbouring
// columns, in shared memory, window after window. hash: up to EACH * lanes products, in a table of at least twice as many
// slots, so that only columns that differ are sorted. bitmap: any number, a bit for each column of a window in global
// memory, as many windows as the row needs. mark: a block takes a slice of a long row of A, and marks columns in a bitmap
// of the row in global memory, which collect writes in order. Reads A once and its rows of B once, window once and bitmap
// twice for each window; writes C.
// Macros: IDX, OFF, EACH = 8 (products per lane), WORDS = 31 (words of a window per lane, an odd number), LONG = 16
// (entries of A per lane), WORDS_PER_LANE = 4 (words of a bitmap at once), TOGETHER = 4 (columns for each word from which
// a warp writes those of a word together), MOST_MOVED = 256 (columns per lane of a team that moves a row), BLOCK (lanes of
// the largest team).   Launch: any number of blocks of 256 threads, `lanes` a power of two up to 32 or 256; bitmap, mark and
// collect with `lanes` of 256; of any size for bounds, bins, sum_bins, bin_starts, slices, offsets and starts.
// Nagasaka, Nukada, Matsuoka: High-performance and memory-saving sparse general matrix-matrix multiplication for NVIDIA
// Pascal GPU. ICPP (2017). Batcher: Sorting networks and their applications. AFIPS (1968).
#include "grid.cuh"
#include "apart.cuh"
#include "index.cuh"
#include "warp.cuh"
#include "team.cuh"
#include "search.cuh"
#include "products.cuh"
#ifndef EACH
#define EACH 8
#endif
#ifndef WORDS
#define WORDS 31
#endif
#ifndef LONG
#define LONG 16
#endif
#ifndef WORDS_PER_LANE
#define WORDS_PER_LANE 4
#endif
#ifndef TOGETHER
#define TOGETHER 4
#endif
#ifndef MOST_MOVED
#define MOST_MOVED 256
#endif
#define CAPACITY (EACH * BLOCK)
#define FREE (-1)
#define MOST_INT 2147483647
#define LARGEST ((Idx)((1ull << (8 * sizeof(Idx) - 1)) - 1))

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

// products[i] <- how many products row i of C has; products[rows + 1] <- the most of them, or 2^31 - 1 if those are more.
// They lie in spans[i] columns from origins[i] on, which are looked for where the rows of B are `sorted` and row i has
// more than `few` products. Rows of A with more than LONG entries for each lane are taken by all lanes of the warp, or of
// the block.
KERNEL spgemm_pattern_products(long long rows, long long cols, long long lanes, long long sorted, long long few,
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
            int most = (int)min(size.products, (long long)MOST_INT);
            // Most rows see that they have not the most, without an atomic operation.
            if (most > *(volatile int *)(products + rows + 1))
                atomicMax((int *)(products + rows + 1), most);
            origins[row] = looks ? size.least : 0;
            spans[row] = looks ? size.greatest - size.least + 1 : cols;
        }
    }
}

// bounds[i] <- the most entries that row i can have: starts[i + 1] - starts[i] are its products.
KERNEL spgemm_pattern_bounds(long long rows, long long cols, const long long *__restrict__ starts,
                             long long *__restrict__ bounds)
{
    for (long long row = thread_index(); row < rows; row += thread_count())
        bounds[row] = min(starts[row + 1] - starts[row], cols);
}

// bins[i] <- the bin of row i by its products, which are starts[i + 1] - starts[i]: 0 for none, 1 or 2 for at most as many
// as the first or second limit. Of the others, 7 for more than `split_above` entries of A, 3 for at most as many products
// as the third limit in a window of `window1` lanes, 4 for a window of `window2` lanes, 5 for at most as many products as
// the third limit, else 6.
KERNEL spgemm_pattern_bins(long long rows, long long limit1, long long limit2, long long limit3, long long window1,
                           long long window2, long long split_above, const long long *__restrict__ starts,
                           const long long *__restrict__ spans, const Off *__restrict__ a_offsets,
                           int *__restrict__ bins)
{
    for (long long row = thread_index(); row < rows; row += thread_count()) {
        long long size = starts[row + 1] - starts[row];
        bool fits = size <= limit3;
        int wider = spans[row] <= 32 * WORDS * window2 ? 4 : fits ? 5 : 6;
        int longer = fits && spans[row] <= 32 * WORDS * window1 ? 3 : wider;
        int long_or_split = a_offsets[row + 1] - a_offsets[row] > split_above ? 7 : longer;
        bins[row] = size == 0 ? 0 : size <= limit1 ? 1 : size <= limit2 ? 2 : long_or_split;
    }
}

// bins[i] <- the bin of row i of C by its entries, which are starts[i + 1] - starts[i]: 0 for none, 1 or 2 for at most
// as many as the first or second limit, where the row of A has at most `most_left` entries and the row of C at most
// `most_products` products. Of the others, 3 where the rows of B have `least_part` products or more on average in each
// slice of up to `slice` entries, else 4.
KERNEL spgemm_pattern_sum_bins(long long rows, long long limit1, long long limit2, long long slice, long long most_left,
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
    int size = 1;
    while (size < n)
        size *= 2;
    for (int i = n + lane; i < size; i += lanes)
        list[i] = LARGEST;
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

// Calls `take` with the column of every product of the entries of A from `begin` up to `end`, in no order: a warp of the
// team goes through the row of B that an entry names.
template <typename Take>
static __device__ void for_each_column(int lanes, long long begin, long long end, const Idx *__restrict__ a_indices,
                                       const Off *__restrict__ b_offsets, const Idx *__restrict__ b_indices, Take take)
{
    int warps = lanes / WARP;
    for (long long k = begin + threadIdx.x / WARP % warps; k < end; k += warps * WARP) {
        long long own = k + lane_index() * warps;
        long long b_begin = own < end ? b_offsets[a_indices[own]] : 0;
        long long b_end = own < end ? b_offsets[a_indices[own] + 1] : 0;
        int entries = (int)min((long long)WARP, (end - k + warps - 1) / warps);
        for (int entry = 0; entry < entries; entry++) {
            long long last = shuffle(b_end, entry);
            for (long long place = shuffle(b_begin, entry) + lane_index(); place < last; place += WARP)
                take(b_indices[place]);
        }
    }
}

// Exchanges two keys unless they are in order.
static __device__ void exchange(Idx &low, Idx &high, bool ascending)
{
    Idx least = min(low, high);
    Idx greatest = max(low, high);
    low = ascending ? least : greatest;
    high = ascending ? greatest : least;
}

// The last steps of a bitonic network, within the keys of a lane.
static __device__ void merge_own(Idx (&keys)[EACH], bool ascending)
{
#pragma unroll
    for (int step = EACH / 2; step > 0; step /= 2)
#pragma unroll
        for (int pair = 0; pair < EACH / 2; pair++) {
            int low = 2 * pair - (pair & (step - 1));
            exchange(keys[low], keys[low + step], ascending);
        }
}

// Sorts the keys of a team of at most a warp: then each lane has EACH neighbours, the first lane the least.
static __device__ void sort_keys(Idx (&keys)[EACH], int lane, int lanes)
{
#pragma unroll
    for (int run = 2; run < EACH; run *= 2)
#pragma unroll
        for (int step = run / 2; step > 0; step /= 2)
#pragma unroll
            for (int pair = 0; pair < EACH / 2; pair++) {
                int low = 2 * pair - (pair & (step - 1));
                exchange(keys[low], keys[low + step], (low & run) == 0);
            }
    merge_own(keys, (lane & 1) == 0);
    for (int run = 2; run <= lanes; run *= 2) {
        bool ascending = (lane & run) == 0;
        for (int step = run / 2; step > 0; step /= 2) {
            bool takes_least = ((lane & step) == 0) == ascending;
#pragma unroll
            for (int each = 0; each < EACH; each++) {
                Idx other = __shfl_xor_sync(ALL_LANES, keys[each], step);
                keys[each] = takes_least ? min(keys[each], other) : max(keys[each], other);
            }
        }
        merge_own(keys, ascending);
    }
}

// Of a team's n sorted keys, writes those that differ from the one before to `columns`, if there is such; returns how
// many they are.
static __device__ int write_different(const Idx (&keys)[EACH], int n, int lane, int lanes, Idx *columns)
{
    Idx last = __shfl_up_sync(ALL_LANES, keys[EACH - 1], 1, lanes);
    int at = lane * EACH;
    unsigned int is_new = 0;
#pragma unroll
    for (int each = 0; each < EACH; each++) {
        bool differs = each > 0 ? keys[each] != keys[max(each - 1, 0)] : lane == 0 || keys[0] != last;
        is_new |= (unsigned int)(at + each < n && differs) << each;
    }
    int found;
    int before = scan_team(lanes, __popc(is_new), &found);
    if (columns)
#pragma unroll
        for (int each = 0; each < EACH; each++)
            if (is_new >> each & 1)
                columns[before++] = keys[each];
    return found;
}

// `lanes` are at most a warp.
KERNEL spgemm_pattern_sort(long long first, long long end, long long lanes, const long long *__restrict__ order,
                           const Off *__restrict__ a_offsets, const Idx *__restrict__ a_indices,
                           const Off *__restrict__ b_offsets, const Idx *__restrict__ b_indices,
                           const long long *__restrict__ starts, long long *__restrict__ counts,
                           Idx *__restrict__ columns)
{
    let_next_begin();
    __shared__ Idx lists[CAPACITY];
    int width = (int)lanes;
    int lane = threadIdx.x % width;
    Idx *list = lists + threadIdx.x / width * (EACH * width);
    for (long long i = first + team_index(width); any_of_warp(i < end); i += team_count(width)) {
        TeamRow row = row_at(i, end, order, a_offsets);
        int n = 0;
        for (long long k = row.begin; any_of_warp(k < row.end); k += width) {
            Products products = products_from(width, k + lane, row.end, a_indices, b_offsets);
            for (long long p = lane; p < products.count; p += width)
                list[n + p] = column_of(products, width, p, b_indices);
            n += (int)products.count;
        }
        sync_team(width);
        Idx keys[EACH];
#pragma unroll
        for (int each = 0; each < EACH; each++) {
            int at = each * width + lane;
            keys[each] = at < n ? list[at] : LARGEST;
        }
        sort_keys(keys, lane, width);
        int found = write_different(keys, n, lane, width, columns ? columns + starts[row.number] : columns);
        if (counts && row.is_there && lane == 0)
            counts[row.number] = found;
        sync_team(width);
    }
    end_after_last();
}

// Writes the columns whose bits are set in the words of all lanes of a warp, each from `to` on: a lane for each bit of a
// word after the other, so that neighbours write neighbours.
static __device__ void write_together(unsigned int word, long long origin, Idx *to)
{
    for (unsigned int filled = __ballot_sync(ALL_LANES, word != 0); filled; filled &= filled - 1) {
        int from = __ffs(filled) - 1;
        unsigned int its = shuffle(word, from);
        long long its_origin = shuffle(origin, from);
        Idx *its_to = (Idx *)shuffle((unsigned long long)to, from);
        unsigned int bit = 1u << lane_index();
        if (its & bit)
            its_to[__popc(its & (bit - 1))] = (Idx)(its_origin + lane_index());
    }
}

// Writes the columns whose bits are set in the first `used` words of a window, in order, to `columns`, if there is such;
// returns how many they are. Each lane has an odd number of neighbouring words, which lie in all banks of the memory.
static __device__ int write_marked(const unsigned int *window, int used, int lane, int lanes, long long origin,
                                   Idx *columns)
{
    int each = (used + lanes - 1) / lanes | 1;
    unsigned int filled = 0;
    int own = 0;
    for (int k = 0; k < each; k++) {
        int at = lane * each + k;
        unsigned int word = at < used ? window[at] : 0;
        filled |= (unsigned int)(word != 0) << k;
        own += __popc(word);
    }
    int found;
    int before = scan_team(lanes, own, &found);
    if (columns && found > TOGETHER * used)
        for (int k = 0; k < each; k++) {
            int at = lane * each + k;
            unsigned int word = filled >> k & 1 ? window[at] : 0;
            write_together(word, origin + 32 * at, columns + before);
            before += __popc(word);
        }
    else if (columns)
        for (; filled; filled &= filled - 1) {
            int at = lane * each + __ffs(filled) - 1;
            for (unsigned int word = window[at]; word; word &= word - 1)
                columns[before++] = (Idx)(origin + 32 * at + __ffs(word) - 1);
        }
    return found;
}

// `lanes` are at least a warp. A row is taken by as many windows as its span needs.
KERNEL spgemm_pattern_window(long long first, long long end, long long lanes, const long long *__restrict__ order,
                             const Off *__restrict__ a_offsets, const Idx *__restrict__ a_indices,
                             const Off *__restrict__ b_offsets, const Idx *__restrict__ b_indices,
                             const long long *__restrict__ starts, long long *__restrict__ counts,
                             Idx *__restrict__ columns, const long long *__restrict__ origins,
                             const long long *__restrict__ spans)
{
    let_next_begin();
    __shared__ unsigned int words[WORDS * BLOCK];
    int width = (int)lanes;
    int lane = threadIdx.x % width;
    unsigned int *window = words + threadIdx.x / width * (WORDS * width);
    for (long long i = first + team_index(width); i < end; i += team_count(width)) {
        long long row = order[i];
        long long found = 0;
        for (long long from = 0; from < spans[row]; from += 32 * WORDS * width) {
            long long origin = origins[row] + from;
            int span = (int)min(spans[row] - from, 32ll * WORDS * width);
            int used = (span + 31) / 32;
            for (int at = lane; at < used; at += width)
                window[at] = 0;
            sync_team(width);
            auto mark = [&](Idx column) {
                long long at = column - origin;
                if (at >= 0 && at < span)
                    atomicOr(window + at / 32, 1u << at % 32);
            };
            for_each_column(width, a_offsets[row], a_offsets[row + 1], a_indices, b_offsets, b_indices, mark);
            sync_team(width);
            found += write_marked(window, used, lane, width, origin, columns ? columns + starts[row] + found : columns);
            sync_team(width);
        }
        if (counts && lane == 0)
            counts[row] = found;
    }
    end_after_last();
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

// `lanes` are at least a warp, and columns below 2^31; products[i + 1] - products[i] is the number of products of row i.
KERNEL spgemm_pattern_hash(long long first, long long end, long long lanes, const long long *__restrict__ order,
                           const Off *__restrict__ a_offsets, const Idx *__restrict__ a_indices,
                           const Off *__restrict__ b_offsets, const Idx *__restrict__ b_indices,
                           const long long *__restrict__ starts, long long *__restrict__ counts,
                           Idx *__restrict__ columns, const long long *__restrict__ products)
{
    let_next_begin();
    __shared__ int tables[2 * CAPACITY];
    __shared__ Idx lists[CAPACITY];
    int width = (int)lanes;
    int lane = threadIdx.x % width;
    int *table = tables + threadIdx.x / width * (2 * EACH * width);
    Idx *list = lists + threadIdx.x / width * (EACH * width);
    for (long long i = first + team_index(width); i < end; i += team_count(width)) {
        long long row = order[i];
        int most = (int)(products[row + 1] - products[row]);
        int slots = max(2 * width, 1 << (32 - __clz(2 * most - 1)));
        for (int slot = lane; slot < slots; slot += width)
            table[slot] = FREE;
        sync_team(width);
        auto put = [&](Idx column) { insert(table, slots, (int)column); };
        for_each_column(width, a_offsets[row], a_offsets[row + 1], a_indices, b_offsets, b_indices, put);
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
        if (counts && lane == 0)
            counts[row] = found;
        if (columns) {
            sort_first(list, found, lane, width);
            for (int at = lane; at < found; at += width)
                columns[starts[row] + at] = list[at];
        }
        sync_team(width);
    }
    end_after_last();
}

// A block has `words` words of `bitmaps`, which are zeros before and after.
KERNEL spgemm_pattern_bitmap(long long first, long long end, long long lanes, long long cols, long long words,
                             const long long *__restrict__ order, const Off *__restrict__ a_offsets,
                             const Idx *__restrict__ a_indices, const Off *__restrict__ b_offsets,
                             const Idx *__restrict__ b_indices, const long long *__restrict__ starts,
                             long long *__restrict__ counts, Idx *__restrict__ columns,
                             unsigned int *__restrict__ bitmaps)
{
    let_next_begin();
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
            auto compare = [&](long long column) {
                least = column >= from ? min(least, column) : least;
                below = min(below, -column);
            };
            for_each_column(width, a_offsets[row], a_offsets[row + 1], a_indices, b_offsets, b_indices, compare);
            least = min_team(width, least);
            long long greatest = -min_team(width, below);
            long long origin = least - least % 32;
            long long window_end = least < cols ? min(greatest + 1, origin + 32 * words) : origin;
            auto mark = [&](long long column) {
                if (column >= least && column < window_end)
                    atomicOr(bitmap + (column - origin) / 32, 1u << (int)((column - origin) % 32));
            };
            for_each_column(width, a_offsets[row], a_offsets[row + 1], a_indices, b_offsets, b_indices, mark);
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
        if (counts && lane == 0)
            counts[row] = found;
    }
    end_after_last();
}

// slices[i] <- the number of slices of up to `size` elements of the row at place first + i.
KERNEL spgemm_pattern_slices(long long first, long long end, long long size, const long long *__restrict__ order,
                             const Off *__restrict__ offsets, long long *__restrict__ slices)
{
    for (long long i = first + thread_index(); i < end; i += thread_count()) {
        long long row = order[i];
        slices[i - first] = (offsets[row + 1] - offsets[row] + size - 1) / size;
    }
}

// Marks the columns of the rows at places `from` up to `to` in bitmaps of `words` words, one for each of these rows: a
// block takes up to `size` entries of a row of A. `slices` are the numbers of such slices before each row from `first` on.
KERNEL spgemm_pattern_mark(long long first, long long from, long long to, long long lanes, long long size,
                           long long words, const long long *__restrict__ slices,
                           const long long *__restrict__ order, const Off *__restrict__ a_offsets,
                           const Idx *__restrict__ a_indices, const Off *__restrict__ b_offsets,
                           const Idx *__restrict__ b_indices, unsigned int *__restrict__ bitmaps)
{
    let_next_begin();
    for (long long i = slices[from - first] + blockIdx.x; i < slices[to - first]; i += gridDim.x) {
        long long place = count_below(slices, to - first, i + 1) - 1;
        long long row = order[first + place];
        long long begin = a_offsets[row] + (i - slices[place]) * size;
        long long end = min(begin + size, (long long)a_offsets[row + 1]);
        unsigned int *bitmap = bitmaps + (first + place - from) * words;
        auto mark = [&](Idx column) {
            atomicOr(bitmap + column / 32, 1u << column % 32);
        };
        for_each_column((int)lanes, begin, end, a_indices, b_offsets, b_indices, mark);
    }
    end_after_last();
}

// Writes or counts the columns that are marked for the rows at places `from` up to `to`, and clears their bitmaps. A
// block takes a row.
KERNEL spgemm_pattern_collect(long long from, long long to, long long lanes, long long words,
                              const long long *__restrict__ order, const long long *__restrict__ starts, long long *__restrict__ counts,
                              Idx *__restrict__ columns, unsigned int *__restrict__ bitmaps)
{
    let_next_begin();
    for (long long i = from + blockIdx.x; i < to; i += gridDim.x) {
        long long row = order[i];
        unsigned int *bitmap = bitmaps + (i - from) * words;
        long long found = 0;
        for (long long base = 0; base < words; base += WORDS_PER_LANE * lanes) {
            long long at = base + WORDS_PER_LANE * threadIdx.x;
            unsigned int own[WORDS_PER_LANE];
            int count = 0;
#pragma unroll
            for (int word = 0; word < WORDS_PER_LANE; word++) {
                own[word] = at + word < words ? bitmap[at + word] : 0;
                count += __popc(own[word]);
            }
            int all;
            long long at_place = (columns ? starts[row] : 0) + found + scan_team((int)lanes, count, &all);
#pragma unroll
            for (int word = 0; word < WORDS_PER_LANE; word++) {
                if (own[word])
                    bitmap[at + word] = 0;
                if (columns)
                    write_together(own[word], 32 * (at + word), columns + at_place);
                at_place += __popc(own[word]);
            }
            found += all;
        }
        if (counts && threadIdx.x == 0)
            counts[row] = found;
    }
    end_after_last();
}

// Moves columns by threads that are `step` apart.
static __device__ void move_columns(long long n, int thread, int step, const Idx *__restrict__ from, Idx *__restrict__ to)
{
#pragma unroll 4
    for (long long k = thread; k < n; k += step)
        to[k] = from[k];
}

// Moves the columns of rows from where they were found, with room between them, to where they belong. A team takes a
// row; one with more than MOST_MOVED columns a lane, the whole block.
KERNEL spgemm_pattern_compact(long long rows, long long lanes, const long long *__restrict__ found_starts,
                              const long long *__restrict__ starts, const Idx *__restrict__ found,
                              Idx *__restrict__ columns)
{
    int width = (int)lanes;
    int teams = blockDim.x / width;
    for (long long first = (long long)blockIdx.x * teams; first < rows; first += (long long)gridDim.x * teams) {
        long long row = first + threadIdx.x / width;
        long long n = row < rows ? starts[row + 1] - starts[row] : 0;
        bool is_long = n > MOST_MOVED * width;
        if (n > 0 && !is_long)
            move_columns(n, threadIdx.x % width, width, found + found_starts[row], columns + starts[row]);
        if (!__syncthreads_or(is_long))
            continue;
        for (row = first; row < rows && row < first + teams; row++) {
            n = starts[row + 1] - starts[row];
            if (n > MOST_MOVED * width)
                move_columns(n, threadIdx.x, blockDim.x, found + found_starts[row], columns + starts[row]);
        }
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

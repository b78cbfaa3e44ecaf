// spgemm_columns: the columns of rows of C = A B, for compressed rows of A and B, found in registers or shared memory:
// row i of C is the union of the rows of B that the entries of row i of A name. Each kernel that finds rows counts
// their columns, and writes them in order from `starts` on where there are `columns`.
// A team of `lanes` threads takes a row: a part of a warp, a warp or a block; rows come in an order of their sizes,
// `first` up to `end` of it. Its lanes take an entry of A each, and then share the products of these.
// sort: the columns of up to EACH * lanes products, sorted in registers.
// sort_mixed: the same for rows of any lengths up to EACH * WARP products, of which the longer ones are taken
// by neighbouring teams together. Writes the place of each product among the columns of its row, too, if it shall.
// window: a bit for each of 32 * WORDS * lanes neighbouring columns, in shared memory, window after window.
// hash: up to EACH * lanes products, in a table of at least twice as many slots, so that only columns that differ are
// sorted.
// compact: moves the columns of rows together.
// Reads A once and its rows of B once, window once for each window; writes C.
// Macros: IDX, OFF, EACH = 8 (products per lane), WORDS = 31 (words of a window per lane, an odd number), TOGETHER = 4
// (columns for each word from which a warp writes those of a word together), MAX_MOVED = 256 (columns per lane of a
// team that moves a row), BLOCK (lanes of the largest team).   Launch: any number of blocks of 256 threads, `lanes` a
// power of two up to 32 or 256.
// Nagasaka, Nukada, Matsuoka: High-performance and memory-saving sparse general matrix-matrix multiplication for NVIDIA
// Pascal GPU. ICPP (2017). Batcher: Sorting networks and their applications. AFIPS (1968).
#include "grid.cuh"
#include "apart.cuh"
#include "index.cuh"
#include "warp.cuh"
#include "team.cuh"
#include "search.cuh"
#include "products.cuh"
#include "columns.cuh"
#ifndef EACH
#define EACH 8
#endif
#ifndef WORDS
#define WORDS 31
#endif
#ifndef TOGETHER
#define TOGETHER 4
#endif
#ifndef MAX_MOVED
#define MAX_MOVED 256
#endif
#define CAPACITY (EACH * BLOCK)
#define FREE (-1)
#define LARGEST ((Idx)((1ull << (8 * sizeof(Idx) - 1)) - 1))

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

// Of a team's n sorted keys, writes the columns that differ from the one before to `columns`, and the place of each
// product among them to `places`, if there are such; returns how many differ. A key is a column and `shift` bits of the
// product's number.
static __device__ int write_different(const Idx (&keys)[EACH], int n, int shift, int lane, int lanes, Idx *columns,
                                      unsigned char *places)
{
    Idx last = __shfl_up_sync(ALL_LANES, keys[EACH - 1], 1, lanes) >> shift;
    int at = lane * EACH;
    unsigned int is_new = 0;
#pragma unroll
    for (int each = 0; each < EACH; each++) {
        Idx before = each > 0 ? keys[max(each - 1, 0)] >> shift : last;
        bool differs = each == 0 && lane == 0 || keys[each] >> shift != before;
        is_new |= (unsigned int)(at + each < n && differs) << each;
    }
    int found;
    int before = scan_team(lanes, __popc(is_new), &found);
#pragma unroll
    for (int each = 0; each < EACH; each++) {
        if (columns && is_new >> each & 1)
            columns[before] = keys[each] >> shift;
        before += is_new >> each & 1;
        if (places && at + each < n)
            places[keys[each] & ((1 << shift) - 1)] = (unsigned char)(before - 1);
    }
    return found;
}

// A team finds the columns of a row, in a `list` of its own; for `shift` and `places` see write_different.
static __device__ void sort_row(TeamRow row, int width, int shift, Idx *list, const Idx *__restrict__ a_indices,
                                const Off *__restrict__ b_offsets, const Idx *__restrict__ b_indices,
                                const long long *__restrict__ starts, long long *__restrict__ counts,
                                Idx *__restrict__ columns, unsigned char *places)
{
    int lane = threadIdx.x % width;
    int n = 0;
    for (long long k = row.begin; any_of_warp(k < row.end); k += width) {
        Products own = products_from(width, k + lane, row.end, a_indices, b_offsets);
        for (int p = lane; p < own.count; p += width)
            list[n + p] = column_of(own, width, p, b_indices) << shift | (places ? n + p : 0);
        n += (int)own.count;
    }
    sync_team(width);
    Idx keys[EACH];
#pragma unroll
    for (int each = 0; each < EACH; each++) {
        int at = each * width + lane;
        keys[each] = at < n ? list[at] : LARGEST;
    }
    sort_keys(keys, lane, width);
    Idx *to = columns ? columns + starts[row.number] : columns;
    int found = write_different(keys, n, shift, lane, width, to, places);
    if (counts && row.is_there && lane == 0)
        counts[row.number] = found;
    sync_team(width);
}

// `lanes` are at most a warp.
KERNEL spgemm_columns_sort(long long first, long long end, long long lanes, const long long *__restrict__ order,
                           const Off *__restrict__ a_offsets, const Idx *__restrict__ a_indices,
                           const Off *__restrict__ b_offsets, const Idx *__restrict__ b_indices,
                           const long long *__restrict__ starts, long long *__restrict__ counts,
                           Idx *__restrict__ columns)
{
    let_next_begin();
    __shared__ Idx lists[CAPACITY];
    int width = (int)lanes;
    Idx *list = lists + threadIdx.x / width * (EACH * width);
    for (long long i = first + team_index(width); any_of_warp(i < end); i += team_count(width))
        sort_row(row_at(i, end, order, a_offsets), width, 0, list, a_indices, b_offsets, b_indices, starts, counts,
                 columns, nullptr);
    end_after_last();
}

// The same for rows of up to EACH * WARP products, products[i + 1] - products[i] of row i. Where there are `places`,
// places[products[i] + p] <- the place of product p of row i, counted in the order of A's entries, among its columns;
// `shift` bits count the products of a row, and columns have as many bits fewer than Idx.
KERNEL spgemm_columns_sort_mixed(long long first, long long end, long long lanes, long long shift,
                                 const long long *__restrict__ order, const Off *__restrict__ a_offsets,
                                 const Idx *__restrict__ a_indices, const Off *__restrict__ b_offsets,
                                 const Idx *__restrict__ b_indices, const long long *__restrict__ starts,
                                 long long *__restrict__ counts, Idx *__restrict__ columns,
                                 const long long *__restrict__ products, unsigned char *__restrict__ places)
{
    let_next_begin();
    __shared__ Idx lists[CAPACITY];
    int width = (int)lanes;
    auto sort = [&](TeamRow row, int width) {
        Idx *list = lists + threadIdx.x / width * (EACH * width);
        sort_row(row, width, (int)shift, list, a_indices, b_offsets, b_indices, starts, counts, columns,
                 places ? places + products[row.number] : places);
    };
    for (long long i = first + team_index(width); any_of_warp(i < end); i += team_count(width)) {
        long long row = i >= end ? -1 : order ? order[i] : i;
        long long count = row >= 0 ? products[row + 1] - products[row] : 0;
        take_rows(width, i, end, order, a_offsets, lanes_for(count, EACH, width), sort);
    }
    end_after_last();
}

// Writes the columns whose bits are set in the first `used` words of a window, in order, to `columns`, if there is
// such; returns how many they are. Each lane has an odd number of neighbouring words, which lie in all banks of the
// memory.
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

// `lanes` are at least a warp. A row takes one window after the other, until they cover its span.
KERNEL spgemm_columns_window(long long first, long long end, long long lanes, const long long *__restrict__ order,
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

// `lanes` are at least a warp, and columns below 2^31; products[i + 1] - products[i] is the number of products of row
// i.
KERNEL spgemm_columns_hash(long long first, long long end, long long lanes, const long long *__restrict__ order,
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

// Moves columns by threads that are `step` apart.
static __device__ void move_columns(long long n, int thread, int step, const Idx *__restrict__ from, Idx *__restrict__ to)
{
#pragma unroll 4
    for (long long k = thread; k < n; k += step)
        to[k] = from[k];
}

// Moves the columns of rows from the workspace, where there are gaps between rows, to the rows of C. A team takes a
// row; one with more than MAX_MOVED columns a lane, the whole block.
KERNEL spgemm_columns_compact(long long rows, long long lanes, const long long *__restrict__ found_starts,
                              const long long *__restrict__ starts, const Idx *__restrict__ found,
                              Idx *__restrict__ columns)
{
    int width = (int)lanes;
    int teams = blockDim.x / width;
    for (long long first = (long long)blockIdx.x * teams; first < rows; first += (long long)gridDim.x * teams) {
        long long row = first + threadIdx.x / width;
        long long n = row < rows ? starts[row + 1] - starts[row] : 0;
        bool is_long = n > MAX_MOVED * width;
        if (n > 0 && !is_long)
            move_columns(n, threadIdx.x % width, width, found + found_starts[row], columns + starts[row]);
        if (!__syncthreads_or(is_long))
            continue;
        for (row = first; row < rows && row < first + teams; row++) {
            n = starts[row + 1] - starts[row];
            if (n > MAX_MOVED * width)
                move_columns(n, threadIdx.x, blockDim.x, found + found_starts[row], columns + starts[row]);
        }
    }
}

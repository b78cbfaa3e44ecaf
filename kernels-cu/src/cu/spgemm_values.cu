// spgemm_values: the values of C = A B, for compressed rows and a C whose pattern is known, in order and without
// repetitions. Each product finds its sum in shared memory, by halving among the columns of C, or by their bits. Sums are
// added in the order of A's entries, whatever the lanes do.
// spgemm_values: a team of `lanes` threads takes a row of up to EACH * lanes entries: a part of a warp, a warp or a block.
// With `by_entries`, for teams of up to a warp and rows of B without repetitions, the lanes have the products of one entry
// after the other; else they take an entry each, share the products of all, and of those that meet at one sum, the first
// adds, then the next.
// spgemm_values_slices: a block takes one of the slices of a row, SLICE_EACH * BLOCK entries or fewer, and sums the
// products that have its columns, in either way.
// Rows come in an order of their lengths, `first` up to `end` of it. Reads A and its rows of B once for each slice, the
// latter in parts if they are `sorted`; reads the pattern of C and writes its values once.
// Macros: SCALAR, IDX, OFF, EACH = 8, or 4 for sums of 16 bytes (entries of C per lane), SLICE_EACH = 16, 8 or 4 (entries
// of a slice per lane, in 128 bytes), AHEAD = 4 (rows of B that are loaded at once), BLOCK (lanes of a block).   Launch:
// any number of blocks of 256 threads, `lanes` a power of two up to 32 or 256; slices with `lanes` of 256.
// Gustavson: Two fast algorithms for sparse matrices: multiplication and permuted transposition. ACM TOMS (1978).
#include "grid.cuh"
#include "scalar.cuh"
#include "index.cuh"
#include "team.cuh"
#include "search.cuh"
#include "products.cuh"
#ifndef EACH
#define EACH (SCALAR == C64 ? 4 : 8)
#endif
#ifndef AHEAD
#define AHEAD 4
#endif
#define ELEMENT_BYTES (sizeof(ACC) + sizeof(Idx))
#ifndef SLICE_EACH
#define SLICE_EACH (ELEMENT_BYTES <= 8 ? 16 : ELEMENT_BYTES <= 16 ? 8 : 4)
#endif
#define WAITING (4 * BLOCK)
#define NONE BLOCK

// Columns of a slice from `origin` on, a bit for each of 32, and the position of the first of them.
struct Mark
{
    unsigned int bits;
    int position;
};

// A slice of a row of C: its columns in ascending order, or `words` marks where they lie near each other, their sums, and
// the least lane that waits for a sum, in `places` places for all of them, a power of two.
struct Slice
{
    int n;
    Idx *columns;
    ACC *sums;
    int *waiting;
    int places;
    int words;
    Idx origin;
    Mark *marks;
};

// A part of a row of B.
struct Part
{
    long long begin;
    long long end;
};

// The row of B that entry k of A names, without what has no column from `least` up to `greatest` if it `cuts`; nothing
// from `end` on.
static __device__ Part part_of(long long k, long long end, bool cuts, long long least, long long greatest,
                               const Idx *__restrict__ a_indices, const Off *__restrict__ b_offsets,
                               const Idx *__restrict__ b_indices)
{
    if (k >= end)
        return {0, 0};
    Part part = {b_offsets[a_indices[k]], b_offsets[a_indices[k] + 1]};
    if (cuts) {
        part.begin += count_below(b_indices + part.begin, part.end - part.begin, least);
        part.end = part.begin + count_below(b_indices + part.begin, part.end - part.begin, greatest + 1);
    }
    return part;
}

// The position of a column in the slice, or -1.
static __device__ int position_of(const Slice &slice, Idx column)
{
    if (slice.words > 0) {
        bool is_near = column >= slice.origin && column - slice.origin < 32 * slice.words;
        unsigned int offset = is_near ? (unsigned int)(column - slice.origin) : 0;
        Mark mark = slice.marks[offset / 32];
        unsigned int bit = 1u << offset % 32;
        return is_near && mark.bits & bit ? mark.position + __popc(mark.bits & (bit - 1)) : -1;
    }
    int at = count_below(slice.columns, slice.n, column);
    return at < slice.n && slice.columns[at] == column ? at : -1;
}

// Adds the product of each lane with a position to the sum there, those of one sum in the order of the lanes.
static __device__ void add_in_order(const Slice &slice, int lane, int lanes, int at, ACC product)
{
    bool waits = at >= 0;
    int place = at & (slice.places - 1);
    while (any_of_teams(lanes, waits)) {
        if (waits)
            atomicMin(slice.waiting + place, lane);
        sync_team(lanes);
        bool is_first = waits && slice.waiting[place] == lane;
        sync_team(lanes);
        if (is_first) {
            slice.sums[at] += product;
            slice.waiting[place] = NONE;
            waits = false;
        }
    }
}

// Adds the products of the entries of A from `begin` up to `end`, whose rows of B have no column twice: the lanes have
// those of an entry after the other.
static __device__ void add_by_entries(const Slice &slice, int lane, int lanes, long long begin, long long end,
                                      const Idx *__restrict__ a_indices, const T *__restrict__ a_values,
                                      const Off *__restrict__ b_offsets, const Idx *__restrict__ b_indices,
                                      const T *__restrict__ b_values)
{
    // Nobody waits for a sum here.
    Part *parts = (Part *)slice.waiting;
    for (long long k = begin; any_of_warp(k < end); k += lanes) {
        int entries = (int)max(0ll, min((long long)lanes, end - k));
        parts[lane] = part_of(k + lane, end, false, 0, 0, a_indices, b_offsets, b_indices);
        sync_team(lanes);
        for (int first = 0; any_of_warp(first < entries); first += AHEAD) {
            long long places[AHEAD];
            long long stops[AHEAD];
            Idx columns[AHEAD];
            ACC values[AHEAD];
#pragma unroll
            for (int ahead = 0; ahead < AHEAD; ahead++) {
                bool is_there = first + ahead < entries;
                places[ahead] = is_there ? parts[first + ahead].begin + lane : 0;
                stops[ahead] = is_there ? parts[first + ahead].end : 0;
                if (places[ahead] < stops[ahead]) {
                    columns[ahead] = b_indices[places[ahead]];
                    values[ahead] = load(b_values, places[ahead]);
                }
            }
#pragma unroll
            for (int ahead = 0; ahead < AHEAD; ahead++) {
                for (long long place = places[ahead]; place < stops[ahead]; place += lanes) {
                    bool is_loaded = place == places[ahead];
                    int at = position_of(slice, is_loaded ? columns[ahead] : b_indices[place]);
                    ACC value = is_loaded ? values[ahead] : load(b_values, place);
                    if (at >= 0)
                        slice.sums[at] += mul(load(a_values, k + first + ahead), value);
                }
                sync_team(lanes);
            }
        }
    }
}

// Adds the products of the entries of A from `begin` up to `end`: the lanes share those of as many entries as they are.
static __device__ void add_by_products(const Slice &slice, int lane, int lanes, bool cuts, long long least,
                                       long long greatest, long long begin, long long end, const Idx *__restrict__ a_indices,
                                       const T *__restrict__ a_values, const Off *__restrict__ b_offsets,
                                       const Idx *__restrict__ b_indices, const T *__restrict__ b_values)
{
    for (long long k = begin; any_of_warp(k < end); k += lanes) {
        Part part = part_of(k + lane, end, cuts, least, greatest, a_indices, b_offsets, b_indices);
        Products products = products_of(lanes, part.begin, part.end - part.begin);
        for (long long base = 0; any_of_warp(base < products.count); base += lanes) {
            int at = -1;
            ACC product = ACC(0);
            if (base + lane < products.count) {
                int owner = owner_of(products, lanes, base + lane);
                long long place = products.origins[owner] + base + lane;
                at = position_of(slice, b_indices[place]);
                product = mul(load(a_values, k + owner), load(b_values, place));
            }
            add_in_order(slice, lane, lanes, at, product);
        }
    }
}

KERNEL spgemm_values(long long first, long long end, long long lanes, long long by_entries,
                     const long long *__restrict__ order, const Off *__restrict__ a_offsets,
                     const Idx *__restrict__ a_indices, const T *__restrict__ a_values,
                     const Off *__restrict__ b_offsets, const Idx *__restrict__ b_indices,
                     const T *__restrict__ b_values, const Off *__restrict__ c_offsets,
                     const Idx *__restrict__ c_indices, T *__restrict__ c_values)
{
    __shared__ Idx columns[EACH * BLOCK];
    __shared__ ACC sums[EACH * BLOCK];
    __shared__ __align__(16) int waiting[EACH * BLOCK];
    int width = (int)lanes;
    int lane = threadIdx.x % width;
    int capacity = EACH * width;
    int own = threadIdx.x / width * capacity;
    for (long long i = first + team_index(width); any_of_warp(i < end); i += team_count(width)) {
        TeamRow row = row_at(i, end, order, a_offsets);
        long long begin = row.is_there ? (long long)c_offsets[row.number] : 0;
        int n = row.is_there ? (int)(c_offsets[row.number + 1] - begin) : 0;
        if (width >= WARP && n == 0)
            continue;
        Slice slice = {n, columns + own, sums + own, waiting + own, capacity, 0, 0, nullptr};
        for (int at = lane; at < n; at += width) {
            slice.columns[at] = c_indices[begin + at];
            slice.sums[at] = ACC(0);
            slice.waiting[at] = NONE;
        }
        sync_team(width);
        if (by_entries)
            add_by_entries(slice, lane, width, row.begin, row.end, a_indices, a_values, b_offsets, b_indices, b_values);
        else
            add_by_products(slice, lane, width, false, 0, 0, row.begin, row.end, a_indices, a_values, b_offsets,
                            b_indices, b_values);
        for (int at = lane; at < n; at += width)
            store(c_values, begin + at, slice.sums[at]);
        sync_team(width);
    }
}

// The columns of a slice, n of them from `columns` on, as marks if there is memory for so many, else as a list.
static __device__ void set_columns(Slice &slice, int capacity, int lane, int lanes, const Idx *__restrict__ columns)
{
    slice.origin = columns[0] - columns[0] % 32;
    long long words = (columns[slice.n - 1] - slice.origin) / 32 + 1;
    slice.words = words * sizeof(Mark) <= capacity * sizeof(Idx) ? (int)words : 0;
    for (int at = lane; at < slice.words; at += lanes)
        slice.marks[at].bits = 0;
    sync_team(lanes);
    for (int at = lane; at < slice.n; at += lanes) {
        long long bit = columns[at] - slice.origin;
        if (slice.words == 0) {
            slice.columns[at] = columns[at];
        } else {
            atomicOr(&slice.marks[bit / 32].bits, 1u << bit % 32);
            if (at == 0 || (columns[at - 1] - slice.origin) / 32 != bit / 32)
                slice.marks[bit / 32].position = at;
        }
    }
}

// Adds the products of the entries of A from `begin` up to `end`, whose rows of B have no column twice: the lanes of a
// block have those of one entry after the other, without entries that have none.
static __device__ void add_by_parts(const Slice &slice, int lane, int lanes, bool cuts, long long least,
                                    long long greatest, long long begin, long long end,
                                    const Idx *__restrict__ a_indices, const T *__restrict__ a_values,
                                    const Off *__restrict__ b_offsets, const Idx *__restrict__ b_indices,
                                    const T *__restrict__ b_values)
{
    __shared__ Part parts[BLOCK];
    __shared__ ACC factors[BLOCK];
    for (long long k = begin; k < end; k += lanes) {
        Part own = part_of(k + lane, end, cuts, least, greatest, a_indices, b_offsets, b_indices);
        int count;
        int before = scan_team(lanes, (int)(own.begin < own.end), &count);
        if (own.begin < own.end) {
            parts[before] = own;
            factors[before] = load(a_values, k + lane);
        }
        sync_team(lanes);
        for (int first = 0; first < count; first += AHEAD) {
            long long places[AHEAD];
            long long stops[AHEAD];
            int at[AHEAD];
            ACC products[AHEAD];
#pragma unroll
            for (int ahead = 0; ahead < AHEAD; ahead++) {
                bool is_there = first + ahead < count;
                places[ahead] = is_there ? parts[first + ahead].begin + lane : 0;
                stops[ahead] = is_there ? parts[first + ahead].end : 0;
                at[ahead] = -1;
                if (places[ahead] < stops[ahead]) {
                    at[ahead] = position_of(slice, b_indices[places[ahead]]);
                    products[ahead] = mul(factors[first + ahead], load(b_values, places[ahead]));
                }
            }
#pragma unroll
            for (int ahead = 0; ahead < AHEAD; ahead++) {
                if (at[ahead] >= 0)
                    slice.sums[at[ahead]] += products[ahead];
                for (long long place = places[ahead] + lanes; place < stops[ahead]; place += lanes) {
                    int next = position_of(slice, b_indices[place]);
                    if (next >= 0)
                        slice.sums[next] += mul(factors[first + ahead], load(b_values, place));
                }
                sync_team(lanes);
            }
        }
    }
}

// `slices` are the numbers of slices before each row from `first` on, and of all. A block is a team.
KERNEL spgemm_values_slices(long long first, long long end, long long lanes, long long sorted, long long by_entries,
                            const long long *__restrict__ slices, const long long *__restrict__ order,
                            const Off *__restrict__ a_offsets, const Idx *__restrict__ a_indices,
                            const T *__restrict__ a_values, const Off *__restrict__ b_offsets,
                            const Idx *__restrict__ b_indices, const T *__restrict__ b_values,
                            const Off *__restrict__ c_offsets, const Idx *__restrict__ c_indices,
                            T *__restrict__ c_values)
{
    __shared__ __align__(8) Idx columns[SLICE_EACH * BLOCK];
    __shared__ ACC sums[SLICE_EACH * BLOCK];
    __shared__ int waiting[WAITING];
    int width = (int)lanes;
    int lane = threadIdx.x;
    int capacity = SLICE_EACH * width;
    for (int place = lane; place < WAITING; place += width)
        waiting[place] = NONE;
    for (long long i = blockIdx.x; i < slices[end - first]; i += gridDim.x) {
        long long place = count_below(slices, end - first, i + 1) - 1;
        long long row = order[first + place];
        long long begin = c_offsets[row] + (i - slices[place]) * capacity;
        int n = (int)min(c_offsets[row + 1] - begin, (long long)capacity);
        Slice slice = {n, columns, sums, waiting, WAITING, 0, 0, (Mark *)columns};
        set_columns(slice, capacity, lane, width, c_indices + begin);
        for (int at = lane; at < n; at += width)
            slice.sums[at] = ACC(0);
        sync_team(width);
        bool cuts = sorted && slices[place + 1] - slices[place] > 1;
        long long least = c_indices[begin];
        long long greatest = c_indices[begin + n - 1];
        if (by_entries)
            add_by_parts(slice, lane, width, cuts, least, greatest, a_offsets[row], a_offsets[row + 1], a_indices,
                             a_values, b_offsets, b_indices, b_values);
        else
            add_by_products(slice, lane, width, cuts, least, greatest, a_offsets[row], a_offsets[row + 1], a_indices,
                            a_values, b_offsets, b_indices, b_values);
        for (int at = lane; at < n; at += width)
            store(c_values, begin + at, slice.sums[at]);
        sync_team(width);
    }
}

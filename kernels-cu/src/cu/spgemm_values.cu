// spgemm_values: the values of C = A B, for compressed rows and a C whose pattern is known, in order and without
// repetitions. Each product finds its sum in shared memory, by halving among the columns of C, or by their bits. Sums are
// added in the order of A's entries, whatever the lanes do.
// spgemm_values: a team of `lanes` threads takes a row of up to EACH * lanes entries: a part of a warp, or a warp. With
// `by_entries`, for rows of B without repetitions, the lanes have the products of one entry after the other; else they take
// an entry each, share the products of all, and of those that meet at one sum, the first adds, then the next.
// spgemm_values_slices: a block takes one of the slices of a row, SLICE_EACH * BLOCK entries or fewer, and shares the
// products that have its columns, as above. From where on more than MAX_TURNS lanes meet at one sum, warps add in turn, and
// the first of the lanes of a warp that meet adds the products of all.
// spgemm_values_parts: as spgemm_values_slices, for rows of B without repetitions, of which the block has the products of
// one entry after the other.
// Rows come in an order of their lengths, `first` up to `end` of it. Reads A and its rows of B once for each slice, the
// latter in parts if they are `sorted`; reads the pattern of C and writes its values once.
// Macros: SCALAR, IDX, OFF, EACH = 8, or 4 for sums of 16 bytes (entries of C per lane), SLICE_EACH = 16, 8 or 4 (entries
// of a slice per lane, in 128 bytes), AHEAD = 4 (rows of B that are loaded at once), MAX_TURNS = 3 (turns of lanes before
// those of warps), BLOCK (lanes of a block).   Launch: any number of blocks of 256 threads, `lanes` a power of two up to 32;
// slices and parts with `lanes` of 256.
// Gustavson: Two fast algorithms for sparse matrices: multiplication and permuted transposition. ACM TOMS (1978).
#include "grid.cuh"
#include "apart.cuh"
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
#ifndef MAX_TURNS
#define MAX_TURNS 3
#endif
// Places for sums of a slice whose products lanes wait to add.
#define PLACES ((SLICE_EACH < 8 ? SLICE_EACH : 8) * BLOCK)
#define NONE BLOCK

// Columns of a slice from `origin` on, a bit for each of 32, and the position of the first of them.
struct Mark
{
    unsigned int bits;
    int position;
};

// A slice of a row of C: its columns in ascending order, or `words` marks where they lie near each other, and their sums.
struct Slice
{
    int n;
    Idx *columns;
    ACC *sums;
    int words;
    Idx origin;
    Mark *marks;
};

// The columns of the products that a slice has: all of a row of B, or if it `cuts`, those from `least` up to `greatest`.
struct Cut
{
    bool cuts;
    long long least;
    long long greatest;
};

// A part of a row of B.
struct Part
{
    long long begin;
    long long end;
};

// The row of B that entry k of A names, without what is not of the cut; nothing from `end` on.
static __device__ Part part_of(long long k, long long end, Cut cut, const Idx *__restrict__ a_indices,
                               const Off *__restrict__ b_offsets, const Idx *__restrict__ b_indices)
{
    if (k >= end)
        return {0, 0};
    Part part = {b_offsets[a_indices[k]], b_offsets[a_indices[k] + 1]};
    if (cut.cuts) {
        part.begin += count_below(b_indices + part.begin, part.end - part.begin, cut.least);
        part.end = part.begin + count_below(b_indices + part.begin, part.end - part.begin, cut.greatest + 1);
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

// Lets all that wait at a place `add`, of each place the one with the least number first, turn after turn. True for the
// whole team if some wait after `most` turns.
template <typename Add>
static __device__ bool take_turns(int *place, int number, int lanes, int most, bool &waits, Add add)
{
    for (int turn = 0; any_of_teams(lanes, waits); turn++) {
        if (turn == most)
            return true;
        if (waits)
            atomicMin(place, number);
        sync_team(lanes);
        bool is_first = waits && *place == number;
        sync_team(lanes);
        if (is_first) {
            add();
            *place = NONE;
            waits = false;
        }
    }
    return false;
}

// Adds a product to its sum.
static __device__ void add_product(const Slice &slice, int at, ACC product)
{
    slice.sums[at] += product;
}

// Adds the product of each lane that waits to its sum, by the warps of a block in turn: of the lanes of a warp that meet at
// one sum, the first adds all products.
static __device__ void add_by_warps(const Slice &slice, int *place, ACC *products, int lanes, bool waits, int at,
                                    ACC product)
{
    products[lane_index()] = product;
    __syncwarp();
    unsigned int meeting = __match_any_sync(ALL_LANES, waits ? at : -1);
    waits = waits && lane_index() == __ffs(meeting) - 1;
    take_turns(place, threadIdx.x / WARP, lanes, BLOCK, waits, [&]() {
        for (; meeting; meeting &= meeting - 1)
            slice.sums[at] += products[__ffs(meeting) - 1];
    });
    __syncwarp();
}

// Adds the products of the entries of A from `begin` up to `end`, whose rows of B have no column twice: the lanes have
// those of an entry after the other.
static __device__ void add_by_entries(const Slice &slice, Part *parts, int lane, int lanes, long long begin,
                                      long long end, const Idx *__restrict__ a_indices,
                                      const T *__restrict__ a_values, const Off *__restrict__ b_offsets,
                                      const Idx *__restrict__ b_indices, const T *__restrict__ b_values)
{
    for (long long k = begin; any_of_warp(k < end); k += lanes) {
        int entries = (int)max(0ll, min((long long)lanes, end - k));
        parts[lane] = part_of(k + lane, end, Cut{false, 0, 0}, a_indices, b_offsets, b_indices);
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

// Adds the products of the entries of A from `begin` up to `end`: the lanes share those of as many entries as they are,
// and `add` them.
template <typename Add>
static __device__ void add_by_products(const Slice &slice, int lane, int lanes, Cut cut, long long begin, long long end,
                                       const Idx *__restrict__ a_indices, const T *__restrict__ a_values,
                                       const Off *__restrict__ b_offsets, const Idx *__restrict__ b_indices,
                                       const T *__restrict__ b_values, Add add)
{
    for (long long k = begin; any_of_warp(k < end); k += lanes) {
        Part part = part_of(k + lane, end, cut, a_indices, b_offsets, b_indices);
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
            add(at, product);
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
    let_next_begin();
    int width = (int)lanes;
    int lane = threadIdx.x % width;
    int own = threadIdx.x / width * (EACH * width);
    for (long long i = first + team_index(width); any_of_warp(i < end); i += team_count(width)) {
        TeamRow row = row_at(i, end, order, a_offsets);
        long long begin = row.is_there ? (long long)c_offsets[row.number] : 0;
        int n = row.is_there ? (int)(c_offsets[row.number + 1] - begin) : 0;
        if (width == WARP && n == 0)
            continue;
        Slice slice = {n, columns + own, sums + own, 0, 0, nullptr};
        for (int at = lane; at < n; at += width) {
            slice.columns[at] = c_indices[begin + at];
            slice.sums[at] = ACC(0);
            waiting[own + at] = NONE;
        }
        __syncwarp();
        if (by_entries)
            // Nobody waits for a sum.
            add_by_entries(slice, (Part *)(waiting + own), lane, width, row.begin, row.end, a_indices, a_values,
                           b_offsets, b_indices, b_values);
        else
            add_by_products(slice, lane, width, Cut{false, 0, 0}, row.begin, row.end, a_indices, a_values, b_offsets,
                            b_indices, b_values,
                            [&](int at, ACC product) {
                                bool waits = at >= 0;
                                take_turns(waiting + own + max(at, 0), lane, width, width, waits,
                                           [&]() { add_product(slice, at, product); });
                            });
        for (int at = lane; at < n; at += width)
            store(c_values, begin + at, slice.sums[at]);
        __syncwarp();
    }
    end_after_last();
}

// The n columns of a slice, from `columns` on: as marks if there is memory for their span, else as a list.
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
static __device__ void add_by_parts(const Slice &slice, int lane, int lanes, Cut cut, long long begin, long long end,
                                    const Idx *__restrict__ a_indices, const T *__restrict__ a_values,
                                    const Off *__restrict__ b_offsets, const Idx *__restrict__ b_indices,
                                    const T *__restrict__ b_values)
{
    __shared__ Part parts[BLOCK];
    __shared__ ACC factors[BLOCK];
    for (long long k = begin; k < end; k += lanes) {
        Part own = part_of(k + lane, end, cut, a_indices, b_offsets, b_indices);
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

// Writes the sums of all slices of the rows at places `first` up to `end`, to which `add` adds the products of entries of
// A. `slices` are the numbers of slices before each row from `first` on, and of all; those of a row are about as long. A
// block is a team.
template <typename Add>
static __device__ void sum_slices(long long first, long long end, int lanes, bool sorted,
                                  const long long *__restrict__ slices, const long long *__restrict__ order,
                                  const Off *__restrict__ a_offsets, const Off *__restrict__ c_offsets,
                                  const Idx *__restrict__ c_indices, T *__restrict__ c_values, Add add)
{
    __shared__ __align__(8) Idx columns[SLICE_EACH * BLOCK];
    __shared__ ACC sums[SLICE_EACH * BLOCK];
    int lane = threadIdx.x;
    for (long long i = blockIdx.x; i < slices[end - first]; i += gridDim.x) {
        // Rows of a slice each need no search.
        bool are_single = slices[end - first] == end - first;
        long long place = are_single ? i : count_below(slices, end - first, i + 1) - 1;
        long long row = order[first + place];
        long long count = slices[place + 1] - slices[place];
        long long of_row = c_offsets[row + 1] - c_offsets[row];
        long long begin = c_offsets[row] + of_row * (i - slices[place]) / count;
        int n = (int)(c_offsets[row] + of_row * (i - slices[place] + 1) / count - begin);
        Slice slice = {n, columns, sums, 0, 0, (Mark *)columns};
        set_columns(slice, SLICE_EACH * lanes, lane, lanes, c_indices + begin);
        for (int at = lane; at < n; at += lanes)
            slice.sums[at] = ACC(0);
        sync_team(lanes);
        Cut cut = {sorted && count > 1, c_indices[begin], c_indices[begin + n - 1]};
        add(slice, cut, a_offsets[row], a_offsets[row + 1]);
        sync_team(lanes);
        for (int at = lane; at < n; at += lanes)
            store(c_values, begin + at, slice.sums[at]);
        sync_team(lanes);
    }
}

KERNEL spgemm_values_slices(long long first, long long end, long long lanes, long long sorted,
                            const long long *__restrict__ slices, const long long *__restrict__ order,
                            const Off *__restrict__ a_offsets, const Idx *__restrict__ a_indices,
                            const T *__restrict__ a_values, const Off *__restrict__ b_offsets,
                            const Idx *__restrict__ b_indices, const T *__restrict__ b_values,
                            const Off *__restrict__ c_offsets, const Idx *__restrict__ c_indices,
                            T *__restrict__ c_values)
{
    __shared__ int waiting[PLACES];
    __shared__ ACC products[BLOCK];
    let_next_begin();
    int width = (int)lanes;
    int lane = threadIdx.x;
    for (int place = lane; place < PLACES; place += width)
        waiting[place] = NONE;
    sum_slices(first, end, width, sorted, slices, order, a_offsets, c_offsets, c_indices, c_values,
               [&](const Slice &slice, Cut cut, long long a_begin, long long a_end) {
                   // True from where on more lanes meet.
                   bool many_meet = false;
                   auto add = [&](int at, ACC product) {
                       bool waits = at >= 0;
                       int *place = waiting + (unsigned int)at % PLACES;
                       auto add_own = [&]() { add_product(slice, at, product); };
                       many_meet = many_meet || take_turns(place, lane, width, MAX_TURNS, waits, add_own);
                       if (many_meet)
                           add_by_warps(slice, place, products + lane / WARP * WARP, width, waits, at, product);
                   };
                   add_by_products(slice, lane, width, cut, a_begin, a_end, a_indices, a_values, b_offsets, b_indices,
                                   b_values, add);
               });
    end_after_last();
}

KERNEL spgemm_values_parts(long long first, long long end, long long lanes, long long sorted,
                           const long long *__restrict__ slices, const long long *__restrict__ order,
                           const Off *__restrict__ a_offsets, const Idx *__restrict__ a_indices,
                           const T *__restrict__ a_values, const Off *__restrict__ b_offsets,
                           const Idx *__restrict__ b_indices, const T *__restrict__ b_values,
                           const Off *__restrict__ c_offsets, const Idx *__restrict__ c_indices,
                           T *__restrict__ c_values)
{
    let_next_begin();
    int width = (int)lanes;
    sum_slices(first, end, width, sorted, slices, order, a_offsets, c_offsets, c_indices, c_values,
               [&](const Slice &slice, Cut cut, long long a_begin, long long a_end) {
                   add_by_parts(slice, threadIdx.x, width, cut, a_begin, a_end, a_indices, a_values, b_offsets,
                                b_indices, b_values);
               });
    end_after_last();
}

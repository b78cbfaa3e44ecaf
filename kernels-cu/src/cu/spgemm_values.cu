// spgemm_values: the values of C = A B, for compressed rows and a C whose pattern is known, in order and without
// repetitions.
// A team of `lanes` threads takes a row: a part of a warp, a warp or a block; rows come in an order of their lengths,
// `first` up to `end` of it. Rows of more than EACH * lanes entries are cut into up to `slices` slices of so many, each of
// which a team sums from the products that have its columns. Each product finds its sum, in shared memory, by halving
// among the columns of the slice. Sums are added in the order of A's entries, whatever the lanes do: with `by_entries`,
// for teams of up to a warp and rows of B without repetitions, the lanes have the products of one entry after the other;
// else they take an entry each, share the products of all, and of those that meet at one sum, the first adds, then the
// next. Reads A and its rows of B once for each slice, the latter in parts if they are `sorted`; reads the pattern of C
// and writes its values once.
// Macros: SCALAR, IDX, OFF, EACH = 8, or 4 for sums of 16 bytes (entries of C per lane), AHEAD = 4 (rows of B that are
// loaded at once), BLOCK (the largest team).   Launch: any number of blocks of 256 threads, `lanes` a power of two up to
// 32 or 256.
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
#define CAPACITY (EACH * BLOCK)
#define NONE BLOCK

// A slice of a row of C: its columns in ascending order, their sums, and for each sum the least lane that waits for it.
struct Slice {
    int n;
    Idx *columns;
    ACC *sums;
    int *waiting;
};

// A part of a row of B.
struct Part
{
    long long begin;
    long long end;
};

// The row of B that entry k of A names, without what has no column of the slice if it is cut; nothing from `end` on.
static __device__ Part part_of(long long k, long long end, bool cuts, const Slice &slice,
                               const Idx *__restrict__ a_indices, const Off *__restrict__ b_offsets,
                               const Idx *__restrict__ b_indices)
{
    if (k >= end)
        return {0, 0};
    Part part = {b_offsets[a_indices[k]], b_offsets[a_indices[k] + 1]};
    if (cuts) {
        part.begin += count_below(b_indices + part.begin, part.end - part.begin, slice.columns[0]);
        part.end = part.begin + count_below(b_indices + part.begin, part.end - part.begin,
                                            (long long)slice.columns[slice.n - 1] + 1);
    }
    return part;
}

// The position of a column in the slice, or -1.
static __device__ int position_of(const Slice &slice, Idx column)
{
    int at = count_below(slice.columns, slice.n, column);
    return at < slice.n && slice.columns[at] == column ? at : -1;
}

// Adds the product of each lane with a position to the sum there, those of one sum in the order of the lanes.
static __device__ void add_in_order(const Slice &slice, int lane, int lanes, int at, ACC product)
{
    bool waits = at >= 0;
    while (any_of_teams(lanes, waits)) {
        if (waits)
            atomicMin(slice.waiting + at, lane);
        sync_team(lanes);
        bool is_first = waits && slice.waiting[at] == lane;
        sync_team(lanes);
        if (is_first) {
            slice.sums[at] += product;
            slice.waiting[at] = NONE;
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
        parts[lane] = part_of(k + lane, end, false, slice, a_indices, b_offsets, b_indices);
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
static __device__ void add_by_products(const Slice &slice, int lane, int lanes, bool cuts, long long begin,
                                       long long end, const Idx *__restrict__ a_indices,
                                       const T *__restrict__ a_values, const Off *__restrict__ b_offsets,
                                       const Idx *__restrict__ b_indices, const T *__restrict__ b_values)
{
    for (long long k = begin; any_of_warp(k < end); k += lanes) {
        Part part = part_of(k + lane, end, cuts, slice, a_indices, b_offsets, b_indices);
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

KERNEL spgemm_values(long long first, long long end, long long lanes, long long slices, long long sorted,
                     long long by_entries, const long long *__restrict__ order, const Off *__restrict__ a_offsets,
                     const Idx *__restrict__ a_indices, const T *__restrict__ a_values,
                     const Off *__restrict__ b_offsets, const Idx *__restrict__ b_indices,
                     const T *__restrict__ b_values, const Off *__restrict__ c_offsets,
                     const Idx *__restrict__ c_indices, T *__restrict__ c_values)
{
    __shared__ Idx columns[CAPACITY];
    __shared__ ACC sums[CAPACITY];
    __shared__ __align__(16) int waiting[CAPACITY];
    int width = (int)lanes;
    int lane = threadIdx.x % width;
    int capacity = EACH * width;
    int own = threadIdx.x / width * capacity;
    for (long long i = team_index(width); any_of_warp(i < (end - first) * slices); i += team_count(width)) {
        TeamRow row = row_at(first + i / slices, end, order, a_offsets);
        long long begin = c_offsets[row.number] + i % slices * capacity;
        long long n = row.is_there ? min(c_offsets[row.number + 1] - begin, (long long)capacity) : 0;
        Slice slice = {(int)n, columns + own, sums + own, waiting + own};
        if (width >= WARP && n <= 0)
            continue;
        for (int at = lane; at < slice.n; at += width) {
            slice.columns[at] = c_indices[begin + at];
            slice.sums[at] = ACC(0);
            slice.waiting[at] = NONE;
        }
        sync_team(width);
        if (by_entries)
            add_by_entries(slice, lane, width, row.begin, row.end, a_indices, a_values, b_offsets, b_indices,
                           b_values);
        else
            add_by_products(slice, lane, width, slices > 1 && sorted, row.begin, row.end, a_indices, a_values,
                            b_offsets, b_indices, b_values);
        for (int at = lane; at < slice.n; at += width)
            store(c_values, begin + at, slice.sums[at]);
        sync_team(width);
    }
}

// spgemm_values: the values of C = A B, for compressed rows and a C whose pattern is known, in order and without
// repetitions.
// A team of `lanes` threads takes a row: a part of a warp, a warp or a block; rows come in an order of their lengths,
// `first` up to `end` of it. Rows of more than EACH * lanes entries are cut into up to `slices` slices of so many, each of
// which a team sums from the products that have its columns. The lanes take an entry of A each, and then share the
// products of these. Each product finds its sum, in shared memory, by halving among the columns of the slice; of those
// that meet at one sum, the first adds, then the next. So sums are added in the order of A's entries, whatever the lanes
// do. Reads A and its rows of B once for each slice, the latter in parts if they are `sorted`; reads the pattern of C and
// writes its values once.
// Macros: SCALAR, IDX, OFF, EACH = 8, or 4 for sums of 16 bytes (entries of C per lane), BLOCK (the largest
// team).   Launch: any number of blocks of 256 threads, `lanes` a power of two up to 32 or 256.
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
#define CAPACITY (EACH * BLOCK)
#define NONE BLOCK

// A slice of a row of C: its columns in ascending order, their sums, and for each sum the least lane that waits for it.
struct Slice {
    int n;
    Idx *columns;
    ACC *sums;
    int *waiting;
};

// The products of the entries that the lanes have, those of `k` before `end`, with columns of the slice if rows of B are
// cut.
static __device__ Products products_from(int lanes, long long k, long long end, bool cuts, const Slice &slice,
                                         const Idx *__restrict__ a_indices, const Off *__restrict__ b_offsets,
                                         const Idx *__restrict__ b_indices)
{
    long long begin = k < end ? b_offsets[a_indices[k]] : 0;
    long long length = k < end ? b_offsets[a_indices[k] + 1] - begin : 0;
    if (cuts) {
        long long before = count_below(b_indices + begin, length, slice.columns[0]);
        length = count_below(b_indices + begin, length, (long long)slice.columns[slice.n - 1] + 1) - before;
        begin += before;
    }
    return products_of(lanes, begin, length);
}

// Adds the product of each lane that has one to the sum at `at`, those of one sum in the order of the lanes.
static __device__ void add_in_order(const Slice &slice, int lane, int lanes, bool has_product, int at, ACC product)
{
    bool waits = has_product;
    while (any_of_team(lanes, waits)) {
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

KERNEL spgemm_values(long long first, long long end, long long lanes, long long slices, long long sorted,
                     const long long *__restrict__ order, const Off *__restrict__ a_offsets,
                     const Idx *__restrict__ a_indices, const T *__restrict__ a_values,
                     const Off *__restrict__ b_offsets, const Idx *__restrict__ b_indices,
                     const T *__restrict__ b_values, const Off *__restrict__ c_offsets,
                     const Idx *__restrict__ c_indices, T *__restrict__ c_values)
{
    __shared__ Idx columns[CAPACITY];
    __shared__ ACC sums[CAPACITY];
    __shared__ int waiting[CAPACITY];
    int width = (int)lanes;
    int lane = threadIdx.x % width;
    int own = threadIdx.x / width * (EACH * width);
    for (long long i = team_index(width); i < (end - first) * slices; i += team_count(width)) {
        long long row = order[first + i / slices];
        long long begin = c_offsets[row] + i % slices * (EACH * width);
        Slice slice = {(int)min(c_offsets[row + 1] - begin, (long long)(EACH * width)), columns + own, sums + own,
                       waiting + own};
        if (slice.n <= 0)
            continue;
        for (int at = lane; at < slice.n; at += width) {
            slice.columns[at] = c_indices[begin + at];
            slice.sums[at] = ACC(0);
            slice.waiting[at] = NONE;
        }
        sync_team(width);
        for (long long k = a_offsets[row]; k < a_offsets[row + 1]; k += width) {
            Products products = products_from(width, k + lane, a_offsets[row + 1], slices > 1 && sorted, slice,
                                              a_indices, b_offsets, b_indices);
            for (long long base = 0; base < products.count; base += width) {
                bool has_product = base + lane < products.count;
                int at = 0;
                ACC product = ACC(0);
                if (has_product) {
                    int owner = owner_of(products, width, base + lane);
                    long long place = products.origins[owner] + base + lane;
                    at = (int)count_below(slice.columns, slice.n, b_indices[place]);
                    product = mul(load(a_values, k + owner), load(b_values, place));
                    has_product = at < slice.n && slice.columns[at] == b_indices[place];
                }
                add_in_order(slice, lane, width, has_product, at, product);
            }
        }
        for (int at = lane; at < slice.n; at += width)
            store(c_values, begin + at, slice.sums[at]);
        sync_team(width);
    }
}

// merge_rows: C <- alpha A + beta B, or (alpha A) o (beta B), for compressed rows, sorted and without a column twice.
// The entries of A and of B and the ends of rows are merged to one path: a step takes an entry of A, an entry of B, or
// the end of a row, in the order of rows and columns, with A's entry first where both have one.
// One block per tile of TILE = ITEMS * BLOCK steps, whatever the lengths of rows. Reads offsets and columns twice, to
// count and to fill, values once; writes C once, three words per tile, and one per thread.
// Macros: SCALAR, IDX, OFF, BLOCK (a power of two, a multiple of 32), ITEMS = 10 (steps per thread).   Launch: any number
// of blocks of BLOCK threads; search any number of blocks of up to 256 threads.
// Green, McColl, Bader: GPU merge path: a GPU merging algorithm. ICS (2012).
#include "grid.cuh"
#include "scalar.cuh"
#include "index.cuh"
#include "rounded.cuh"
#include "multiply.cuh"
#include "warp.cuh"
#include "block.cuh"
#ifndef ITEMS
#define ITEMS 10
#endif
#define TILE (BLOCK * ITEMS)
// An element of C is an entry of A and one of B, each of 16 bits, NONE where there is none.
#define NONE 0xffffu

// The entries of A among the first `step` of a row's entries of both.
template <typename N>
static __device__ N a_before(N step, const Idx *a_indices, N a_count, const Idx *b_indices, N b_count)
{
    N low = max(step - b_count, N(0));
    N high = min(step, a_count);
    while (low < high) {
        N mid = (low + high) / 2;
        if (a_indices[mid] <= b_indices[step - 1 - mid])
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

// tile_starts[2*t] <- the row that tile t begins in, tile_starts[2*t + 1] <- its first entry of A; rows and A's nnz at
// the end. A thread takes a tile.
KERNEL merge_rows_search(long long tiles, long long rows, const Off *__restrict__ a_offsets,
                         const Idx *__restrict__ a_indices, const Off *__restrict__ b_offsets,
                         const Idx *__restrict__ b_indices, long long *__restrict__ tile_starts)
{
    long long steps = rows + (long long)a_offsets[rows] + b_offsets[rows];
    for (long long tile = thread_index(); tile <= tiles; tile += thread_count()) {
        long long step = min(tile * TILE, steps);
        long long row = 0;
        long long high = rows;
        while (row < high) {
            long long mid = (row + high) / 2;
            if (mid + 1 + a_offsets[mid + 1] + b_offsets[mid + 1] <= step)
                row = mid + 1;
            else
                high = mid;
        }
        long long a = a_offsets[row];
        long long b = b_offsets[row];
        if (row < rows)
            a += a_before(step - row - a - b, a_indices + a, a_offsets[row + 1] - a, b_indices + b,
                          b_offsets[row + 1] - b);
        tile_starts[2 * tile] = row;
        tile_starts[2 * tile + 1] = a;
    }
}

// A tile in shared memory: the columns of A's entries, after that of the entry before them, those of B's entries, and
// that of the entry behind them, and the ends of rows, in 16 bits for A and 16 for B, counted from the tile's begin.
struct Tile
{
    long long row;
    long long a;
    long long b;
    int rows;
    int a_count;
    int b_count;
    int steps;
    bool begins_inside_a;
    const Idx *a_columns;
    const Idx *b_columns;
    const Idx *ends;

    __device__ int a_end(int row) const { return (unsigned int)ends[row] & 0xffffu; }
    __device__ int b_end(int row) const { return (unsigned int)ends[row] >> 16; }
};

static __device__ Idx load_end(const Tile &tile, long long rows, int row, const Off *a_offsets, const Off *b_offsets)
{
    long long end = min(tile.row + row + 1, rows);
    unsigned int a = (unsigned int)min(a_offsets[end] - tile.a, (long long)tile.a_count);
    unsigned int b = (unsigned int)min(b_offsets[end] - tile.b, (long long)tile.b_count + 1);
    return (Idx)(a | b << 16);
}

// Every thread of the block calls it; `shared` has TILE + 3 elements.
static __device__ Tile load_tile(long long number, long long rows, const long long *tile_starts, const Off *a_offsets,
                                 const Idx *a_indices, const Off *b_offsets, const Idx *b_indices, Idx *shared)
{
    longlong2 start = ((const longlong2 *)tile_starts)[number];
    longlong2 stop = ((const longlong2 *)tile_starts)[number + 1];
    long long b_nnz = b_offsets[rows];
    long long steps = min(rows + a_offsets[rows] + b_nnz - number * TILE, (long long)TILE);
    Tile tile;
    tile.row = start.x;
    tile.a = start.y;
    tile.b = number * TILE - start.x - start.y;
    tile.steps = (int)steps;
    tile.rows = (int)(stop.x - start.x);
    tile.a_count = (int)(stop.y - start.y);
    tile.b_count = tile.steps - tile.rows - tile.a_count;
    tile.begins_inside_a = a_offsets[tile.row] < tile.a;
    tile.a_columns = shared + 1;
    tile.b_columns = tile.a_columns + tile.a_count;
    tile.ends = tile.b_columns + tile.b_count + 1;
    Idx loaded[ITEMS + 1];
#pragma unroll
    for (int item = 0; item <= ITEMS; item++) {
        int k = item * BLOCK + threadIdx.x;
        int of_b = k - tile.a_count - 1;
        int end = of_b - tile.b_count - 1;
        loaded[item] = 0;
        if (of_b < 0) {
            if (tile.a + k > 0)
                loaded[item] = a_indices[tile.a + k - 1];
        } else if (end < 0) {
            if (tile.b + of_b < b_nnz)
                loaded[item] = b_indices[tile.b + of_b];
        } else if (end <= tile.rows) {
            loaded[item] = load_end(tile, rows, end, a_offsets, b_offsets);
        }
    }
#pragma unroll
    for (int item = 0; item <= ITEMS; item++) {
        int k = item * BLOCK + threadIdx.x;
        if (k < tile.steps + 3)
            shared[k] = loaded[item];
    }
    __syncthreads();
    return tile;
}

// A place on the path, counted from the tile's begin: rows that have ended, and entries of A that are taken.
struct Place
{
    int row;
    int a;
};

static __device__ int first_step(const Tile &tile)
{
    return min((int)threadIdx.x * ITEMS, tile.steps);
}

// The place that a thread begins at.
static __device__ Place find_place(const Tile &tile)
{
    int step = first_step(tile);
    int row = 0;
    int high = tile.rows;
    while (row < high) {
        int mid = (row + high) / 2;
        if (mid + 1 + tile.a_end(mid) + tile.b_end(mid) <= step)
            row = mid + 1;
        else
            high = mid;
    }
    int a = row > 0 ? tile.a_end(row - 1) : 0;
    int b = row > 0 ? tile.b_end(row - 1) : 0;
    int before = a_before(step - row - a - b, tile.a_columns + a, tile.a_end(row) - a, tile.b_columns + b,
                          tile.b_end(row) - b);
    return {row, a + before};
}

// Takes a thread's steps from its place on, with `at` elements of the tile before them; returns those with them. Writes
// the elements and, counted from `start`, the ends of rows, each where it is given.
static __device__ int take_steps(const Tile &tile, Place place, bool multiplies, int at, unsigned int *elements,
                                 long long start, Off *c_offsets)
{
    int step = first_step(tile);
    int stop = min(step + ITEMS, tile.steps);
    int row = place.row;
    int a = place.a;
    int b = step - row - a;
    int a_end = tile.a_end(row);
    int b_end = tile.b_end(row);
    bool follows_a = row > 0 ? a > tile.a_end(row - 1) : a > 0 || tile.begins_inside_a;
    // The steps before have taken B's entry with that of A.
    if (step < stop && follows_a && b < b_end && tile.a_columns[a - 1] == tile.b_columns[b]) {
        b++;
        step++;
    }
#pragma unroll
    for (int item = 0; item < ITEMS; item++) {
        if (step < stop) {
            if (a == a_end && b == b_end) {
                row++;
                if (c_offsets)
                    c_offsets[tile.row + row] = (Off)(start + at);
                a_end = tile.a_end(row);
                b_end = tile.b_end(row);
            } else {
                Idx a_column = tile.a_columns[a];
                Idx b_column = tile.b_columns[b];
                bool takes_a = b == b_end || (a < a_end && a_column <= b_column);
                bool takes_b = a == a_end || (b < b_end && b_column <= a_column);
                if (!multiplies || (takes_a && takes_b)) {
                    if (elements)
                        elements[at] = (takes_a ? a : NONE) | (takes_b ? b : NONE) << 16;
                    at++;
                }
                a += takes_a;
                b += takes_b;
                step += takes_a && takes_b;
            }
            step++;
        }
    }
    return at;
}

// counts[t] <- the elements of C in tile t; one zero more at the end. places[t*BLOCK + i] <- the place that thread i of
// tile t begins at, and the elements of the tile before it: row, a and elements in 16 bits each.
KERNEL merge_rows_count(long long tiles, long long rows, int multiplies, const long long *__restrict__ tile_starts,
                        const Off *__restrict__ a_offsets, const Idx *__restrict__ a_indices,
                        const Off *__restrict__ b_offsets, const Idx *__restrict__ b_indices,
                        long long *__restrict__ counts, long long *__restrict__ places)
{
    __shared__ Idx columns[TILE + 3];
    for (long long number = blockIdx.x; number < tiles; number += gridDim.x) {
        Tile tile = load_tile(number, rows, tile_starts, a_offsets, a_indices, b_offsets, b_indices, columns);
        Place place = find_place(tile);
        int own = take_steps(tile, place, multiplies, 0, nullptr, 0, nullptr);
        int all;
        int before = scan_block(own, &all) - own;
        places[number * BLOCK + threadIdx.x] = (long long)before << 32 | place.a << 16 | place.row;
        if (threadIdx.x == 0)
            counts[number] = all;
    }
    if (blockIdx.x == 0 && threadIdx.x == 0)
        counts[tiles] = 0;
}

// C, whose elements before tile t are starts[t]. Without `c_offsets` and `c_indices`, its values alone.
KERNEL merge_rows_fill(long long tiles, long long rows, int multiplies, const long long *__restrict__ tile_starts,
                       const long long *__restrict__ starts, const long long *__restrict__ places,
                       const Off *__restrict__ a_offsets, const Idx *__restrict__ a_indices, ACC alpha,
                       const T *__restrict__ a_values, const Off *__restrict__ b_offsets,
                       const Idx *__restrict__ b_indices, ACC beta, const T *__restrict__ b_values,
                       Off *__restrict__ c_offsets, Idx *__restrict__ c_indices, T *__restrict__ c_values)
{
    __shared__ Idx columns[TILE + 3];
    __shared__ unsigned int elements[TILE];
    bool reads_a = !is_zero(alpha);
    bool reads_b = !is_zero(beta);
    if (c_offsets && blockIdx.x == 0 && threadIdx.x == 0)
        c_offsets[0] = 0;
    for (long long number = blockIdx.x; number < tiles; number += gridDim.x) {
        long long packed = places[number * BLOCK + threadIdx.x];
        Tile tile = load_tile(number, rows, tile_starts, a_offsets, a_indices, b_offsets, b_indices, columns);
        long long start = starts[number];
        int count = (int)(starts[number + 1] - start);
        Place place = {(int)(packed & 0xffff), (int)(packed >> 16 & 0xffff)};
        take_steps(tile, place, multiplies, (int)(packed >> 32), elements, start, c_offsets);
        __syncthreads();
        // Without branches, so that loads of four elements are under way at once.
#pragma unroll 4
        for (int k = threadIdx.x; k < count; k += BLOCK) {
            unsigned int a = elements[k] & 0xffffu;
            unsigned int b = elements[k] >> 16;
            ACC left = ACC(0);
            ACC right = ACC(0);
            if (a != NONE && reads_a)
                left = load(a_values, tile.a + a);
            if (b != NONE && reads_b)
                right = load(b_values, tile.b + b);
            left = reads_a ? multiply(left, alpha) : ACC(0);
            right = reads_b ? multiply(right, beta) : ACC(0);
            ACC both = multiplies ? multiply(left, right) : left + right;
            store(c_values, start + k, b == NONE ? left : a == NONE ? right : both);
            if (c_indices)
                c_indices[start + k] = a == NONE ? tile.b_columns[b] : tile.a_columns[a];
        }
        __syncthreads();
    }
}

// csr_spmv_length_classes: y <- alpha A x + beta y for compressed rows, by classes of lengths in one launch.
// LANES lanes per short row, MIDDLE_LANES per middle one, a warp per long one, a block per slice of a still longer one,
// the slices first. A lane takes EACH neighbouring entries, from a multiple of EACH on; a fixed tree adds the lanes.
// Reads values, indices and offsets once, gathers x, writes y once.
// Macros: SCALAR, IDX, OFF, CONJ (1 conjugates A), LANES (1, 2, 4, 8), BLOCK (a multiple of 32), EACH = 4 (neighbouring
// entries per lane), MIDDLE = 128 (entries of the longest middle row), MIDDLE_LANES = 8, SLICE = 2048 (entries per slice),
// MIN_BLOCKS = 2, 4, 6 or 8 by the types' sizes and LANES (blocks per multiprocessor).   Launch: any number of blocks of
// BLOCK threads; the plan's kernels any number of blocks of up to 256 threads.
// The plan says up to where rows are short, and long, and lists the rows that are not short. The slices of a row leave
// partial sums, which the last slice to be done adds in their order: it is found by a counter, which it leaves at zero.
#ifndef MIN_BLOCKS
#define MIN_BLOCKS \
    (sizeof(ACC) + sizeof(Idx) <= 8 && LANES < 8   ? 8 \
     : sizeof(ACC) + sizeof(Idx) <= 12             ? 6 \
     : sizeof(ACC) <= 8                            ? 4 \
                                                   : 2)
#endif
#include "grid.cuh"
#include "scalar.cuh"
#include "index.cuh"
#include "entry.cuh"
#include "warp_scalar.cuh"
#include "neighbours.cuh"
#include "row_steps.cuh"
#include "load_plainly.cuh"
#include "evict_first.cuh"
#ifndef LANES
#error "LANES is missing: 1, 2, 4 or 8"
#endif
#ifndef BLOCK
#error "BLOCK is missing: a multiple of 32"
#endif
#ifndef MIDDLE
#define MIDDLE 128
#endif
#ifndef MIDDLE_LANES
#define MIDDLE_LANES 8
#endif
#ifndef SLICE
#define SLICE 2048
#endif

// A part of a row that has several or one: its entries, the number of the row's first part, and how many there are.
struct Slice
{
    long long row;
    long long begin;
    long long end;
    long long first;
    long long count;
};

// For each row 1 or 0 in `middle` and `of_warps`, by its class, and the number of its slices; a zero more at the end of
// each. Rows of more than `longest_short` entries are listed, those of more than `longest_of_warp` have slices. A thread
// takes a row.
KERNEL csr_spmv_length_classes_count(long long rows, long long longest_short, long long longest_of_warp,
                                     const Off *__restrict__ offsets, long long *__restrict__ middle,
                                     long long *__restrict__ of_warps, long long *__restrict__ slices)
{
    for (long long row = thread_index(); row <= rows; row += thread_count()) {
        long long length = row < rows ? offsets[row + 1] - offsets[row] : 0;
        bool is_listed = length > longest_short;
        bool is_sliced = is_listed && length > longest_of_warp;
        middle[row] = is_listed && !is_sliced && length <= MIDDLE;
        of_warps[row] = is_listed && !is_sliced && length > MIDDLE;
        slices[row] = is_sliced ? (length + SLICE - 1) / SLICE : 0;
    }
}

// Lists the middle rows, behind them those of warps, and the slices. `middle`, `of_warps` and `slices` are the counts,
// scanned. A thread takes a row.
KERNEL csr_spmv_length_classes_fill(long long rows, const Off *__restrict__ offsets,
                                    const long long *__restrict__ middle, const long long *__restrict__ of_warps,
                                    const long long *__restrict__ slices, Idx *__restrict__ listed,
                                    Slice *__restrict__ sliced)
{
    for (long long row = thread_index(); row < rows; row += thread_count()) {
        if (middle[row] < middle[row + 1])
            listed[middle[row]] = (Idx)row;
        if (of_warps[row] < of_warps[row + 1])
            listed[middle[rows] + of_warps[row]] = (Idx)row;
        long long first = slices[row];
        long long count = slices[row + 1] - first;
        for (long long s = 0; s < count; s++) {
            long long begin = offsets[row] + s * SLICE;
            long long end = min(begin + SLICE, (long long)offsets[row + 1]);
            sliced[first + s] = {row, begin, end, first, count};
        }
    }
}

// The matrix and the operands.
struct Product
{
    UnsignedOff nnz;
    const Off *offsets;
    const Idx *indices;
    const T *values;
    ACC alpha;
    const T *x;
    ACC beta;
    T *y;
};

// This thread's part of the sum of the entries `begin` .. `end`: every `threads`-th EACH of them from number `first` on.
template <int threads, typename Load>
static __device__ ACC sum_of_thread(Load load_word, UnsignedOff begin, UnsignedOff end, int first, const Product &a)
{
    ACC sum = ACC(0);
    for (UnsignedOff at = begin / EACH * EACH + first * EACH; at < end; at += threads * EACH) {
        Step step;
        load_neighbours_by<EACH>(load_word, step.cols, a.indices, at, a.nnz);
        load_neighbours_by<EACH>(load_word, step.values, a.values, at, a.nnz);
        sum += sum_of(step, at, begin, end, a.x);
    }
    return sum;
}

// y of a row of up to `most` entries by `lanes` neighbouring lanes, if there is one for them: `has_row`.
template <int lanes, typename Load>
static __device__ void multiply_row(Load load_word, bool has_row, long long row, UnsignedOff most, const Product &a)
{
    UnsignedOff begin = has_row ? a.offsets[row] : Off(0);
    UnsignedOff end = has_row ? a.offsets[row + 1] : Off(0);
    has_row = has_row && end - begin <= most;
    int lane = threadIdx.x % lanes;
    ACC sum = has_row ? sum_of_thread<lanes>(load_word, begin, end, lane, a) : ACC(0);
    sum = sum_lanes(sum, lanes);
    if (has_row && lane == 0)
        update(a.y, row, mul(a.alpha, sum), a.beta);
}

// A block takes a slice; the last one of a row adds them.
template <typename Load>
static __device__ void multiply_slice(Load load_word, long long number, const Slice *slices, ACC *partial,
                                      unsigned int *done, const Product &a)
{
    __shared__ ACC sums[BLOCK / WARP];
    Slice slice = slices[number];
    ACC sum = sum_lanes(sum_of_thread<BLOCK>(load_word, slice.begin, slice.end, threadIdx.x, a));
    if (lane_index() == 0)
        sums[threadIdx.x / WARP] = sum;
    __syncthreads();
    sum = sum_lanes(threadIdx.x < BLOCK / WARP ? sums[threadIdx.x] : ACC(0));
    __syncthreads();
    if (threadIdx.x >= WARP)
        return;
    if (slice.count > 1) {
        unsigned int others = 0;
        if (threadIdx.x == 0) {
            partial[number] = sum;
            __threadfence();
            others = atomicInc(done + slice.first, slice.count - 1);
            __threadfence();
        }
        if (shuffle(others, 0) + 1 < slice.count)
            return;
        __syncwarp();
        sum = ACC(0);
        for (long long s = threadIdx.x; s < slice.count; s += WARP)
            sum += partial[slice.first + s];
        sum = sum_lanes(sum);
    }
    if (threadIdx.x == 0)
        update(a.y, slice.row, mul(a.alpha, sum), a.beta);
}

// The number of blocks for `lanes` lanes per row: below 2^32, since memory has less than 2^39 rows.
template <int lanes> static __device__ unsigned int blocks_for(unsigned long long rows)
{
    return (rows * lanes + BLOCK - 1) / BLOCK;
}

// Number `at` of the rows that a class has, which this thread's lanes take in block `block` of the class.
template <int lanes> static __device__ long long place_in(unsigned int block)
{
    return (long long)block * (BLOCK / lanes) + threadIdx.x / lanes;
}

template <typename Load>
static __device__ void multiply(Load load_word, long long rows, UnsignedOff longest_short, unsigned int slices,
                                long long of_warps, long long middle, const Idx *listed, const Slice *sliced,
                                ACC *partial, unsigned int *done, const Product &a)
{
    UnsignedOff nnz = a.nnz;
    unsigned int middle_from = slices + blocks_for<WARP>(of_warps);
    unsigned int short_from = middle_from + blocks_for<MIDDLE_LANES>(middle);
    unsigned int end = short_from + blocks_for<LANES>(rows);
    for (unsigned int block = blockIdx.x; block < end; block += gridDim.x) {
        if (block >= short_from) {
            long long row = place_in<LANES>(block - short_from);
            multiply_row<LANES>(load_word, row < rows, row, longest_short, a);
        } else if (block >= middle_from) {
            long long at = place_in<MIDDLE_LANES>(block - middle_from);
            multiply_row<MIDDLE_LANES>(load_word, at < middle, at < middle ? listed[at] : 0, nnz, a);
        } else if (block >= slices) {
            long long at = place_in<WARP>(block - slices);
            multiply_row<WARP>(load_word, at < of_warps, at < of_warps ? listed[middle + at] : 0, nnz, a);
        } else {
            multiply_slice(load_word, block, sliced, partial, done, a);
        }
    }
}

// A pointer into global memory whose sum stays in a register, where the compiler would rather add `start` at each use.
static __device__ const T *sum_in_register(const T *from, long long start)
{
    return (const T *)__cvta_global_to_generic(in_register((long long)__cvta_generic_to_global(from + start)));
}

// `slices` slices in `sliced`; in `listed` `middle` middle rows, and `of_warps` rows of warps behind them.
KERNEL csr_spmv_length_classes(long long rows, long long nnz, long long longest_short, long long slices,
                               long long of_warps, long long middle, const Idx *__restrict__ listed,
                               const Slice *__restrict__ sliced, const Off *__restrict__ offsets,
                               const Idx *__restrict__ indices, const T *__restrict__ values, ACC alpha,
                               const T *__restrict__ x, long long x_start, ACC beta, T *__restrict__ y,
                               long long y_start, ACC *__restrict__ partial, unsigned int *__restrict__ done)
{
    Product a = {(UnsignedOff)nnz, offsets, indices, values, alpha, sum_in_register(x, x_start), beta, y + y_start};
    multiply(LoadPlainly(), rows, longest_short, slices, of_warps, middle, listed, sliced, partial, done, a);
}

// The same for a matrix that does not fit the second cache with its operands (evict_first.cuh).
KERNEL csr_spmv_length_classes_evict_first(long long rows, long long nnz, long long longest_short, long long slices,
                                           long long of_warps, long long middle, const Idx *__restrict__ listed,
                                           const Slice *__restrict__ sliced, const Off *__restrict__ offsets,
                                           const Idx *__restrict__ indices, const T *__restrict__ values, ACC alpha,
                                           const T *__restrict__ x, long long x_start, ACC beta, T *__restrict__ y,
                                           long long y_start, ACC *__restrict__ partial,
                                           unsigned int *__restrict__ done)
{
    Product a = {(UnsignedOff)nnz, offsets, indices, values, alpha, sum_in_register(x, x_start), beta, y + y_start};
    multiply(LoadToEvictFirst(), rows, longest_short, slices, of_warps, middle, listed, sliced, partial, done, a);
}

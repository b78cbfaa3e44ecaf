// spgemm_strips: the values of C = A B for plans of many runs, for compressed rows whose patterns are shifted copies of each
// other, as those of stencils and bands are, and a C that has the pattern of the product. B has no column twice in a row.
// A row follows the one before if its columns are those of that row, each plus one, and if each row of B that it names
// follows, too. A strip is up to `most_rows` rows, each of which follows the one before. So the entries of a strip in A, in C
// and in each of the rows of B that an entry of A names are neighbours, and all rows add the same products, by one
// program: the products of each entry of C in the order of A's entries, 4 bytes each. A run takes as many instructions as
// for a dense product, and reads 4 bytes for the products of up to `most_rows` rows.
// A plan calls these kernels in their order, with prefix sums between them:
// spgemm_strips_follows: follows[i] <- 1 if row i of B follows row i - 1, else 0.
// spgemm_strips_begins: begins[i] <- 0 if row i of A follows row i - 1, and with it its rows of B, else 1.
// spgemm_strips_runs: run_begins[r] <- the first row of run r, and the number of rows after the last.
// spgemm_strips_find: flags[i] <- 1 if a strip begins with row i, else 0; products[i] <- its products, or 0. A strip has
// `least_rows` or more, and `most_bytes` of shared memory are enough. most[0] <- the most bytes that a strip needs.
// spgemm_strips_make: writes strips, and sizes[s] <- the integers of the program of strip s.
// spgemm_strips_leave: bins[i] <- 0 for each row i of a strip.
// spgemm_strips_programs: a warp has a strip, and writes its program: the begin and the length of each segment of B's
// values, the length of the row of B of each entry of A, the end of each entry of C in the list of products, and this
// list: the place in shared memory of the first row's entry of B, in the lower half, and the entry of A in the upper one.
// A run of the plan calls one:
// spgemm_strips_sum: a block has a strip: it copies A, the segments of B and the program to shared memory, a thread has a
// row, warps with the same rows share the entries of C, and the block copies the sums to C.
// Macros: SCALAR, IDX, OFF, BLOCK (threads of sum), MIN_BLOCKS = 6.   Launch: any number of blocks, of BLOCK threads and with most[0] bytes
// of shared memory for sum, of a multiple of 32 for others.
#ifndef MIN_BLOCKS
#define MIN_BLOCKS 6
#endif
#include "grid.cuh"
#include "apart.cuh"
#include "scalar.cuh"
#include "index.cuh"
#include "search.cuh"
#ifndef BLOCK
#error "BLOCK is missing: the threads of a block"
#endif
#define WARPS (BLOCK / WARP)

// Rows of one pattern: where their entries begin in A and in C, and their program, and what they need in shared memory.
// Rows of B have `b_length` entries, or 0 if their lengths differ. A stride is the elements from a row to the next.
struct __align__(16) Strip
{
    long long a_begin;
    long long c_begin;
    long long program;
    int first;
    int rows;
    int a_length;
    int c_length;
    int b_length;
    int segments;
    int b_values;
    int products;
};

// Neighbouring rows begin in different banks.
static __device__ int stride(int length)
{
    return length | 1;
}

// Where element `at` of rows of `length` elements is, with the stride of such rows. Exact below 2^21: at / length is off
// by less than 0.5 / length.
static __device__ int strided(int at, int length, float inverse)
{
    return length % 2 == 0 ? at + (int)((at + 0.5f) * inverse) : at;
}

// The values of B that the entries of a strip need: rows of B that overlap or are neighbours are one segment.
struct Segments
{
    int count;
    int values;
    long long begin;
    long long end;
};

// Adds the rows of B from `begin` to `end`; returns where they begin in shared memory.
static __device__ int add_rows(Segments &segments, long long begin, long long end)
{
    if (segments.count == 0 || begin < segments.begin || begin > segments.end) {
        segments.count++;
        segments.begin = segments.end = begin;
    }
    int place = segments.values - (int)(segments.end - begin);
    if (end > segments.end) {
        segments.values += (int)(end - segments.end);
        segments.end = end;
    }
    return place;
}

// The integers of a strip's program.
static __device__ long long program_size(Strip strip)
{
    return 2ll * strip.segments + strip.a_length + strip.c_length + strip.products;
}

// Elements of shared memory for the segments of a strip.
static __device__ int b_elements(Strip strip)
{
    return strip.b_length > 0 ? strip.b_values / strip.b_length * stride(strip.b_length) : strip.b_values;
}

// Bytes of shared memory for a strip.
static __device__ long long bytes_of(Strip strip)
{
    long long of_rows = (long long)strip.rows * (stride(strip.a_length) + stride(strip.c_length));
    return (of_rows + b_elements(strip)) * (long long)sizeof(ACC) + program_size(strip) * (long long)sizeof(int);
}

// The strip of `rows` rows from `first` on, without its place in C and its program.
static __device__ Strip strip_at(long long first, int rows, const Off *__restrict__ a_offsets,
                                 const Idx *__restrict__ a_indices, const Off *__restrict__ b_offsets,
                                 const long long *__restrict__ c_starts, const long long *__restrict__ products_before)
{
    Segments segments = {0, 0, 0, 0};
    int b_length = -1;
    long long a_begin = a_offsets[first];
    int a_length = (int)(a_offsets[first + 1] - a_begin);
    for (int k = 0; k < a_length; k++) {
        long long b_row = a_indices[a_begin + k];
        int length = (int)(b_offsets[b_row + 1] - b_offsets[b_row]);
        b_length = b_length < 0 || b_length == length ? length : 0;
        add_rows(segments, b_offsets[b_row], b_offsets[b_row + rows]);
    }
    int c_length = (int)(c_starts[first + 1] - c_starts[first]);
    int products = (int)(products_before[first + 1] - products_before[first]);
    return {a_begin,      0,        0,        (int)first,     rows,           a_length,
            c_length, b_length, segments.count, segments.values, products};
}

KERNEL spgemm_strips_follows(long long rows, const Off *__restrict__ offsets, const Idx *__restrict__ indices,
                             int *__restrict__ follows)
{
    for (long long row = thread_index(); row < rows; row += thread_count()) {
        long long begin = offsets[row];
        long long length = offsets[row + 1] - begin;
        bool is_alike = row > 0 && begin - offsets[row - 1] == length;
        for (long long k = begin; is_alike && k < begin + length; k++)
            is_alike = indices[k] == indices[k - length] + 1;
        follows[row] = is_alike;
    }
}

KERNEL spgemm_strips_begins(long long rows, const Off *__restrict__ a_offsets, const Idx *__restrict__ a_indices,
                            const int *__restrict__ b_follows, long long *__restrict__ begins)
{
    for (long long row = thread_index(); row < rows; row += thread_count()) {
        long long begin = a_offsets[row];
        long long length = a_offsets[row + 1] - begin;
        bool is_alike = row > 0 && begin - a_offsets[row - 1] == length;
        for (long long k = begin; is_alike && k < begin + length; k++)
            is_alike = a_indices[k] == a_indices[k - length] + 1 && b_follows[a_indices[k]];
        begins[row] = !is_alike;
    }
}

KERNEL spgemm_strips_runs(long long rows, const long long *__restrict__ runs_before, int *__restrict__ run_begins)
{
    for (long long row = thread_index(); row <= rows; row += thread_count())
        if (row == rows || runs_before[row + 1] > runs_before[row])
            run_begins[runs_before[row]] = (int)row;
}

KERNEL spgemm_strips_find(long long rows, long long most_rows, long long least_rows, long long most_bytes,
                          const long long *__restrict__ runs_before, const int *__restrict__ run_begins,
                          const Off *__restrict__ a_offsets, const Idx *__restrict__ a_indices,
                          const Off *__restrict__ b_offsets, const long long *__restrict__ c_starts,
                          const long long *__restrict__ products_before, long long *__restrict__ flags,
                          long long *__restrict__ products, int *__restrict__ most)
{
    for (long long row = thread_index(); row < rows; row += thread_count()) {
        long long run = runs_before[row + 1] - 1;
        long long left = run_begins[run + 1] - row;
        long long products_of_row = products_before[row + 1] - products_before[row];
        flags[row] = 0;
        products[row] = 0;
        if ((row - run_begins[run]) % most_rows != 0 || left < least_rows || products_of_row == 0 ||
            products_of_row * (long long)sizeof(int) > most_bytes)
            continue;
        int count = (int)min(left, most_rows);
        Strip strip = strip_at(row, count, a_offsets, a_indices, b_offsets, c_starts, products_before);
        long long bytes = bytes_of(strip);
        if (bytes > most_bytes || b_elements(strip) > 0xffff || strip.a_length > 0xffff)
            continue;
        flags[row] = 1;
        products[row] = products_of_row * count;
        atomicMax(most, (int)bytes);
    }
}

KERNEL spgemm_strips_make(long long rows, long long most_rows, const long long *__restrict__ strips_before,
                          const long long *__restrict__ runs_before, const int *__restrict__ run_begins,
                          const Off *__restrict__ a_offsets, const Idx *__restrict__ a_indices,
                          const Off *__restrict__ b_offsets, const long long *__restrict__ c_starts,
                          const long long *__restrict__ products_before, Strip *__restrict__ strips,
                          long long *__restrict__ sizes)
{
    for (long long row = thread_index(); row < rows; row += thread_count()) {
        long long s = strips_before[row];
        if (strips_before[row + 1] == s)
            continue;
        int count = (int)min(run_begins[runs_before[row + 1]] - row, most_rows);
        strips[s] = strip_at(row, count, a_offsets, a_indices, b_offsets, c_starts, products_before);
        sizes[s] = program_size(strips[s]);
    }
}

KERNEL spgemm_strips_leave(long long count, const Strip *__restrict__ strips, int *__restrict__ bins)
{
    for (long long s = warp_index(); s < count; s += warp_count())
        for (int row = lane_index(); row < strips[s].rows; row += WARP)
            bins[strips[s].first + row] = 0;
}

// Calls `of_product(k, j, e)` for each product of a row, in which no two lanes of a warp meet at one entry of C: entry k of
// the row of A and entry j of its row of B make a product of entry e.
template <typename F>
static __device__ void for_products(Strip strip, const Off *__restrict__ a_offsets, const Idx *__restrict__ a_indices,
                                    const Off *__restrict__ b_offsets, const Idx *__restrict__ b_indices,
                                    const Idx *__restrict__ columns, F of_product)
{
    for (int k = 0; k < strip.a_length; k++) {
        long long b_row = a_indices[a_offsets[strip.first] + k];
        long long begin = b_offsets[b_row];
        int length = (int)(b_offsets[b_row + 1] - begin);
        for (int j = lane_index(); j < length; j += WARP)
            of_product(k, j, count_below(columns, strip.c_length, b_indices[begin + j]));
        __syncwarp();
    }
}

KERNEL spgemm_strips_programs(long long count, Strip *strips, const long long *__restrict__ starts,
                              const Off *__restrict__ a_offsets, const Idx *__restrict__ a_indices,
                              const Off *__restrict__ b_offsets, const Idx *__restrict__ b_indices,
                              const Off *__restrict__ c_offsets, const Idx *__restrict__ c_indices, int *programs)
{
    int lane = lane_index();
    for (long long s = warp_index(); s < count; s += warp_count()) {
        Strip strip = strips[s];
        const Idx *columns = c_indices + c_offsets[strip.first];
        int *segments = programs + starts[s];
        int *places = segments + 2 * strip.segments;
        int *ends = places + strip.a_length;
        int *list = ends + strip.c_length;
        for (int e = lane; e < strip.c_length; e += WARP)
            ends[e] = 0;
        __syncwarp();
        for_products(strip, a_offsets, a_indices, b_offsets, b_indices, columns,
                     [&](int, int, int e) { ends[e]++; });
        // Now where each entry's products begin; each moves to its end as they are listed.
        if (lane == 0) {
            int before = 0;
            for (int e = 0; e < strip.c_length; e++) {
                int own = ends[e];
                ends[e] = before;
                before += own;
            }
            strips[s].c_begin = c_offsets[strip.first];
            strips[s].program = starts[s];
            Segments found = {0, 0, 0, 0};
            for (int k = 0; k < strip.a_length; k++) {
                long long b_row = a_indices[a_offsets[strip.first] + k];
                places[k] = add_rows(found, b_offsets[b_row], b_offsets[b_row + strip.rows]);
                segments[2 * found.count - 2] = (int)found.begin;
                segments[2 * found.count - 1] = (int)(found.end - found.begin);
            }
        }
        __syncwarp();
        for_products(strip, a_offsets, a_indices, b_offsets, b_indices, columns,
                     [&](int k, int j, int e) {
                         int place = places[k] + j;
                         if (strip.b_length > 0 && strip.b_length % 2 == 0)
                             place += place / strip.b_length;
                         list[ends[e]++] = place | k << 16;
                     });
        for (int k = lane; k < strip.a_length; k += WARP) {
            long long b_row = a_indices[a_offsets[strip.first] + k];
            places[k] = (int)(b_offsets[b_row + 1] - b_offsets[b_row]);
        }
        __syncwarp();
    }
}

// The sum of the products of an entry of C in the row of `a` and `b`.
template <bool ALIKE>
static __device__ ACC sum_of(const int *list, int begin, int end, const ACC *a, const ACC *b, int row,
                             const int *lengths)
{
    ACC sum = ACC(0);
#pragma unroll 4
    for (int at = begin; at < end; at++) {
        unsigned int word = list[at];
        int k = word >> 16;
        const ACC *from = ALIKE ? b : b + row * lengths[k];
        sum += mul(a[k], from[word & 0xffff]);
    }
    return sum;
}

// Copies a value to shared memory, where it is once wait_for_copies returns.
static __device__ void copy_value(ACC *to, const T *from)
{
#if __CUDA_ARCH__ >= 800 && !HALF
    unsigned int shared = (unsigned int)__cvta_generic_to_shared(to);
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" : : "r"(shared), "l"(from), "n"(sizeof(T)) : "memory");
#else
    *to = load(from, 0);
#endif
}

static __device__ void wait_for_copies()
{
#if __CUDA_ARCH__ >= 800 && !HALF
    asm volatile("cp.async.wait_all;" : : : "memory");
#endif
}

// Copies `count` values of rows of `length` to shared memory, with the stride of these.
static __device__ void copy_rows(ACC *to, const T *__restrict__ from, int count, int length)
{
    float inverse = 1.0f / (float)length;
    for (int at = threadIdx.x; at < count; at += BLOCK)
        copy_value(to + strided(at, length, inverse), from + at);
}

KERNEL spgemm_strips_sum(long long count, const Strip *__restrict__ strips, const int *__restrict__ programs,
                         const T *__restrict__ a_values, const T *__restrict__ b_values, T *__restrict__ c_values)
{
    extern __shared__ __align__(16) unsigned char memory[];
    let_next_begin();
    for (long long s = blockIdx.x; s < count; s += gridDim.x) {
        Strip strip = strips[s];
        int a_stride = stride(strip.a_length);
        int b_stride = stride(strip.b_length);
        int c_stride = stride(strip.c_length);
        ACC *a = (ACC *)memory;
        ACC *b = a + strip.rows * a_stride;
        ACC *c = b + b_elements(strip);
        int *program = (int *)(c + strip.rows * c_stride);
        const int *from = programs + strip.program;
        copy_rows(a, a_values + strip.a_begin, strip.rows * strip.a_length, strip.a_length);
        // A lane knows a segment, so that all are loaded at once.
        ACC *to = b;
        for (int first = 0; first < strip.segments; first += WARP) {
            int own = min(first + lane_index(), strip.segments - 1);
            int own_begin = from[2 * own];
            int own_length = from[2 * own + 1];
            for (int lane = 0; lane < min(WARP, strip.segments - first); lane++) {
                int length = __shfl_sync(ALL_LANES, own_length, lane);
                const T *values = b_values + __shfl_sync(ALL_LANES, own_begin, lane);
                copy_rows(to, values, length, strip.b_length > 0 ? strip.b_length : 1);
                to += strip.b_length > 0 ? length / strip.b_length * b_stride : length;
            }
        }
        for (int at = threadIdx.x; at < program_size(strip); at += BLOCK)
            program[at] = from[at];
        wait_for_copies();
        __syncthreads();
        const int *lengths = program + 2 * strip.segments;
        const int *ends = lengths + strip.a_length;
        const int *list = ends + strip.c_length;
        int row_warps = strip.rows <= WARP ? 1 : strip.rows <= 2 * WARP ? 2 : strip.rows <= 4 * WARP ? 4 : 8;
        int warp = threadIdx.x / WARP;
        int row = warp % row_warps * WARP + lane_index();
        if (row < strip.rows) {
            const ACC *a_row = a + row * a_stride;
            const ACC *b_row = strip.b_length > 0 ? b + row * b_stride : b;
            for (int e = warp / row_warps; e < strip.c_length; e += WARPS / row_warps) {
                int begin = e > 0 ? ends[e - 1] : 0;
                c[row * c_stride + e] = strip.b_length > 0
                                            ? sum_of<true>(list, begin, ends[e], a_row, b_row, row, lengths)
                                            : sum_of<false>(list, begin, ends[e], a_row, b_row, row, lengths);
            }
        }
        __syncthreads();
        float inverse = 1.0f / (float)strip.c_length;
        for (int at = threadIdx.x; at < strip.rows * strip.c_length; at += BLOCK)
            store(c_values, strip.c_begin + at, c[strided(at, strip.c_length, inverse)]);
        __syncthreads();
    }
    end_after_last();
}

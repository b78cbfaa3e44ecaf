// spgemm_strips: the values of C = A B for plans of many runs, for compressed rows whose patterns are shifted copies of each
// other, as those of stencils and bands are, and a C that has the pattern of the product. B has no column twice in a row.
// A row of A is a copy if its columns are those of the row `a_step` before, each plus `b_step`, and a row of B if its columns
// are those of the row `b_step` before, each plus `c_step`, and as many entries lie between these rows as after them. So
// `a_step` rows of A, whose sum is one long row here, repeat where all of their rows and the rows of B that these name are
// copies. A strip is up to `most_rows` of such repetitions, the rows of the strip. The entries of a strip in A and in C are
// neighbours, those of the rows of B that an entry of A names lie in equal steps, and all rows add the same products, by one
// program: the products of each entry of C in the order of A's entries, 4 bytes each, or 8 where rows of B have unlike steps.
// A run takes as many instructions as for a dense product, and reads 4 bytes for the products of up to `most_rows` rows.
// A plan calls these kernels in their order, with prefix sums between them:
// spgemm_strips_steps: a warp has one of `samples` rows of A and an `a_step` from 1 to STEPS: votes[a_step - 1][b_step - 1]
// [c_step - 1] <- the samples that are copies by these steps.
// spgemm_strips_b_copies: copies[i] <- 1 if row i of B is a copy, else 0.
// spgemm_strips_copies: copies[i] <- 1 if row i of A and the rows of B that it names are copies, else 0.
// spgemm_strips_begins: begins[i] <- 1 if a run of rows begins with row i, in which all or none but the first `a_step` are
// copies, else 0.
// spgemm_strips_runs: run_begins[r] <- the first row of run r, and the number of rows after the last.
// spgemm_strips_find: flags[i] <- 1 if a strip begins with row i, else 0; products[i] <- its products, or 0. A strip has
// `least_rows` or more, and `most_bytes` of shared memory are enough. most[0] <- the most bytes that a strip needs.
// spgemm_strips_make: writes strips, and sizes[s] <- the integers of the program of strip s.
// spgemm_strips_leave: bins[i] <- 0 for each row i of a strip.
// spgemm_strips_programs: a warp has a strip, and writes its program: the segments of B's values, the end of each entry of C
// in the list of products, and this list: the place in shared memory of the first row's entry of B, in the lower half, and
// the entry of A in the upper one, and, where steps differ, the elements to the next row's entry of B.
// A run of the plan calls one:
// spgemm_strips_sum: a block has a strip: it copies A, the segments of B and the program to shared memory, a thread has up to
// four rows, warps with the same rows share the entries of C, and the block copies the sums to C.
// Macros: SCALAR, IDX, OFF, BLOCK (threads of the largest block), STEPS = 8 (the largest step that is looked for),
// MIN_BLOCKS = 4 or 5.   Launch: any number of blocks of up to BLOCK threads, a multiple of 32, with most[0] bytes of shared memory for sum.
#ifndef MIN_BLOCKS
#define MIN_BLOCKS (sizeof(ACC) > 8 ? 4 : 5)
#endif
#include "grid.cuh"
#include "apart.cuh"
#include "scalar.cuh"
#include "index.cuh"
#include "search.cuh"
#ifndef BLOCK
#error "BLOCK is missing: the threads of the largest block"
#endif
#ifndef STEPS
#define STEPS 8
#endif
// Elements of 16 bytes.
#define PER_WORD (HALF ? 1 : 16 / (int)sizeof(ACC))

// Rows of one pattern: where their entries begin in A and in C, and their program, and what they need in shared memory.
// From a row to the next are `b_step` elements of B, or, if that is 0, as many as the program says of each product.
struct __align__(16) Strip
{
    long long a_begin;
    long long c_begin;
    long long program;
    int first;
    int rows;
    int a_length;
    int c_length;
    int b_step;
    int segments;
    int b_elements;
    int products;
};

// The rows of A and of B from a row of a strip to the next.
struct Steps
{
    int a;
    int b;
};

// The elements from a row of `length` to the next in shared memory: no more than two lanes read one bank.
static __device__ int stride(int length)
{
    return length % 4 == 0 ? length + 1 : length;
}

// Where element `at` of rows of `length` elements is, with the stride of such rows. Exact below 2^21: at / length is off
// by less than 0.5 / length.
static __device__ int strided(int at, int length, float inverse)
{
    return length % 4 == 0 ? at + (int)((at + 0.5f) * inverse) : at;
}

static __device__ int rounded_up(int n, int to)
{
    return (n + to - 1) / to * to;
}

// A segment of the values of B that the entries of a strip need, rows that overlap or are neighbours, and its place in shared
// memory.
struct __align__(16) Segment
{
    int begin;
    int length;
    int place;
};

// The segments of a strip, of which the last one may get longer.
struct Segments
{
    int b_step;
    int count;
    Segment last;
};

// The end of the last segment in shared memory.
static __device__ int end_of(Segments segments)
{
    int length = segments.last.length;
    bool is_padded = segments.b_step > 0 && segments.b_step % 4 == 0;
    return segments.last.place + length + (is_padded ? length / segments.b_step + 1 : 0);
}

// Adds the rows of B from `begin` to `end`, so that 16 bytes of B are 16 bytes of shared memory.
static __device__ void add_rows(Segments &segments, int begin, int end)
{
    Segment &last = segments.last;
    if (segments.count == 0 || begin < last.begin || begin > last.begin + last.length) {
        int place = segments.count > 0 ? end_of(segments) : 0;
        segments.count++;
        last = {begin, 0, place + ((begin - place) & (PER_WORD - 1))};
    }
    last.length = max(last.length, end - last.begin);
}

// Integers of a strip's list of products, and of the ends before it.
static __device__ int list_size(Strip strip)
{
    return rounded_up(strip.b_step > 0 ? strip.products : 2 * strip.products, 4);
}

static __device__ int ends_size(Strip strip)
{
    return rounded_up(strip.c_length, 4);
}

// The integers of a strip's program: its ends, its list, its segments, and places by which it is made.
static __device__ long long program_size(Strip strip)
{
    return (long long)ends_size(strip) + list_size(strip) + 4 * strip.segments + rounded_up(2 * strip.a_length, 4);
}

// Elements of shared memory for so many, whose first one can be anywhere in 16 bytes.
static __device__ int with_shift(int elements)
{
    return rounded_up(elements + PER_WORD - 1, PER_WORD);
}

// Bytes of shared memory for a strip.
static __device__ long long bytes_of(Strip strip)
{
    long long elements = with_shift(strip.rows * stride(strip.a_length)) + with_shift(strip.b_elements) +
                         with_shift(strip.rows * stride(strip.c_length));
    return elements * (long long)sizeof(ACC) + (ends_size(strip) + list_size(strip)) * (long long)sizeof(int);
}

// Calls `of_entry(k, begin, step)` for entries k of a row of a strip in the order of columns, as far as rows of A are in
// order: where its row of B begins, and the elements to that of the strip's next row.
template <typename F>
static __device__ void for_entries(long long first, Steps steps, const Off *__restrict__ a_offsets,
                                   const Idx *__restrict__ a_indices, const Off *__restrict__ b_offsets, F of_entry)
{
    Off next[STEPS];
    for (int row = 0; row < steps.a; row++)
        next[row] = a_offsets[first + row];
    for (long long left = a_offsets[first + steps.a] - a_offsets[first]; left > 0; left--) {
        int least = -1;
        for (int row = 0; row < steps.a; row++)
            if (next[row] < a_offsets[first + row + 1] &&
                (least < 0 || a_indices[next[row]] < a_indices[next[least]]))
                least = row;
        long long b_row = a_indices[next[least]];
        int k = (int)(next[least] - a_offsets[first]);
        next[least]++;
        of_entry(k, (int)b_offsets[b_row], (int)(b_offsets[b_row + steps.b] - b_offsets[b_row]));
    }
}

// The strip of `rows` rows from row `first` of A on, without its place in C and its program.
static __device__ Strip strip_at(long long first, int rows, Steps steps, const Off *__restrict__ a_offsets,
                                 const Idx *__restrict__ a_indices, const Off *__restrict__ b_offsets,
                                 const long long *__restrict__ c_starts, const long long *__restrict__ products_before)
{
    long long a_begin = a_offsets[first];
    int a_length = (int)(a_offsets[first + steps.a] - a_begin);
    int b_step = -1;
    for (int k = 0; k < a_length; k++) {
        long long b_row = a_indices[a_begin + k];
        int step = (int)(b_offsets[b_row + steps.b] - b_offsets[b_row]);
        b_step = b_step < 0 || b_step == step ? step : 0;
    }
    Segments segments = {b_step, 0, {0, 0, 0}};
    for_entries(first, steps, a_offsets, a_indices, b_offsets,
                [&](int, int begin, int step) { add_rows(segments, begin, begin + rows * step); });
    int c_length = (int)(c_starts[first + steps.a] - c_starts[first]);
    int products = (int)(products_before[first + steps.a] - products_before[first]);
    return {a_begin,  0,      0,              (int)first,         rows,    a_length,
            c_length, b_step, segments.count, end_of(segments), products};
}

// True if row `row` is the row `step` before it, with columns plus `shift`.
static __device__ bool is_copy(long long row, long long step, long long shift, const Off *__restrict__ offsets,
                               const Idx *__restrict__ indices)
{
    long long begin = offsets[row];
    long long length = offsets[row + 1] - begin;
    long long other = offsets[row - step];
    bool is_alike = offsets[row - step + 1] - other == length;
    for (long long k = 0; is_alike && k < length; k++)
        is_alike = indices[begin + k] == indices[other + k] + shift;
    return is_alike;
}

// The columns from the row `step` before to row `row`, which both have entries.
static __device__ long long shift_of(long long row, long long step, const Off *__restrict__ offsets,
                                     const Idx *__restrict__ indices)
{
    return (long long)indices[offsets[row]] - indices[offsets[row - step]];
}

static __device__ bool has_entries(long long row, const Off *__restrict__ offsets)
{
    return offsets[row + 1] > offsets[row];
}

KERNEL spgemm_strips_steps(long long rows, long long samples, long long most_products,
                           const Off *__restrict__ a_offsets, const Idx *__restrict__ a_indices,
                           const Off *__restrict__ b_offsets, const Idx *__restrict__ b_indices,
                           const long long *__restrict__ products_before, int *__restrict__ votes)
{
    for (long long i = warp_index(); i < samples * STEPS; i += warp_count()) {
        long long step = i % STEPS + 1;
        // Spread over all rows, without a period that rows may have.
        long long row = (long long)((unsigned long long)(i / STEPS) * 0x9e3779b97f4a7c15ull % rows);
        if (row < step || products_before[row + 1] - products_before[row] > most_products)
            continue;
        if (!has_entries(row, a_offsets) || !has_entries(row - step, a_offsets))
            continue;
        long long b_step = shift_of(row, step, a_offsets, a_indices);
        if (b_step < 1 || b_step > STEPS || !is_copy(row, step, b_step, a_offsets, a_indices))
            continue;
        long long first = a_indices[a_offsets[row]];
        if (!has_entries(first, b_offsets) || !has_entries(first - b_step, b_offsets))
            continue;
        long long c_step = shift_of(first, b_step, b_offsets, b_indices);
        if (c_step < 1 || c_step > STEPS)
            continue;
        bool is_alike = true;
        for (long long k = a_offsets[row] + lane_index(); is_alike && k < a_offsets[row + 1]; k += WARP)
            is_alike = is_copy(a_indices[k], b_step, c_step, b_offsets, b_indices);
        if (__all_sync(ALL_LANES, is_alike) && lane_index() == 0)
            atomicAdd(votes + ((step - 1) * STEPS + b_step - 1) * STEPS + c_step - 1, 1);
    }
}

KERNEL spgemm_strips_b_copies(long long rows, long long b_step, long long c_step, const Off *__restrict__ offsets,
                              const Idx *__restrict__ indices, int *__restrict__ copies)
{
    for (long long row = thread_index(); row < rows; row += thread_count())
        copies[row] = row >= b_step && row + b_step <= rows &&
                      offsets[row] - offsets[row - b_step] == offsets[row + b_step] - offsets[row] &&
                      is_copy(row, b_step, c_step, offsets, indices);
}

KERNEL spgemm_strips_copies(long long rows, long long a_step, long long b_step, const Off *__restrict__ a_offsets,
                            const Idx *__restrict__ a_indices, const int *__restrict__ b_copies,
                            int *__restrict__ copies)
{
    for (long long row = thread_index(); row < rows; row += thread_count()) {
        bool is_alike = row >= a_step && is_copy(row, a_step, b_step, a_offsets, a_indices);
        for (long long k = a_offsets[row]; is_alike && k < a_offsets[row + 1]; k++)
            is_alike = b_copies[a_indices[k]];
        copies[row] = is_alike;
    }
}

KERNEL spgemm_strips_begins(long long rows, long long a_step, const int *__restrict__ copies,
                            long long *__restrict__ begins)
{
    for (long long row = thread_index(); row < rows; row += thread_count()) {
        bool is_copied = row + a_step < rows && copies[row + a_step];
        for (long long other = row; is_copied && other < row + a_step; other++)
            is_copied = !copies[other];
        begins[row] = row == 0 || (copies[row - 1] && !copies[row]) || is_copied;
    }
}

KERNEL spgemm_strips_runs(long long rows, const long long *__restrict__ runs_before, int *__restrict__ run_begins)
{
    for (long long row = thread_index(); row <= rows; row += thread_count())
        if (row == rows || runs_before[row + 1] > runs_before[row])
            run_begins[runs_before[row]] = (int)row;
}

KERNEL spgemm_strips_find(long long rows, long long a_step, long long b_step, long long most_rows,
                          long long least_rows, long long most_bytes, const int *__restrict__ copies,
                          const long long *__restrict__ runs_before, const int *__restrict__ run_begins,
                          const Off *__restrict__ a_offsets, const Idx *__restrict__ a_indices,
                          const Off *__restrict__ b_offsets, const long long *__restrict__ c_starts,
                          const long long *__restrict__ products_before, long long *__restrict__ flags,
                          long long *__restrict__ products, int *__restrict__ most)
{
    for (long long row = thread_index(); row < rows; row += thread_count()) {
        long long run = runs_before[row + 1] - 1;
        long long begin = run_begins[run];
        long long end = run_begins[run + 1];
        long long left = (end - row) / a_step;
        flags[row] = 0;
        products[row] = 0;
        if ((row - begin) % (most_rows * a_step) != 0 || left < least_rows || !copies[begin + a_step])
            continue;
        long long products_of_row = products_before[row + a_step] - products_before[row];
        if (products_of_row == 0 || products_of_row * (long long)sizeof(int) > most_bytes)
            continue;
        int count = (int)min(left, most_rows);
        Steps steps = {(int)a_step, (int)b_step};
        Strip strip = strip_at(row, count, steps, a_offsets, a_indices, b_offsets, c_starts, products_before);
        long long bytes = bytes_of(strip);
        if (bytes > most_bytes || strip.b_elements > 0xffff || strip.a_length > 0xffff)
            continue;
        flags[row] = 1;
        products[row] = products_of_row * count;
        atomicMax(most, (int)bytes);
    }
}

KERNEL spgemm_strips_make(long long rows, long long a_step, long long b_step, long long most_rows,
                          const long long *__restrict__ strips_before, const long long *__restrict__ runs_before,
                          const int *__restrict__ run_begins, const Off *__restrict__ a_offsets,
                          const Idx *__restrict__ a_indices, const Off *__restrict__ b_offsets,
                          const long long *__restrict__ c_starts, const long long *__restrict__ products_before,
                          Strip *__restrict__ strips, long long *__restrict__ sizes)
{
    for (long long row = thread_index(); row < rows; row += thread_count()) {
        long long s = strips_before[row];
        if (strips_before[row + 1] == s)
            continue;
        int count = (int)min((run_begins[runs_before[row + 1]] - row) / a_step, most_rows);
        Steps steps = {(int)a_step, (int)b_step};
        strips[s] = strip_at(row, count, steps, a_offsets, a_indices, b_offsets, c_starts, products_before);
        sizes[s] = program_size(strips[s]);
    }
}

KERNEL spgemm_strips_leave(long long count, long long a_step, const Strip *__restrict__ strips, int *__restrict__ bins)
{
    for (long long s = warp_index(); s < count; s += warp_count())
        for (int row = lane_index(); row < strips[s].rows * a_step; row += WARP)
            bins[strips[s].first + row] = 0;
}

// Calls `of_product(k, j, e)` for each product of a row, in which no two lanes of a warp meet at one entry of C: entry k of
// the row and entry j of its row of B make a product of entry e.
template <typename F>
static __device__ void for_products(long long first, long long a_step, const Off *__restrict__ a_offsets,
                                    const Idx *__restrict__ a_indices, const Off *__restrict__ b_offsets,
                                    const Idx *__restrict__ b_indices, const Off *__restrict__ c_offsets,
                                    const Idx *__restrict__ c_indices, F of_product)
{
    long long a_begin = a_offsets[first];
    for (long long row = first; row < first + a_step; row++) {
        long long c_begin = c_offsets[row];
        int c_length = (int)(c_offsets[row + 1] - c_begin);
        int before = (int)(c_begin - c_offsets[first]);
        for (long long k = a_offsets[row]; k < a_offsets[row + 1]; k++) {
            long long begin = b_offsets[a_indices[k]];
            int length = (int)(b_offsets[a_indices[k] + 1] - begin);
            for (int j = lane_index(); j < length; j += WARP)
                of_product((int)(k - a_begin), j,
                           before + count_below(c_indices + c_begin, c_length, b_indices[begin + j]));
            __syncwarp();
        }
    }
}

// Where an entry of A has its row of B: from the begin of a segment on, whose place is known, too.
struct __align__(8) BPlace
{
    int segment_place;
    int offset;
};

KERNEL spgemm_strips_programs(long long count, long long a_step, long long b_step, Strip *strips,
                              const long long *__restrict__ starts, const Off *__restrict__ a_offsets,
                              const Idx *__restrict__ a_indices, const Off *__restrict__ b_offsets,
                              const Idx *__restrict__ b_indices, const Off *__restrict__ c_offsets,
                              const Idx *__restrict__ c_indices, int *programs)
{
    int lane = lane_index();
    for (long long s = warp_index(); s < count; s += warp_count()) {
        Strip strip = strips[s];
        int *ends = programs + starts[s];
        int *list = ends + ends_size(strip);
        Segment *segments = (Segment *)(list + list_size(strip));
        BPlace *places = (BPlace *)(segments + strip.segments);
        for (int e = lane; e < strip.c_length; e += WARP)
            ends[e] = 0;
        __syncwarp();
        for_products(strip.first, a_step, a_offsets, a_indices, b_offsets, b_indices, c_offsets, c_indices,
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
            Segments found = {strip.b_step, 0, {0, 0, 0}};
            Steps steps = {(int)a_step, (int)b_step};
            for_entries(strip.first, steps, a_offsets, a_indices, b_offsets, [&](int k, int begin, int step) {
                add_rows(found, begin, begin + strip.rows * step);
                segments[found.count - 1] = found.last;
                places[k] = {found.last.place, begin - found.last.begin};
            });
        }
        __syncwarp();
        for_products(strip.first, a_step, a_offsets, a_indices, b_offsets, b_indices, c_offsets, c_indices,
                     [&](int k, int j, int e) {
                         int offset = places[k].offset + j;
                         int place = places[k].segment_place + offset;
                         if (strip.b_step > 0 && strip.b_step % 4 == 0)
                             place += offset / strip.b_step;
                         int word = place | k << 16;
                         int at = ends[e]++;
                         if (strip.b_step > 0) {
                             list[at] = word;
                         } else {
                             long long b_row = a_indices[strip.a_begin + k];
                             list[2 * at] = word;
                             list[2 * at + 1] = (int)(b_offsets[b_row + b_step] - b_offsets[b_row]);
                         }
                     });
        __syncwarp();
    }
}

// Copies bytes to shared memory, where they are once wait_for_copies returns.
template <int BYTES> static __device__ void copy_bytes(void *to, const void *from)
{
#if __CUDA_ARCH__ >= 800
    unsigned int shared = (unsigned int)__cvta_generic_to_shared(to);
    if (BYTES == 16)
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" : : "r"(shared), "l"(from) : "memory");
    else
        asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" : : "r"(shared), "l"(from), "n"(BYTES) : "memory");
#else
    for (int at = 0; at < BYTES / 4; at++)
        ((int *)to)[at] = ((const int *)from)[at];
#endif
}

static __device__ void copy_value(ACC *to, const T *from)
{
#if HALF
    *to = load(from, 0);
#else
    copy_bytes<sizeof(T)>(to, from);
#endif
}

static __device__ void wait_for_copies()
{
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.wait_all;" : : : "memory");
#endif
}

// Elements from the last multiple of 16 bytes to `from`.
static __device__ int shift_at(const T *from)
{
    return HALF ? 0 : (int)((size_t)from % 16 / sizeof(T));
}

// The threads that copy together: a block, or each of its warps.
struct Copiers
{
    int first;
    int count;
};

// Copies `count` values to shared memory, at an address of the same shift.
static __device__ void copy_values(ACC *to, const T *__restrict__ from, int count, Copiers copiers)
{
#if !HALF
    int head = min(count, (PER_WORD - shift_at(from)) % PER_WORD);
    int words = (count - head) / PER_WORD;
    int tail = head + words * PER_WORD;
    for (int word = copiers.first; word < words; word += copiers.count)
        copy_bytes<16>(to + head + word * PER_WORD, from + head + word * PER_WORD);
    if (copiers.first < head)
        copy_value(to + copiers.first, from + copiers.first);
    if (copiers.first < count - tail)
        copy_value(to + tail + copiers.first, from + tail + copiers.first);
#else
    for (int at = copiers.first; at < count; at += copiers.count)
        copy_value(to + at, from + at);
#endif
}

// Copies `count` values of rows of `length` to shared memory, with the stride of these.
static __device__ void copy_rows(ACC *to, const T *__restrict__ from, int count, int length, Copiers copiers)
{
    if (stride(length) == length) {
        copy_values(to, from, count, copiers);
        return;
    }
    float inverse = 1.0f / (float)length;
    for (int at = copiers.first; at < count; at += copiers.count)
        copy_value(to + strided(at, length, inverse), from + at);
}

// Copies `count` sums of rows of `length` from shared memory.
static __device__ void store_rows(T *__restrict__ to, const ACC *from, int count, int length)
{
#if !HALF
    if (stride(length) == length) {
        int head = min(count, (PER_WORD - shift_at(to)) % PER_WORD);
        int words = (count - head) / PER_WORD;
        int tail = head + words * PER_WORD;
        for (int word = threadIdx.x; word < words; word += blockDim.x)
            *(int4 *)(to + head + word * PER_WORD) = *(const int4 *)(from + head + word * PER_WORD);
        if ((int)threadIdx.x < head)
            store(to, threadIdx.x, from[threadIdx.x]);
        if ((int)threadIdx.x < count - tail)
            store(to, tail + threadIdx.x, from[tail + threadIdx.x]);
        return;
    }
#endif
    float inverse = 1.0f / (float)length;
#pragma unroll 4
    for (int at = threadIdx.x; at < count; at += blockDim.x)
        store(to, at, from[strided(at, length, inverse)]);
}

// What the threads of a block have in shared memory.
struct StripMemory
{
    const ACC *a;
    const ACC *b;
    ACC *c;
    const int *ends;
    const int *list;
};

// Adds the products of COUNT rows of a thread, the strip's row `first` and those in steps of `step`. ALIKE if rows of B have
// one step. The entries of C are those from `part` on in steps of `parts`.
template <int COUNT, bool ALIKE>
static __device__ void add_products(Strip strip, StripMemory memory, int first, int step, int part, int parts)
{
    int a_stride = stride(strip.a_length);
    int c_stride = stride(strip.c_length);
    int rows[COUNT];
#pragma unroll
    for (int r = 0; r < COUNT; r++)
        rows[r] = min(first + r * step, strip.rows - 1);
    for (int e = part; e < strip.c_length; e += parts) {
        ACC sums[COUNT];
#pragma unroll
        for (int r = 0; r < COUNT; r++)
            sums[r] = ACC(0);
        int end = memory.ends[e];
#pragma unroll 4
        for (int at = e > 0 ? memory.ends[e - 1] : 0; at < end; at++) {
            unsigned int word = memory.list[ALIKE ? at : 2 * at];
            int b_step = ALIKE ? stride(strip.b_step) : memory.list[2 * at + 1];
#pragma unroll
            for (int r = 0; r < COUNT; r++)
                sums[r] += mul(memory.a[rows[r] * a_stride + (word >> 16)],
                               memory.b[rows[r] * b_step + (word & 0xffff)]);
        }
#pragma unroll
        for (int r = 0; r < COUNT; r++)
            if (first + r * step < strip.rows)
                memory.c[rows[r] * c_stride + e] = sums[r];
    }
}

// As above, for a warp of the block: warps with the same rows share the entries of C.
template <int COUNT> static __device__ void add_products_of_warp(Strip strip, StripMemory memory)
{
    int warps = blockDim.x / WARP;
    int groups = 1;
    while (groups < warps && groups * COUNT * WARP < strip.rows)
        groups *= 2;
    int warp = threadIdx.x / WARP;
    int first = warp % groups * WARP + lane_index();
    for (; first < strip.rows; first += COUNT * groups * WARP) {
        if (strip.b_step > 0)
            add_products<COUNT, true>(strip, memory, first, groups * WARP, warp / groups, warps / groups);
        else
            add_products<COUNT, false>(strip, memory, first, groups * WARP, warp / groups, warps / groups);
    }
}

KERNEL spgemm_strips_sum(long long count, const Strip *__restrict__ strips, const int *__restrict__ programs,
                         const T *__restrict__ a_values, const T *__restrict__ b_values, T *__restrict__ c_values)
{
    extern __shared__ __align__(16) unsigned char memory[];
    let_next_begin();
    int b_shift = shift_at(b_values);
    for (long long s = blockIdx.x; s < count; s += gridDim.x) {
        Strip strip = strips[s];
        int size = ends_size(strip) + list_size(strip);
        int *program = (int *)memory;
        ACC *a = (ACC *)(program + size);
        ACC *b = a + with_shift(strip.rows * stride(strip.a_length));
        ACC *c = b + with_shift(strip.b_elements) + shift_at(c_values + strip.c_begin);
        a += shift_at(a_values + strip.a_begin);
        b += b_shift;
        const int *from = programs + strip.program;
        Copiers block = {(int)threadIdx.x, (int)blockDim.x};
        for (int at = block.first * 4; at < size; at += block.count * 4)
            copy_bytes<16>(program + at, from + at);
        copy_rows(a, a_values + strip.a_begin, strip.rows * strip.a_length, strip.a_length, block);
        const Segment *segments = (const Segment *)(from + size);
        int warps = block.count / WARP;
        bool are_many = 2 * strip.segments > warps;
        Copiers copiers = are_many ? Copiers{lane_index(), WARP} : block;
        for (int at = are_many ? threadIdx.x / WARP : 0; at < strip.segments; at += are_many ? warps : 1) {
            Segment own = segments[at];
            int length = strip.b_step > 0 ? strip.b_step : 1;
            copy_rows(b + own.place, b_values + own.begin, own.length, length, copiers);
        }
        wait_for_copies();
        __syncthreads();
        StripMemory own = {a, b, c, program, program + ends_size(strip)};
        if (strip.rows > 2 * WARP)
            add_products_of_warp<4>(strip, own);
        else if (strip.rows > WARP)
            add_products_of_warp<2>(strip, own);
        else
            add_products_of_warp<1>(strip, own);
        __syncthreads();
        store_rows(c_values + strip.c_begin, c, strip.rows * strip.c_length, strip.c_length);
        __syncthreads();
    }
    end_after_last();
}

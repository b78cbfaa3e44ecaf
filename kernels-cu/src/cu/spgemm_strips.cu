// spgemm_strips: the strips of C = A B, which plans of many runs add by spgemm_strips_sum: rows of compressed matrices whose
// patterns are shifted copies of each other, as those of stencils and bands are. B has no column twice in a row.
// A row of A is a copy if its columns are those of the row `a_step` before, each plus `b_step`, and a row of B if its columns
// are those of the row `b_step` before, each plus `c_step`, and as many entries lie between these rows as after them. So
// `a_step` rows of A, whose sum is one long row here, repeat where all of their rows and the rows of B that these name are
// copies. A strip is up to `most_rows` of such repetitions, the rows of the strip. The entries of a strip in A and in C are
// neighbours, those of the rows of B that an entry of A names lie in equal steps, and all rows add the same products, by one
// program: the products of each entry of C in the order of A's entries, 4 bytes each, or 8 where rows of B have unlike steps.
// A plan calls these kernels in their order, with prefix sums between them. Each reads the patterns once, those of programs
// the ones of strips' first rows:
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
// spgemm_strips_rest: counts[i] <- the products of row i, or 0 if it is in a strip.
// spgemm_strips_leave: bins[i] <- 0 for each row i of a strip.
// spgemm_strips_programs: a warp has a strip, and writes its program: the segments of B's values, the end of each entry of C
// in the list of products, and this list: the place in shared memory of the first row's entry of B, in the lower half, and
// the entry of A in the upper one, and, where steps differ, the elements to the next row's entry of B.
// Macros: SCALAR, IDX, OFF, BLOCK (threads of the largest block), STEPS = 8 (the largest step that is looked for).
// Launch: any number of blocks of up to BLOCK threads, a multiple of 32.
#include "grid.cuh"
#include "scalar.cuh"
#include "index.cuh"
#include "search.cuh"
#include "strips.cuh"
#ifndef BLOCK
#error "BLOCK is missing: the threads of the largest block"
#endif
#ifndef STEPS
#define STEPS 8
#endif

// The rows of A and of B from a row of a strip to the next.
struct Steps
{
    int a;
    int b;
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

// The integers of a strip's program: its ends, its list, its segments, and places by which it is made.
static __device__ long long program_size(Strip strip)
{
    return (long long)ends_size(strip) + list_size(strip) + 4 * strip.segments + rounded_up(2 * strip.a_length, 4);
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

KERNEL spgemm_strips_rest(long long rows, long long a_step, const long long *__restrict__ strips_before,
                          const Strip *__restrict__ strips, const long long *__restrict__ products_before,
                          long long *__restrict__ counts)
{
    for (long long row = thread_index(); row < rows; row += thread_count()) {
        long long s = strips_before[row + 1] - 1;
        bool is_in_strip = s >= 0 && row < strips[s].first + strips[s].rows * a_step;
        counts[row] = is_in_strip ? 0 : products_before[row + 1] - products_before[row];
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

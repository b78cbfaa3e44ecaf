// csr_spmv_segmented: y <- alpha A x + beta y for compressed rows of any lengths, by parts of equal numbers of entries,
// summed by segments.
// One warp per part: takes STEP neighbouring entries after STEP others, EACH per lane, and sums the segments between
// the bits that mark the starts of rows. Reads values, indices and a bit per entry once, gathers x, writes y once, and
// writes and reads two partial sums per part.
// Macros: SCALAR, IDX, OFF, CONJ (1 conjugates A), EACH = 4 (neighbouring entries per lane), MIN_BLOCKS = 2, 4, 5 or 6
// by the types' sizes (blocks per multiprocessor).   Launch: any number of blocks of whole warps, up to 256 threads;
// the plan's kernels any number of blocks of up to 256 threads.
// A part writes its sum of a row that began before to head[part], that of the row that is open at its end to
// tail[part]; a second kernel adds these in order. The plan has a bit per entry, the rows with entries in order,
// followed by the others, and for every part the number of rows with entries that have begun before.
// Blelloch, Heroux, Zagha: Segmented operations for sparse matrix computation on vector multiprocessors. CMU (1993).
// Liu, Vinter: CSR5: an efficient storage format for cross-platform sparse matrix-vector multiplication. ICS (2015).
#ifndef MIN_BLOCKS
#define MIN_BLOCKS \
    (sizeof(ACC) + sizeof(Idx) <= 8 ? 6 : sizeof(ACC) + sizeof(Idx) <= 12 ? 5 : sizeof(ACC) <= 8 ? 4 : 2)
#endif
#include "grid.cuh"
#include "scalar.cuh"
#include "index.cuh"
#include "entry.cuh"
#include "warp_scalar.cuh"
#include "neighbours.cuh"
#ifndef EACH
#define EACH 4
#endif
#define STEP (WARP * EACH)
#define BITS 32

// counts[row] <- 1 if the row has entries, otherwise 0; one zero more at the end. A thread takes a row.
KERNEL csr_spmv_segmented_count(long long rows, const Off *__restrict__ offsets, long long *__restrict__ counts)
{
    for (long long row = thread_index(); row <= rows; row += thread_count())
        counts[row] = row < rows && offsets[row] < offsets[row + 1];
}

// Sets the bit of each row's first entry, and gives each row its position among those with entries or after them.
// starts are the counts, scanned. A thread takes a row.
KERNEL csr_spmv_segmented_mark(long long rows, const Off *__restrict__ offsets, const long long *__restrict__ starts,
                               unsigned int *__restrict__ bits, Idx *__restrict__ order)
{
    long long filled = starts[rows];
    for (long long row = thread_index(); row < rows; row += thread_count()) {
        long long begin = offsets[row];
        bool has_entries = begin < offsets[row + 1];
        if (has_entries)
            atomicOr(bits + begin / BITS, 1u << begin % BITS);
        order[has_entries ? starts[row] : filled + row - starts[row]] = (Idx)row;
    }
}

// begun[part] <- the rows with entries that begin before entry part*size. A thread takes a part.
KERNEL csr_spmv_segmented_begun(long long parts, long long size, long long rows, const Off *__restrict__ offsets,
                                const long long *__restrict__ starts, long long *__restrict__ begun)
{
    for (long long part = thread_index(); part <= parts; part += thread_count()) {
        long long low = 0;
        long long high = rows;
        while (low < high) {
            long long mid = (low + high) / 2;
            if (offsets[mid] < part * size)
                low = mid + 1;
            else
                high = mid;
        }
        begun[part] = starts[low];
    }
}

// rows[part] <- the row that is open at the end of the part, if it begins there, otherwise -1; ends[part] <- the
// last part that it has entries in, or -1 - that part if it goes on to the end of that one. A thread takes a part.
KERNEL csr_spmv_segmented_open(long long parts, long long size, long long nnz, const Off *__restrict__ offsets,
                               const long long *__restrict__ begun, const Idx *__restrict__ order,
                               Idx *__restrict__ rows, long long *__restrict__ ends)
{
    for (long long part = thread_index(); part < parts; part += thread_count()) {
        Idx row = order[begun[part + 1] - 1];
        long long end = offsets[row + 1];
        long long last = (end - 1) / size;
        rows[part] = offsets[row] >= part * size ? row : -1;
        ends[part] = end < nnz && end % size != 0 ? last : -1 - last;
    }
}

// A lane's part of a step: its entries, and a bit for each that a row begins with.
struct __align__(16) Step
{
    Idx cols[EACH];
    T values[EACH];
    unsigned int begins;
};

// The step of a part of `entries` whose first entry for this lane is at position `at`.
static __device__ Step load_step(int at, int entries, const unsigned int *bits, const Idx *indices, const T *values)
{
    Step loaded;
    load_neighbours<EACH>(loaded.cols, indices, at, entries);
    load_neighbours<EACH>(loaded.values, values, at, entries);
    loaded.begins = at < entries ? load_once(bits + at / BITS) >> at % BITS & ((1 << EACH) - 1) : 0;
    return loaded;
}

// A warp takes a part: `size` entries, a multiple of STEP.
KERNEL csr_spmv_segmented(long long size, long long nnz, const unsigned int *__restrict__ bits,
                          const long long *__restrict__ begun, const Idx *__restrict__ order,
                          const Idx *__restrict__ indices, const T *__restrict__ values, ACC alpha,
                          const T *__restrict__ x, long long x_start, ACC beta, T *__restrict__ y, long long y_start,
                          ACC *__restrict__ head, ACC *__restrict__ tail)
{
    let_next_begin();
    unsigned int lanes_before = (1u << lane_index()) - 1;
    x += x_start;
    y += y_start;
    for (long long part = warp_index(); part * size < nnz; part += warp_count()) {
        long long begin = part * size;
        int entries = (int)min(size, nnz - begin);
        const unsigned int *own_bits = bits + begin / BITS;
        const Idx *own_indices = indices + begin;
        const T *own_values = values + begin;
        const Idx *rows = order + begun[part] - 1;
        int rows_begun = 0;
        ACC carried = ACC(0);
        int at = lane_index() * EACH;
        for (int done = 0; done < entries; done += STEP, at += STEP) {
            Step step = load_step(at, entries, own_bits, own_indices, own_values);
            ACC products[EACH];
#pragma unroll
            for (int each = 0; each < EACH; each++)
                products[each] =
                    at + each < entries ? mul(entry_of(step.values[each]), load(x, step.cols[each])) : ACC(0);

            int begins = __popc(step.begins);
            int open = rows_begun;
#pragma unroll
            for (int bit = 1; bit <= EACH; bit *= 2) {
                unsigned int lanes = __ballot_sync(ALL_LANES, begins & bit);
                open += bit * __popc(lanes & lanes_before);
                rows_begun += bit * __popc(lanes);
            }
            ACC sum = products[0];
            ACC sum_of_open = (step.begins & 1) ? ACC(0) : sum;
            int seen = step.begins & 1;
#pragma unroll
            for (int each = 1; each < EACH; each++) {
                if (step.begins >> each & 1) {
                    if (seen > 0)
                        update(y, rows[open + seen], mul(alpha, sum), beta);
                    else
                        sum_of_open = sum;
                    sum = ACC(0);
                    seen++;
                }
                sum += products[each];
            }
            unsigned int beginners = __ballot_sync(ALL_LANES, begins > 0);
            ACC before = shuffle_up(sum_segment(sum, beginners), 1);
            if (lane_index() == 0)
                before = ACC(0);
            if ((beginners & lanes_before) == 0)
                before = carried + before;
            if (begins > 0) {
                sum_of_open = before + sum_of_open;
                if (open == 0)
                    head[part] = sum_of_open;
                else
                    update(y, rows[open], mul(alpha, sum_of_open), beta);
            }
            carried = shuffle(begins > 0 ? sum : before + sum, WARP - 1);
        }
        if (lane_index() == 0)
            tail[part] = carried;
    }
}

// y of the rows that span several parts, or end where a part does, and of the rows without entries, which stand in
// `order` from `filled` on. A thread takes the row that is open at the end of a part and begins there; a warp adds up
// the parts of one that has many. The kernel before it writes none of these rows.
KERNEL csr_spmv_segmented_carries(long long parts, long long filled, long long rows,
                                  const Idx *__restrict__ open_rows, const long long *__restrict__ ends,
                                  const Idx *__restrict__ order, ACC alpha, ACC beta, T *__restrict__ y,
                                  long long y_start, const ACC *__restrict__ head, const ACC *__restrict__ tail)
{
    y += y_start;
    for (long long i = filled + thread_index(); i < rows; i += thread_count())
        update(y, order[i], ACC(0), beta);
    wait_for_last();
    for (long long first = warp_index() * WARP; first < parts; first += warp_count() * WARP) {
        long long part = first + lane_index();
        Idx row = part < parts ? open_rows[part] : -1;
        long long end = row >= 0 ? ends[part] : -1;
        long long last = end >= 0 ? end : -1 - end;
        bool is_long = row >= 0 && last - part > WARP;
        ACC sum = ACC(0);
        if (row >= 0 && !is_long)
            for (long long t = part; t < last; t++)
                sum += tail[t];
        for (unsigned int lanes = __ballot_sync(ALL_LANES, is_long); lanes != 0; lanes &= lanes - 1) {
            int lane = __ffs(lanes) - 1;
            long long its_last = shuffle(last, lane);
            ACC more = ACC(0);
            for (long long t = first + lane + lane_index(); t < its_last; t += WARP)
                more += tail[t];
            more = sum_lanes(more);
            if (lane_index() == lane)
                sum = more;
        }
        if (row >= 0)
            update(y, row, mul(alpha, sum + (end >= 0 ? head[last] : tail[last])), beta);
    }
}

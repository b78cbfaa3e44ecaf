// csr_spmv_segmented: y <- alpha A x + beta y for compressed rows of any lengths, by parts of equal numbers of entries,
// summed by segments.
// One warp per part: takes STEP neighbouring entries after STEP others, EACH per lane, and sums the
// segments between the bits that mark the starts of rows. Reads values, indices and a bit per entry once, gathers x,
// writes y once, and writes and reads two partial sums per part.
// Macros: SCALAR, IDX, OFF, CONJ (1 conjugates A), EACH = 4 (neighbouring entries per lane), NV_ARCH = 0 (lanes.clh).
// Launch: any number of work-groups of 32, the product with shuffles of 256; the plan's kernels any number of
// work-groups of any size.
// A part writes its sum of a row that began before to head[part], that of the row that is open at its end to
// tail[part]; a second kernel adds these in order. The plan has a bit per entry, the rows with entries in order,
// followed by the others, and for every part the number of rows with entries that have begun before.
// Blelloch, Heroux, Zagha: Segmented operations for sparse matrix computation on vector multiprocessors. CMU (1993).
// Liu, Vinter: CSR5: an efficient storage format for cross-platform sparse matrix-vector multiplication. ICS (2015).
#include "scalar.clh"
#include "index.clh"
#include "entry.clh"
#include "lanes.clh"
#define LANES WARP
#ifndef EACH
#define EACH 4
#endif
#define STEP (LANES * EACH)
#define BITS 32
#define LANES_OF_WORD (BITS / EACH)

// counts[row] <- 1 if the row has entries, otherwise 0; one zero more at the end. A work-item takes a row.
__kernel void csr_spmv_segmented_count(long rows, __global const OFF *offsets, __global long *counts)
{
    for (long row = get_global_id(0); row <= rows; row += get_global_size(0))
        counts[row] = row < rows && offsets[row] < offsets[row + 1];
}

// Sets the bit of each row's first entry, and gives each row its position among those with entries or after them.
// starts are the counts, scanned. A work-item takes a row.
__kernel void csr_spmv_segmented_mark(long rows, __global const OFF *offsets, __global const long *starts,
                                      __global uint *bits, __global IDX *order)
{
    long filled = starts[rows];
    for (long row = get_global_id(0); row < rows; row += get_global_size(0)) {
        long begin = offsets[row];
        int has_entries = begin < offsets[row + 1];
        if (has_entries)
            atomic_or((volatile __global uint *)(bits + begin / BITS), 1u << begin % BITS);
        order[has_entries ? starts[row] : filled + row - starts[row]] = (IDX)row;
    }
}

// begun[part] <- the rows with entries that begin before entry part*size. A work-item takes a part.
__kernel void csr_spmv_segmented_begun(long parts, long size, long rows, __global const OFF *offsets,
                                       __global const long *starts, __global long *begun)
{
    for (long part = get_global_id(0); part <= parts; part += get_global_size(0)) {
        long low = 0;
        long high = rows;
        while (low < high) {
            long mid = (low + high) / 2;
            if (offsets[mid] < part * size)
                low = mid + 1;
            else
                high = mid;
        }
        begun[part] = starts[low];
    }
}

// rows[part] <- the row that is open at the end of the part, if it begins there, otherwise -1; ends[part] <- the
// last part that it has entries in, or -1 - that part if it goes on to the end of that one. A work-item takes a part.
__kernel void csr_spmv_segmented_open(long parts, long size, long nnz, __global const OFF *offsets,
                                      __global const long *begun, __global const IDX *order, __global IDX *rows,
                                      __global long *ends)
{
    for (long part = get_global_id(0); part < parts; part += get_global_size(0)) {
        IDX row = order[begun[part + 1] - 1];
        long end = offsets[row + 1];
        long last = (end - 1) / size;
        rows[part] = offsets[row] >= part * size ? row : -1;
        ends[part] = end < nnz && end % size != 0 ? last : -1 - last;
    }
}

// The columns and the values that a lane takes at once, in words of up to 16 bytes.
#define AT_ONCE(TYPE) __attribute__((aligned(EACH * sizeof(TYPE) < 16 ? EACH * sizeof(TYPE) : 16)))
typedef struct AT_ONCE(IDX)
{
    IDX each[EACH];
} Cols;
typedef struct AT_ONCE(T)
{
    T each[EACH];
} Values;

// Messages between lanes where they do not shuffle, in two buffers that take turns: `side` is the one in use. So one
// barrier, between writing and reading, suffices for each message.
typedef struct
{
    ACC sums[2][LANES];
    uint words[2][STEP / BITS];
} LaneMessages;

// The sum of lane `from` of this work-item's warp.
static ACC sum_of_lane(int lid, ACC sum, int from, __local LaneMessages *messages, int *side)
{
#if SHUFFLES
    return from_lane(lid, sum, from, 0);
#else
    *side ^= 1;
    messages->sums[*side][lid] = sum;
    barrier(CLK_LOCAL_MEM_FENCE);
    return messages->sums[*side][from];
#endif
}

// The sum of all lanes.
static ACC sum_warp(int lid, ACC sum, __local LaneMessages *messages, int *side)
{
    for (int d = LANES / 2; d > 0; d /= 2)
        sum += sum_of_lane(lid, sum, (lid ^ d) % LANES, messages, side);
    return sum;
}

// The sum from the last of the beginners up to each lane.
static ACC sum_segment(int lid, uint beginners, ACC sum, __local LaneMessages *messages, int *side)
{
    int lane = lid % LANES;
    // The lanes whose segment has begun d lanes before or earlier.
    uint going_on = ~beginners & ~1u;
    for (int d = 1; going_on != 0; d *= 2) {
        ACC before = sum_of_lane(lid, sum, max(lane - d, 0), messages, side);
        if (going_on >> lane & 1)
            sum += before;
        going_on &= going_on << d;
    }
    return sum;
}

// The lanes of which EACH neighbouring bits have one that is set.
static uint lanes_of_bits(uint bits)
{
    bits |= bits >> 1;
    bits = (bits | bits >> 2) & 0x11111111;
    bits = (bits | bits >> 3) & 0x03030303;
    bits = (bits | bits >> 6) & 0x000f000f;
    return (bits | bits >> 12) & 0xff;
}

// The rows that begin in a step.
typedef struct
{
    uint beginners; // the lanes in which one begins
    int all;
    int before; // those that begin in lanes before this one
} Begun;

// The bits of a step, decoded; those of this lane are `shift` bits from the end of `own`, and a lane looks at a word.
static Begun begun_in(int lid, __global const uint *bits, int words, uint own, int shift,
                      __local LaneMessages *messages, int *side)
{
#if SHUFFLES
    uint before = (1u << lid % LANES) - 1;
    int begins = popcount(own >> shift & ((1u << EACH) - 1));
    Begun begun = {lanes_where(begins > 0), 0, 0};
    for (int bit = 1; bit <= EACH; bit *= 2) {
        uint lanes = lanes_where((begins & bit) != 0);
        begun.before += bit * popcount(lanes & before);
        begun.all += bit * popcount(lanes);
    }
    return begun;
#else
    *side ^= 1;
    if (lid < STEP / BITS) {
        uint word = lid < words ? bits[lid] : 0;
        messages->words[*side][lid] = lanes_of_bits(word) | popcount(word) << LANES_OF_WORD;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    Begun begun = {0, 0, popcount(own & ((1u << shift) - 1))};
    for (int word = 0; word < STEP / BITS; word++) {
        uint found = messages->words[*side][word];
        begun.beginners |= (found & ((1 << LANES_OF_WORD) - 1)) << word * LANES_OF_WORD;
        if (word < lid / LANES_OF_WORD)
            begun.before += found >> LANES_OF_WORD;
        begun.all += found >> LANES_OF_WORD;
    }
    return begun;
#endif
}

// A warp takes a part: `size` entries, a multiple of STEP.
__kernel OF_WARPS
void csr_spmv_segmented(long size, long nnz, __global const uint *bits, __global const long *begun,
                        __global const IDX *order, __global const IDX *indices, __global const T *values, ACC alpha,
                        __global const T *x, long x_start, ACC beta, __global T *y, long y_start, __global ACC *head,
                        __global ACC *tail)
{
    int lid = (int)get_local_id(0);
    __local LaneMessages messages;
    int side = 0;
    x += x_start;
    y += y_start;
    for (long part = warp_index(lid); part * size < nnz; part += warp_count()) {
        int entries = (int)min(size, nnz - part * size);
        __global const uint *own_bits = bits + part * size / BITS;
        __global const IDX *own_indices = indices + part * size;
        __global const T *own_values = values + part * size;
        __global const IDX *rows = order + begun[part] - 1;
        int rows_begun = 0;
        ACC carried = (ACC)(0);
        ACC waiting = (ACC)(0); // sums of lanes that `carried` does not have yet
        int is_waiting = 0;
        for (int done = 0; done < entries; done += STEP) {
            int at = done + lid % LANES * EACH;
            ACC products[EACH];
            if (at + EACH <= entries) {
                Cols cols = *(__global const Cols *)(own_indices + at);
                Values taken = *(__global const Values *)(own_values + at);
#pragma unroll
                for (int each = 0; each < EACH; each++)
                    products[each] = mul(entry_of(taken.each[each]), load(x, cols.each[each]));
            } else {
#pragma unroll
                for (int each = 0; each < EACH; each++)
                    products[each] = at + each < entries
                        ? mul(entry(own_values, at + each), load(x, own_indices[at + each]))
                        : (ACC)(0);
            }
            uint own = at < entries ? own_bits[at / BITS] : 0;
            int words = (entries - done + BITS - 1) / BITS;
            Begun found = begun_in(lid, own_bits + done / BITS, words, own, at % BITS, &messages, &side);
            if (found.beginners == 0) {
#pragma unroll
                for (int each = 0; each < EACH; each++)
                    waiting += products[each];
                is_waiting = 1;
                continue;
            }
            if (is_waiting) {
                carried += sum_warp(lid, waiting, &messages, &side);
                waiting = (ACC)(0);
                is_waiting = 0;
            }
            uint begins = own >> at % BITS;
            ACC last_sum = (ACC)(0);
#pragma unroll
            for (int each = 0; each < EACH; each++)
                last_sum = (begins >> each & 1) ? products[each] : last_sum + products[each];
            last_sum = sum_segment(lid, found.beginners, last_sum, &messages, &side);
            ACC before = sum_of_lane(lid, last_sum, max(lid % LANES - 1, 0), &messages, &side);
            ACC sum = lid % LANES > 0 ? before : (ACC)(0);
            if (found.before == 0)
                sum = carried + sum;
            int open = rows_begun + found.before;
#pragma unroll
            for (int each = 0; each < EACH; each++) {
                if (begins >> each & 1) {
                    if (open == 0)
                        head[part] = sum;
                    else
                        update(y, rows[open], mul(alpha, sum), beta);
                    sum = (ACC)(0);
                    open++;
                }
                sum += products[each];
            }
            carried = sum_of_lane(lid, last_sum, LANES - 1, &messages, &side);
            rows_begun += found.all;
        }
        carried += sum_warp(lid, waiting, &messages, &side);
        if (lid % LANES == 0)
            tail[part] = carried;
    }
}

// y of the rows that span several parts, or end where a part does, and of the rows without entries, which stand in
// `order` from `filled` on. A work-item takes the row that is open at the end of a part and begins there; a work-group
// of 32 lanes adds up the parts of one that has many.
__kernel __attribute__((reqd_work_group_size(LANES, 1, 1)))
void csr_spmv_segmented_carries(long parts, long filled, long rows, __global const IDX *open_rows,
                                __global const long *ends, __global const IDX *order, ACC alpha, ACC beta,
                                __global T *y, long y_start, __global const ACC *head, __global const ACC *tail)
{
    int lid = (int)get_local_id(0);
    __local LaneMessages messages;
    __local long long_ends[LANES];
    int side = 0;
    for (long first = get_group_id(0) * LANES; first < parts; first += get_num_groups(0) * LANES) {
        long part = first + lid;
        IDX row = part < parts ? open_rows[part] : -1;
        long end = row >= 0 ? ends[part] : -1;
        long last = end >= 0 ? end : -1 - end;
        int is_long = row >= 0 && last - part > LANES;
        ACC sum = (ACC)(0);
        if (row >= 0 && !is_long)
            for (long t = part; t < last; t++)
                sum += tail[t];
        long_ends[lid] = is_long ? last : 0;
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int lane = 0; lane < LANES; lane++) {
            if (long_ends[lane] == 0)
                continue;
            ACC more = (ACC)(0);
            for (long t = first + lane + lid; t < long_ends[lane]; t += LANES)
                more += tail[t];
            more = sum_warp(lid, more, &messages, &side);
            if (lid == lane)
                sum = more;
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        if (row >= 0)
            update(y, y_start + row, mul(alpha, sum + (end >= 0 ? head[last] : tail[last])), beta);
    }
    for (long i = filled + get_global_id(0); i < rows; i += get_global_size(0))
        update(y, y_start + order[i], (ACC)(0), beta);
}

// scan: prefix sums by Blelloch's work-efficient scan: up-sweep, down-sweep over 2*BLOCK elements in local memory, and
// several passes, since work-groups cannot wait for each other.
// One work-group per chunk of 2*BLOCK elements, striding over the grid; a level reads and writes each element up to
// twice, and a total per chunk.
// Macros: ELEMENT (uint, ulong; sums wrap), BLOCK (a power of two), PADDED (1: a gap in local memory after every 32
// elements, so that a stride of a power of two meets all banks), ITEMS = 12 (elements of a work-item in scan_short).
// Launch: any number of work-groups of BLOCK; scan_add any number of work-groups of any size; scan_short one
// work-group. The array is cut into lines of line_len elements, element p of line l at start + l*line_step +
// p*item_step, and each line into per_line chunks of 2*BLOCK.
// Blelloch: Prefix sums and their applications. CMU-CS-90-190 (1990).
#ifndef ELEMENT
#error "ELEMENT is missing: uint or ulong"
#endif
#ifndef BLOCK
#error "BLOCK is missing: the size of a work-group"
#endif
#ifndef PADDED
#error "PADDED is missing: 0 or 1"
#endif
#ifndef ITEMS
#define ITEMS 12
#endif
#define CHUNK (2 * BLOCK)
#if PADDED
#define AT(i) ((i) + ((i) >> 5))
#else
#define AT(i) (i)
#endif

// The place of an element in scan_short: a gap after each work-item's, so that work-items meet different banks.
#define OWN(i) ((i) + (i) / ITEMS)

// The ends of the two halves of pair i, where `pairs` of them cover a chunk.
#define LEFT(i, pairs) AT(BLOCK / (pairs) * (2 * (i) + 1) - 1)
#define RIGHT(i, pairs) AT(BLOCK / (pairs) * (2 * (i) + 2) - 1)

// out <- prefix sums within each chunk, inclusive or exclusive; totals[chunk] <- its sum. `in` may be `out`.
__kernel __attribute__((reqd_work_group_size(BLOCK, 1, 1)))
void scan_chunks(long chunks, long per_line, long line_len, long line_step, long item_step, int inclusive,
                 __global const ELEMENT *in, long in_start, __global ELEMENT *out, long out_start,
                 __global ELEMENT *totals)
{
    int lid = (int)get_local_id(0);
    __local ELEMENT sums[AT(CHUNK - 1) + 1];
    for (long chunk = get_group_id(0); chunk < chunks; chunk += get_num_groups(0)) {
        long line = chunk / per_line;
        long first = chunk % per_line * CHUNK;
        ELEMENT own[2];
        for (int part = 0; part < 2; part++) {
            long p = first + lid + part * BLOCK;
            own[part] = 0;
            if (p < line_len)
                own[part] = in[in_start + line * line_step + p * item_step];
            sums[AT(lid + part * BLOCK)] = own[part];
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int pairs = BLOCK; pairs > 0; pairs /= 2) {
            if (lid < pairs)
                sums[RIGHT(lid, pairs)] += sums[LEFT(lid, pairs)];
            barrier(CLK_LOCAL_MEM_FENCE);
        }
        if (lid == 0) {
            totals[chunk] = sums[AT(CHUNK - 1)];
            sums[AT(CHUNK - 1)] = 0;
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int pairs = 1; pairs <= BLOCK; pairs *= 2) {
            if (lid < pairs) {
                ELEMENT before = sums[RIGHT(lid, pairs)];
                sums[RIGHT(lid, pairs)] = before + sums[LEFT(lid, pairs)];
                sums[LEFT(lid, pairs)] = before;
            }
            barrier(CLK_LOCAL_MEM_FENCE);
        }
        for (int part = 0; part < 2; part++) {
            long p = first + lid + part * BLOCK;
            if (p < line_len)
                out[out_start + line * line_step + p * item_step] =
                    sums[AT(lid + part * BLOCK)] + (inclusive ? own[part] : 0);
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
}

// out <- out + the sum of all chunks before.
__kernel void scan_add(long chunks, long per_line, long line_len, long line_step, long item_step,
                       __global const ELEMENT *before, __global ELEMENT *out, long out_start)
{
    for (long i = get_global_id(0); i < chunks * CHUNK; i += get_global_size(0)) {
        long chunk = i / CHUNK;
        long p = chunk % per_line * CHUNK + i % CHUNK;
        if (p < line_len)
            out[out_start + chunk / per_line * line_step + p * item_step] += before[chunk];
    }
}

// out <- prefix sums of n elements, inclusive or exclusive, by one work-group, ITEMS*BLOCK at a time: neighbouring
// work-items move neighbours to and from local memory, where each work-item sums ITEMS of its own. `in` may be `out`.
__kernel __attribute__((reqd_work_group_size(BLOCK, 1, 1)))
void scan_short(long n, int inclusive, __global const ELEMENT *in, long in_start, __global ELEMENT *out, long out_start)
{
    int lid = (int)get_local_id(0);
    __local ELEMENT elements[OWN(ITEMS * BLOCK)];
    __local ELEMENT sums[BLOCK];
    __local ELEMENT *own = elements + OWN(lid * ITEMS);
    ELEMENT all = 0;
    for (long first = 0; first < n; first += ITEMS * BLOCK) {
        for (int i = lid; i < ITEMS * BLOCK; i += BLOCK)
            elements[OWN(i)] = first + i < n ? in[in_start + first + i] : 0;
        barrier(CLK_LOCAL_MEM_FENCE);
        ELEMENT sum_of_own = 0;
        for (int item = 0; item < ITEMS; item++)
            sum_of_own += own[item];
        sums[lid] = sum_of_own;
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int step = 1; step < BLOCK; step *= 2) {
            ELEMENT left = lid >= step ? sums[lid - step] : 0;
            barrier(CLK_LOCAL_MEM_FENCE);
            sums[lid] += left;
            barrier(CLK_LOCAL_MEM_FENCE);
        }
        ELEMENT before = all + sums[lid] - sum_of_own;
        for (int item = 0; item < ITEMS; item++) {
            ELEMENT element = own[item];
            own[item] = before + (inclusive ? element : 0);
            before += element;
        }
        all += sums[BLOCK - 1];
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int i = lid; i < ITEMS * BLOCK && first + i < n; i += BLOCK)
            out[out_start + first + i] = elements[OWN(i)];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
}

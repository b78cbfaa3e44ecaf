// scan: prefix sums by Blelloch's work-efficient scan: up-sweep, down-sweep over 2*BLOCK elements in shared memory, and
// several passes.
// One block per chunk of 2*BLOCK elements, striding over the grid; a level reads and writes each element up to twice,
// and a total per chunk.
// Macros: ELEMENT (uint, ulong; sums wrap), BLOCK (a power of two), PADDED (1: a gap in shared memory after every 32
// elements, so that a stride of a power of two meets all banks), ITEMS = 12 (elements of a thread in scan_short).   Launch:
// any number of blocks of BLOCK threads; scan_add any number of blocks of up to 256 threads; scan_short one block.
// The array is cut into lines of line_len elements, element p of line l at start + l*line_step + p*item_step, and each
// line into per_line chunks of 2*BLOCK.
// Blelloch: Prefix sums and their applications. CMU-CS-90-190 (1990).
#include "grid.cuh"
#include "types.cuh"
#include "warp.cuh"
#include "block.cuh"
#ifndef ELEMENT
#error "ELEMENT is missing: uint or ulong"
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

// The ends of the two halves of pair i, where `pairs` of them cover a chunk.
#define LEFT(i, pairs) AT(BLOCK / (pairs) * (2 * (i) + 1) - 1)
#define RIGHT(i, pairs) AT(BLOCK / (pairs) * (2 * (i) + 2) - 1)

// The place of an element in scan_short: a gap after each thread's, so that threads meet different banks.
#define OWN(i) ((i) + (i) / ITEMS)

typedef TYPE(ELEMENT) Element;

// out <- prefix sums within each chunk, inclusive or exclusive; totals[chunk] <- its sum. `in` may be `out`.
KERNEL scan_chunks(long long chunks, long long per_line, long long line_len, long long line_step, long long item_step,
                   int inclusive, const Element *in, long long in_start, Element *out, long long out_start,
                   Element *totals)
{
    int own = threadIdx.x;
    __shared__ Element sums[AT(CHUNK - 1) + 1];
    for (long long chunk = blockIdx.x; chunk < chunks; chunk += gridDim.x) {
        long long line = chunk / per_line;
        long long first = chunk % per_line * CHUNK;
        Element elements[2];
        for (int part = 0; part < 2; part++) {
            long long p = first + own + part * BLOCK;
            elements[part] = p < line_len ? in[in_start + line * line_step + p * item_step] : 0;
            sums[AT(own + part * BLOCK)] = elements[part];
        }
        __syncthreads();
        for (int pairs = BLOCK; pairs > 0; pairs /= 2) {
            if (own < pairs)
                sums[RIGHT(own, pairs)] += sums[LEFT(own, pairs)];
            __syncthreads();
        }
        if (own == 0) {
            totals[chunk] = sums[AT(CHUNK - 1)];
            sums[AT(CHUNK - 1)] = 0;
        }
        __syncthreads();
        for (int pairs = 1; pairs <= BLOCK; pairs *= 2) {
            if (own < pairs) {
                Element before = sums[RIGHT(own, pairs)];
                sums[RIGHT(own, pairs)] = before + sums[LEFT(own, pairs)];
                sums[LEFT(own, pairs)] = before;
            }
            __syncthreads();
        }
        for (int part = 0; part < 2; part++) {
            long long p = first + own + part * BLOCK;
            if (p < line_len)
                out[out_start + line * line_step + p * item_step] =
                    sums[AT(own + part * BLOCK)] + (inclusive ? elements[part] : 0);
        }
        __syncthreads();
    }
}

// out <- out + the sum of all chunks before.
KERNEL scan_add(long long chunks, long long per_line, long long line_len, long long line_step, long long item_step,
                const Element *__restrict__ before, Element *__restrict__ out, long long out_start)
{
    for (long long i = thread_index(); i < chunks * CHUNK; i += thread_count()) {
        long long chunk = i / CHUNK;
        long long p = chunk % per_line * CHUNK + i % CHUNK;
        if (p < line_len)
            out[out_start + chunk / per_line * line_step + p * item_step] += before[chunk];
    }
}

// out <- prefix sums of n elements, inclusive or exclusive, by one block, ITEMS*BLOCK at a time: neighbouring threads move
// neighbours to and from shared memory, where each thread sums ITEMS of its own. `in` may be `out`.
KERNEL scan_short(long long n, int inclusive, const Element *in, long long in_start, Element *out, long long out_start)
{
    __shared__ Element elements[OWN(ITEMS * BLOCK)];
    Element *own = elements + OWN(threadIdx.x * ITEMS);
    Element before_all = 0;
    for (long long first = 0; first < n; first += ITEMS * BLOCK) {
#pragma unroll
        for (int item = 0; item < ITEMS; item++) {
            int i = item * BLOCK + threadIdx.x;
            elements[OWN(i)] = first + i < n ? in[in_start + first + i] : 0;
        }
        __syncthreads();
        Element sum_of_own = 0;
        for (int item = 0; item < ITEMS; item++)
            sum_of_own += own[item];
        Element all;
        Element before = before_all + scan_block(sum_of_own, &all) - sum_of_own;
        for (int item = 0; item < ITEMS; item++) {
            Element element = own[item];
            own[item] = before + (inclusive ? element : 0);
            before += element;
        }
        before_all += all;
        __syncthreads();
        for (int i = threadIdx.x; i < ITEMS * BLOCK && first + i < n; i += BLOCK)
            out[out_start + first + i] = elements[OWN(i)];
        __syncthreads();
    }
}

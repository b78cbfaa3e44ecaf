// onesweep: a stable sort of pairs of indices, each with its position, in one pass per digit. A word holds the major
// index above the minor one above the position, so that a pass moves 8 bytes per entry. A pass ranks the words of a
// tile, finds the words with each digit in the tiles before it by decoupled look-back, and scatters.
// One block per tile of ITEMS * 256 words (onesweep_pass); otherwise one thread per entry. A pass reads and writes each
// word once, and writes DIGITS states per tile twice; the digits of all passes are counted while the words are made.
// Macros: IDX (type of indices), ITEMS = 16 (words of a tile per thread), LOOK = 4 (tiles that look-back reads at a time),
// MIN_BLOCKS = 3 (per multiprocessor).   Launch: any number of blocks of 256 threads.
// Adinets, Merrill: Onesweep: a faster least significant digit radix sort for GPUs. arXiv:2206.01784 (2022).
#ifndef MIN_BLOCKS
#define MIN_BLOCKS 3
#endif
#include "grid.cuh"
#include "types.cuh"
#include "warp.cuh"
#ifndef IDX
#error "IDX is missing: int or long"
#endif
#define DIGIT 8
#define DIGITS (1 << DIGIT)
#define BLOCK DIGITS
#include "block.cuh"
#include "look_back.cuh"
#ifndef ITEMS
#define ITEMS 16
#endif
#define TILE (BLOCK * ITEMS)
#ifndef LOOK
#define LOOK 4
#endif
// The most passes: words have 64 bits.
#define MAX_PASSES 8
// A state is a flag above the bits of a count: of the words with a digit in a tile, or up to its end.
#define COUNT_BITS 30
#define COUNT_MASK ((1u << COUNT_BITS) - 1)

typedef TYPE(IDX) Idx;
typedef unsigned long long Word;

// The state of a pass over n words: DIGITS totals, DIGITS words for the ticket, then DIGITS states per tile. All are
// zeros before onesweep_words.
static __device__ unsigned int *shared_by_pass(unsigned int *states, long long n, int pass)
{
    return states + pass * (2 + (n + TILE - 1) / TILE) * DIGITS;
}

static __device__ int digit_of(Word word, int shift, int bits)
{
    return (int)(word >> shift) & ((1 << bits) - 1);
}

// words[k] <- the indices of entry k above its position k, or of the entry at the position in order[k], unless that is a
// null pointer. Without minor indices, a null pointer, the major one is all. The totals of each pass count the words
// with each digit, of `bits` bits from bit `shift` on.
KERNEL onesweep_words(long long n, const Idx *__restrict__ major, const Idx *__restrict__ minor, int minor_bits,
                      const Word *__restrict__ order, int position_bits, int shift, int bits, int passes,
                      Word *__restrict__ words, unsigned int *states)
{
    __shared__ unsigned int counts[MAX_PASSES][DIGITS];
    for (int pass = 0; pass < passes; pass++)
        counts[pass][threadIdx.x] = 0;
    __syncthreads();
    for (long long k = thread_index(); k < n; k += thread_count()) {
        Word position = order ? order[k] & ((1ull << position_bits) - 1) : k;
        Word key = (Word)major[position] << minor_bits;
        if (minor)
            key |= (Word)minor[position];
        Word word = key << position_bits | position;
        words[k] = word;
        for (int pass = 0; pass < passes; pass++)
            atomicAdd(&counts[pass][digit_of(word, shift + pass * bits, bits)], 1u);
    }
    __syncthreads();
    for (int pass = 0; pass < passes; pass++)
        if (counts[pass][threadIdx.x] > 0)
            atomicAdd(shared_by_pass(states, n, pass) + threadIdx.x, counts[pass][threadIdx.x]);
}

// The lanes whose words have the same digit.
static __device__ unsigned int lanes_with(int digit)
{
    unsigned int lanes = ALL_LANES;
#pragma unroll
    for (int bit = 0; bit < DIGIT; bit++) {
        bool is_set = digit >> bit & 1;
        unsigned int set = __ballot_sync(ALL_LANES, is_set);
        lanes &= is_set ? set : ~set;
    }
    return lanes;
}

static __device__ void publish(unsigned int *state, unsigned int flag, unsigned int count)
{
    asm volatile("st.relaxed.gpu.global.u32 [%0], %1;" : : "l"(state), "r"(flag << COUNT_BITS | count) : "memory");
}

static __device__ unsigned int state_of(const unsigned int *state)
{
    unsigned int value;
    asm volatile("ld.relaxed.gpu.global.u32 %0, [%1];" : "=r"(value) : "l"(state) : "memory");
    return value;
}

// The words with one digit in the tiles before `tile`, added to those with lower digits. `states` are those of the
// digit, one every DIGITS words. Several are read at a time, since a read takes as long as several.
static __device__ unsigned int words_before(long long tile, const unsigned int *states)
{
    unsigned int before = 0;
    for (long long last = tile - 1;; last -= LOOK) {
        unsigned int of_tiles[LOOK];
#pragma unroll
        for (int i = 0; i < LOOK; i++)
            of_tiles[i] = last >= i ? state_of(states + (last - i) * DIGITS) : 0;
#pragma unroll
        for (int i = 0; i < LOOK; i++) {
            while (of_tiles[i] >> COUNT_BITS == 0)
                of_tiles[i] = state_of(states + (last - i) * DIGITS);
            before += of_tiles[i] & COUNT_MASK;
            if (of_tiles[i] >> COUNT_BITS == WHOLE_SUM)
                return before;
        }
    }
}

// sorted <- the words in order of their digit of `bits` bits from bit `shift` on. A block takes a tile, a warp of it the
// places w*32*ITEMS .. (w + 1)*32*ITEMS, 32 at a time, and a thread of it a digit. The tile is sorted in shared memory,
// so that neighbouring threads write neighbouring places. n < 2^30.
KERNEL onesweep_pass(long long n, const Word *__restrict__ words, int shift, int bits, int pass,
                     Word *__restrict__ sorted, unsigned int *states)
{
    __shared__ Word staged[TILE];
    __shared__ unsigned int starts[WARPS][DIGITS];
    __shared__ unsigned int targets[DIGITS];
    int warp = threadIdx.x / WARP;
    int own = warp * (WARP * ITEMS) + lane_index();
    unsigned int lower_lanes = (1u << lane_index()) - 1u;
    unsigned int *totals = shared_by_pass(states, n, pass);
    State *ticket = (State *)(totals + DIGITS);
    unsigned int *of_digit = totals + 2 * DIGITS + threadIdx.x;
    long long tiles = (n + TILE - 1) / TILE;
    for (long long tile = next_tile(ticket); tile < tiles; tile = next_tile(ticket)) {
        long long first = tile * TILE;
        int count = (int)min((long long)TILE, n - first);
        for (int w = 0; w < WARPS; w++)
            starts[w][threadIdx.x] = 0;
        Word own_words[ITEMS];
        // Beyond the end stand words that come last.
#pragma unroll
        for (int item = 0; item < ITEMS; item++)
            own_words[item] = own + item * WARP < count ? words[first + own + item * WARP] : ~0ull;
        __syncthreads();
        // The rank among the words of the warp with the same digit, above the digit.
        unsigned int ranks[ITEMS];
#pragma unroll
        for (int item = 0; item < ITEMS; item++) {
            int digit = digit_of(own_words[item], shift, bits);
            unsigned int alike = lanes_with(digit);
            unsigned int before = starts[warp][digit];
            __syncwarp();
            ranks[item] = (before + __popc(alike & lower_lanes)) << DIGIT | digit;
            if ((alike & lower_lanes) == 0)
                starts[warp][digit] = before + __popc(alike);
            __syncwarp();
        }
        __syncthreads();
        unsigned int own_count = 0;
        for (int w = 0; w < WARPS; w++)
            own_count += starts[w][threadIdx.x];
        if (tile > 0)
            publish(of_digit + tile * DIGITS, OWN_SUM, own_count);
        unsigned int all;
        unsigned int start = scan_block(own_count, &all) - own_count;
        unsigned int of_warp = start;
        for (int w = 0; w < WARPS; w++) {
            unsigned int count_of_warp = starts[w][threadIdx.x];
            starts[w][threadIdx.x] = of_warp;
            of_warp += count_of_warp;
        }
        __syncthreads();
#pragma unroll
        for (int item = 0; item < ITEMS; item++)
            staged[starts[warp][ranks[item] % DIGITS] + (ranks[item] >> DIGIT)] = own_words[item];
        unsigned int before;
        if (tile == 0) {
            unsigned int total = totals[threadIdx.x];
            before = scan_block(total, &all) - total;
        } else {
            before = words_before(tile, of_digit);
        }
        publish(of_digit + tile * DIGITS, WHOLE_SUM, before + own_count);
        targets[threadIdx.x] = before - start;
        __syncthreads();
#pragma unroll
        for (int item = 0; item < ITEMS; item++) {
            int place = item * BLOCK + threadIdx.x;
            if (place < count) {
                Word word = staged[place];
                sorted[targets[digit_of(word, shift, bits)] + place] = word;
            }
        }
    }
}

// The indices and positions in words; without `minor`, a null pointer, the major index is all.
KERNEL onesweep_split(long long n, const Word *__restrict__ words, int minor_bits, int position_bits,
                      Idx *__restrict__ major, Idx *__restrict__ minor, int *__restrict__ positions)
{
    for (long long k = thread_index(); k < n; k += thread_count()) {
        Word word = words[k];
        Word key = word >> position_bits;
        major[k] = (Idx)(key >> minor_bits);
        if (minor)
            minor[k] = (Idx)(key & ((1ull << minor_bits) - 1));
        positions[k] = (int)(word & ((1ull << position_bits) - 1));
    }
}

// radix_sort: a stable sort of keys, each with a position, by up to DIGIT bits per pass from the lowest bits on: counts
// the digits of every tile, scans the counts of each digit, scatters. `digits` is a power of two from 32 on.
// One work-group per tile of ITEMS * BLOCK keys (count, scatter) or per digit (starts). A pass reads the keys twice and
// the positions once, and writes both once; counts[digit*tiles + tile], tiles = ceil(n / (ITEMS * BLOCK)).
// Macros: KEY (uint, ulong), POS (type of positions, which fits n: int, long), BLOCK (a power of two, a multiple of
// 32), DIGIT = 8 (bits per pass), ITEMS = 16 (keys of a tile per work-item), COUNTS = 8 (tiles per work-item at once).
// Launch: any number of work-groups of BLOCK.
// Merrill, Grimshaw: High performance and scalable radix sorting. Parallel Processing Letters 21 (2011).
#ifndef KEY
#error "KEY is missing: uint or ulong"
#endif
#ifndef POS
#error "POS is missing: int or long"
#endif
#ifndef BLOCK
#error "BLOCK is missing: the size of a work-group"
#endif
#define LANES 32
#define WARPS (BLOCK / LANES)
#ifndef DIGIT
#define DIGIT 8
#endif
#define DIGITS (1 << DIGIT)
#ifndef ITEMS
#define ITEMS 16
#endif
#define TILE (BLOCK * ITEMS)
#ifndef COUNTS
#define COUNTS 8
#endif

static int digit_of(KEY key, int shift, int digits)
{
    return (int)(key >> shift & (digits - 1));
}

// A work-group takes a tile and every get_num_groups(0)-th one after it.
__kernel __attribute__((reqd_work_group_size(BLOCK, 1, 1)))
void radix_sort_count(long n, __global const KEY *keys, int shift, int digits, __global POS *counts)
{
    int lid = (int)get_local_id(0);
    __local int own[DIGITS];
    long tiles = (n + TILE - 1) / TILE;
    for (long tile = get_group_id(0); tile < tiles; tile += get_num_groups(0)) {
        long end = min((tile + 1) * TILE, n);
        for (int digit = lid; digit < digits; digit += BLOCK)
            own[digit] = 0;
        barrier(CLK_LOCAL_MEM_FENCE);
        for (long k = tile * TILE + lid; k < end; k += BLOCK)
            atomic_inc(&own[digit_of(keys[k], shift, digits)]);
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int digit = lid; digit < digits; digit += BLOCK)
            counts[digit * tiles + tile] = own[digit];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
}

// counts[digit*tiles + tile] <- the keys with this digit before the tile; totals[digit] <- all of them. A work-group
// takes a digit, a work-item COUNTS neighbouring tiles at a time; small sorts use one of them.
__kernel __attribute__((reqd_work_group_size(BLOCK, 1, 1)))
void radix_sort_starts(int digits, long tiles, __global POS *counts, __global POS *totals)
{
    int lid = (int)get_local_id(0);
    __local POS sums[BLOCK];
    for (int digit = (int)get_group_id(0); digit < digits; digit += (int)get_num_groups(0)) {
        __global POS *of_digit = counts + digit * tiles;
        POS before = 0;
        for (long first = 0; first < tiles; first += COUNTS * BLOCK) {
            long tile = first + COUNTS * lid;
            POS sum = 0;
            for (int i = 0; i < COUNTS && tile + i < tiles; i++)
                sum += of_digit[tile + i];
            sums[lid] = sum;
            barrier(CLK_LOCAL_MEM_FENCE);
            int used = (int)min((long)BLOCK, (tiles - first + COUNTS - 1) / COUNTS);
            for (int d = 1; d < used; d *= 2) {
                POS left = lid >= d ? sums[lid - d] : 0;
                barrier(CLK_LOCAL_MEM_FENCE);
                sums[lid] += left;
                barrier(CLK_LOCAL_MEM_FENCE);
            }
            POS at = before + sums[lid] - sum;
            for (int i = 0; i < COUNTS && tile + i < tiles; i++) {
                POS count = of_digit[tile + i];
                of_digit[tile + i] = at;
                at += count;
            }
            before += sums[used - 1];
            barrier(CLK_LOCAL_MEM_FENCE);
        }
        if (lid == 0)
            totals[digit] = before;
    }
}

// starts[digit] <- the keys with lower digits, of which counts[digit] tells the number: 32 lanes add neighbouring
// digits, then the lanes before them. Every work-item calls it. (PoCL 3.1 breaks loops to a bound that is no constant
// where only some of the work-items have them.)
static void scan_digits(__local const POS *counts, __local POS *starts, __local POS *of_lanes, int lid, int digits)
{
    int each = digits / LANES;
    int first = lid * each;
    if (lid < LANES) {
        POS sum = 0;
        for (int i = 0; i < DIGITS / LANES; i++)
            sum += i < each ? counts[first + i] : 0;
        of_lanes[lid] = sum;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (lid < LANES) {
        POS before = 0;
        for (int lane = 0; lane < lid; lane++)
            before += of_lanes[lane];
        for (int i = 0; i < DIGITS / LANES; i++)
            if (i < each) {
                starts[first + i] = before;
                before += counts[first + i];
            }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
}

// A work-group takes a tile, 32 lanes of it the places w*32*ITEMS .. (w + 1)*32*ITEMS, 32 at a time: lanes with one
// digit find each other as bits of a word, and their rank is their order. The order of the tile is made in local
// memory, so that neighbours write neighbouring places. Without positions, a null pointer, every key has its own place.
__kernel __attribute__((reqd_work_group_size(BLOCK, 1, 1)))
void radix_sort_scatter(long n, __global const KEY *keys, __global const POS *positions, int shift,
                        int digits, __global const POS *starts, __global const POS *totals, __global KEY *sorted_keys,
                        __global POS *sorted_positions)
{
    int lid = (int)get_local_id(0);
    __local int seen[WARPS * DIGITS];
    __local uint alike[WARPS * DIGITS];
    __local POS digit_counts[DIGITS];
    __local POS digit_starts[DIGITS];
    __local POS lower[DIGITS];
    __local POS of_lanes[LANES];
    __local ushort order[TILE];
    int lane = lid % LANES;
    int warp = lid / LANES;
    uint before = (1u << lane) - 1u;
    long tiles = (n + TILE - 1) / TILE;
    for (int digit = lid; digit < digits; digit += BLOCK)
        digit_counts[digit] = totals[digit];
    barrier(CLK_LOCAL_MEM_FENCE);
    scan_digits(digit_counts, lower, of_lanes, lid, digits);
    for (long tile = get_group_id(0); tile < tiles; tile += get_num_groups(0)) {
        long first = tile * TILE;
        int count = (int)min((long)TILE, n - first);
        for (int i = lid; i < WARPS * digits; i += BLOCK) {
            seen[i] = 0;
            alike[i] = 0;
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        int ranks[ITEMS];
        for (int item = 0; item < ITEMS; item++) {
            int k = (warp * ITEMS + item) * LANES + lane;
            int own = warp * digits;
            if (k < count) {
                own += digit_of(keys[first + k], shift, digits);
                atomic_or(&alike[own], 1u << lane);
            }
            barrier(CLK_LOCAL_MEM_FENCE);
            uint lanes = alike[own];
            ranks[item] = seen[own] + popcount(lanes & before);
            barrier(CLK_LOCAL_MEM_FENCE);
            if (k < count && (lanes & before) == 0) {
                seen[own] += popcount(lanes);
                alike[own] = 0;
            }
            barrier(CLK_LOCAL_MEM_FENCE);
        }
        for (int digit = lid; digit < digits; digit += BLOCK) {
            int sum = 0;
            for (int w = 0; w < WARPS; w++) {
                int own = seen[w * digits + digit];
                seen[w * digits + digit] = sum;
                sum += own;
            }
            digit_counts[digit] = sum;
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        scan_digits(digit_counts, digit_starts, of_lanes, lid, digits);
        for (int item = 0; item < ITEMS; item++) {
            int k = (warp * ITEMS + item) * LANES + lane;
            if (k < count) {
                int digit = digit_of(keys[first + k], shift, digits);
                order[digit_starts[digit] + seen[warp * digits + digit] + ranks[item]] = (ushort)k;
            }
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int place = lid; place < count; place += BLOCK) {
            KEY key = keys[first + order[place]];
            int digit = digit_of(key, shift, digits);
            POS to = lower[digit] + starts[digit * tiles + tile] + place - digit_starts[digit];
            sorted_keys[to] = key;
            sorted_positions[to] = positions ? positions[first + order[place]] : (POS)(first + order[place]);
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
}

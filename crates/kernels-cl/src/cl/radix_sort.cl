// A stable sort of keys, each with a position, by DIGIT bits a pass from the lowest bits on: count the digits of every
// tile, an exclusive scan of the counts, scatter. counts[digit*tiles + tile]: tiles = ceil(n / (16 * BLOCK)).
// Takes KEY (uint or ulong) and BLOCK, the size of a work-group: a power of two and a multiple of 32.
// Merrill, Grimshaw: High performance and scalable radix sorting. Parallel Processing Letters 21 (2011).
#if !defined(KEY) || !defined(BLOCK)
#error "KEY or BLOCK is missing"
#endif
#define LANES 32
#define WARPS (BLOCK / LANES)
#define DIGIT 8
#define DIGITS (1 << DIGIT)
#define ITEMS 16
#define TILE (BLOCK * ITEMS)

static int digit_of(KEY key, int shift)
{
    return (int)(key >> shift & (DIGITS - 1));
}

// A work-group takes a tile and every get_num_groups(0)-th one after it.
__kernel __attribute__((reqd_work_group_size(BLOCK, 1, 1)))
void radix_sort_count(long n, __global const KEY *keys, int shift, __global long *counts)
{
    int lid = (int)get_local_id(0);
    __local int own[DIGITS];
    long tiles = (n + TILE - 1) / TILE;
    for (long tile = get_group_id(0); tile < tiles; tile += get_num_groups(0)) {
        long end = min((tile + 1) * TILE, n);
        for (int digit = lid; digit < DIGITS; digit += BLOCK)
            own[digit] = 0;
        barrier(CLK_LOCAL_MEM_FENCE);
        for (long k = tile * TILE + lid; k < end; k += BLOCK)
            atomic_inc(&own[digit_of(keys[k], shift)]);
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int digit = lid; digit < DIGITS; digit += BLOCK)
            counts[digit * tiles + tile] = own[digit];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
}

// starts[digit] <- the keys of a tile with lower digits, of which counts[digit] tells the number: 32 lanes add
// neighbouring digits, then the lanes before them. Every work-item calls it.
static void scan_digits(__local const int *counts, __local int *starts, __local int *of_lanes, int lid)
{
    int first = lid * (DIGITS / LANES);
    if (lid < LANES) {
        int sum = 0;
        for (int digit = first; digit < first + DIGITS / LANES; digit++)
            sum += counts[digit];
        of_lanes[lid] = sum;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (lid < LANES) {
        int before = 0;
        for (int lane = 0; lane < lid; lane++)
            before += of_lanes[lane];
        for (int digit = first; digit < first + DIGITS / LANES; digit++) {
            starts[digit] = before;
            before += counts[digit];
        }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
}

// A work-group takes a tile, 32 lanes of it the places w*32*ITEMS .. (w + 1)*32*ITEMS, 32 at a time: lanes with one
// digit find each other as bits of a word, and their rank is their order. The order of the tile is made in local
// memory, so that neighbours write neighbouring places.
__kernel __attribute__((reqd_work_group_size(BLOCK, 1, 1)))
void radix_sort_scatter(long n, __global const KEY *keys, __global const long *positions, int shift,
                        __global const long *starts, __global KEY *sorted_keys, __global long *sorted_positions)
{
    int lid = (int)get_local_id(0);
    __local int seen[WARPS * DIGITS];
    __local uint alike[WARPS * DIGITS];
    __local int digit_counts[DIGITS];
    __local int digit_starts[DIGITS];
    __local int of_lanes[LANES];
    __local ushort order[TILE];
    int lane = lid % LANES;
    int warp = lid / LANES;
    uint before = (1u << lane) - 1u;
    long tiles = (n + TILE - 1) / TILE;
    for (long tile = get_group_id(0); tile < tiles; tile += get_num_groups(0)) {
        long first = tile * TILE;
        int count = (int)min((long)TILE, n - first);
        for (int i = lid; i < WARPS * DIGITS; i += BLOCK) {
            seen[i] = 0;
            alike[i] = 0;
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        int ranks[ITEMS];
        for (int item = 0; item < ITEMS; item++) {
            int k = (warp * ITEMS + item) * LANES + lane;
            int own = warp * DIGITS;
            if (k < count) {
                own += digit_of(keys[first + k], shift);
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
        for (int digit = lid; digit < DIGITS; digit += BLOCK) {
            int sum = 0;
            for (int w = 0; w < WARPS; w++) {
                int own = seen[w * DIGITS + digit];
                seen[w * DIGITS + digit] = sum;
                sum += own;
            }
            digit_counts[digit] = sum;
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        scan_digits(digit_counts, digit_starts, of_lanes, lid);
        for (int item = 0; item < ITEMS; item++) {
            int k = (warp * ITEMS + item) * LANES + lane;
            if (k < count) {
                int digit = digit_of(keys[first + k], shift);
                order[digit_starts[digit] + seen[warp * DIGITS + digit] + ranks[item]] = (ushort)k;
            }
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int place = lid; place < count; place += BLOCK) {
            KEY key = keys[first + order[place]];
            int digit = digit_of(key, shift);
            long to = starts[digit * tiles + tile] + place - digit_starts[digit];
            sorted_keys[to] = key;
            sorted_positions[to] = positions[first + order[place]];
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
}

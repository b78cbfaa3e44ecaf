// The sums of a run of spgemm_chunks.cu: a thread adds products in shared memory by their positions, and what it has left of
// an entry goes to the thread that ends this entry. Needs chunk_streams.cuh and warp_scalar.cuh before.

// Positions that a thread loads at once, two to a word.
#define WORDS (EACH < 8 ? EACH / 2 : 4)
struct __align__(4 * WORDS) Positions
{
    unsigned int of[WORDS];
};

// Adds a thread's products, whose positions are `own`, and returns what is left of the last entry.
static __device__ ACC add_run(ACC *sums, const ACC *products, unsigned int run, const Positions *own)
{
    ACC each[EACH];
#pragma unroll
    for (int k = 0; k < EACH; k++) {
        unsigned int word = own[k / 2 / WORDS].of[k / 2 % WORDS];
        unsigned int position = k % 2 == 0 ? word & 0xffff : word >> 16;
        each[k] = *(const ACC *)((const char *)products + position);
    }
    int entry = run & 0xffff;
    ACC sum = ACC(0);
#pragma unroll
    for (int k = 0; k < EACH; k++) {
        sum += each[k];
        if (run & ENDS << k) {
            sums[padded(entry)] = sum;
            sum = ACC(0);
            entry++;
        }
    }
    return sum;
}

// Adds what threads have left of an entry to its sum: that of the first entry that a later thread ends.
// `of_warps` and `entries` have an element for each warp.
static __device__ void add_rests(ACC *sums, ACC *of_warps, int *entries, unsigned int run, ACC rest)
{
    int lane = lane_index();
    int warp = threadIdx.x / WARP;
    bool ends = run >= ENDS;
    int entry = run & 0xffff;
    unsigned int enders = __ballot_sync(ALL_LANES, ends);
    ACC up_to_lane = sum_segment(rest, enders);
    ACC before = shuffle_up(up_to_lane, 1);
    if (ends && lane > 0)
        sums[padded(entry)] += before;
    if (lane == WARP - 1)
        of_warps[warp] = up_to_lane;
    if (lane == max(__ffs(enders) - 1, 0))
        entries[warp] = ends ? entry : -1;
    __syncthreads();
    if (lane == 0 && warp > 0 && entries[warp] >= 0) {
        ACC sum = ACC(0);
        int last = warp;
        do
            sum += of_warps[--last];
        while (last > 0 && entries[last] < 0);
        sums[padded(entries[warp])] += sum;
    }
}

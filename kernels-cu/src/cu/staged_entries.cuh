// Coalesced row caching: the lanes of a warp stage 32 entries at a time in shared memory, and each uses all of them.
// Needs grid.cuh, scalar.cuh, index.cuh and entry.cuh before.
#define WARPS (MAX_THREADS / WARP)

// Entries of a warp, and where their rows of B begin.
struct StagedEntries
{
    long long b_rows[WARP];
    ACC values[WARP];
};

// The sum of the entries from `begin` to `end` times column `col` of B, 0 where col is not before `cols`.
static __device__ ACC sum_column(StagedEntries *staged, long long begin, long long end, const Idx *indices,
                                 const T *values, const T *b, long long b_start, long long b_row, long long b_col,
                                 long long col, long long cols)
{
    int lane = lane_index();
    ACC sum = ACC(0);
    for (long long base = begin; base < end; base += WARP) {
        int count = (int)min((long long)WARP, end - base);
        if (lane < count) {
            staged->b_rows[lane] = b_start + indices[base + lane] * b_row;
            staged->values[lane] = entry(values, base + lane);
        }
        __syncwarp();
#pragma unroll 4
        for (int k = 0; k < count; k++)
            if (col < cols)
                sum += mul(staged->values[k], load(b, staged->b_rows[k] + col * b_col));
        __syncwarp();
    }
    return sum;
}

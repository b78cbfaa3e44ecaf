// Rows of a dense matrix in steps of 32*VECTOR columns: lane l has the columns l*VECTOR .. (l + 1)*VECTOR of a step.
// Needs grid.cuh, scalar.cuh and pack.cuh before.
#define STEP (WARP * VECTOR)

// The elements of a step that are entries: bit m of `own` is the lane's m-th column; `place` entries are before
// the lane's columns, `count` in the whole step.
struct Kept
{
    unsigned int own;
    int place;
    int count;
};

// Decodes the words of a step; bit l of word m is lane l's m-th column.
static __device__ Kept kept_of(const unsigned int *words)
{
    int lane = lane_index();
    Kept kept = Kept();
#pragma unroll
    for (int m = 0; m < VECTOR; m++) {
        kept.own |= (words[m] >> lane & 1u) << m;
        kept.place += __popc(words[m] & ((1u << lane) - 1u));
        kept.count += __popc(words[m]);
    }
    return kept;
}

// Puts the entries of a step side by side into shared memory: values, and columns from `first_col` on.
static __device__ void gather_step(Kept kept, const Pack &pack, int first_col, short *cols, T *values)
{
#pragma unroll
    for (int m = 0; m < VECTOR; m++)
        if (kept.own >> m & 1u) {
            cols[kept.place] = (short)(first_col + lane_index() * VECTOR + m);
            values[kept.place] = pack.part[m];
            kept.place++;
        }
}

// Rows of a dense matrix in steps of 32*VECTOR columns: lane l has the columns l*VECTOR .. (l + 1)*VECTOR of a step.
// Needs grid.cuh, scalar.cuh and pack.cuh before.
#define STEP (WARP * VECTOR)

// The elements of a step that are entries: bit m of `bits` is the lane's m-th column; `before` entries are before
// the lane's columns, `count` in the whole step.
struct StepEntries
{
    unsigned int bits;
    int before;
    int count;
};

// Decodes the words of a step; bit l of word m is lane l's m-th column.
static __device__ StepEntries entries_of_step(const unsigned int *words)
{
    int lane = lane_index();
    StepEntries entries = StepEntries();
#pragma unroll
    for (int m = 0; m < VECTOR; m++) {
        entries.bits |= (words[m] >> lane & 1u) << m;
        entries.before += __popc(words[m] & ((1u << lane) - 1u));
        entries.count += __popc(words[m]);
    }
    return entries;
}

// Puts the entries of a step side by side into shared memory: values, and columns from `first_col` on.
static __device__ void gather_step(StepEntries entries, const Pack &pack, int first_col, short *cols, T *values)
{
#pragma unroll
    for (int m = 0; m < VECTOR; m++)
        if (entries.bits >> m & 1u) {
            cols[entries.before] = (short)(first_col + lane_index() * VECTOR + m);
            values[entries.before] = pack.part[m];
            entries.before++;
        }
}

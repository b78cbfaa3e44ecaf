// Rows in steps of EACH neighbouring entries a lane, from a multiple of EACH on, in whole words.
// Needs scalar.cuh, index.cuh, entry.cuh and neighbours.cuh before.
#ifndef EACH
#define EACH 4
#endif

// EACH neighbouring entries for a lane.
struct __align__(16) Step
{
    Idx cols[EACH];
    T values[EACH];
};

// The step at position `at`, a multiple of EACH; what is not before `end` is not read.
static __device__ Step load_step(UnsignedOff at, UnsignedOff end, const Idx *indices, const T *values)
{
    Step step;
    load_neighbours<EACH>(step.cols, indices, at, end);
    load_neighbours<EACH>(step.values, values, at, end);
    return step;
}

// The products of the entries of a step at `at` that are in `begin` .. `end`.
static __device__ ACC sum_of(const Step &step, UnsignedOff at, UnsignedOff begin, UnsignedOff end, const T *x)
{
    ACC sum = ACC(0);
#pragma unroll
    for (int each = 0; each < EACH; each++)
        if (at + each >= begin && at + each < end)
            sum += mul(entry_of(step.values[each]), load(x, step.cols[each]));
    return sum;
}

// This lane's part of the sum of the entries `begin` .. `end`, of which a warp takes two steps at a time.
static __device__ ACC sum_of_lane(UnsignedOff begin, UnsignedOff end, const Idx *indices, const T *values, const T *x)
{
    ACC sum = ACC(0);
    for (UnsignedOff at = begin / EACH * EACH + lane_index() * EACH; at < end; at += 2 * WARP * EACH) {
        UnsignedOff then = at + WARP * EACH;
        Step step = load_step(at, end, indices, values);
        Step next = load_step(then, end, indices, values);
        sum += sum_of(step, at, begin, end, x);
        sum += sum_of(next, then, begin, end, x);
    }
    return sum;
}

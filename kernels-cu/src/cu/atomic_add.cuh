// Atomic addition of sums. Needs scalar.cuh before.

static __device__ void add_atomically(ACC *sum, ACC value)
{
#if COMPLEX
    atomicAdd(&sum->x, value.x);
    atomicAdd(&sum->y, value.y);
#else
    atomicAdd(sum, value);
#endif
}

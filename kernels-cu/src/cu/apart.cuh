// Launches that touch nothing of each other's, of which all but the first are early: each begins when the last has begun,
// and ends after it, so that what follows them finds all of them ended. Needs grid.cuh before.

// Called by a kernel of such a launch, at its end. One block waits. A kernel that others follow lets them begin first of all.
static __device__ void end_after_last()
{
    if (blockIdx.x == gridDim.x - 1)
        wait_for_last();
}

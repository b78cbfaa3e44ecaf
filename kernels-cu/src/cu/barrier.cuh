// Barriers of some warps of a block, in shared memory: those that wait need not be those that arrive. A barrier has
// phases; one ends when all lanes of `warps` warps have arrived. What a thread wrote before it arrived is seen by those
// that waited for the phase. A thread waits for a phase before the one after it ends.
// An mbarrier from sm_80 on, else counters.

typedef unsigned long long Barrier;

#if __CUDA_ARCH__ >= 800
static __device__ unsigned int shared_address(const void *at)
{
    return (unsigned int)__cvta_generic_to_shared(at);
}
#else
// Arrivals in all phases, and those of a phase.
struct Arrivals
{
    unsigned int done;
    unsigned int count;
};
#endif

// One thread calls it, before a barrier of the block.
static __device__ void begin_barrier(Barrier *barrier, unsigned int warps)
{
    unsigned int count = warps * WARP;
#if __CUDA_ARCH__ >= 800
    asm volatile("mbarrier.init.shared.b64 [%0], %1;" : : "r"(shared_address(barrier)), "r"(count) : "memory");
#else
    *(Arrivals *)barrier = Arrivals{0, count};
#endif
}

// All lanes of a warp call it.
static __device__ void arrive(Barrier *barrier)
{
#if __CUDA_ARCH__ >= 800
    asm volatile("{.reg .b64 state; mbarrier.arrive.shared.b64 state, [%0];}"
                 :
                 : "r"(shared_address(barrier))
                 : "memory");
#else
    __threadfence_block();
    atomicAdd(&((Arrivals *)barrier)->done, 1u);
#endif
}

// Waits until a phase has ended, in the whole warp; phases count from 0.
static __device__ void wait_for_phase(Barrier *barrier, unsigned int phase)
{
#if __CUDA_ARCH__ >= 900
#define TEST_WAIT "mbarrier.try_wait"
#else
#define TEST_WAIT "mbarrier.test_wait"
#endif
#if __CUDA_ARCH__ >= 800
    unsigned int ended;
    do
        asm volatile("{.reg .pred ended;" TEST_WAIT ".parity.shared.b64 ended, [%1], %2; selp.u32 %0, 1, 0, ended;}"
                     : "=r"(ended)
                     : "r"(shared_address(barrier)), "r"(phase & 1)
                     : "memory");
    while (!ended);
#else
    volatile Arrivals *arrivals = (Arrivals *)barrier;
    while (arrivals->done < (phase + 1) * arrivals->count)
        continue;
    __threadfence_block();
#endif
    __syncwarp();
}

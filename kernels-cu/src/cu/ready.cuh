// Results of one thread that another waits for: a word that is 1 once what was written before it can be read.
static __device__ void set_ready(unsigned int *ready)
{
    asm volatile("st.release.gpu.global.u32 [%0], %1;" : : "l"(ready), "r"(1u) : "memory");
}

static __device__ bool is_ready(const unsigned int *ready)
{
    unsigned int value;
    asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(value) : "l"(ready) : "memory");
    return value != 0;
}

// The position of a thread in its grid. Kernels stride over the grid, so that no launch limit bounds a matrix.
// A kernel that gives an item to a thread runs with blocks of any size up to MAX_THREADS, one that gives an item to a
// warp with any multiple of 32 up to MAX_THREADS, one that takes BLOCK with blocks of exactly BLOCK threads.
#define WARP 32
#define ALL_LANES 0xffffffffu
// A file may say by MAX_THREADS that its blocks can have more.
#ifndef MAX_THREADS
#define MAX_THREADS 256
#endif
// A file defines MIN_BLOCKS, the least number of these on a multiprocessor, where registers would allow fewer.
#ifdef MIN_BLOCKS
#define KERNEL extern "C" __global__ void __launch_bounds__(MAX_THREADS, MIN_BLOCKS)
#else
#define KERNEL extern "C" __global__ void __launch_bounds__(MAX_THREADS)
#endif

// A launch may begin while the one before it runs, from sm_90 on ("programmatic dependent launch"): a kernel that lets
// the next begin does so first of all, and one that is launched early waits before it touches what others write or
// read.
static __device__ void let_next_begin()
{
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.launch_dependents;");
#endif
}

static __device__ void wait_for_last()
{
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.wait;" : : : "memory");
#endif
}

// Loads a value that is read once, so that it need not evict from the caches values that are read again.
template <typename V> static __device__ V load_once(const V *from)
{
    static_assert(sizeof(V) <= 16, "at most four words");
    V value;
    if (sizeof(V) == 2)
        *(unsigned short *)&value = __ldcs((const unsigned short *)from);
    else if (sizeof(V) == 4)
        *(unsigned int *)&value = __ldcs((const unsigned int *)from);
    else if (sizeof(V) == 8)
        *(unsigned long long *)&value = __ldcs((const unsigned long long *)from);
    else
        *(ulonglong2 *)&value = __ldcs((const ulonglong2 *)from);
    return value;
}

// Stores 8 or 16 bytes that are not read again soon.
template <typename V> static __device__ void store_once(V *to, V value)
{
    static_assert(sizeof(V) == 8 || sizeof(V) == 16, "two or four words");
    if (sizeof(V) == 8)
        __stcs((unsigned long long *)to, *(unsigned long long *)&value);
    else
        __stcs((ulonglong2 *)to, *(ulonglong2 *)&value);
}

// A number that stays in a register, where the compiler would rather compute it anew at each use.
static __device__ long long in_register(long long number)
{
    asm volatile("" : "+l"(number));
    return number;
}

static __device__ long long thread_index()
{
    return (long long)blockIdx.x * blockDim.x + threadIdx.x;
}

static __device__ long long thread_count()
{
    return (long long)gridDim.x * blockDim.x;
}

static __device__ int lane_index()
{
    return threadIdx.x % WARP;
}

static __device__ long long warp_index()
{
    return thread_index() / WARP;
}

static __device__ long long warp_count()
{
    return thread_count() / WARP;
}

// The gathers of a product alone: reads the row of a table for each index, and stores nothing.
// For OpenCL C and CUDA C++. BYTES: of the word that a thread reads at once, 4, 8 or 16. WORDS: of a row.

#ifdef __OPENCL_VERSION__
#define KERNEL __kernel
#define GLOBAL __global
#define RESTRICT restrict
#define FIRST get_global_id(0)
#define STEP get_global_size(0)
typedef uint u32;
typedef ulong u64;
#else
#define KERNEL extern "C" __global__
#define GLOBAL
#define RESTRICT __restrict__
#define FIRST ((u64)blockIdx.x * blockDim.x + threadIdx.x)
#define STEP ((u64)gridDim.x * blockDim.x)
typedef unsigned int u32;
typedef unsigned long long u64;
#endif

#if BYTES == 16
typedef uint4 word;
#define SUM(found) (found.x + found.y + found.z + found.w)
#elif BYTES == 8
typedef uint2 word;
#define SUM(found) (found.x + found.y)
#else
typedef u32 word;
#define SUM(found) (found)
#endif

// No sum is `never`, which the compiler does not know.
KERNEL void gather(const GLOBAL int *RESTRICT indices, const GLOBAL word *RESTRICT table, u64 count, u64 never,
                   GLOBAL u64 *RESTRICT sink) {
    u64 sum = 0;
#pragma unroll 4
    for (u64 at = FIRST; at < count * WORDS; at += STEP) {
        const word found = table[(u64)indices[at / WORDS] * WORDS + at % WORDS];
        sum += SUM(found);
    }
    if (sum == never)
        *sink = sum;
}

// spgemm_strips_sum: the values of C = A B for plans of many runs, of rows that spgemm_strips has found to add the same products,
// and a C that has the pattern of the product.
// A block has a strip: it copies A, the segments of B and the program to shared memory, a thread has up to four rows, warps
// with the same rows share the entries of C, and the block copies the sums to C. A run takes as many instructions as for a
// dense product, and reads A, the segments of B and the program once, 4 or 8 bytes for the products of all rows of a strip.
// Macros: SCALAR, IDX, OFF, BLOCK (threads of the largest block), MIN_BLOCKS = 4 or 5.
// Launch: any number of blocks of up to BLOCK threads, a multiple of 32, with shared memory for the largest strip.
#ifndef MIN_BLOCKS
#define MIN_BLOCKS (sizeof(ACC) > 8 ? 4 : 5)
#endif
#include "grid.cuh"
#include "apart.cuh"
#include "scalar.cuh"
#include "index.cuh"
#include "strips.cuh"
#ifndef BLOCK
#error "BLOCK is missing: the threads of the largest block"
#endif

// Where element `at` of rows of `length` elements is, with the stride of such rows. Exact below 2^21: at / length is off
// by less than 0.5 / length.
static __device__ int strided(int at, int length, float inverse)
{
    return length % 4 == 0 ? at + (int)((at + 0.5f) * inverse) : at;
}

// Copies bytes to shared memory, where they are once wait_for_copies returns.
template <int BYTES> static __device__ void copy_bytes(void *to, const void *from)
{
#if __CUDA_ARCH__ >= 800
    unsigned int shared = (unsigned int)__cvta_generic_to_shared(to);
    if (BYTES == 16)
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" : : "r"(shared), "l"(from) : "memory");
    else
        asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" : : "r"(shared), "l"(from), "n"(BYTES) : "memory");
#else
    for (int at = 0; at < BYTES / 4; at++)
        ((int *)to)[at] = ((const int *)from)[at];
#endif
}

static __device__ void copy_value(ACC *to, const T *from)
{
#if HALF
    *to = load(from, 0);
#else
    copy_bytes<sizeof(T)>(to, from);
#endif
}

static __device__ void wait_for_copies()
{
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.wait_all;" : : : "memory");
#endif
}

// Elements from the last multiple of 16 bytes to `from`.
static __device__ int shift_at(const T *from)
{
    return HALF ? 0 : (int)((size_t)from % 16 / sizeof(T));
}

// The threads that copy together: a block, or each of its warps.
struct Copiers
{
    int first;
    int count;
};

// Copies `count` values to shared memory, at an address of the same shift.
static __device__ void copy_values(ACC *to, const T *__restrict__ from, int count, Copiers copiers)
{
#if !HALF
    int head = min(count, (PER_WORD - shift_at(from)) % PER_WORD);
    int words = (count - head) / PER_WORD;
    int tail = head + words * PER_WORD;
    for (int word = copiers.first; word < words; word += copiers.count)
        copy_bytes<16>(to + head + word * PER_WORD, from + head + word * PER_WORD);
    if (copiers.first < head)
        copy_value(to + copiers.first, from + copiers.first);
    if (copiers.first < count - tail)
        copy_value(to + tail + copiers.first, from + tail + copiers.first);
#else
    for (int at = copiers.first; at < count; at += copiers.count)
        copy_value(to + at, from + at);
#endif
}

// Copies `count` values of rows of `length` to shared memory, with the stride of these.
static __device__ void copy_rows(ACC *to, const T *__restrict__ from, int count, int length, Copiers copiers)
{
    if (stride(length) == length) {
        copy_values(to, from, count, copiers);
        return;
    }
    float inverse = 1.0f / (float)length;
    for (int at = copiers.first; at < count; at += copiers.count)
        copy_value(to + strided(at, length, inverse), from + at);
}

// Copies `count` sums of rows of `length` from shared memory.
static __device__ void store_rows(T *__restrict__ to, const ACC *from, int count, int length)
{
#if !HALF
    if (stride(length) == length) {
        int head = min(count, (PER_WORD - shift_at(to)) % PER_WORD);
        int words = (count - head) / PER_WORD;
        int tail = head + words * PER_WORD;
        for (int word = threadIdx.x; word < words; word += blockDim.x)
            *(int4 *)(to + head + word * PER_WORD) = *(const int4 *)(from + head + word * PER_WORD);
        if ((int)threadIdx.x < head)
            store(to, threadIdx.x, from[threadIdx.x]);
        if ((int)threadIdx.x < count - tail)
            store(to, tail + threadIdx.x, from[tail + threadIdx.x]);
        return;
    }
#endif
    float inverse = 1.0f / (float)length;
#pragma unroll 4
    for (int at = threadIdx.x; at < count; at += blockDim.x)
        store(to, at, from[strided(at, length, inverse)]);
}

// What the threads of a block have in shared memory.
struct StripMemory
{
    const ACC *a;
    const ACC *b;
    ACC *c;
    const int *ends;
    const int *list;
};

// Adds the products of COUNT rows of a thread, the strip's row `first` and those in steps of `step`. ALIKE if rows of B have
// one step. The entries of C are those from `part` on in steps of `parts`.
template <int COUNT, bool ALIKE>
static __device__ void add_products(Strip strip, StripMemory memory, int first, int step, int part, int parts)
{
    int a_stride = stride(strip.a_length);
    int c_stride = stride(strip.c_length);
    int rows[COUNT];
#pragma unroll
    for (int r = 0; r < COUNT; r++)
        rows[r] = min(first + r * step, strip.rows - 1);
    for (int e = part; e < strip.c_length; e += parts) {
        ACC sums[COUNT];
#pragma unroll
        for (int r = 0; r < COUNT; r++)
            sums[r] = ACC(0);
        int end = memory.ends[e];
#pragma unroll 4
        for (int at = e > 0 ? memory.ends[e - 1] : 0; at < end; at++) {
            unsigned int word = memory.list[ALIKE ? at : 2 * at];
            int b_step = ALIKE ? stride(strip.b_step) : memory.list[2 * at + 1];
#pragma unroll
            for (int r = 0; r < COUNT; r++)
                sums[r] += mul(memory.a[rows[r] * a_stride + (word >> 16)],
                               memory.b[rows[r] * b_step + (word & 0xffff)]);
        }
#pragma unroll
        for (int r = 0; r < COUNT; r++)
            if (first + r * step < strip.rows)
                memory.c[rows[r] * c_stride + e] = sums[r];
    }
}

// As above, for a warp of the block: warps with the same rows share the entries of C.
template <int COUNT> static __device__ void add_products_of_warp(Strip strip, StripMemory memory)
{
    int warps = blockDim.x / WARP;
    int groups = 1;
    while (groups < warps && groups * COUNT * WARP < strip.rows)
        groups *= 2;
    int warp = threadIdx.x / WARP;
    int first = warp % groups * WARP + lane_index();
    for (; first < strip.rows; first += COUNT * groups * WARP) {
        if (strip.b_step > 0)
            add_products<COUNT, true>(strip, memory, first, groups * WARP, warp / groups, warps / groups);
        else
            add_products<COUNT, false>(strip, memory, first, groups * WARP, warp / groups, warps / groups);
    }
}

KERNEL spgemm_strips_sum(long long count, const Strip *__restrict__ strips, const int *__restrict__ programs,
                         const T *__restrict__ a_values, const T *__restrict__ b_values, T *__restrict__ c_values)
{
    extern __shared__ __align__(16) unsigned char memory[];
    let_next_begin();
    int b_shift = shift_at(b_values);
    for (long long s = blockIdx.x; s < count; s += gridDim.x) {
        Strip strip = strips[s];
        int size = ends_size(strip) + list_size(strip);
        int *program = (int *)memory;
        ACC *a = (ACC *)(program + size);
        ACC *b = a + with_shift(strip.rows * stride(strip.a_length));
        ACC *c = b + with_shift(strip.b_elements) + shift_at(c_values + strip.c_begin);
        a += shift_at(a_values + strip.a_begin);
        b += b_shift;
        const int *from = programs + strip.program;
        Copiers block = {(int)threadIdx.x, (int)blockDim.x};
        for (int at = block.first * 4; at < size; at += block.count * 4)
            copy_bytes<16>(program + at, from + at);
        copy_rows(a, a_values + strip.a_begin, strip.rows * strip.a_length, strip.a_length, block);
        const Segment *segments = (const Segment *)(from + size);
        int warps = block.count / WARP;
        bool are_many = 2 * strip.segments > warps;
        Copiers copiers = are_many ? Copiers{lane_index(), WARP} : block;
        for (int at = are_many ? threadIdx.x / WARP : 0; at < strip.segments; at += are_many ? warps : 1) {
            Segment own = segments[at];
            int length = strip.b_step > 0 ? strip.b_step : 1;
            copy_rows(b + own.place, b_values + own.begin, own.length, length, copiers);
        }
        wait_for_copies();
        __syncthreads();
        StripMemory own = {a, b, c, program, program + ends_size(strip)};
        if (strip.rows > 2 * WARP)
            add_products_of_warp<4>(strip, own);
        else if (strip.rows > WARP)
            add_products_of_warp<2>(strip, own);
        else
            add_products_of_warp<1>(strip, own);
        __syncthreads();
        store_rows(c_values + strip.c_begin, c, strip.rows * strip.c_length, strip.c_length);
        __syncthreads();
    }
    end_after_last();
}

// elementwise: c_k <- alpha a + beta b, or (alpha a) (beta b), for the values a and b at the positions that a plan has
// found for each element of C; at -1 nothing is stored, and a sum is the other one alone.
// One thread per element, striding over the grid; reads both positions, gathers both values, writes the result once.
// A factor of 0 does not read the values that it multiplies.
// Macros: SCALAR, POS (type of positions: int, long).   Launch: any number of blocks of up to 256 threads.
#include "grid.cuh"
#include "scalar.cuh"
#include "types.cuh"
#include "rounded.cuh"
#include "multiply.cuh"
#ifndef POS
#error "POS is missing: int or long"
#endif

typedef TYPE(POS) Position;

static __device__ ACC scaled(ACC factor, const T *values, long long position)
{
    return is_zero(factor) ? ACC(0) : multiply(load(values, position), factor);
}

KERNEL elementwise_values(long long n, int multiplies, ACC alpha, const Position *__restrict__ a_positions,
                          const T *__restrict__ a_values, ACC beta, const Position *__restrict__ b_positions,
                          const T *__restrict__ b_values, T *__restrict__ c)
{
    for (long long k = thread_index(); k < n; k += thread_count()) {
        Position at_a = a_positions[k];
        Position at_b = b_positions[k];
        ACC element;
        if (at_b < 0) {
            element = scaled(alpha, a_values, at_a);
        } else if (at_a < 0) {
            element = scaled(beta, b_values, at_b);
        } else {
            ACC left = scaled(alpha, a_values, at_a);
            ACC right = scaled(beta, b_values, at_b);
            element = multiplies ? multiply(left, right) : left + right;
        }
        store(c, k, element);
    }
}

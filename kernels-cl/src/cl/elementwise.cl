// elementwise: c_k <- alpha a + beta b, or (alpha a) (beta b), for the values a and b at the positions that a plan has
// found for each element of C; at -1 nothing is stored, and a sum is the other one alone.
// One work-item per element, striding over the grid; reads both positions, gathers both values, writes the result once.
// A factor of 0 does not read the values that it multiplies.
// Macros: SCALAR, POS (type of positions: int, long).   Launch: any number of work-groups of any size.

// Every operation rounds, as on the host.
#pragma OPENCL FP_CONTRACT OFF
#include "scalar.clh"
#include "multiply.clh"
#ifndef POS
#error "POS is missing: int or long"
#endif

static ACC scaled(ACC factor, __global const T *values, long position)
{
    return is_zero(factor) ? (ACC)(0) : multiply(load(values, position), factor);
}

__kernel void elementwise_values(long n, int multiplies, ACC alpha, __global const POS *a_positions,
                                 __global const T *a_values, ACC beta, __global const POS *b_positions,
                                 __global const T *b_values, __global T *c)
{
    for (long k = get_global_id(0); k < n; k += get_global_size(0)) {
        POS at_a = a_positions[k];
        POS at_b = b_positions[k];
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

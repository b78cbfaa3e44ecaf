// spgemm_merge_values: the values of C = A B where rows of A have few entries and rows of B are in order, without
// columns that are there twice: a thread has a row of A and merges the rows of B that it names, so that it meets the
// products of each entry of C one after the other, in the order of A's entries. Reads A and its rows of B once, by
// neighbouring threads for neighbouring rows; writes the values of C once.
// Macros: SCALAR, IDX, OFF, WAYS (most entries of a row of A), STAGED = 16384 (bytes that a block collects).
// Launch: any number of blocks of whole warps.
#include "grid.cuh"
#include "scalar.cuh"
#include "index.cuh"
#include "merge.cuh"

KERNEL spgemm_merge_values(long long rows, const Off *__restrict__ a_offsets, const Idx *__restrict__ a_indices,
                           const T *__restrict__ a_values, const Off *__restrict__ b_offsets,
                           const Idx *__restrict__ b_indices, const T *__restrict__ b_values,
                           const Off *__restrict__ c_offsets, T *__restrict__ c_values)
{
    __shared__ T places[STAGED_PLACES(T)];
    for (long long first = (long long)blockIdx.x * blockDim.x; first < rows; first += thread_count()) {
        long long row = first + threadIdx.x;
        UnsignedOff begin = row < rows ? a_offsets[row] : 0;
        int n = row < rows ? (int)(a_offsets[row + 1] - begin) : 0;
        Off c_begin = c_offsets[first];
        Staged<T> staged = {places, c_values + c_begin};
        int at = row < rows ? (int)(c_offsets[row] - c_begin) : 0;
        Heads heads(begin, n, a_indices, b_offsets, b_indices);
        ACC factors[WAYS];
        T values[WAYS];
#pragma unroll
        for (int way = 0; way < WAYS; way++) {
            factors[way] = way < n ? load(a_values, begin + way) : ACC(0);
            values[way] = heads.columns[way] != NO_COLUMN ? b_values[heads.at[way]] : T(0);
        }
        for (Idx column = heads.least(); column != NO_COLUMN; column = heads.least()) {
            ACC sum = ACC(0);
#pragma unroll
            for (int way = 0; way < WAYS; way++)
                if (heads.columns[way] == column) {
                    sum += mul(factors[way], to_acc(values[way]));
                    heads.step(way, b_indices);
                    if (heads.columns[way] != NO_COLUMN)
                        values[way] = b_values[heads.at[way]];
                }
            staged.put(at++, from_acc(sum));
        }
        staged.write((int)(c_offsets[min(first + blockDim.x, rows)] - c_begin));
    }
}

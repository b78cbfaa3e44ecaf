// row_sums: s <- A 1 for compressed rows: the entries of row i are at offsets[i] .. offsets[i + 1].
// One thread per row, striding over the grid; reads values and offsets once, writes s once.
// Macros: SCALAR, IDX (unused), OFF (type of offsets).   Launch: any number of blocks of up to 256 threads.
#include "grid.cuh"
#include "scalar.cuh"
#include "index.cuh"

// A thread takes a row and every thread_count()-th one after it.
KERNEL row_sums(long long rows, const Off *__restrict__ offsets, const T *__restrict__ values, T *__restrict__ s,
                long long s_start)
{
    for (long long row = thread_index(); row < rows; row += thread_count()) {
        ACC sum = ACC(0);
        long long end = offsets[row + 1];
        for (long long k = offsets[row]; k < end; k++)
            sum += load(values, k);
        store(s, s_start + row, sum);
    }
}

// padded: rows of CSR to formats with padding: the column and the position of the entry of each element, -1 and -1 for
// padding. And back: the row of each element, and a flag for entries.
// One thread per element (ELL) or lane (SELL), one warp per row (the overflow of HYB); reads the columns once, writes
// each output once.
// Macros: IDX, OFF, POS (type of positions: int, long).   Launch: any number of blocks of up to 256 threads, of whole
// warps for the warp kernels.
#include "grid.cuh"
#include "index.cuh"
#ifndef POS
#error "POS is missing: int or long"
#endif

typedef TYPE(POS) Position;

// ELL: element k*rows + i is entry k of row i. A thread takes an element.
KERNEL padded_ell(long long rows, long long width, const Off *__restrict__ offsets, const Idx *__restrict__ indices,
                  Idx *__restrict__ cols, Position *__restrict__ positions)
{
    for (long long slot = thread_index(); slot < rows * width; slot += thread_count()) {
        long long row = slot % rows;
        long long entry = offsets[row] + slot / rows;
        bool holds = entry < offsets[row + 1];
        cols[slot] = holds ? indices[entry] : Idx(-1);
        positions[slot] = holds ? Position(entry) : Position(-1);
    }
}

// The entries that HYB stores as coordinates: those of row i after the first `width` are from starts[i] on. A warp
// takes a row.
KERNEL padded_overflow(long long rows, long long width, const Off *__restrict__ offsets,
                       const Idx *__restrict__ indices, const long long *__restrict__ starts,
                       Idx *__restrict__ row_idx, Idx *__restrict__ col_idx, Position *__restrict__ positions)
{
    for (long long row = warp_index(); row < rows; row += warp_count()) {
        long long first = offsets[row] + width;
        for (long long entry = first + lane_index(); entry < offsets[row + 1]; entry += WARP) {
            long long to = starts[row] + entry - first;
            row_idx[to] = (Idx)row;
            col_idx[to] = indices[entry];
            positions[to] = (Position)entry;
        }
    }
}

// SELL: element slice_ptr[s] + k*height + l is entry k of the row at position s*height + l of row_order. A thread takes
// a position, those after the last row of the last slice too.
KERNEL padded_sell(long long rows, long long slices, long long height, const Off *__restrict__ slice_ptr,
                   const Idx *__restrict__ row_order, const Off *__restrict__ offsets, const Idx *__restrict__ indices,
                   Idx *__restrict__ cols, Position *__restrict__ positions)
{
    for (long long place = thread_index(); place < slices * height; place += thread_count()) {
        long long slice = place / height;
        long long entry = 0;
        long long end = 0;
        if (place < rows) {
            entry = offsets[row_order[place]];
            end = offsets[row_order[place] + 1];
        }
        for (long long slot = slice_ptr[slice] + place % height; slot < slice_ptr[slice + 1]; slot += height) {
            cols[slot] = entry < end ? indices[entry] : Idx(-1);
            positions[slot] = entry < end ? Position(entry) : Position(-1);
            entry++;
        }
    }
}

// ELL: rows_of <- the row of each element; flags <- 1 for an entry, 0 for padding, and one zero more at the end. A
// thread takes an element.
KERNEL padded_ell_rows(long long rows, long long slots, const Idx *__restrict__ cols, Idx *__restrict__ rows_of,
                       long long *__restrict__ flags)
{
    for (long long slot = thread_index(); slot <= slots; slot += thread_count()) {
        if (slot < slots)
            rows_of[slot] = (Idx)(slot % rows);
        flags[slot] = slot < slots && cols[slot] >= 0;
    }
}

// The same for SELL; positions without a row have only padding. A thread takes a position, the first one the end too.
KERNEL padded_sell_rows(long long rows, long long slices, long long height, const Off *__restrict__ slice_ptr,
                        const Idx *__restrict__ row_order, const Idx *__restrict__ cols, Idx *__restrict__ rows_of,
                        long long *__restrict__ flags)
{
    for (long long place = thread_index(); place < slices * height; place += thread_count()) {
        long long slice = place / height;
        Idx row = place < rows ? row_order[place] : Idx(0);
        for (long long slot = slice_ptr[slice] + place % height; slot < slice_ptr[slice + 1]; slot += height) {
            rows_of[slot] = row;
            flags[slot] = cols[slot] >= 0;
        }
    }
    if (thread_index() == 0)
        flags[slice_ptr[slices]] = 0;
}

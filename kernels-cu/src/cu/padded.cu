// Rows of CSR in formats with padding: the column of each slot, and the position of the entry that it holds; -1 and -1
// where it is padding. And back: the row of each slot, and whether it holds an entry.
// Takes IDX, OFF and POS (the type of positions: int or long).
#include "grid.cuh"
#include "index.cuh"
#ifndef POS
#error "POS is missing: int or long"
#endif

typedef TYPE(POS) Position;

// ELL: slot k*rows + i holds entry k of row i. A thread takes a slot.
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

// The entries that HYB keeps as coordinates: those of row i from the first `width` on stand from starts[i] on. A warp
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

// SELL: slot slice_ptr[s] + k*height + l holds entry k of the row at place s*height + l of row_order. A thread takes a
// place, those behind the last row of the last slice too.
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

// ELL: rows_of <- the row of each slot; flags <- 1 where a slot holds an entry, else 0, and one zero more at the end. A
// thread takes a slot.
KERNEL padded_ell_rows(long long rows, long long slots, const Idx *__restrict__ cols, Idx *__restrict__ rows_of,
                       long long *__restrict__ flags)
{
    for (long long slot = thread_index(); slot <= slots; slot += thread_count()) {
        if (slot < slots)
            rows_of[slot] = (Idx)(slot % rows);
        flags[slot] = slot < slots && cols[slot] >= 0;
    }
}

// The same for SELL; slots of places without a row are padding. A thread takes a place, the first one the end too.
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

// Rows of CSR in formats with padding: the column of each slot, and the position of the entry that it holds; -1 and -1
// where it is padding. And back: the row of each slot, and whether it holds an entry.
// Takes IDX, OFF and POS (the type of positions: int or long).
#include "index.clh"
#ifndef POS
#error "POS is missing: int or long"
#endif

// ELL: slot k*rows + i holds entry k of row i. A work-item takes a slot.
__kernel void padded_ell(long rows, long width, __global const OFF *offsets, __global const IDX *indices,
                         __global IDX *cols, __global POS *positions)
{
    for (long slot = get_global_id(0); slot < rows * width; slot += get_global_size(0)) {
        long row = slot % rows;
        long entry = offsets[row] + slot / rows;
        int holds = entry < offsets[row + 1];
        cols[slot] = holds ? indices[entry] : (IDX)(-1);
        positions[slot] = holds ? (POS)entry : (POS)(-1);
    }
}

// The entries that HYB keeps as coordinates: those of row i from the first `width` on stand from starts[i] on. A
// work-group takes a row.
__kernel void padded_overflow(long rows, long width, __global const OFF *offsets, __global const IDX *indices,
                              __global const long *starts, __global IDX *row_idx, __global IDX *col_idx,
                              __global POS *positions)
{
    int lid = (int)get_local_id(0);
    for (long row = get_group_id(0); row < rows; row += get_num_groups(0)) {
        long first = offsets[row] + width;
        for (long entry = first + lid; entry < offsets[row + 1]; entry += get_local_size(0)) {
            long to = starts[row] + entry - first;
            row_idx[to] = (IDX)row;
            col_idx[to] = indices[entry];
            positions[to] = (POS)entry;
        }
    }
}

// SELL: slot slice_ptr[s] + k*height + l holds entry k of the row at place s*height + l of row_order. A work-item takes
// a place, those behind the last row of the last slice too.
__kernel void padded_sell(long rows, long slices, long height, __global const OFF *slice_ptr,
                          __global const IDX *row_order, __global const OFF *offsets, __global const IDX *indices,
                          __global IDX *cols, __global POS *positions)
{
    for (long place = get_global_id(0); place < slices * height; place += get_global_size(0)) {
        long slice = place / height;
        long entry = 0;
        long end = 0;
        if (place < rows) {
            entry = offsets[row_order[place]];
            end = offsets[row_order[place] + 1];
        }
        for (long slot = slice_ptr[slice] + place % height; slot < slice_ptr[slice + 1]; slot += height) {
            cols[slot] = entry < end ? indices[entry] : (IDX)(-1);
            positions[slot] = entry < end ? (POS)entry : (POS)(-1);
            entry++;
        }
    }
}

// ELL: rows_of <- the row of each slot; flags <- 1 where a slot holds an entry, else 0, and one zero more at the end. A
// work-item takes a slot.
__kernel void padded_ell_rows(long rows, long slots, __global const IDX *cols, __global IDX *rows_of,
                              __global long *flags)
{
    for (long slot = get_global_id(0); slot <= slots; slot += get_global_size(0)) {
        long flag = 0;
        if (slot < slots) {
            rows_of[slot] = (IDX)(slot % rows);
            flag = cols[slot] >= 0;
        }
        flags[slot] = flag;
    }
}

// The same for SELL; slots of places without a row are padding. A work-item takes a place, the first one the end too.
__kernel void padded_sell_rows(long rows, long slices, long height, __global const OFF *slice_ptr,
                               __global const IDX *row_order, __global const IDX *cols, __global IDX *rows_of,
                               __global long *flags)
{
    for (long place = get_global_id(0); place < slices * height; place += get_global_size(0)) {
        long slice = place / height;
        IDX row = place < rows ? row_order[place] : (IDX)(0);
        for (long slot = slice_ptr[slice] + place % height; slot < slice_ptr[slice + 1]; slot += height) {
            rows_of[slot] = row;
            flags[slot] = cols[slot] >= 0;
        }
    }
    if (get_global_id(0) == 0)
        flags[slice_ptr[slices]] = 0;
}

// padded: rows of CSR to formats with padding: the column and the position of the entry of each element, -1 and -1 for
// padding. And back: the row of each element, and a flag for entries.
// One work-item per element (ELL) or lane (SELL), one work-group per row (the overflow of HYB); reads the columns once,
// writes each output once.
// Macros: IDX, OFF, POS (type of positions: int, long).   Launch: any number of work-groups of any size.
#include "index.clh"
#ifndef POS
#error "POS is missing: int or long"
#endif

// ELL: element k*rows + i is entry k of row i. A work-item takes an element.
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

// The entries that HYB stores as coordinates: those of row i after the first `width` are from starts[i] on. A
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

// SELL: element slice_ptr[s] + k*height + l is entry k of the row at position s*height + l of row_order. A work-item
// takes a position, those after the last row of the last slice too.
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

// ELL: rows_of <- the row of each element; flags <- 1 for an entry, 0 for padding, and one zero more at the end. A
// work-item takes an element.
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

// The same for SELL; positions without a row have only padding. A work-item takes a position, the first the end too.
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

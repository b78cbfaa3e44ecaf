//! Algorithm `row_blocks`: CSR to ELL, HYB and SELL, and back, where every block of rows is written by one thread.

use crate::Cpu;
use crate::parallel::{CHUNK, rows_by_entries, split_mut};
use crate::primitive::fill::{Arrays, entry_ranges, starts, zeroed};
use crate::primitive::row_sort::order_of;
use crate::primitive::rows::{Rows, SellRows, tiles_mut};
use sparse_core::error::checked_product;
use sparse_core::estimate::Sizes;
use sparse_core::{
    Coo, Csr, Ell, EllLayout, Host, Hyb, HybWidth, Index, IndexOrder, Result, Scalar, Sell, SellLayout,
};

/// Rows of a block of ELL, which is written line by line.
const ELL_ROWS: usize = 1024;

/// Rows of a block whose lengths are counted together.
const COUNTED_ROWS: usize = 2048;

/// The first `width` entries of each row.
fn ell_of_width<T: Scalar, I: Index, O: Index>(
    cpu: &Cpu,
    a: &Csr<T, Host, I, O>,
    lengths: &[usize],
    width: usize,
) -> Result<Ell<T, Host, I>> {
    let rows = a.nrows();
    let slots = checked_product("rows x width", rows, width)?;
    let (mut col_idx, mut values) = (zeroed::<I>(slots), zeroed::<T>(slots));
    let tiles = tiles_mut(&mut col_idx, rows, rows, ELL_ROWS).into_iter();
    let tiles = tiles.zip(tiles_mut(&mut values, rows, rows, ELL_ROWS)).enumerate().collect();
    cpu.for_each(slots, tiles, |(block, (mut col_idx, mut values))| {
        let first = block * ELL_ROWS;
        for (at, &length) in lengths[first..].iter().take(ELL_ROWS).enumerate() {
            for (k, (j, value)) in a.major_entries(first + at).take(width).enumerate() {
                col_idx[k][at] = I::cast(j);
                values[k][at] = value;
            }
            col_idx.iter_mut().skip(length).for_each(|slots| slots[at] = I::PADDING);
        }
    });
    let nnz = lengths.iter().map(|&length| length.min(width)).sum();
    // SAFETY: the elements of a row are its first entries, then padding; a part of a row is as sorted as the whole.
    Ok(unsafe { Ell::new_unchecked((rows, a.ncols()), width, nnz, col_idx, values, a.order()) })
}

/// The entries of each row beyond the first `width`.
fn overflow<T: Scalar, I: Index, O: Index>(
    cpu: &Cpu,
    a: &Csr<T, Host, I, O>,
    lengths: &[usize],
    width: usize,
) -> Result<Coo<T, Host, I>> {
    let lengths: Vec<usize> = lengths.iter().map(|length| length.saturating_sub(width)).collect();
    let Arrays { offsets, indices, values } =
        cpu.fill_rows::<T, I, O>(&lengths, |rows, indices, values| {
            let entries = rows.flat_map(|row| a.major_entries(row).skip(width));
            for ((index, value), entry) in indices.iter_mut().zip(values).zip(entries) {
                (*index, *value) = (I::cast(entry.0), entry.1);
            }
        })?;
    // SAFETY: the coordinates are those of `a`, row by row; a part of a row is as sorted as the whole.
    Ok(unsafe { Coo::new_unchecked(a.nrows(), a.ncols(), cpu.expand(&offsets), indices, values, a.order()) })
}

pub(super) fn csr_to_ell<T: Scalar, I: Index, O: Index>(
    cpu: &Cpu,
    a: &Csr<T, Host, I, O>,
    layout: &EllLayout,
) -> Result<Ell<T, Host, I>> {
    let lengths = a.row_lengths();
    let width = layout.resolve(&lengths, Sizes::of::<T, I, O>())?;
    ell_of_width(cpu, a, &lengths, width)
}

pub(super) fn csr_to_hyb<T: Scalar, I: Index, O: Index>(
    cpu: &Cpu,
    a: &Csr<T, Host, I, O>,
    layout: &HybWidth,
) -> Result<Hyb<T, Host, I>> {
    let lengths = a.row_lengths();
    let width = layout.resolve(&lengths, a.ncols(), Sizes::of::<T, I, O>());
    Hyb::new(ell_of_width(cpu, a, &lengths, width)?, overflow(cpu, a, &lengths, width)?)
}

pub(super) fn csr_to_sell<T: Scalar, I: Index, O: Index>(
    cpu: &Cpu,
    a: &Csr<T, Host, I, O>,
    layout: &SellLayout,
) -> Result<Sell<T, Host, I, O>> {
    let lengths = a.row_lengths();
    let row_order = layout.row_order(&lengths)?;
    let slice_ptr: Vec<O> = slice_ptr(cpu, layout, &lengths, &row_order)?;
    let height = layout.slice_height;
    let slots = slice_ptr[slice_ptr.len() - 1].as_usize();
    let (mut col_idx, mut values) = (zeroed::<I>(slots), zeroed::<T>(slots));
    let parts = rows_by_entries(&slice_ptr, CHUNK);
    let ranges = entry_ranges(&slice_ptr, &parts);
    let outputs = split_mut(&mut col_idx, &ranges).into_iter().zip(split_mut(&mut values, &ranges));
    cpu.for_each(slots, parts.into_iter().zip(outputs).collect(), |(slices, (col_idx, values))| {
        col_idx.fill(I::PADDING);
        let base = slice_ptr[slices.start].as_usize();
        for slice in slices {
            let start = slice_ptr[slice].as_usize() - base;
            let rows = row_order[slice * height..].iter().take(height);
            for (lane, &row) in rows.enumerate() {
                for (k, (j, value)) in a.major_entries(row).enumerate() {
                    col_idx[start + k * height + lane] = I::cast(j);
                    values[start + k * height + lane] = value;
                }
            }
        }
    });
    let row_order = row_order.into_iter().map(I::cast).collect();
    let (shape, nnz, order) = ((a.nrows(), a.ncols()), a.nnz(), a.order());
    // SAFETY: every slice is as wide as its longest row; lanes have the entries of one row, then padding.
    Ok(unsafe { Sell::new_unchecked(shape, nnz, height, slice_ptr, row_order, col_idx, values, order) })
}

/// The first element of each slice. The plan has checked that the number of elements fits.
fn slice_ptr<O: Index>(
    cpu: &Cpu,
    layout: &SellLayout,
    lengths: &[usize],
    row_order: &[usize],
) -> Result<Vec<O>> {
    let slots: Vec<usize> =
        layout.slice_widths(lengths, row_order).map(|width| width * layout.slice_height).collect();
    cpu.offsets(&slots)
}

/// CSR with the entries of each row in storage order, which without an `order` is looked up in the result.
fn to_csr<T: Scalar, I: Index, O: Index>(
    cpu: &Cpu,
    a: &impl Rows<T>,
    (rows, cols): (usize, usize),
    order: Option<IndexOrder>,
) -> Result<Csr<T, Host, I, O>> {
    let mut lengths = vec![0_usize; rows];
    cpu.for_chunks(&mut lengths, COUNTED_ROWS, |first, lengths| {
        a.visit(first..first + lengths.len(), |i, _, _| lengths[i - first] += 1);
    });
    let arrays = cpu.fill_rows::<T, I, O>(&lengths, |rows, indices, values| {
        let first = rows.start;
        let mut ends = starts(&lengths[rows.clone()]);
        a.visit(rows, |i, j, value| {
            let end = &mut ends[i - first];
            indices[*end] = I::cast(j);
            values[*end] = value;
            *end += 1;
        });
    })?;
    let order = order.unwrap_or_else(|| order_of(cpu, &arrays.offsets, &arrays.indices));
    // SAFETY: the offsets are the sums of the rows' lengths; every column is one of `a`.
    Ok(unsafe { Csr::new_unchecked(rows, cols, arrays.offsets, arrays.indices, arrays.values, order) })
}

pub(super) fn ell_to_csr<T: Scalar, I: Index, O: Index>(
    cpu: &Cpu,
    a: &Ell<T, Host, I>,
    (): &(),
) -> Result<Csr<T, Host, I, O>> {
    to_csr(cpu, a, (a.nrows(), a.ncols()), Some(a.order()))
}

pub(super) fn hyb_to_csr<T: Scalar, I: Index, O: Index>(
    cpu: &Cpu,
    a: &Hyb<T, Host, I>,
    (): &(),
) -> Result<Csr<T, Host, I, O>> {
    // With two parts a row may be out of order although each part is in order.
    let order = (a.coo().nnz() == 0).then(|| a.ell().order());
    to_csr(cpu, a, (a.nrows(), a.ncols()), order)
}

pub(super) fn sell_to_csr<T: Scalar, I: Index, O: Index>(
    cpu: &Cpu,
    a: &Sell<T, Host, I, O>,
    (): &(),
) -> Result<Csr<T, Host, I, O>> {
    to_csr(cpu, &SellRows::new(a), (a.nrows(), a.ncols()), Some(a.order()))
}

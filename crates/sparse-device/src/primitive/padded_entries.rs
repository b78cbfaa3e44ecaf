//! The entries of ELL, HYB and SELL without their padding, found on the device.

use super::coordinates::{Coordinates, SortBy};
use super::positions::Positions;
use super::prefix_sum::PrefixSum;
use super::row_groups::{GroupOrder, RowGroups};
use super::triplets::Triplets;
use crate::Device;
use crate::buffer::RawBuffer;
use crate::defines::Defines;
use crate::launch::Launch;
use sparse_core::op::Op;
use sparse_core::{Ell, Hyb, Index, Result, Scalar, Sell, SparseFormat};

/// The file of the kernels that read and write formats with padding.
pub(crate) const FILE: &str = "padded";

/// A format with padding.
pub(crate) trait PaddedEntries: SparseFormat<Space = Device> {
    /// The entries, those of each row in storage order, and the positions of their values.
    fn entries(&self, backend: &Device) -> Result<Triplets>;

    /// The entries by rows of op(A).
    fn grouped(&self, backend: &Device, op: Op) -> Result<RowGroups> {
        let (shape, entries) = ((self.nrows(), self.ncols()), self.entries(backend)?);
        let by_rows = !op.transposes();
        let sorted = Coordinates::of_entries(backend, shape, &entries, by_rows, SortBy::Both)?;
        sorted.into_row_groups(backend, GroupOrder { as_stored: false, sorted: true })
    }

    /// The entries by coordinates.
    fn sorted(&self, backend: &Device) -> Result<Triplets> {
        let (shape, entries) = ((self.nrows(), self.ncols()), self.entries(backend)?);
        let sorted = Coordinates::of_entries(backend, shape, &entries, true, SortBy::Both)?;
        Ok(sorted.into_triplets(true))
    }
}

/// The entries among `cols.len()` elements, without the padding. `launch` has all arguments but the columns and the
/// kernel's outputs: the row of each element, and whether it is an entry.
fn without_padding<'a>(
    backend: &'a Device,
    launch: Launch<'a>,
    cols: &'a RawBuffer,
    positions: &Positions,
) -> Result<Triplets> {
    let slots = cols.len;
    let (rows, starts) = (backend.allocate_raw(slots, cols.element_bytes)?, backend.allocate(slots + 1)?);
    launch.buffer(cols).buffer(&rows).buffer(&starts).items(slots + 1)?;
    let nnz = PrefixSum::series(backend, slots + 1)?.starts_and_sum(backend, &starts)?;
    Ok(Triplets {
        rows: backend.compact(&starts, &rows, nnz)?,
        cols: backend.compact(&starts, cols, nnz)?,
        positions: positions.compact(backend, &starts, nnz)?,
    })
}

/// The entries of ELL, in a matrix with `slots` elements in all, padding included.
fn entries_of_ell(backend: &Device, rows: usize, cols: &RawBuffer, slots: usize) -> Result<Triplets> {
    let (index, positions) = (cols.index_type(), Positions::counted(backend, 0..cols.len, slots)?);
    let defines = Defines::default().index(index).offset(index).set("POS", positions.type_name());
    let kernel = backend.kernel(FILE, "padded_ell_rows", defines)?;
    let launch = backend.launch(&kernel).size(rows).size(cols.len);
    without_padding(backend, launch, cols, &positions)
}

impl<T: Scalar, I: Index> PaddedEntries for Ell<T, Device, I> {
    fn entries(&self, backend: &Device) -> Result<Triplets> {
        entries_of_ell(backend, self.nrows(), self.col_idx(), self.col_idx().len)
    }
}

impl<T: Scalar, I: Index> PaddedEntries for Hyb<T, Device, I> {
    fn entries(&self, backend: &Device) -> Result<Triplets> {
        let (split, coo) = (self.ell().col_idx().len, self.coo());
        let slots = split + coo.nnz();
        let head = entries_of_ell(backend, self.nrows(), self.ell().col_idx(), slots)?;
        let tail = Positions::counted(backend, split..slots, slots)?;
        Ok(Triplets {
            rows: backend.joined(&[(&head.rows, head.rows.len), (coo.row_idx(), coo.nnz())])?,
            cols: backend.joined(&[(&head.cols, head.cols.len), (coo.col_idx(), coo.nnz())])?,
            positions: head.positions.joined(backend, &tail)?,
        })
    }
}

impl<T: Scalar, I: Index, O: Index> PaddedEntries for Sell<T, Device, I, O> {
    fn entries(&self, backend: &Device) -> Result<Triplets> {
        let (cols, slots) = (self.col_idx(), self.col_idx().len);
        let positions = Positions::counted(backend, 0..slots, slots)?;
        let (index, offset) = (cols.index_type(), self.slice_ptr().index_type());
        let defines = Defines::default().index(index).offset(offset).set("POS", positions.type_name());
        let kernel = backend.kernel(FILE, "padded_sell_rows", defines)?;
        let launch = backend.launch(&kernel).size(self.nrows()).size(self.slice_ptr().len - 1);
        let launch = launch.size(self.slice_height()).buffer(self.slice_ptr()).buffer(self.row_order());
        without_padding(backend, launch, cols, &positions)
    }
}

//! The entries of ELL, HYB and SELL without their padding, found on the device.

use crate::Device;
use crate::buffer::RawBuffer;
use crate::launch::Launch;
use crate::op::convert::RowsOf;
use crate::op::convert::padded;
use crate::op::scan::Scan;
use crate::op::to_dense::Places;
use crate::primitive::coordinates::{Coordinates, RADIX_SORT, SortBy};
use crate::primitive::positions::Permutation;
use crate::primitive::row_groups::RowGroups;
use crate::primitive::stored_values::StoredValues;
use crate::program::Defines;
use sparse_core::op::Op;
use sparse_core::{Ell, Hyb, Index, PlanOptions, Result, Scalar, Sell, SparseFormat};

/// A format with padding.
pub(crate) trait PaddedEntries: StoredValues {
    /// The entries, those of each row in storage order, and the positions of their values.
    fn entries(&self, backend: &Device) -> Result<Places>;

    /// The entries by rows of op(A).
    fn grouped(&self, backend: &Device, op: Op) -> Result<RowGroups> {
        let (shape, entries) = ((self.rows(), self.cols()), self.entries(backend)?);
        let by_rows = !op.transposes();
        Coordinates::of_entries(backend, shape, &entries, by_rows, SortBy::Both)?.into_row_groups(backend)
    }

    /// The entries by coordinates.
    fn sorted(&self, backend: &Device) -> Result<Places> {
        let (shape, entries) = ((self.rows(), self.cols()), self.entries(backend)?);
        Ok(Coordinates::of_entries(backend, shape, &entries, true, SortBy::Both)?.into_places(true))
    }
}

/// To CSR, the entries of each row in storage order.
pub(crate) fn to_csr<M: PaddedEntries, O: Index>(
    backend: &Device,
    from: &M,
    (): &(),
    options: &PlanOptions,
) -> Result<RowsOf<M, O>> {
    let choice = options.choose("convert", RADIX_SORT, RADIX_SORT[0].name, "there is no other")?;
    let (shape, entries) = ((from.rows(), from.cols()), from.entries(backend)?);
    let by_rows = Coordinates::of_entries(backend, shape, &entries, true, SortBy::Major)?;
    by_rows.into_rows(backend, choice)
}

/// The entries among `cols.len()` elements, without the padding. `launch` has all arguments but the columns and the
/// kernel's outputs: the row of each element, and whether it is an entry.
fn without_padding<'a>(
    backend: &'a Device,
    launch: Launch<'a>,
    cols: &'a RawBuffer,
    permutation: &Permutation,
) -> Result<Places> {
    let slots = cols.len;
    let (rows, starts) = (backend.allocate_raw(slots, cols.element_bytes)?, backend.allocate(slots + 1)?);
    launch.buffer(cols).buffer(&rows).buffer(&starts).items(slots + 1)?;
    let nnz = Scan::series(backend, slots + 1)?.starts_and_sum(backend, &starts)?;
    Ok(Places {
        rows: backend.compact(&starts, &rows, nnz)?,
        cols: backend.compact(&starts, cols, nnz)?,
        permutation: permutation.compact(backend, &starts, nnz)?,
    })
}

/// The entries of ELL, in a matrix with `slots` elements in all, padding included.
fn entries_of_ell(backend: &Device, rows: usize, cols: &RawBuffer, slots: usize) -> Result<Places> {
    let (index, permutation) = (cols.index_type(), Permutation::counted(backend, 0..cols.len, slots)?);
    let defines = Defines::default().index(index).offset(index).set("POS", permutation.type_name());
    let kernel = backend.kernel(padded::FILE, "padded_ell_rows", defines)?;
    let launch = backend.launch(&kernel).size(rows).size(cols.len);
    without_padding(backend, launch, cols, &permutation)
}

impl<T: Scalar, I: Index> PaddedEntries for Ell<T, Device, I> {
    fn entries(&self, backend: &Device) -> Result<Places> {
        entries_of_ell(backend, self.rows(), self.col_idx(), self.col_idx().len)
    }
}

impl<T: Scalar, I: Index> PaddedEntries for Hyb<T, Device, I> {
    fn entries(&self, backend: &Device) -> Result<Places> {
        let (split, coo) = (self.ell().col_idx().len, self.coo());
        let slots = split + coo.nnz();
        let head = entries_of_ell(backend, self.rows(), self.ell().col_idx(), slots)?;
        let tail = Permutation::counted(backend, split..slots, slots)?;
        Ok(Places {
            rows: backend.joined(&[(&head.rows, head.rows.len), (coo.row_idx(), coo.nnz())])?,
            cols: backend.joined(&[(&head.cols, head.cols.len), (coo.col_idx(), coo.nnz())])?,
            permutation: head.permutation.joined(backend, &tail)?,
        })
    }
}

impl<T: Scalar, I: Index, O: Index> PaddedEntries for Sell<T, Device, I, O> {
    fn entries(&self, backend: &Device) -> Result<Places> {
        let (cols, slots) = (self.col_idx(), self.col_idx().len);
        let permutation = Permutation::counted(backend, 0..slots, slots)?;
        let (index, offset) = (cols.index_type(), self.slice_ptr().index_type());
        let defines = Defines::default().index(index).offset(offset).set("POS", permutation.type_name());
        let kernel = backend.kernel(padded::FILE, "padded_sell_rows", defines)?;
        let launch = backend.launch(&kernel).size(self.rows()).size(self.slice_ptr().len - 1);
        let launch = launch.size(self.slice_height()).buffer(self.slice_ptr()).buffer(self.row_order());
        without_padding(backend, launch, cols, &permutation)
    }
}

//! The entries of ELL, HYB and SELL without their padding, found on the device.

use super::convert::RowsOf;
use super::coordinates::{Coordinates, RADIX_SORT, SortBy};
use super::grouped::RowGroups;
use super::numbered::Numbered;
use super::padded;
use super::positions::Positions;
use super::scan::Scan;
use super::to_dense::Places;
use crate::launch::Launch;
use crate::program::Defines;
use crate::{Buffer, Device};
use sparse_core::op::Op;
use sparse_core::{
    Backend, Col, Element, Ell, Hyb, Index, Matrix, PlanOptions, Result, Row, Scalar, Sell, Space,
};

/// A format with padding.
pub(super) trait Slots: Numbered {
    /// The entries, those of each row in storage order, and where their values stand.
    fn entries(&self, backend: &Device) -> Result<Places<Self::Index>>;

    /// The entries by rows of op(A).
    fn grouped(&self, backend: &Device, op: Op) -> Result<RowGroups<Self::Index>> {
        let entries = self.entries(backend)?;
        let sorted = match op.transposes() {
            true => Coordinates::of_entries::<Col>,
            false => Coordinates::of_entries::<Row>,
        };
        sorted(backend, (self.rows(), self.cols()), &entries, SortBy::Both)?.into_row_groups(backend)
    }

    /// The entries by coordinates.
    fn sorted(&self, backend: &Device) -> Result<Places<Self::Index>> {
        let (shape, entries) = ((self.rows(), self.cols()), self.entries(backend)?);
        let sorted = Coordinates::of_entries::<Row>(backend, shape, &entries, SortBy::Both)?;
        Ok(sorted.into_places::<Row>())
    }
}

/// To CSR, the entries of each row in storage order.
pub(super) fn to_csr<M: Slots, O: Index>(
    backend: &Device,
    from: &M,
    (): &(),
    options: &PlanOptions,
) -> Result<RowsOf<M, O>> {
    let choice = options.choose("convert", RADIX_SORT, RADIX_SORT[0].name, "there is no other")?;
    let (shape, entries) = ((from.rows(), from.cols()), from.entries(backend)?);
    let by_rows = Coordinates::of_entries::<Row>(backend, shape, &entries, SortBy::Major)?;
    by_rows.into_rows(backend, choice)
}

/// What is left of `cols.len()` slots at these positions without padding; `launch` has all arguments but the columns,
/// and what the kernel finds: the rows of the slots, and whether they hold entries.
fn without_padding<'a, I: Index>(
    backend: &'a Device,
    launch: Launch<'a>,
    cols: &'a Buffer<I>,
    positions: &Positions,
) -> Result<Places<I>> {
    let slots = cols.len;
    let (rows, starts) = (backend.allocate(slots)?, backend.allocate(slots + 1)?);
    launch.buffer(cols).buffer(&rows).buffer(&starts).items(slots + 1)?;
    let nnz = Scan::series(backend, slots + 1)?.starts_and_sum(backend, &starts)?;
    Ok(Places {
        rows: backend.compact(&starts, &rows, nnz)?,
        cols: backend.compact(&starts, cols, nnz)?,
        positions: positions.compact(backend, &starts, nnz)?,
    })
}

/// The entries of ELL, in a matrix with so many slots in all.
fn entries_of_ell<T: Scalar, I: Index>(
    backend: &Device,
    ell: &Ell<T, Device, I>,
    slots: usize,
) -> Result<Places<I>> {
    let (cols, positions) = (ell.col_idx(), Positions::counted(backend, 0..ell.col_idx().len, slots)?);
    let defines = Defines::default().index::<I>().offset::<I>().set("POS", positions.type_name());
    let kernel = backend.kernel(padded::FILE, "padded_ell_rows", defines)?;
    let launch = backend.launch(&kernel).size(ell.rows()).size(cols.len);
    without_padding(backend, launch, cols, &positions)
}

impl<T: Scalar, I: Index> Slots for Ell<T, Device, I> {
    fn entries(&self, backend: &Device) -> Result<Places<I>> {
        entries_of_ell(backend, self, self.col_idx().len)
    }
}

impl<T: Scalar, I: Index> Slots for Hyb<T, Device, I> {
    fn entries(&self, backend: &Device) -> Result<Places<I>> {
        let (split, coo) = (self.ell().col_idx().len, self.coo());
        let slots = split + coo.nnz();
        let head = entries_of_ell(backend, self.ell(), slots)?;
        let tail = Positions::counted(backend, split..slots, slots)?;
        Ok(Places {
            rows: backend.joined(&head.rows, coo.row_idx())?,
            cols: backend.joined(&head.cols, coo.col_idx())?,
            positions: head.positions.joined(backend, &tail)?,
        })
    }
}

impl<T: Scalar, I: Index, O: Index> Slots for Sell<T, Device, I, O> {
    fn entries(&self, backend: &Device) -> Result<Places<I>> {
        let (cols, slots) = (self.col_idx(), self.col_idx().len);
        let positions = Positions::counted(backend, 0..slots, slots)?;
        let defines = Defines::default().index::<I>().offset::<O>().set("POS", positions.type_name());
        let kernel = backend.kernel(padded::FILE, "padded_sell_rows", defines)?;
        let launch = backend.launch(&kernel).size(self.rows()).size(self.slice_ptr().len - 1);
        let launch = launch.size(self.slice_height()).buffer(self.slice_ptr()).buffer(self.row_order());
        without_padding(backend, launch, cols, &positions)
    }
}

impl Device {
    /// One buffer behind the other.
    pub(super) fn joined<T: Element>(&self, head: &Buffer<T>, tail: &Buffer<T>) -> Result<Buffer<T>> {
        let mut all = self.allocate(head.len + tail.len)?;
        self.copy(Self::view(head), Self::slice_mut(Self::view_mut(&mut all), 0..head.len))?;
        let behind = head.len..head.len + tail.len;
        self.copy(Self::view(tail), Self::slice_mut(Self::view_mut(&mut all), behind))?;
        Ok(all)
    }
}

//! Rows in the host's memory, which are divided among ranks.

use crate::runtime::Matrix;
use crate::runtime::entries::HostMatrix;
use sparse_core::{Accumulator, Csr, Host, Index, Result, SparseFormat};
use sparse_distrib::Ownership;
use std::ops::Range;

/// The rows of a rank as they are sent to it.
pub(in crate::runtime) type HostRows<T> = Csr<T, Host, i64, i32>;

/// A CSR matrix in the host's memory whose types of indices are hidden.
pub(in crate::runtime) trait AnyRows<T: Accumulator> {
    /// The rows of each rank, divided by their entries.
    fn divide(&self, ranks: usize) -> Result<Ownership>;
    fn ncols(&self) -> usize;
    /// A copy of some rows.
    fn rows(&self, rows: Range<usize>) -> Result<HostRows<T>>;
}

impl<T: Accumulator, I: Index, O: Index> AnyRows<T> for Csr<T, Host, I, O> {
    fn divide(&self, ranks: usize) -> Result<Ownership> {
        Ownership::by_nnz(self.row_ptr(), ranks)
    }

    fn ncols(&self) -> usize {
        SparseFormat::ncols(self)
    }

    fn rows(&self, rows: Range<usize>) -> Result<HostRows<T>> {
        let ends = &self.row_ptr()[rows.start..=rows.end];
        let (first, last) = (ends[0].as_usize(), ends[rows.len()].as_usize());
        i32::try_new("the number of entries of a device", last - first)?;
        let offsets = ends.iter().map(|end| i32::cast(end.as_usize() - first)).collect();
        let columns = self.col_idx()[first..last].iter().map(|column| i64::cast(column.as_usize())).collect();
        Csr::new_unsorted(rows.len(), self.ncols(), offsets, columns, self.values()[first..last].to_vec())
    }
}

/// The rows of a CSR matrix, whose arrays `host` has.
pub(in crate::runtime) fn host_rows<'a, T: Accumulator>(
    csr: &Matrix,
    host: &'a HostMatrix<'_>,
) -> Result<&'a dyn AnyRows<T>> {
    if let Some(a) = host.typed().downcast_ref::<Csr<T, Host, i32, i32>>() {
        return Ok(a);
    }
    if let Some(a) = host.typed().downcast_ref::<Csr<T, Host, i32, i64>>() {
        return Ok(a);
    }
    match host.typed().downcast_ref::<Csr<T, Host, i64, i64>>() {
        Some(a) => Ok(a),
        None => Err(csr.unknown_types("a distribution")),
    }
}

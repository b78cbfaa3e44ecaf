//! Planning on the host with a matrix whose values are the numbers of their own positions.
//!
//! The reference's result for such a matrix gives the new position of each value. So the serial reference runs once, in
//! the plan, and the device only moves or adds values.

use crate::Device;
use sparse_core::reference::Entries;
use sparse_core::{Axis, Backend, BatchCompressed, Compressed, Host, Index, Result, Scalar, SparseFormat};

/// A format whose entries the host can number.
pub(crate) trait Numerable: SparseFormat<Space = Device> {
    /// The same format on the host, with the numbers of the entries, from 1 on, as values.
    type OnHost: Entries<Scalar = f64>;

    /// Downloads the pattern and numbers its entries.
    fn numbered(&self, backend: &Device) -> Result<Self::OnHost>;
}

/// Numbers for `n` entries.
fn numbers(n: usize) -> Vec<f64> {
    (1..=n).map(|number| number as f64).collect()
}

/// The position of a number; −1 for padding.
pub(super) fn position(number: f64) -> i64 {
    number as i64 - 1
}

impl<A: Axis, T: Scalar, I: Index, O: Index> Numerable for Compressed<A, T, Device, I, O> {
    type OnHost = Compressed<A, f64, Host, I, O>;

    fn numbered(&self, backend: &Device) -> Result<Self::OnHost> {
        let (offsets, indices) = (backend.download(self.offsets())?, backend.download(self.indices())?);
        Compressed::new_unsorted(self.nrows(), self.ncols(), offsets, indices, numbers(self.nnz()))
    }
}

impl<A: Axis, T: Scalar, I: Index, O: Index> Numerable for BatchCompressed<A, T, Device, I, O> {
    type OnHost = BatchCompressed<A, f64, Host, I, O>;

    fn numbered(&self, backend: &Device) -> Result<Self::OnHost> {
        let (offsets, indices) = (backend.download(self.offsets())?, backend.download(self.indices())?);
        let member_ptr = self.member_ptr().to_vec();
        BatchCompressed::new(self.member_shape(), member_ptr, offsets, indices, numbers(self.nnz()))
    }
}

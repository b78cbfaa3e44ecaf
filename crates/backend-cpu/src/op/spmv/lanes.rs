//! Rows side by side: ELL and the slices of SELL, one lane a row.

use crate::simd::Isa;
use sparse_core::{Index, Scalar};

/// Rows that are summed at a time.
pub(super) const LANES: usize = 32;

/// Up to [`LANES`] rows whose slots `k` stand side by side, `stride` apart for neighbouring `k`.
pub(super) struct Slab<'a, T, I> {
    pub(super) columns: &'a [I],
    pub(super) values: &'a [T],
    pub(super) stride: usize,
    pub(super) lanes: usize,
}

impl<T: Scalar, I: Index> Slab<'_, T, I> {
    /// Adds the sum of each row to `sums`. Padding touches neither `x` nor the sums (rule V3).
    #[inline(always)]
    pub(super) fn add_to<S: Isa>(&self, sums: &mut [T::Acc; LANES], x: &[T], conjugate: bool) {
        let columns = self.columns.chunks(self.stride);
        for (columns, values) in columns.zip(self.values.chunks(self.stride)) {
            for lane in 0..self.lanes {
                if columns[lane] != I::PADDING {
                    let value = if conjugate { values[lane].conj() } else { values[lane] };
                    sums[lane] += value.to_acc() * x[columns[lane].as_usize()].to_acc();
                }
            }
        }
    }
}

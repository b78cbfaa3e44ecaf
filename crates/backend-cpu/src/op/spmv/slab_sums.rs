//! The sums of rows that stand side by side.

use crate::primitive::slab::{LANES, Slab};
use crate::simd::Isa;
use sparse_core::op::Op;
use sparse_core::{Index, Scalar};

/// Adds the sum of each row of the slab to `sums`. Padding touches neither `x` nor the sums.
///
/// # Safety
/// The slab lies within its arrays; every column is below the length of `x`.
#[inline(always)]
pub(super) unsafe fn add_slab<S: Isa, T: Scalar, I: Index>(
    slab: &Slab<'_, T, I>,
    sums: &mut [T::Acc; LANES],
    x: &[T],
    op: Op,
) {
    #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
    // SAFETY: the caller's promise; `S` is only run where the processor has it.
    if unsafe { crate::primitive::gather::add_slab::<S, T, I>(slab, sums, x) } {
        return;
    }
    for k in 0..slab.width {
        let first = slab.start + k * slab.stride;
        for (sum, position) in sums.iter_mut().zip(first..first + slab.lanes) {
            if let Some(column) = slab.columns.at(position) {
                *sum += op.apply(slab.values[position]).to_acc() * x[column].to_acc();
            }
        }
    }
}

//! Processors without code of their own: the portable code does it all.

use crate::Simd;
use sparse_core::op::Keep;
use sparse_core::{Index, Scalar};

/// Sets no bits.
pub(super) fn set_bits<T: Scalar>(_: Simd, _: Keep<T>, _: &[T], _: &mut [u64]) -> usize {
    0
}

/// Packs nothing.
pub(super) fn pack<T: Scalar, I: Index>(
    _: Simd,
    _: &[u64],
    _: &[T],
    _: &mut [I],
    _: &mut [T],
) -> Option<usize> {
    None
}

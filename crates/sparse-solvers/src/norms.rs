//! Norms: as numbers of the host, and as divisors.

use num_traits::Float;
use sparse_core::backend::{Buf, SpaceOf};
use sparse_core::op::vector::scal;
use sparse_core::op::{RealOf, VectorKernel};
use sparse_core::{Accumulator, Result, Scalar, Space};

/// Divides `x` by `norm`, a positive number; by its square root twice, where 1 / `norm` is too large for the type.
pub(crate) fn divide<B: VectorKernel<T>, T: Accumulator>(
    backend: &B,
    x: &mut Buf<B, T>,
    norm: RealOf<T>,
) -> Result<()> {
    let (factor, times) = match norm.recip() {
        factor if Float::is_finite(factor) => (factor, 1),
        _ => (norm.sqrt().recip(), 2),
    };
    (0..times).try_for_each(|_| scal::<B, T>(backend, T::from_real(factor), SpaceOf::<B>::view_mut(x)))
}

pub(crate) fn to_f64(real: impl Scalar) -> f64 {
    real.to_c64().re
}

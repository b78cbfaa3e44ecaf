//! `axpby`, `dot`, `nrm2`, `scal`: element by element, in order; norms are taken in double precision.

use super::Reference;
use crate::error::Result;
use crate::format::DenseViewMut;
use crate::op::{CoefficientOf, RealOf, VectorKernel};
use crate::scalar::{Accumulator, Scalar, c64};
use num_traits::Float;

/// `x ← alpha·x`; `alpha == 0` does not read `x`.
fn scale<T: Scalar>(x: &mut T, alpha: T::Acc) {
    *x = if alpha.is_zero() { T::ZERO } else { T::from_acc(x.to_acc().times(alpha)) };
}

/// `y ← alpha·x + beta·y`, rounded once; `beta == 0` does not read `y`.
fn update<T: Scalar>(alpha: T::Acc, x: T, beta: T::Acc, y: &mut T) {
    let product = x.to_acc().times(alpha);
    *y = T::from_acc(if beta.is_zero() { product } else { product + y.to_acc().times(beta) });
}

impl<T: Scalar> VectorKernel<T> for Reference {
    unsafe fn axpby(
        &self,
        alpha: CoefficientOf<'_, Self, T>,
        x: &[T],
        beta: CoefficientOf<'_, Self, T>,
        y: &mut [T],
    ) -> Result<()> {
        let (alpha, beta) = (alpha.value(), beta.value());
        for (&x, y) in x.iter().zip(y) {
            if alpha.is_zero() {
                scale(y, beta);
            } else {
                update(alpha, x, beta, y);
            }
        }
        Ok(())
    }

    unsafe fn dot(&self, x: &[T], y: &[T]) -> Result<T::Acc> {
        let mut sum = T::Acc::ZERO;
        for (x, y) in x.iter().zip(y) {
            sum += x.conj().to_acc() * y.to_acc();
        }
        Ok(sum)
    }

    unsafe fn nrm2(&self, x: &[T]) -> Result<RealOf<T>> {
        let parts = x.iter().map(|x| x.to_c64()).flat_map(|x| [x.re, x.im]);
        Ok(RealOf::<T>::from_c64(c64::new(norm(parts), 0.0)))
    }

    unsafe fn scal(&self, alpha: CoefficientOf<'_, Self, T>, x: &mut [T]) -> Result<()> {
        let alpha = alpha.value();
        x.iter_mut().for_each(|x| scale(x, alpha));
        Ok(())
    }

    unsafe fn scale_dense(&self, beta: T::Acc, mut c: DenseViewMut<'_, T>) -> Result<()> {
        for i in 0..c.nrows() {
            for j in 0..c.ncols() {
                scale(c.at_mut(i, j), beta);
            }
        }
        Ok(())
    }
}

/// `sqrt(Σ x²)`: scaled by a power of two near the largest element, so that no square overflows and none that matters
/// underflows. Infinities give infinity, NaN gives NaN.
fn norm(x: impl Iterator<Item = f64> + Clone) -> f64 {
    let largest = x.clone().fold(0.0, |largest: f64, x| largest.max(x.abs()));
    if largest == 0.0 || largest.is_infinite() {
        return x.map(f64::abs).sum();
    }
    let (_, exponent, _) = largest.integer_decode();
    let unit = f64::from(exponent + 1).exp2();
    unit * x.map(|x| (x / unit) * (x / unit)).sum::<f64>().sqrt()
}

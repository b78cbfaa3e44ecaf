//! `axpby`, `dot`, `nrm2`, `scal`: fixed chunks, whose partial results are combined in order.

use crate::Cpu;
use crate::parallel::{CHUNK, chunks};
use crate::primitive::rows::in_groups;
use num_traits::Float;
use sparse_core::op::{CoefficientOf, RealOf, VectorKernel};
use sparse_core::{Accumulator, DenseViewMut, Result, Scalar, c64};

/// Partial sums of a chunk, so that the compiler may use vectors.
const LANES: usize = 8;

/// `x ← alpha·x`; `alpha == 0` does not read `x`.
fn scale<T: Scalar>(x: &mut [T], alpha: T::Acc) {
    if alpha.is_zero() {
        x.fill(T::ZERO);
    } else {
        x.iter_mut().for_each(|x| *x = T::from_acc(x.to_acc().times(alpha)));
    }
}

/// `y ← alpha·x + beta·y`; `beta == 0` does not read `y`.
fn update<T: Scalar>(alpha: T::Acc, x: &[T], beta: T::Acc, y: &mut [T]) {
    if beta.is_zero() {
        y.iter_mut().zip(x).for_each(|(y, x)| *y = T::from_acc(x.to_acc().times(alpha)));
    } else {
        let sum = |x: T, y: T| x.to_acc().times(alpha) + y.to_acc().times(beta);
        y.iter_mut().zip(x).for_each(|(y, &x)| *y = T::from_acc(sum(x, *y)));
    }
}

fn dot_chunk<T: Scalar>(x: &[T], y: &[T]) -> T::Acc {
    let mut sums = [T::Acc::ZERO; LANES];
    for (x, y) in x.chunks(LANES).zip(y.chunks(LANES)) {
        for ((sum, x), y) in sums.iter_mut().zip(x).zip(y) {
            *sum += x.conj().to_acc() * y.to_acc();
        }
    }
    in_order(sums)
}

fn in_order<A: Scalar + std::ops::Add<Output = A>>(partial: impl IntoIterator<Item = A>) -> A {
    partial.into_iter().fold(A::ZERO, |sum, value| sum + value)
}

/// Folds `part` of the real and the imaginary parts of a chunk, several at a time.
#[inline(always)]
fn fold_parts<T: Scalar>(x: &[T], part: impl Fn(f64) -> f64, fold: impl Fn(f64, f64) -> f64) -> f64 {
    let mut folded = [0.0; LANES];
    for x in x.chunks(LANES) {
        for (folded, x) in folded.iter_mut().zip(x) {
            let x = x.to_c64();
            *folded = fold(*folded, part(x.re));
            if T::Acc::COMPLEX {
                *folded = fold(*folded, part(x.im));
            }
        }
    }
    folded.into_iter().fold(0.0, fold)
}

impl<T: Scalar> VectorKernel<T> for Cpu {
    unsafe fn axpby(
        &self,
        alpha: CoefficientOf<'_, Self, T>,
        x: &[T],
        beta: CoefficientOf<'_, Self, T>,
        y: &mut [T],
    ) -> Result<()> {
        let (alpha, beta) = (alpha.value(), beta.value());
        self.for_chunks(y, CHUNK, |start, y| {
            if alpha.is_zero() {
                scale(y, beta);
            } else {
                update(alpha, &x[start..], beta, y);
            }
        });
        Ok(())
    }

    unsafe fn dot(&self, x: &[T], y: &[T]) -> Result<T::Acc> {
        let partial = self.map(x.len(), chunks(x.len(), CHUNK), |k| dot_chunk(&x[k.clone()], &y[k]));
        Ok(in_order(partial))
    }

    /// Scaled by a power of two near the largest element, so that no square overflows and none that matters underflows.
    unsafe fn nrm2(&self, x: &[T]) -> Result<RealOf<T>> {
        let over_chunks =
            |work: &(dyn Fn(&[T]) -> f64 + Sync)| self.map(x.len(), chunks(x.len(), CHUNK), |k| work(&x[k]));
        let largest = over_chunks(&|x| fold_parts(x, f64::abs, f64::max));
        let largest = largest.into_iter().fold(0.0, f64::max);
        let norm = if largest == 0.0 || largest.is_infinite() {
            in_order(over_chunks(&|x| fold_parts(x, f64::abs, |sum, x| sum + x)))
        } else {
            let (_, exponent, _) = largest.integer_decode();
            let unit = f64::from(exponent + 1).exp2();
            let square = |x: f64| (x / unit) * (x / unit);
            unit * in_order(over_chunks(&|x| fold_parts(x, square, |sum, x| sum + x))).sqrt()
        };
        Ok(RealOf::<T>::from_c64(c64::new(norm, 0.0)))
    }

    unsafe fn scal(&self, alpha: CoefficientOf<'_, Self, T>, x: &mut [T]) -> Result<()> {
        let alpha = alpha.value();
        self.for_chunks(x, CHUNK, |_, x| scale(x, alpha));
        Ok(())
    }

    unsafe fn scale_dense(&self, beta: T::Acc, c: DenseViewMut<'_, T>) -> Result<()> {
        let ((lines, line), stride) = (c.major_minor(), c.leading_dimension());
        if lines == 0 || line == 0 {
            return Ok(());
        }
        let data = &mut c.into_data()[..(lines - 1) * stride + line];
        let parts = data.chunks_mut(stride).flat_map(|whole| whole[..line].chunks_mut(CHUNK));
        let groups = in_groups(parts, CHUNK.div_ceil(line));
        self.for_each(lines * line, groups, |parts| parts.into_iter().for_each(|part| scale(part, beta)));
        Ok(())
    }
}

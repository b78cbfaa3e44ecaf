//! `axpby`, `dot`, `nrm2`, `scal`: fixed chunks, whose partial results are combined in order.
//!
//! Their loops are compiled in this crate: in a program that is compiled in parts, each step of an iterator may be a call
//! of a function in another part. The solvers of the Python package took three times as long so.

use super::compiled::{find, vector_table};
use crate::Cpu;
use crate::parallel::{CHUNK, chunks};
use crate::primitive::rows::in_groups;
use crate::simd::{Isa, Vectorize};
use num_traits::Float;
use sparse_core::op::{CoefficientOf, RealOf, VectorKernel};
use sparse_core::{Accumulator, DenseViewMut, Result, Scalar, c64};
use std::ops::RangeInclusive;

/// Partial sums of a chunk, so that the compiler may use vectors.
const LANES: usize = 8;

/// The functions for one type, which are compiled in this crate.
pub(super) struct Functions<T: Scalar> {
    axpby: Axpby<T>,
    dot: fn(&Cpu, &[T], &[T]) -> T::Acc,
    nrm2: fn(&Cpu, &[T]) -> f64,
    scal: fn(&Cpu, T::Acc, &mut [T]),
    scale_dense: fn(&Cpu, T::Acc, DenseViewMut<'_, T>),
}

type Axpby<T> = fn(&Cpu, <T as Scalar>::Acc, &[T], <T as Scalar>::Acc, &mut [T]);

impl<T: Scalar> Functions<T> {
    pub(super) const ALL: Self = Self { axpby, dot, nrm2, scal, scale_dense };

    fn of_type() -> Result<&'static Self> {
        find(vector_table(), "vector", "dense")
    }
}

impl<T: Scalar> VectorKernel<T> for Cpu {
    unsafe fn axpby(
        &self,
        alpha: CoefficientOf<'_, Self, T>,
        x: &[T],
        beta: CoefficientOf<'_, Self, T>,
        y: &mut [T],
    ) -> Result<()> {
        (Functions::of_type()?.axpby)(self, alpha.value(), x, beta.value(), y);
        Ok(())
    }

    unsafe fn dot(&self, x: &[T], y: &[T]) -> Result<T::Acc> {
        Ok((Functions::of_type()?.dot)(self, x, y))
    }

    unsafe fn nrm2(&self, x: &[T]) -> Result<RealOf<T>> {
        let norm = (Functions::of_type()?.nrm2)(self, x);
        Ok(RealOf::<T>::from_c64(c64::new(norm, 0.0)))
    }

    unsafe fn scal(&self, alpha: CoefficientOf<'_, Self, T>, x: &mut [T]) -> Result<()> {
        (Functions::of_type()?.scal)(self, alpha.value(), x);
        Ok(())
    }

    unsafe fn scale_dense(&self, beta: T::Acc, c: DenseViewMut<'_, T>) -> Result<()> {
        (Functions::of_type()?.scale_dense)(self, beta, c);
        Ok(())
    }
}

fn axpby<T: Scalar>(cpu: &Cpu, alpha: T::Acc, x: &[T], beta: T::Acc, y: &mut [T]) {
    cpu.for_chunks(y, CHUNK, |start, y| {
        if alpha.is_zero() {
            scale(y, beta);
        } else {
            let x = &x[start..][..y.len()];
            cpu.simd().run(Update { alpha, x, beta, y });
        }
    });
}

fn dot<T: Scalar>(cpu: &Cpu, x: &[T], y: &[T]) -> T::Acc {
    let of_chunk = |k: std::ops::Range<usize>| cpu.simd().run(DotChunk { x: &x[k.clone()], y: &y[k] });
    in_order(cpu.map(x.len(), chunks(x.len(), CHUNK), of_chunk))
}

/// Sums of squares that did not overflow, and beside which all that underflowed does not count.
const SAFE_SQUARES: RangeInclusive<f64> = 1e-270..=f64::MAX;

/// In one pass, if the sum of squares is safe: the scaled one, which reads twice and divides, takes several times as
/// long.
fn nrm2<T: Scalar>(cpu: &Cpu, x: &[T]) -> f64 {
    let squares = in_order(over_chunks(cpu, x, |x| x * x, |sum, x| sum + x));
    if SAFE_SQUARES.contains(&squares) { squares.sqrt() } else { scaled_nrm2(cpu, x) }
}

/// Scaled by a power of two near the largest element, so that no square overflows and none that matters underflows.
fn scaled_nrm2<T: Scalar>(cpu: &Cpu, x: &[T]) -> f64 {
    let largest = over_chunks(cpu, x, f64::abs, f64::max).into_iter().fold(0.0, f64::max);
    if largest == 0.0 || largest.is_infinite() {
        return in_order(over_chunks(cpu, x, f64::abs, |sum, x| sum + x));
    }
    let (_, exponent, _) = largest.integer_decode();
    let unit = f64::from(exponent + 1).exp2();
    let square = |x: f64| (x / unit) * (x / unit);
    unit * in_order(over_chunks(cpu, x, square, |sum, x| sum + x)).sqrt()
}

/// [`FoldParts`] of each chunk.
fn over_chunks<T: Scalar>(
    cpu: &Cpu,
    x: &[T],
    part: impl Fn(f64) -> f64 + Copy + Sync,
    fold: impl Fn(f64, f64) -> f64 + Copy + Sync,
) -> Vec<f64> {
    let chunks = chunks(x.len(), CHUNK);
    cpu.map(x.len(), chunks, |k| cpu.simd().run(FoldParts { x: &x[k], part, fold }))
}

fn scal<T: Scalar>(cpu: &Cpu, alpha: T::Acc, x: &mut [T]) {
    cpu.for_chunks(x, CHUNK, |_, x| scale(x, alpha));
}

fn scale_dense<T: Scalar>(cpu: &Cpu, beta: T::Acc, c: DenseViewMut<'_, T>) {
    let ((lines, line), stride) = (c.major_minor(), c.leading_dimension());
    if lines == 0 || line == 0 {
        return;
    }
    let data = &mut c.into_data()[..(lines - 1) * stride + line];
    let parts = data.chunks_mut(stride).flat_map(|whole| whole[..line].chunks_mut(CHUNK));
    let groups = in_groups(parts, CHUNK.div_ceil(line));
    cpu.for_each(lines * line, groups, |parts| parts.into_iter().for_each(|part| scale(part, beta)));
}

/// `x ← alpha·x`; `alpha == 0` does not read `x`.
fn scale<T: Scalar>(x: &mut [T], alpha: T::Acc) {
    if alpha.is_zero() {
        x.fill(T::ZERO);
    } else {
        x.iter_mut().for_each(|x| *x = T::from_acc(x.to_acc().times(alpha)));
    }
}

/// `y ← alpha·x + beta·y` of a chunk; `beta == 0` does not read `y`.
struct Update<'a, T: Scalar> {
    alpha: T::Acc,
    x: &'a [T],
    beta: T::Acc,
    y: &'a mut [T],
}

impl<T: Scalar> Vectorize for Update<'_, T> {
    type Out = ();

    #[inline(always)]
    fn run<S: Isa>(self) {
        let Self { alpha, x, beta, y } = self;
        if beta.is_zero() {
            y.iter_mut().zip(x).for_each(|(y, x)| *y = T::from_acc(x.to_acc().times(alpha)));
        } else {
            let sum = |x: T, y: T| x.to_acc().times(alpha) + y.to_acc().times(beta);
            y.iter_mut().zip(x).for_each(|(y, &x)| *y = T::from_acc(sum(x, *y)));
        }
    }
}

/// `xᴴ·y` of a chunk.
struct DotChunk<'a, T> {
    x: &'a [T],
    y: &'a [T],
}

impl<T: Scalar> Vectorize for DotChunk<'_, T> {
    type Out = T::Acc;

    #[inline(always)]
    fn run<S: Isa>(self) -> T::Acc {
        let mut sums = [T::Acc::ZERO; LANES];
        let mut add = |x: &[T], y: &[T]| {
            for ((sum, x), y) in sums.iter_mut().zip(x).zip(y) {
                *sum += x.conj().to_acc() * y.to_acc();
            }
        };
        let (x, y) = (self.x.chunks_exact(LANES), self.y.chunks_exact(LANES));
        let rest = (x.remainder(), y.remainder());
        x.zip(y).for_each(|(x, y)| add(x, y));
        add(rest.0, rest.1);
        in_order(sums)
    }
}

fn in_order<A: Scalar + std::ops::Add<Output = A>>(partial: impl IntoIterator<Item = A>) -> A {
    partial.into_iter().fold(A::ZERO, |sum, value| sum + value)
}

/// Folds `part` of the real and the imaginary parts of a chunk, several at a time.
struct FoldParts<'a, T, P, F> {
    x: &'a [T],
    part: P,
    fold: F,
}

impl<T: Scalar, P: Fn(f64) -> f64, F: Fn(f64, f64) -> f64> Vectorize for FoldParts<'_, T, P, F> {
    type Out = f64;

    #[inline(always)]
    fn run<S: Isa>(self) -> f64 {
        let Self { x, part, fold } = self;
        let mut folded = [0.0; LANES];
        let mut add = |x: &[T]| {
            for (folded, x) in folded.iter_mut().zip(x) {
                let x = x.to_c64();
                *folded = fold(*folded, part(x.re));
                if T::Acc::COMPLEX {
                    *folded = fold(*folded, part(x.im));
                }
            }
        };
        let chunks = x.chunks_exact(LANES);
        let rest = chunks.remainder();
        chunks.for_each(&mut add);
        add(rest);
        folded.into_iter().fold(0.0, fold)
    }
}

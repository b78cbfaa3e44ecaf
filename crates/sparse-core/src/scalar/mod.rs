//! Scalar types: the types of stored values and of their sums.

mod complex;
mod dtype;
mod half_precision;
mod real;

pub use dtype::DType;

use crate::space::Element;
use num_complex::Complex;
use num_traits::{Float, NumAssign};
use std::fmt::Display;
use std::ops::Neg;

/// NumPy's complex64.
#[allow(non_camel_case_types)]
pub type c32 = Complex<f32>;
/// NumPy's complex128.
#[allow(non_camel_case_types)]
pub type c64 = Complex<f64>;

mod sealed {
    pub trait Sealed {}
}

/// A stored value: `f16`, `bf16`, `f32`, `f64`, `c32` or `c64`.
///
/// The trait is sealed: kernels choose instructions by [`DTYPE`](Self::DTYPE) and reinterpret memory by it.
pub trait Scalar: Element + Display + sealed::Sealed {
    /// The type in which products are summed, and of `alpha` and `beta`.
    type Acc: Accumulator;
    /// The name of the type at run time.
    const DTYPE: DType;
    /// Bits of the significand, the hidden one included: integers up to 2^`PRECISION` are exact.
    const PRECISION: u32;
    /// Zero.
    const ZERO: Self;
    /// One.
    const ONE: Self;

    /// The value in the accumulator's type; exact.
    fn to_acc(self) -> Self::Acc;

    /// The value rounded to nearest.
    fn from_acc(acc: Self::Acc) -> Self;

    /// True for a zero of either sign, by its bits, so that no flush to zero can drop a subnormal.
    fn is_zero(self) -> bool;

    /// True if every part is neither infinite nor NaN.
    fn is_finite(self) -> bool;

    /// The value as complex double precision; exact.
    fn to_c64(self) -> c64;

    /// `value` rounded to nearest; a real type drops the imaginary part.
    fn from_c64(value: c64) -> Self;

    /// The complex conjugate; the value itself where it is real.
    fn conj(self) -> Self;
}

/// The real part of an [`Accumulator`]: `f32` or `f64`.
pub trait Real: Accumulator<Real = Self> + Float {}

/// A type that sums are accumulated in: `f32`, `f64`, `c32` or `c64`.
pub trait Accumulator: Scalar<Acc = Self> + NumAssign + Neg<Output = Self> {
    /// The type of magnitudes.
    type Real: Real;
    /// True if values have an imaginary part.
    const COMPLEX: bool;

    /// The magnitude.
    fn abs(self) -> Self::Real;

    /// The square of the magnitude.
    fn abs_squared(self) -> Self::Real;

    /// A real number as this type.
    fn from_real(re: Self::Real) -> Self;

    /// The real part.
    fn re(self) -> Self::Real;

    /// The product. A factor without an imaginary part multiplies both parts of the other one, so that an infinite
    /// number does not become NaN.
    ///
    /// ```
    /// use sparse_core::{Accumulator, c64};
    ///
    /// let (infinite, factor) = (c64::new(f64::INFINITY, 1.0), c64::new(-2.0, 0.0));
    /// assert_eq!(infinite.times(factor), c64::new(f64::NEG_INFINITY, -2.0));
    /// assert!((infinite * factor).im.is_nan());
    /// assert_eq!(factor.times(f64::INFINITY.into()), c64::new(f64::NEG_INFINITY, 0.0));
    /// ```
    fn times(self, factor: Self) -> Self;
}

/// The sum in the accumulator's type, rounded once; `None` of no values. It starts from the first value, not from
/// zero, so that a lone −0 stays what it is.
pub(crate) fn rounded_sum<T: Scalar>(values: impl Iterator<Item = T>) -> Option<T> {
    values.map(T::to_acc).reduce(|sum, value| sum + value).map(T::from_acc)
}

#[cfg(test)]
mod tests {
    use super::*;
    use half::{bf16, f16};

    #[test]
    fn a_type_at_run_time_has_the_sizes_of_the_type() {
        fn check<T: Scalar>() {
            assert_eq!(T::DTYPE.bytes(), size_of::<T>(), "{}", T::DTYPE);
            assert_eq!(T::DTYPE.accumulator(), T::Acc::DTYPE, "{}", T::DTYPE);
            assert_eq!((T::ZERO.to_c64(), T::ONE.to_c64()), (0.0.into(), 1.0.into()), "{}", T::DTYPE);
        }
        check::<f16>();
        check::<bf16>();
        check::<f32>();
        check::<f64>();
        check::<c32>();
        check::<c64>();
    }
}

//! Scalar types: the types of stored values and of their sums.

use crate::error::Error;
use crate::space::Element;
use half::{bf16, f16};
use num_complex::Complex;
use num_traits::{Float, NumAssign};
use std::fmt::Display;
use std::ops::Neg;
use std::str::FromStr;

/// NumPy's complex64.
#[allow(non_camel_case_types)]
pub type c32 = Complex<f32>;
/// NumPy's complex128.
#[allow(non_camel_case_types)]
pub type c64 = Complex<f64>;

/// The name of a scalar type at run time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum DType {
    /// IEEE half precision, accumulated in `f32`.
    F16,
    /// bfloat16, accumulated in `f32`.
    Bf16,
    /// IEEE single precision.
    F32,
    /// IEEE double precision.
    F64,
    /// Complex of two `f32`.
    C32,
    /// Complex of two `f64`.
    C64,
}

impl DType {
    /// The name of the type in this workspace.
    ///
    /// ```
    /// # use sparse_core::DType;
    /// assert_eq!(DType::C64.name(), "c64");
    /// ```
    pub fn name(self) -> &'static str {
        match self {
            Self::F16 => "f16",
            Self::Bf16 => "bf16",
            Self::F32 => "f32",
            Self::F64 => "f64",
            Self::C32 => "c32",
            Self::C64 => "c64",
        }
    }

    /// The type of files that holds the values of all these types exactly: of single precision unless one is wider,
    /// complex if one is.
    ///
    /// ```
    /// # use sparse_core::DType;
    /// assert_eq!(DType::common([DType::F32, DType::F16]), DType::F32);
    /// assert_eq!(DType::common([DType::F32, DType::F64]), DType::F64);
    /// assert_eq!(DType::common([DType::F32, DType::C32]), DType::C32);
    /// assert_eq!(DType::common([DType::C32, DType::F64]), DType::C64);
    /// ```
    pub fn common(types: impl IntoIterator<Item = Self>) -> Self {
        let (mut complex, mut double) = (false, false);
        for dtype in types {
            complex |= dtype.is_complex();
            double |= matches!(dtype, Self::F64 | Self::C64);
        }
        match (complex, double) {
            (false, false) => Self::F32,
            (false, true) => Self::F64,
            (true, false) => Self::C32,
            (true, true) => Self::C64,
        }
    }

    /// True if values have an imaginary part.
    ///
    /// ```
    /// # use sparse_core::DType;
    /// assert!(DType::C32.is_complex() && !DType::F16.is_complex());
    /// ```
    pub fn is_complex(self) -> bool {
        matches!(self, Self::C32 | Self::C64)
    }

    /// The bytes of a value.
    ///
    /// ```
    /// # use sparse_core::DType;
    /// assert_eq!((DType::Bf16.bytes(), DType::C64.bytes()), (2, 16));
    /// ```
    pub fn bytes(self) -> usize {
        match self {
            Self::F16 | Self::Bf16 => 2,
            Self::F32 => 4,
            Self::F64 | Self::C32 => 8,
            Self::C64 => 16,
        }
    }

    /// The type that products are summed in: [`Scalar::Acc`].
    ///
    /// ```
    /// # use sparse_core::DType;
    /// assert_eq!((DType::F16.accumulator(), DType::F64.accumulator()), (DType::F32, DType::F64));
    /// ```
    pub fn accumulator(self) -> Self {
        match self {
            Self::F16 | Self::Bf16 => Self::F32,
            other => other,
        }
    }
}

impl Display for DType {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for DType {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self, Error> {
        let all = [Self::F16, Self::Bf16, Self::F32, Self::F64, Self::C32, Self::C64];
        let unknown = || Error::unknown_name("type", name, &all.map(Self::name));
        all.into_iter().find(|dtype| dtype.name() == name).ok_or_else(unknown)
    }
}

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

macro_rules! impl_real {
    ($($t:ident, $dtype:ident);*) => {$(
        impl sealed::Sealed for $t {}
        impl Scalar for $t {
            type Acc = $t;
            const DTYPE: DType = DType::$dtype;
            const PRECISION: u32 = $t::MANTISSA_DIGITS;
            const ZERO: Self = 0.0;
            const ONE: Self = 1.0;

            #[inline(always)]
            fn to_acc(self) -> $t {
                self
            }

            #[inline(always)]
            fn from_acc(acc: $t) -> Self {
                acc
            }

            #[inline(always)]
            fn is_zero(self) -> bool {
                self.to_bits() << 1 == 0
            }

            #[inline(always)]
            fn is_finite(self) -> bool {
                <$t>::is_finite(self)
            }

            #[inline(always)]
            fn to_c64(self) -> c64 {
                c64::new(f64::from(self), 0.0)
            }

            #[inline(always)]
            fn from_c64(value: c64) -> Self {
                value.re as $t
            }

            #[inline(always)]
            fn conj(self) -> Self {
                self
            }
        }

        impl Accumulator for $t {
            type Real = $t;
            const COMPLEX: bool = false;

            #[inline(always)]
            fn abs(self) -> $t {
                <$t>::abs(self)
            }

            #[inline(always)]
            fn abs_squared(self) -> $t {
                self * self
            }

            #[inline(always)]
            fn from_real(re: $t) -> Self {
                re
            }

            #[inline(always)]
            fn re(self) -> $t {
                self
            }

            #[inline(always)]
            fn times(self, factor: $t) -> $t {
                self * factor
            }
        }

        impl Real for $t {}
    )*};
}

impl_real!(f32, F32; f64, F64);

macro_rules! impl_complex {
    ($($t:ident, $real:ident, $dtype:ident);*) => {$(
        impl sealed::Sealed for $t {}
        impl Scalar for $t {
            type Acc = $t;
            const DTYPE: DType = DType::$dtype;
            const PRECISION: u32 = $real::MANTISSA_DIGITS;
            const ZERO: Self = Complex::new(0.0, 0.0);
            const ONE: Self = Complex::new(1.0, 0.0);

            #[inline(always)]
            fn to_acc(self) -> $t {
                self
            }

            #[inline(always)]
            fn from_acc(acc: $t) -> Self {
                acc
            }

            #[inline(always)]
            fn is_zero(self) -> bool {
                Scalar::is_zero(self.re) && Scalar::is_zero(self.im)
            }

            #[inline(always)]
            fn is_finite(self) -> bool {
                self.re.is_finite() && self.im.is_finite()
            }

            #[inline(always)]
            fn to_c64(self) -> c64 {
                c64::new(f64::from(self.re), f64::from(self.im))
            }

            #[inline(always)]
            fn from_c64(value: c64) -> Self {
                Self::new(value.re as $real, value.im as $real)
            }

            #[inline(always)]
            fn conj(self) -> Self {
                Complex::conj(&self)
            }
        }

        impl Accumulator for $t {
            type Real = $real;
            const COMPLEX: bool = true;

            #[inline(always)]
            fn abs(self) -> $real {
                self.norm()
            }

            #[inline(always)]
            fn abs_squared(self) -> $real {
                self.norm_sqr()
            }

            #[inline(always)]
            fn from_real(re: $real) -> Self {
                Self::new(re, 0.0)
            }

            #[inline(always)]
            fn re(self) -> $real {
                self.re
            }

            #[inline(always)]
            fn times(self, factor: $t) -> $t {
                match (self.im == 0.0, factor.im == 0.0) {
                    (true, true) => Self::new(self.re * factor.re, self.im),
                    (false, true) => self * factor.re,
                    (true, false) => factor * self.re,
                    (false, false) => self * factor,
                }
            }
        }
    )*};
}

impl_complex!(c32, f32, C32; c64, f64, C64);

/// `value` in single precision, rounded so that a second rounding, to at most 22 bits, gives what one rounding of
/// `value` would: an inexact result gets an odd last bit. (`half` drops the low bits of an `f64` before it rounds.)
///
/// Boldo, Melquiond: Emulation of a FMA and correctly rounded sums: proved algorithms using rounding to odd. IEEE
/// Trans. Computers 57 (2008).
fn round_to_odd(value: f64) -> f32 {
    let nearest = value as f32;
    let (bits, back) = (nearest.to_bits(), f64::from(nearest));
    if back == value || !nearest.is_finite() || bits % 2 == 1 {
        return nearest;
    }
    f32::from_bits(if back.abs() > value.abs() { bits - 1 } else { bits + 1 })
}

/// A half-precision number in single precision, by integer operations that compilers turn into vectors: `half` asks at
/// each number whether the processor has an instruction for it.
#[inline(always)]
fn widen(value: f16) -> f32 {
    // Positions of exponents in `f32`, whose bias is greater by 112.
    const EXPONENT: u32 = 1 << 23;
    let bits = u32::from(value.to_bits());
    let (sign, magnitude) = ((bits & 0x8000) << 16, (bits & 0x7fff) << 13);
    // A subnormal number is what it adds to the smallest normal one. All are computed, so that nothing branches.
    let smallest = 113 * EXPONENT;
    let subnormal = (f32::from_bits(smallest + magnitude) - f32::from_bits(smallest)).to_bits();
    let (normal, infinite) = (magnitude + 112 * EXPONENT, magnitude + 224 * EXPONENT);
    let finite = if magnitude >= EXPONENT { normal } else { subnormal };
    let magnitude = if magnitude >= 31 * EXPONENT { infinite } else { finite };
    f32::from_bits(sign | magnitude)
}

macro_rules! impl_half {
    ($($t:ident, $dtype:ident, $widen:expr);*) => {$(
        impl sealed::Sealed for $t {}
        impl Scalar for $t {
            type Acc = f32;
            const DTYPE: DType = DType::$dtype;
            const PRECISION: u32 = $t::MANTISSA_DIGITS;
            const ZERO: Self = $t::ZERO;
            const ONE: Self = $t::ONE;

            #[inline(always)]
            fn to_acc(self) -> f32 {
                $widen(self)
            }

            #[inline(always)]
            fn from_acc(acc: f32) -> Self {
                $t::from_f32(acc)
            }

            #[inline(always)]
            fn is_zero(self) -> bool {
                self.to_bits() << 1 == 0
            }

            #[inline(always)]
            fn is_finite(self) -> bool {
                $t::is_finite(self)
            }

            #[inline(always)]
            fn to_c64(self) -> c64 {
                c64::new(self.to_f64(), 0.0)
            }

            #[inline(always)]
            fn from_c64(value: c64) -> Self {
                $t::from_f32(round_to_odd(value.re))
            }

            #[inline(always)]
            fn conj(self) -> Self {
                self
            }
        }
    )*};
}

impl_half!(f16, F16, widen; bf16, Bf16, bf16::to_f32);

#[cfg(test)]
mod tests {
    use super::*;

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

    #[test]
    fn every_half_is_widened_exactly() {
        for bits in 0..=u16::MAX {
            let (value, exact) = (f16::from_bits(bits).to_acc(), f64::from(f16::from_bits(bits)));
            if exact.is_nan() {
                assert!(value.is_nan(), "{bits:#x}");
            } else {
                assert_eq!(f64::from(value).to_bits(), exact.to_bits(), "{bits:#x}");
            }
        }
    }
}

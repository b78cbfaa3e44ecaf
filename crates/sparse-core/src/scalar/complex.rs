//! `c32` and `c64`.

use super::{Accumulator, DType, Scalar, c32, c64, sealed};
use num_complex::Complex;

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

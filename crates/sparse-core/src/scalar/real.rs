//! `f32` and `f64`.

use super::{Accumulator, DType, Real, Scalar, c64, sealed};

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

//! `f16` and `bf16`, by the crate `half`.

use super::{DType, Scalar, c64, sealed};
use half::{bf16, f16};

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

/// A half-precision number in single precision, by integer operations that compilers vectorize: `half` checks for each
/// number whether the processor has an instruction for it.
#[inline(always)]
fn widen(value: f16) -> f32 {
    // Positions of exponents in `f32`, whose bias is greater by 112.
    const EXPONENT: u32 = 1 << 23;
    let bits = u32::from(value.to_bits());
    let (sign, magnitude) = ((bits & 0x8000) << 16, (bits & 0x7fff) << 13);
    // A subnormal number is computed as (smallest normal number + it) − smallest normal number. The loop computes this
    // for every number, so that it does not branch.
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

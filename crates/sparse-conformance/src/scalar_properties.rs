//! Properties of scalar types at run time: rounding, unit roundoff, range.

use sparse_core::{DType, Scalar, c64, with_dtype};

/// `value` rounded to `dtype`; `None` if a finite value becomes infinite.
pub(crate) fn round(dtype: DType, value: c64) -> Option<c64> {
    let rounded = with_dtype!(dtype, T => T::from_c64(value).to_c64());
    let value = if dtype.is_complex() { value } else { c64::new(value.re, 0.0) };
    (Scalar::is_finite(rounded) || !Scalar::is_finite(value)).then_some(rounded)
}

/// The arithmetic of a scalar type and of its accumulator, for the componentwise bound.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Arithmetic {
    /// Integers up to this are exact in the accumulator.
    pub exact_in_accumulator: f64,
    /// Integers up to this are exact in the stored type.
    pub exact_in_storage: f64,
    /// u of the accumulator.
    pub roundoff: f64,
    /// u of the stored type if it is not the accumulator's, else 0.
    pub storage_roundoff: f64,
    /// The smallest subnormal of the stored type, or its smallest normal if the device flushes.
    pub tiny: f64,
    /// The largest finite number of the stored type.
    pub largest: f64,
    /// The largest finite number of the accumulator.
    pub largest_in_accumulator: f64,
    /// True if values have an imaginary part.
    pub complex: bool,
    /// Significant bits to which the algorithm rounds factors of products; `None` if it multiplies them as they are.
    pub factor_bits: Option<u32>,
}

impl Arithmetic {
    /// The arithmetic of `dtype` on a device that flushes subnormals to zero or does not.
    pub(crate) fn of(dtype: DType, flushes: bool) -> Self {
        let (storage, accumulator) = with_dtype!(dtype, T => (T::PRECISION, <T as Scalar>::Acc::PRECISION));
        let (least_exponent, largest) = range(dtype);
        let (_, largest_in_accumulator) = range(with_dtype!(dtype, T => <T as Scalar>::Acc::DTYPE));
        let roundoff = |precision: u32| power_of_two(-(precision as i32));
        let normal = power_of_two(least_exponent);
        Self {
            exact_in_accumulator: power_of_two(accumulator as i32),
            exact_in_storage: power_of_two(storage as i32),
            roundoff: roundoff(accumulator),
            storage_roundoff: if storage == accumulator { 0.0 } else { roundoff(storage) },
            tiny: if flushes { normal } else { normal * roundoff(storage - 1) },
            largest,
            largest_in_accumulator,
            complex: dtype.is_complex(),
            factor_bits: None,
        }
    }
}

impl Arithmetic {
    /// The arithmetic of results that stay in the accumulator's type.
    pub(crate) fn accumulated(&self) -> Self {
        Self {
            exact_in_storage: self.exact_in_accumulator,
            storage_roundoff: 0.0,
            largest: self.largest_in_accumulator,
            ..*self
        }
    }

    /// The largest error of `a·x` by rounding both factors to their bits: nothing where both have no more.
    pub(crate) fn rounding_of_factors(&self, a: f64, x: f64) -> f64 {
        let Some(bits) = self.factor_bits else { return 0.0 };
        if [a, x].iter().all(|&factor| has_bits(factor, bits)) {
            return 0.0;
        }
        let roundoff = power_of_two(-(bits as i32));
        let normal = f64::from(f32::MIN_POSITIVE);
        (2.0 + roundoff) * roundoff * a.abs().max(normal) * x.abs().max(normal)
    }
}

/// True if a number of single precision has at most this many significant bits.
fn has_bits(value: f64, bits: u32) -> bool {
    let dropped = f32::MANTISSA_DIGITS - bits;
    (value as f32).to_bits().trailing_zeros() >= dropped
}

/// The exponent of the smallest normal number, and the largest number.
fn range(dtype: DType) -> (i32, f64) {
    match dtype {
        DType::F16 => (-14, 65504.0),
        DType::Bf16 => (-126, 3.389_531_389_251_535_5e38),
        DType::F32 | DType::C32 => (-126, f64::from(f32::MAX)),
        DType::F64 | DType::C64 => (-1022, f64::MAX),
    }
}

fn power_of_two(exponent: i32) -> f64 {
    2_f64.powi(exponent)
}

#[cfg(test)]
mod tests {
    use super::*;
    use sparse_core::{bf16, f16};

    #[test]
    fn the_smallest_subnormals_are_those_of_the_types() {
        assert_eq!(Arithmetic::of(DType::F64, false).tiny, 5e-324);
        assert_eq!(Arithmetic::of(DType::F32, false).tiny, f64::from(f32::from_bits(1)));
        assert_eq!(Arithmetic::of(DType::F16, false).tiny, f16::from_bits(1).to_f64());
        assert_eq!(Arithmetic::of(DType::Bf16, false).tiny, bf16::from_bits(1).to_f64());
        assert_eq!(Arithmetic::of(DType::C32, true).tiny, f64::from(f32::MIN_POSITIVE));
        assert_eq!(Arithmetic::of(DType::Bf16, false).largest, bf16::MAX.to_f64());
    }

    #[test]
    fn factors_of_few_bits_are_not_rounded() {
        let tf32 = Arithmetic { factor_bits: Some(11), ..Arithmetic::of(DType::F32, false) };
        assert_eq!(tf32.rounding_of_factors(2047.0, 0.5), 0.0);
        let u = 0.5_f64.powi(11);
        assert_eq!(tf32.rounding_of_factors(2049.0, -2.0), (2.0 + u) * u * 4098.0);
        assert!(tf32.rounding_of_factors(f64::from(f32::from_bits(1)), 1.0) > 0.0);
        assert_eq!(Arithmetic::of(DType::F32, false).rounding_of_factors(2049.0, -2.0), 0.0);
    }

    #[test]
    fn a_value_that_becomes_infinite_does_not_fit() {
        assert_eq!(round(DType::F16, c64::new(1e6, 0.0)), None);
        assert_eq!(round(DType::F32, c64::new(f64::INFINITY, 0.0)), Some(c64::new(f64::INFINITY, 0.0)));
        assert_eq!(round(DType::F32, c64::new(1e-300, 5.0)), Some(c64::new(0.0, 0.0)));
    }
}

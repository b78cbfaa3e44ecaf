//! The exact value of `alpha·op(A)·x + beta·y`, from triplets in double precision, and the bound of its error.

use crate::scalar_properties::Arithmetic;
use crate::triplets::Triplets;
use sparse_core::op::Op;
use sparse_core::{Scalar, c64};

/// A value and the largest error of a result. A bound of 0 means equal, with −0 = +0.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bounded {
    /// The value.
    pub value: c64,
    /// The largest distance of a result.
    pub bound: f64,
}

impl Bounded {
    /// Exactly zero.
    pub(crate) const ZERO: Self = Self { value: c64::ZERO, bound: 0.0 };

    /// True if `found` is within the bound: NaN for NaN, an infinity for the same; of complex values any non-finite
    /// value for another, because the parts of a product mix.
    pub(crate) fn admits(&self, found: c64) -> bool {
        if self.bound == f64::INFINITY {
            return true;
        }
        if Scalar::is_finite(self.value) {
            return modulus(found - self.value) <= self.bound;
        }
        if found.im != 0.0 || self.value.im != 0.0 {
            return !Scalar::is_finite(found);
        }
        found.re == self.value.re || (found.re.is_nan() && self.value.re.is_nan())
    }
}

/// |value|, without a square root for a real one, and where squares neither overflow nor vanish without `hypot`.
pub(crate) fn modulus(value: c64) -> f64 {
    const SAFE: std::ops::Range<f64> = 1e-280..1e300;
    let square = value.norm_sqr();
    match value.im {
        0.0 => value.re.abs(),
        _ if SAFE.contains(&square) => square.sqrt(),
        _ => value.norm(),
    }
}

/// A sum of products, with the magnitudes for its bound.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sum {
    value: c64,
    /// Σ|a||x|.
    magnitude: f64,
    /// Σ of the magnitudes |re| + |im|: no part of any partial sum is larger.
    bulk: f64,
    /// The largest error by rounding factors.
    rounding: f64,
    entries: usize,
}

impl Sum {
    pub(crate) const ZERO: Self =
        Self { value: c64::ZERO, magnitude: 0.0, bulk: 0.0, rounding: 0.0, entries: 0 };

    /// Adds `a·x`: in complex arithmetic where values are complex, else in real.
    fn add(&mut self, a: c64, x: c64, arithmetic: &Arithmetic) {
        if arithmetic.complex {
            self.value += a * x;
            self.magnitude += modulus(a) * modulus(x);
        } else {
            self.value.re += a.re * x.re;
            self.magnitude += (a.re * x.re).abs();
            self.rounding += arithmetic.rounding_of_factors(a.re, x.re);
        }
        self.bulk += a.l1_norm() * x.l1_norm();
        self.entries += 1;
    }

    /// `Σ a·x` over pairs.
    pub(crate) fn of(pairs: impl Iterator<Item = (c64, c64)>, arithmetic: &Arithmetic) -> Self {
        let mut sum = Self::ZERO;
        pairs.for_each(|(a, x)| sum.add(a, x, arithmetic));
        sum
    }

    /// `factor·sum`.
    pub(crate) fn times(self, factor: c64, arithmetic: &Arithmetic) -> Self {
        let real = c64::new(factor.re * self.value.re, 0.0);
        Self {
            value: if arithmetic.complex { factor * self.value } else { real },
            magnitude: modulus(factor) * self.magnitude,
            bulk: factor.l1_norm() * self.bulk,
            rounding: modulus(factor) * self.rounding,
            entries: self.entries + 1,
        }
    }

    /// `alpha·sum + beta·y`; `beta == 0` does not read y, `alpha == 0` not the sum.
    pub(crate) fn scaled(self, alpha: c64, beta: c64, y: c64, arithmetic: &Arithmetic) -> Self {
        let rounding = if alpha == c64::ZERO { 0.0 } else { modulus(alpha) * self.rounding };
        let mut result = Self { rounding, entries: self.entries, ..Self::ZERO };
        let mut add = |factor: c64, value: c64, magnitude: f64, bulk: f64| {
            if factor == c64::ZERO {
                return;
            }
            let product =
                if arithmetic.complex { factor * value } else { c64::new(factor.re * value.re, 0.0) };
            result.value += product;
            result.magnitude += modulus(factor) * magnitude;
            result.bulk += factor.l1_norm() * bulk;
        };
        add(alpha, self.value, self.magnitude, self.bulk);
        add(beta, y, modulus(y), y.l1_norm());
        result
    }

    /// The componentwise bound, or exactness where every partial result is an integer that the types represent, or the
    /// value is not finite. Unbounded if partial results may pass the largest number of the type.
    pub(crate) fn bounded(self, integers: bool, arithmetic: &Arithmetic) -> Bounded {
        Bounded { value: self.value, bound: self.bound(integers, arithmetic) }
    }

    fn bound(&self, integers: bool, arithmetic: &Arithmetic) -> f64 {
        let fits = self.bulk <= arithmetic.exact_in_accumulator
            && self.value.l1_norm() <= arithmetic.exact_in_storage
            && self.rounding == 0.0;
        if (integers && fits) || !Scalar::is_finite(self.value) {
            return 0.0;
        }
        if self.magnitude > arithmetic.largest / 4.0 {
            return f64::INFINITY;
        }
        let entries = self.entries + if arithmetic.complex { 4 } else { 0 };
        let steps = (entries + 2) as f64;
        let gamma = steps * arithmetic.roundoff / (1.0 - steps * arithmetic.roundoff);
        2.0 * gamma * self.magnitude
            + self.rounding
            + arithmetic.storage_roundoff * modulus(self.value)
            + steps * arithmetic.tiny
    }
}

/// One sum for each row of op(A)·x, added from the last entry to the first: an order that no kernel has.
pub(crate) fn sums(matrix: &Triplets, op: Op, x: impl Fn(usize) -> c64, arithmetic: &Arithmetic) -> Vec<Sum> {
    let rows = if op.transposes() { matrix.cols } else { matrix.rows };
    let mut sums = vec![Sum::ZERO; rows];
    for &(i, j, value) in matrix.entries.iter().rev() {
        let (row, col) = if op.transposes() { (j, i) } else { (i, j) };
        sums[row].add(op.apply(value), x(col), arithmetic);
    }
    sums
}

#[cfg(test)]
mod tests {
    use super::*;
    use sparse_core::DType;

    fn real(value: f64) -> c64 {
        c64::new(value, 0.0)
    }

    #[test]
    fn integers_that_the_accumulator_holds_are_exact_and_others_bounded() {
        let f32 = Arithmetic::of(DType::F32, false);
        let f64 = Arithmetic::of(DType::F64, false);
        let sum = Sum::of([(real(4097.0), real(8191.0))].into_iter(), &f32);
        assert!(sum.bounded(true, &f32).bound > 0.0);
        assert_eq!(sum.bounded(true, &f64).bound, 0.0);
        assert!(sum.bounded(false, &f64).bound > 0.0);
    }

    #[test]
    fn rounded_factors_widen_the_bound_where_they_have_more_bits() {
        let f32 = Arithmetic::of(DType::F32, false);
        let tf32 = Arithmetic { factor_bits: Some(11), ..f32 };
        let bound = |a, arithmetic| {
            Sum::of([(real(a), real(3.0))].into_iter(), arithmetic).bounded(true, arithmetic).bound
        };
        assert_eq!([bound(2047.0, &tf32), bound(2049.0, &f32)], [0.0, 0.0]);
        assert!(bound(2049.0, &tf32) > 2.0 * 2049.0 * 3.0 / 2048.0);
        let sum = Sum::of([(real(2049.0), real(3.0))].into_iter(), &tf32);
        let twice = sum.scaled(real(2.0), real(1.0), real(1.0), &tf32).bounded(true, &tf32);
        assert!(twice.bound > 2.0 * bound(2049.0, &tf32) - 0.1);
        assert_eq!(sum.scaled(real(0.0), real(1.0), real(1.0), &tf32).bounded(true, &tf32).bound, 0.0);
    }

    #[test]
    fn f16_stores_fewer_integers_than_it_accumulates() {
        let half = Arithmetic::of(DType::F16, false);
        let sum = Sum::of([(real(64.0), real(64.0))].into_iter(), &half);
        let bounded = sum.bounded(true, &half);
        assert_eq!(bounded.value, real(4096.0));
        assert!(bounded.bound >= 2.0 && bounded.bound < 4.0);
    }

    #[test]
    fn beta_zero_does_not_read_and_nan_stands_for_nan() {
        let f64 = Arithmetic::of(DType::F64, false);
        let nan = real(f64::NAN);
        let clean = Sum::ZERO.scaled(real(1.0), real(0.0), nan, &f64).bounded(true, &f64);
        assert!(clean.admits(real(-0.0)) && !clean.admits(nan));
        let dirty = Sum::ZERO.scaled(real(1.0), real(1.0), nan, &f64).bounded(true, &f64);
        assert!(dirty.admits(nan) && !dirty.admits(real(0.0)));
    }

    #[test]
    fn infinity_stands_for_itself_alone() {
        let (f64, infinity) = (Arithmetic::of(DType::F64, false), real(f64::INFINITY));
        let sum = Sum::of([(infinity, real(2.0)), (real(1.0), real(3.0))].into_iter(), &f64);
        let bounded = sum.bounded(true, &f64);
        assert!(bounded.admits(infinity));
        assert!([-infinity, real(f64::NAN), real(3.0)].iter().all(|&other| !bounded.admits(other)));
    }
}

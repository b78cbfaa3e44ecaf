//! Coefficients of vector operations, in host or device memory.

use super::trisolve::quotient;
use crate::backend::{Backend, SpaceOf};
use crate::checks::{check_context, check_size};
use crate::error::Result;
use crate::scalar::{Accumulator, Scalar};
use crate::space::{Host, Space, View};

/// A coefficient of a vector operation: `factor · numerator / denominator`. The last two are elements in the memory of
/// a backend, or 1 where missing. 0 / 0 is 0, so that a converged iteration stays where it is.
///
/// A device need not wait for the host: `Coefficient::from(-1.0).times(rho).over(curvature)`, where both are results of
/// [`VectorPlan::dot`](super::vector::VectorPlan::dot).
#[derive(Debug)]
pub struct Coefficient<'a, S: Space, A: Scalar> {
    /// The factor, on the host.
    pub factor: A,
    /// A view of one element.
    pub numerator: Option<S::View<'a, A>>,
    /// A view of one element.
    pub denominator: Option<S::View<'a, A>>,
}

/// The coefficients of vectors of `T` in the memory of `B`.
pub type CoefficientOf<'a, B, T> = Coefficient<'a, SpaceOf<B>, <T as Scalar>::Acc>;

impl<S: Space, A: Scalar> From<A> for Coefficient<'_, S, A> {
    fn from(factor: A) -> Self {
        Self { factor, numerator: None, denominator: None }
    }
}

impl<'a, S: Space, A: Scalar> Coefficient<'a, S, A> {
    /// Sets the numerator, a view of one element.
    ///
    /// ```
    /// use sparse_core::{Host, op::Coefficient};
    ///
    /// let rho = [6.0];
    /// assert_eq!(Coefficient::<Host, f64>::from(-1.0).times(&rho).value(), -6.0);
    /// ```
    pub fn times(self, numerator: S::View<'a, A>) -> Self {
        Self { numerator: Some(numerator), ..self }
    }

    /// Sets the denominator, a view of one element.
    ///
    /// ```
    /// use sparse_core::{Host, op::Coefficient};
    ///
    /// let (rho, curvature) = ([6.0], [4.0]);
    /// assert_eq!(Coefficient::<Host, f64>::from(1.0).times(&rho).over(&curvature).value(), 1.5);
    /// ```
    pub fn over(self, denominator: S::View<'a, A>) -> Self {
        Self { denominator: Some(denominator), ..self }
    }

    /// An error unless numerator and denominator are single elements in the backend's context.
    pub(super) fn check<B: Backend>(&self, op: &'static str, backend: &B) -> Result<()> {
        for element in self.numerator.iter().chain(&self.denominator) {
            check_size(op, "the number of elements of a coefficient", 1, element.len())?;
            check_context(op, "a coefficient", backend.context(), element.context())?;
        }
        Ok(())
    }
}

impl<A: Accumulator> Coefficient<'_, Host, A> {
    /// The value.
    ///
    /// ```
    /// use sparse_core::{Host, op::Coefficient};
    ///
    /// let zero = [0.0];
    /// assert_eq!(Coefficient::<Host, f64>::from(3.0).value(), 3.0);
    /// assert_eq!(Coefficient::<Host, f64>::from(1.0).times(&zero).over(&zero).value(), 0.0); // not NaN
    /// ```
    pub fn value(&self) -> A {
        let value = self.numerator.map_or(self.factor, |numerator| self.factor * numerator[0]);
        match self.denominator {
            Some(denominator) if !(Scalar::is_zero(value) && Scalar::is_zero(denominator[0])) => {
                quotient(value, denominator[0])
            }
            _ => value,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scalar::c32;

    #[test]
    fn a_missing_part_is_one_and_zero_by_zero_is_zero() {
        let from = Coefficient::<Host, f64>::from;
        assert_eq!(from(3.0).value(), 3.0);
        assert_eq!(from(3.0).times(&[5.0]).value(), 15.0);
        assert_eq!(from(3.0).over(&[2.0]).value(), 1.5);
        assert_eq!(from(-1.0).times(&[3.0]).over(&[4.0]).value(), -0.75);
        assert_eq!(from(-1.0).times(&[0.0]).over(&[0.0]).value(), 0.0);
        assert_eq!(from(1.0).times(&[3.0]).over(&[0.0]).value(), f64::INFINITY);
        assert!(from(1.0).times(&[0.0]).over(&[f64::NAN]).value().is_nan());
    }

    #[test]
    fn small_complex_numbers_are_divided_without_underflow() {
        let (a, b) = ([c32::new(3e-30, 4e-30)], [c32::new(0.0, 1e-30)]);
        let quotient = Coefficient::<Host, c32>::from(c32::ONE).times(&a).over(&b).value();
        assert!((quotient - c32::new(4.0, -3.0)).norm() < 1e-5, "{quotient}");
    }
}

//! The options and the outcomes of solvers.

use sparse_core::{Error, PlanOptions};
use std::fmt::{self, Display, Formatter};

/// The stopping criterion of a solver, and the options of its product.
///
/// ```
/// use sparse_core::PlanOptions;
/// use sparse_solvers::Options;
///
/// let options =
///     Options { tolerance: 1e-6, max_iterations: Some(500), plan: PlanOptions::forced("sequential") };
/// assert!(options.tolerance > Options::default().tolerance);
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Options {
    /// The solver is done when ‖b − A·x‖₂ ≤ `tolerance`·‖b‖₂.
    pub tolerance: f64,
    /// The most iterations; `None` is ten times the order of A.
    pub max_iterations: Option<usize>,
    /// The options of the plan of the product with A.
    pub plan: PlanOptions,
}

impl Default for Options {
    fn default() -> Self {
        Self { tolerance: 1e-10, max_iterations: None, plan: PlanOptions::default() }
    }
}

/// Progress for a callback: after each iteration, or for [`EnqueuedCg`](crate::EnqueuedCg) after each check of the
/// residual.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Iteration {
    /// Counted from 1.
    pub number: usize,
    /// The residual of the recurrence divided by ‖b‖₂: an estimate, which may be too small.
    pub relative_residual: f64,
}

/// The reason why a solver stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Outcome {
    /// The true residual is finite and within the tolerance, however the iteration ended.
    Converged,
    /// All iterations were used up.
    IterationLimit,
    /// The method cannot go on, and a restart would not help.
    Breakdown(Breakdown),
    /// The callback stopped it.
    Stopped,
}

impl Display for Outcome {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Converged => f.pad("converged"),
            Self::IterationLimit => f.pad("the iteration limit was reached"),
            Self::Breakdown(breakdown) => breakdown.fmt(f),
            Self::Stopped => f.pad("stopped by the callback"),
        }
    }
}

impl From<Breakdown> for Outcome {
    fn from(breakdown: Breakdown) -> Self {
        Self::Breakdown(breakdown)
    }
}

/// The reason why a method cannot go on. Quantities are named in the notation of the method's documentation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Breakdown {
    /// ρ, which the method divides by, is zero, subnormal, or lost to rounding, though the residual is not zero.
    RhoUnderflow,
    /// A direction p has pᴴ·A·p not positive, or a residual r has rᴴ·K⁻¹·r negative for the preconditioner K: A or K is
    /// not Hermitian positive definite, at least not to working precision.
    IndefiniteMatrix,
    /// The recurrence claims convergence, but the true residual no longer falls: the tolerance is below the precision
    /// of the type for this matrix.
    Stagnation,
    /// Another quantity that the method divides by is zero or subnormal.
    ZeroDivisor {
        /// The quantity.
        quantity: &'static str,
    },
    /// A number is infinite or NaN.
    NotFinite {
        /// The quantity that was checked.
        quantity: &'static str,
    },
}

impl Display for Breakdown {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::RhoUnderflow => f.pad("breakdown: ρ is zero or lost to rounding"),
            Self::IndefiniteMatrix => f.pad("the matrix or its preconditioner is not positive definite"),
            Self::Stagnation => f.pad("stagnated: the true residual no longer falls in this precision"),
            Self::ZeroDivisor { quantity } => write!(f, "breakdown: {quantity} is zero or subnormal"),
            Self::NotFinite { quantity } => write!(f, "breakdown: {quantity} is not finite"),
        }
    }
}

/// The end of a solver. The residuals are computed from the returned x; if ‖b‖ is not finite, both are ‖b‖.
///
/// ```
/// use sparse_solvers::{Outcome, Solution};
///
/// let solution =
///     Solution { outcome: Outcome::IterationLimit, iterations: 9, residual: 0.5, relative_residual: 0.25 };
/// assert!(!solution.converged());
/// assert_eq!(
///     solution.to_string(),
///     "the iteration limit was reached (iterations: 9, relative residual: 2.500e-1)"
/// );
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Solution {
    /// The reason why the solver stopped.
    pub outcome: Outcome,
    /// The number of completed iterations.
    pub iterations: usize,
    /// ‖b − A·x‖₂.
    pub residual: f64,
    /// ‖b − A·x‖₂ / ‖b‖₂; 0 if b = 0.
    pub relative_residual: f64,
}

impl Solution {
    /// The solution where ‖b‖, zero or not finite, decides before there is an iteration.
    pub(crate) fn at_once(outcome: Outcome, norm_b: f64) -> Self {
        Self { outcome, iterations: 0, residual: norm_b, relative_residual: norm_b }
    }

    /// True if the tolerance was met.
    pub fn converged(&self) -> bool {
        self.outcome == Outcome::Converged
    }
}

impl Display for Solution {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Self { outcome, iterations, relative_residual, .. } = self;
        write!(f, "{outcome} (iterations: {iterations}, relative residual: {relative_residual:.3e})")
    }
}

/// The interruption of an iteration: an outcome of the method, or an error of the backend.
#[derive(Debug)]
pub enum Halt {
    /// The method cannot go on, or must not.
    Outcome(Outcome),
    /// A product or a vector operation failed.
    Error(Error),
}

impl From<Outcome> for Halt {
    fn from(outcome: Outcome) -> Self {
        Self::Outcome(outcome)
    }
}

impl From<Breakdown> for Halt {
    fn from(breakdown: Breakdown) -> Self {
        Self::Outcome(breakdown.into())
    }
}

impl From<Error> for Halt {
    fn from(error: Error) -> Self {
        Self::Error(error)
    }
}

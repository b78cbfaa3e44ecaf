//! The options and the outcomes of solvers.

use sparse_core::{Error, PlanOptions, Result};
use std::fmt::{self, Display, Formatter};

/// The stopping criterion of a solver, and the options of its product.
///
/// ```
/// use sparse_core::PlanOptions;
/// use sparse_solvers::SolverOptions;
///
/// let plan = PlanOptions::forced("sequential");
/// let options = SolverOptions { tolerance: 1e-6, max_iterations: Some(500), plan, ..SolverOptions::default() };
/// assert!(options.tolerance > SolverOptions::default().tolerance);
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct SolverOptions {
    /// The solver is done when ‖b − A·x‖₂ ≤ `tolerance`·‖b‖₂; [`LeastSquares`](crate::LeastSquares) has two criteria.
    pub tolerance: f64,
    /// The most iterations; `None` is ten times the order of A, for LSQR twice its columns, and for LSMR the smaller
    /// number of its rows and columns.
    pub max_iterations: Option<usize>,
    /// The iterations of a cycle of [`Gmres`](crate::Gmres); more than the order of A are as good as the order.
    pub restart: usize,
    /// The options of [`LeastSquares`](crate::LeastSquares) alone.
    pub least_squares: LeastSquaresOptions,
    /// The options of the plans of the products with A.
    pub plan: PlanOptions,
}

impl Default for SolverOptions {
    fn default() -> Self {
        Self {
            tolerance: 1e-10,
            max_iterations: None,
            restart: 20,
            least_squares: LeastSquaresOptions::default(),
            plan: PlanOptions::default(),
        }
    }
}

/// The problem and the stopping criteria of [`LeastSquares`](crate::LeastSquares), which are SciPy's.
///
/// ```
/// use sparse_solvers::{LeastSquaresOptions, SolverOptions};
///
/// let least_squares = LeastSquaresOptions { damp: 0.1, ..LeastSquaresOptions::default() };
/// let options = SolverOptions { tolerance: 1e-6, least_squares, ..SolverOptions::default() };
/// assert_eq!(options.least_squares.atol, None); // so that it is the tolerance
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LeastSquaresOptions {
    /// The weight of ‖x − x₀‖₂ beside ‖b − A·x‖₂.
    pub damp: f64,
    /// The relative precision of A; `None` is [`SolverOptions::tolerance`].
    pub atol: Option<f64>,
    /// The relative precision of b; `None` is [`SolverOptions::tolerance`].
    pub btol: Option<f64>,
    /// The largest condition of A and damp·I one above the other, at which the iteration stops; 0 is none.
    pub condition_limit: f64,
}

impl Default for LeastSquaresOptions {
    fn default() -> Self {
        Self { damp: 0.0, atol: None, btol: None, condition_limit: 1e8 }
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
    /// The true ‖Aᴴ·(b − A·x)‖ is within the tolerance, though b − A·x is not: x solves the least-squares problem.
    LeastSquares,
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
            Self::LeastSquares => f.pad("converged to a least-squares solution"),
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
    /// A cycle of a restarted method does not lower the residual, and the next one would do the same.
    StalledCycle,
    /// The Krylov space has no more directions, and the solution is not in it: A is singular, at least to working
    /// precision, and b may have no solution.
    SingularMatrix,
    /// vᴴ·A·v is not real for a vector v: A is not Hermitian.
    NotHermitian,
    /// The estimate of the condition of A is beyond [`LeastSquaresOptions::condition_limit`].
    IllConditioned,
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
            Self::StalledCycle => f.pad("stagnated: a cycle does not lower the residual; a longer one may"),
            Self::SingularMatrix => f.pad("breakdown: the matrix is singular to working precision"),
            Self::NotHermitian => f.pad("the matrix is not Hermitian"),
            Self::IllConditioned => f.pad("the matrix is conditioned beyond the limit"),
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
/// let (residual, relative_residual) = (0.5, 0.25);
/// let outcome = Outcome::IterationLimit;
/// let (normal_residual, estimates) = (None, None);
/// let solution =
///     Solution { outcome, iterations: 9, residual, relative_residual, normal_residual, estimates };
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
    /// ‖Aᴴ·(b − A·x) − damp²·(x − x₀)‖₂ of a least-squares problem.
    pub normal_residual: Option<f64>,
    /// The norm and the condition of A, which LSQR and LSMR estimate.
    pub estimates: Option<MatrixEstimates>,
}

/// The norm and the condition of A, by the elements of the process of Golub and Kahan; LSQR has those of A and damp·I
/// one above the other.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MatrixEstimates {
    /// The Frobenius norm.
    pub norm: f64,
    /// The condition number.
    pub condition: f64,
}

impl Solution {
    /// The solution where ‖b‖, zero or not finite, decides before there is an iteration.
    pub(crate) fn at_once(outcome: Outcome, norm_b: f64) -> Self {
        Self {
            outcome,
            iterations: 0,
            residual: norm_b,
            relative_residual: norm_b,
            normal_residual: None,
            estimates: None,
        }
    }

    /// True if the tolerance was met.
    pub fn converged(&self) -> bool {
        matches!(self.outcome, Outcome::Converged | Outcome::LeastSquares)
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
    /// The method has to start again from the true residual.
    Restart,
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

/// An error if `value` is negative or not a number.
pub(crate) fn check_tolerance(option: &str, value: f64) -> Result<()> {
    if value >= 0.0 {
        return Ok(());
    }
    Err(Error::unsupported(format_args!("{option} of {value}"), "it must be at least 0"))
}

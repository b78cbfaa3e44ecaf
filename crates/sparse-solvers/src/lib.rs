//! Solvers of A·x = b for [nnz](https://docs.rs/nnz), written once over its traits.
//!
//! | method | for | source |
//! |---|---|---|
//! | [`Cg`] | Hermitian positive definite A | Hestenes and Stiefel 1952 |
//! | [`BiCgStab`] | any square A | van der Vorst 1992 |
//! | [`Gmres`] | any square A, the smallest residual for `restart` + 1 vectors of memory | Saad and Schultz 1986 |
//! | [`Minres`] | Hermitian A, indefinite too | Paige and Saunders 1975 |
//! | [`LeastSquares`] | A of any shape, damped or not: LSQR or LSMR | Paige and Saunders 1982, Fong and Saunders 2011 |
//!
//! With the feature `direct`, `Factorization` solves on the host by sparse Cholesky, LU or QR factors of the crate
//! faer.
//!
//! [`EnqueuedCg`] is CG that takes many iterations between two checks of the residual, so that it seldom waits for a
//! device; it can also take a fixed number of them.
//!
//! All work in `f32`, `f64`, `c32` and `c64`, on every backend that multiplies the format of A. A solver owns its plans
//! and its vectors: iterations allocate none, except the basis of `Gmres`, which grows up to its restart.
//!
//! `Cg`, `EnqueuedCg`, `BiCgStab`, `Gmres` and `Minres` take a [`Preconditioner`]:
//!
//! | preconditioner | is | for | factorized on | applied on |
//! |---|---|---|---|---|
//! | [`Identity`] | nothing | well-conditioned A | – | every backend |
//! | [`Jacobi`] | the diagonal of A | badly scaled A | – | every backend |
//! | [`BlockJacobi`] | diagonal blocks of A | unknowns in groups | – | every backend |
//! | [`Ilu0`] | an incomplete LU factorization | any square A, with `BiCgStab` or `Gmres` | the host, one thread | every backend |
//! | [`Ic0`] | an incomplete Cholesky factorization | Hermitian positive definite A, with `Cg` or `EnqueuedCg` | the host, one thread | every backend |
//!
//! For new values of A on the same pattern `update` renews one without another analysis.
//!
//! # When a solver stops
//! Only the true residual decides: a solution has converged if ‖b − A·x‖₂ ≤ tolerance·‖b‖₂ and finite, with b − A·x
//! computed from x. The residual of the recurrence, which drifts away from it, tells when to compute it. If it claims
//! more than is true, the solver restarts from the true residual; if that no longer helps, the outcome is
//! [`Breakdown::Stagnation`]. The other breakdowns have names, too. `LeastSquares` has SciPy's two criteria, with norms
//! computed from x.
//!
//! ```
//! use sparse_core::reference::Reference;
//! use sparse_core::Csr;
//! use sparse_solvers::{Cg, Identity, SolverOptions, Outcome};
//! use std::ops::ControlFlow;
//!
//! let a = Csr::<f64>::new(2, 2, vec![0, 2, 4], vec![0, 1, 0, 1], vec![4.0, 1.0, 1.0, 3.0])?;
//! let mut solver = Cg::new(&Reference, &a, Identity, &SolverOptions::default())?;
//! let mut x = vec![0.0; 2];
//! let solution = solver.solve(&a, &[1.0, 2.0], &mut x, |_| ControlFlow::Continue(()))?;
//! assert_eq!(solution.outcome, Outcome::Converged);
//! assert!((x[0] - 1.0 / 11.0).abs() < 1e-9 && (x[1] - 7.0 / 11.0).abs() < 1e-9);
//! # Ok::<(), sparse_core::Error>(())
//! ```

mod bicgstab;
mod cg;
#[cfg(feature = "direct")]
mod direct;
mod enqueued;
mod gmres;
mod krylov;
mod least_squares;
mod minres;
mod norms;
mod outcome;
mod preconditioner;
mod progress;
mod recurrence;

pub use bicgstab::{BiCgStab, StabilizedBiConjugateGradients};
pub use cg::{Cg, ConjugateGradients};
#[cfg(feature = "direct")]
pub use direct::{DirectMethod, DirectPlan, Factorization};
pub use enqueued::{EnqueuedCg, EnqueuedConjugateGradients};
pub use gmres::{GeneralizedMinimalResiduals, Gmres};
pub use krylov::Krylov;
pub use least_squares::{LeastSquares, LeastSquaresMethod};
pub use minres::{MinimalResiduals, Minres};
pub use outcome::{
    Breakdown, Halt, Iteration, LeastSquaresOptions, MatrixEstimates, Outcome, Solution, SolverOptions,
};
pub use preconditioner::{
    BlockJacobi, Ic0, Identity, Ilu0, Jacobi, Preconditioner, inverse_diagonal, inverse_diagonal_of_block,
};
pub use recurrence::{Iterate, Recurrence};

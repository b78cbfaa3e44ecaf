//! Solvers of A·x = b for a distributed matrix: those of `sparse-solvers`, with reductions over all ranks.

use super::local_rows::check_ownership;
use super::{
    BlockOn, DistributedBackend, DistributedMatrix, DistributedVector, Ownership, RowsOn, SharedTransport,
};
use sparse_core::backend::SpaceOf;
use sparse_core::error::check_square;
use sparse_core::op::{SpmvKernel, VectorKernel};
use sparse_core::{Accumulator, Choice, Index, Result};
use sparse_solvers::{
    ConjugateGradients, Identity, Iteration, Krylov, Recurrence, Solution, SolverOptions,
    StabilizedBiConjugateGradients,
};
use std::ops::ControlFlow;

/// [`Cg`](sparse_solvers::Cg) over a distributed matrix.
pub type DistributedCg<X, B, T, P = Identity, O = i32> =
    DistributedSolver<X, B, T, ConjugateGradients<DistributedBackend<X, B>, T, P>, O>;

/// [`BiCgStab`](sparse_solvers::BiCgStab) over a distributed matrix.
pub type DistributedBiCgStab<X, B, T, P = Identity, O = i32> =
    DistributedSolver<X, B, T, StabilizedBiConjugateGradients<DistributedBackend<X, B>, T, P>, O>;

/// A solver of `sparse-solvers` over a distributed matrix: [`DistributedCg`] or [`DistributedBiCgStab`].
///
/// Every decision is made from numbers that are the same on all ranks, so that all take the same iterations. A
/// preconditioner works on the rank's own elements: [`Jacobi`](sparse_solvers::Jacobi) over the [`DistributedBackend`],
/// with the diagonal of the diagonal block.
///
/// ```
/// use sparse_core::{Csr, reference::Reference};
/// use sparse_distrib::{DistributedBackend, DistributedCg, DistributedMatrix, DistributedVector, Local};
/// use sparse_solvers::{Identity, SolverOptions};
/// use std::ops::ControlFlow;
///
/// // The 1-D Laplacian of order 3, one row on each rank.
/// let solutions = Local::run(3, |rank| {
///     let backend = DistributedBackend::new(rank, Reference);
///     let (columns, values) = match backend.rank() {
///         0 => (vec![0, 1], vec![2.0, -1.0]),
///         1 => (vec![0, 1, 2], vec![-1.0, 2.0, -1.0]),
///         _ => (vec![1, 2], vec![-1.0, 2.0]),
///     };
///     let row = Csr::<f64>::new(1, 3, vec![0, columns.len() as i32], columns, values)?;
///     let a = DistributedMatrix::from_rows(&backend, &row, None)?;
///     let b = DistributedVector::from_local(&backend, a.row_ownership(), &[1.0])?;
///     let mut x = DistributedVector::zeros(&backend, a.col_ownership())?;
///     let mut solver = DistributedCg::new(&backend, &a, Identity, &SolverOptions::default())?;
///     let solution = solver.solve(&a, &b, &mut x, |_| ControlFlow::Continue(()))?;
///     assert!(solution.converged());
///     x.gather(&backend, 0)
/// });
/// let x = solutions.into_iter().next().unwrap()?.unwrap();
/// assert!(x.iter().zip([1.5, 2.0, 1.5]).all(|(x, exact)| (x - exact).abs() < 1e-9));
/// # Ok::<(), sparse_core::Error>(())
/// ```
#[derive(Debug)]
pub struct DistributedSolver<X, B, T, R, O = i32>
where
    X: SharedTransport,
    B: SpmvKernel<BlockOn<B, T, O>> + VectorKernel<T>,
    T: Accumulator,
    O: Index,
{
    backend: DistributedBackend<X, B>,
    ownership: Ownership,
    krylov: Krylov<DistributedBackend<X, B>, RowsOn<B, T, O>, R>,
}

impl<X, B, T, R, O> DistributedSolver<X, B, T, R, O>
where
    X: SharedTransport,
    B: SpmvKernel<BlockOn<B, T, O>> + VectorKernel<T>,
    T: Accumulator,
    R: Recurrence<DistributedBackend<X, B>, RowsOn<B, T, O>>,
    O: Index,
{
    /// Plans the product with `a` and allocates all vectors: a collective call with the same options on all ranks.
    ///
    /// # Errors
    /// [`Shape`](sparse_core::Error::Shape) if A is not square, or its columns are not divided as its rows; the errors
    /// of [`Krylov::new`], of any rank.
    pub fn new(
        backend: &DistributedBackend<X, B>,
        a: &DistributedMatrix<T, SpaceOf<B>, O>,
        preconditioner: R::Preconditioner,
        options: &SolverOptions,
    ) -> Result<Self> {
        check_square(R::NAME, a.shape())?;
        check_ownership(R::NAME, "A by columns", a.row_ownership(), a.col_ownership())?;
        // The default counts the rows of a rank, which differ.
        let most = options.max_iterations.unwrap_or(a.nrows().saturating_mul(10));
        let options = SolverOptions { max_iterations: Some(most), ..options.clone() };
        let krylov = Krylov::new(backend, &a.local, preconditioner, &options);
        let krylov = backend.agree(R::NAME, krylov)?;
        Ok(Self { backend: backend.clone(), ownership: a.row_ownership().clone(), krylov })
    }

    /// Solves A·x = b from the given `x`, as [`Krylov::solve`]: a collective call with the same solution on all ranks.
    ///
    /// `callback` sees the same numbers on all ranks, and has to decide the same; the time is no reason to stop.
    ///
    /// # Errors
    /// [`Shape`](sparse_core::Error::Shape) if `b` or `x` is divided otherwise than A; the errors of [`Krylov::solve`],
    /// of any rank.
    pub fn solve(
        &mut self,
        a: &DistributedMatrix<T, SpaceOf<B>, O>,
        b: &DistributedVector<T, SpaceOf<B>>,
        x: &mut DistributedVector<T, SpaceOf<B>>,
        callback: impl FnMut(Iteration) -> ControlFlow<()>,
    ) -> Result<Solution> {
        check_ownership(R::NAME, "A", &self.ownership, a.row_ownership())?;
        check_ownership(R::NAME, "b", &self.ownership, b.ownership())?;
        check_ownership(R::NAME, "x", &self.ownership, x.ownership())?;
        let solution = self.krylov.solve(&a.local, b.local(), x.local_mut(), callback)?;
        self.backend.agree(R::NAME, Ok(solution))
    }

    /// The algorithm of the product with the diagonal block, and the reason.
    pub fn choice(&self) -> &Choice {
        self.krylov.choice()
    }
}

//! `C ← R·A·P`: the Galerkin product of multigrid methods.

use super::spgemm::{SpgemmKernel, SpgemmPlan};
use crate::backend::SpaceOf;
use crate::checks::check_size;
use crate::error::Result;
use crate::format::SparseFormat;
use crate::plan::PlanOptions;

/// A plan for `C ← R·A·P` with the patterns of R, A and P, as `R·(A·P)`: the patterns of both products and the matrix
/// `A·P`, which every run fills anew; values may change between runs.
///
/// All matrices that a plan makes have one pattern. For sums and their order see [`SpgemmPlan`].
///
/// ```
/// use sparse_core::op::{GalerkinPlan, Operations};
/// use sparse_core::{Csc, Csr, PlanOptions, reference::Reference};
///
/// // Two coarse unknowns of four: P joins neighbours, R = Pᵀ in CSR.
/// let p = Csr::<f64>::new(4, 2, vec![0, 1, 2, 3, 4], vec![0, 0, 1, 1], vec![1.0; 4])?;
/// let by_columns: Csc<f64> = Reference.convert(&p, &())?;
/// let r: Csr<f64> = by_columns.into_transpose();
/// let entries = (0..4).flat_map(|i| (0..4_usize).map(move |j| (i, j, [2.0, -1.0, 0.0, 0.0][j.abs_diff(i)])));
/// let mut a = Csr::<f64>::from_triplets(4, 4, entries)?;
/// let mut plan = GalerkinPlan::new(&Reference, &r, &a, &p, &PlanOptions::default())?;
/// let mut c = plan.run(&r, &a, &p)?;
/// assert!(c.triplets().eq([(0, 0, 2.0), (0, 1, -1.0), (1, 0, -1.0), (1, 1, 2.0)]));
/// a.scale(0.5); // other values of the same pattern: no new plan
/// plan.run_into(&r, &a, &p, &mut c)?;
/// assert_eq!(c.values(), &[1.0, -0.5, -0.5, 1.0]);
/// # Ok::<(), sparse_core::Error>(())
/// ```
#[derive(Debug)]
#[doc(alias("rap", "triple_product"))]
pub struct GalerkinPlan<B: SpgemmKernel<M>, M: SparseFormat<Space = SpaceOf<B>>> {
    inner: SpgemmPlan<B, M>,
    outer: SpgemmPlan<B, M>,
    /// A·P of the last run.
    product: M,
}

impl<B: SpgemmKernel<M>, M: SparseFormat<Space = SpaceOf<B>>> GalerkinPlan<B, M> {
    /// Finds the patterns of `A·P` and `R·(A·P)`.
    ///
    /// # Errors
    /// [`Shape`](crate::Error::Shape) unless A has as many columns as P has rows, and as many rows as R has columns;
    /// those of [`SpgemmPlan::new`] for either product.
    pub fn new(backend: &B, r: &M, a: &M, p: &M, options: &PlanOptions) -> Result<Self> {
        check_size("galerkin", "the number of rows of P", a.ncols(), p.nrows())?;
        check_size("galerkin", "the number of columns of R", a.nrows(), r.ncols())?;
        let inner = SpgemmPlan::new(backend, a, p, options)?;
        let product = inner.output()?;
        let outer = SpgemmPlan::new(backend, r, &product, options)?;
        Ok(Self { inner, outer, product })
    }

    /// `R·A·P`.
    ///
    /// # Errors
    /// [`PlanMismatch`](crate::Error::PlanMismatch) for other patterns; an error of the device's runtime.
    pub fn run(&mut self, r: &M, a: &M, p: &M) -> Result<M> {
        self.inner.run_into(a, p, &mut self.product)?;
        self.outer.run(r, &self.product)
    }

    /// `C ← R·A·P` into a matrix that a run of this plan returned; its values are not read.
    ///
    /// # Errors
    /// As [`run`](Self::run), and [`PlanMismatch`](crate::Error::PlanMismatch) for a C of another pattern.
    pub fn run_into(&mut self, r: &M, a: &M, p: &M, c: &mut M) -> Result<()> {
        self.inner.run_into(a, p, &mut self.product)?;
        self.outer.run_into(r, &self.product, c)
    }

    /// The number of entries of C.
    pub fn nnz(&self) -> usize {
        self.outer.nnz()
    }

    /// Bytes of workspace that the plan owns, beside the matrix `A·P`.
    pub fn workspace_bytes(&self) -> usize {
        self.inner.workspace_bytes() + self.outer.workspace_bytes()
    }
}

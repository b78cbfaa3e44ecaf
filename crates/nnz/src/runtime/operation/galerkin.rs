//! Galerkin products of three sparse matrices.

use crate::runtime::Matrix;
use crate::runtime::dispatch::backend::RuntimeBackend;
use crate::runtime::dispatch::operand_errors::mismatch;
use crate::runtime::dispatch::runtime_format::RuntimeFormat;
use crate::runtime::dispatch::typed_plan::TypedPlan;
use sparse_core::op::{GalerkinPlan, SpgemmKernel};
use sparse_core::{Error, PlanOptions, Result};
use std::fmt::{Debug, Formatter};

const OP: &str = "galerkin";

/// Galerkin products.
impl Matrix {
    /// `R·A·P`, the coarse matrix of multigrid methods: of three matrices in CSR, or in CSC. As two products of one
    /// call, which on the CPU take less time than a plan.
    ///
    /// ```
    /// # use nnz::prelude::*;
    /// let device = Device::host()?;
    /// let p = Csr::<f64>::new(4, 2, vec![0, 1, 2, 3, 4], vec![0, 0, 1, 1], vec![1.0; 4])?;
    /// let p = Matrix::from_typed(&device, p)?;
    /// let r = p.transpose()?.to_format(Format::Csr)?;
    /// let element = |i: usize, j: usize| [2.0, -1.0, 0.0, 0.0][j.abs_diff(i)];
    /// let entries = (0..4).flat_map(|i| (0..4).map(move |j| (i, j, element(i, j))));
    /// let a = Matrix::from_typed(&device, Csr::<f64>::from_triplets(4, 4, entries)?)?;
    /// let coarse = a.galerkin(&r, &p)?;
    /// assert_eq!(coarse.to_dense()?.values().to_vec::<f64>()?, [2.0, -1.0, -1.0, 2.0]);
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`matmul_sparse`](Self::matmul_sparse) for either product.
    #[doc(alias("rap", "triple_product"))]
    pub fn galerkin(&self, r: &Self, p: &Self) -> Result<Self> {
        r.matmul_sparse(&self.matmul_sparse(p)?)
    }

    /// A plan of `R·A·P`, which finds the patterns once for all values.
    ///
    /// ```
    /// # use nnz::prelude::*;
    /// let a = Matrix::from_typed(&Device::host()?, Csr::<f64>::identity(2)?)?;
    /// let mut plan = a.plan_galerkin(&a, &a, &PlanOptions::default())?;
    /// let a = (&a * 3.0)?; // other values, the same pattern
    /// assert_eq!(plan.run(&a, &a, &a)?.to_dense()?.values().to_vec::<f64>()?, [27.0, 0.0, 0.0, 27.0]);
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`galerkin`](Self::galerkin).
    pub fn plan_galerkin(&self, r: &Self, p: &Self, options: &PlanOptions) -> Result<MatrixGalerkinPlan> {
        for (name, other) in [("R", r), ("P", p)] {
            if other.dtype() != self.dtype() || other.context() != self.context() {
                return Err(mismatch(OP, self.as_operand(), &[(name, other.dtype(), &other.device)]));
            }
        }
        self.any().plan_galerkin(r, p, options).map(MatrixGalerkinPlan)
    }
}

/// A plan of `R·A·P` behind one object-safe trait.
pub(crate) trait AnyGalerkinPlan: Send {
    fn run(&mut self, r: &Matrix, a: &Matrix, p: &Matrix) -> Result<Matrix>;
    fn workspace_bytes(&self) -> usize;
}

impl<B, M> AnyGalerkinPlan for TypedPlan<B, GalerkinPlan<B, M>>
where
    B: RuntimeBackend + SpgemmKernel<M>,
    M: RuntimeFormat<B>,
{
    fn run(&mut self, r: &Matrix, a: &Matrix, p: &Matrix) -> Result<Matrix> {
        let product = self.plan.run(r.planned(OP)?, a.planned(OP)?, p.planned(OP)?)?;
        self.erase(product)
    }

    fn workspace_bytes(&self) -> usize {
        self.plan.workspace_bytes()
    }
}

/// The error of factors that differ in their format or in the types of their indices.
#[cold]
pub(crate) fn unlike_factors() -> Error {
    let reason = "R, A and P must have one format, CSR or CSC, and the same types of indices and offsets";
    Error::operands(OP, reason)
}

/// A plan of `R·A·P`, as [`Matrix::plan_galerkin`] makes it; values may change between runs. All matrices that it makes
/// have one pattern.
pub struct MatrixGalerkinPlan(Box<dyn AnyGalerkinPlan>);

impl MatrixGalerkinPlan {
    /// `R·A·P`.
    ///
    /// # Errors
    /// [`PlanMismatch`](Error::PlanMismatch) for matrices of other patterns, types or devices than the plan was made
    /// for.
    pub fn run(&mut self, r: &Matrix, a: &Matrix, p: &Matrix) -> Result<Matrix> {
        self.0.run(r, a, p)
    }

    /// Bytes of workspace that the plan owns.
    pub fn workspace_bytes(&self) -> usize {
        self.0.workspace_bytes()
    }
}

impl Debug for MatrixGalerkinPlan {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("MatrixGalerkinPlan").field("workspace_bytes", &self.workspace_bytes()).finish()
    }
}

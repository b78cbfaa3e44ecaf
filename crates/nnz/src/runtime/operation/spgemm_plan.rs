//! Plans of products of two sparse matrices.

use crate::runtime::dispatch::backend::RuntimeBackend;
use crate::runtime::dispatch::runtime_format::RuntimeFormat;
use crate::runtime::dispatch::typed_plan::TypedPlan;
use crate::runtime::{Matrix, Vector};
use sparse_core::op::{SpgemmKernel, SpgemmPlan};
use sparse_core::{Choice, Error, HostCsr, PatternId, PlanOptions, Result};
use std::fmt::{Debug, Formatter};

const OP: &str = "spgemm";

/// Plans of products of two sparse matrices.
impl Matrix {
    /// A plan of `A·B`, which finds its pattern once for all values.
    ///
    /// ```
    /// # use nnz::prelude::*;
    /// let device = Device::host()?;
    /// let a = Csr::<f64>::new(2, 2, vec![0, 2, 3], vec![0, 1, 1], vec![1.0, 2.0, 3.0])?;
    /// let a = Matrix::from_typed(&device, a)?;
    /// let mut plan = a.plan_spgemm(&a, &PlanOptions::default())?;
    /// assert_eq!(plan.run(&a, &a)?.to_dense()?.values().to_vec::<f64>()?, [1.0, 8.0, 0.0, 9.0]);
    /// let b = a.with_values(&Vector::from_slice(&device, &[1.0, 1.0, 1.0])?)?; // the same pattern
    /// assert_eq!(plan.run(&a, &b)?.to_dense()?.values().to_vec::<f64>()?, [1.0, 3.0, 0.0, 3.0]);
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`matmul_sparse`](Self::matmul_sparse), and [`Operands`](Error::Operands) if types of indices differ.
    pub fn plan_spgemm(&self, b: &Self, options: &PlanOptions) -> Result<MatrixSpgemmPlan> {
        self.check_factors(b, "B")?;
        let (a, b) = (Factor::new(self)?, Factor::new(b)?);
        let plan = a.owned.any().plan_spgemm(&b.owned, options)?;
        let plan = plan.ok_or_else(|| self.other_indices(&b.owned))?;
        Ok(MatrixSpgemmPlan { plan, a, b })
    }
}

/// A factor of the product that a plan was made for.
struct Factor {
    /// The pattern that the factor had.
    pattern: PatternId,
    /// The factor in arrays of its own.
    owned: Matrix,
}

impl Factor {
    fn new(matrix: &Matrix) -> Result<Self> {
        Ok(Self { pattern: matrix.pattern_id(), owned: matrix.to_compressed(matrix.format())? })
    }

    /// The matrix with arrays of its own, of the pattern that the plan was made for.
    fn own(&self, name: &str, matrix: &Matrix) -> Result<Matrix> {
        if matrix.pattern_id() == self.owned.pattern_id() {
            return Ok(matrix.clone());
        }
        if matrix.pattern_id() == self.pattern
            && let Some(values) = borrowed_values(matrix)?
        {
            return self.owned.with_values(&values);
        }
        let reason = format!("{name} has another pattern than the matrix that the plan was made for");
        Err(Error::PlanMismatch { op: OP, reason })
    }
}

/// A copy of the values of a matrix over borrowed arrays; `None` of other matrices.
fn borrowed_values(matrix: &Matrix) -> Result<Option<Vector>> {
    macro_rules! values_of_each {
        ($(($t:ty, $i:ty, $o:ty)),* $(,)?) => {
            $(
                if let Some(matrix_of_type) = matrix.downcast_ref::<HostCsr<$t, $i, $o>>() {
                    return Vector::from_slice(matrix.device(), matrix_of_type.values()).map(Some);
                }
            )*
        };
    }
    sparse_core::for_all_types!(values_of_each);
    Ok(None)
}

/// A plan of `A·B` behind one object-safe trait.
pub(crate) trait AnySpgemmPlan: Send {
    fn run(&mut self, a: &Matrix, b: &Matrix) -> Result<Matrix>;
    fn nnz(&self) -> usize;
    fn choice(&self) -> &Choice;
    fn workspace_bytes(&self) -> usize;
}

impl<B, M> AnySpgemmPlan for TypedPlan<B, SpgemmPlan<B, M>>
where
    B: RuntimeBackend + SpgemmKernel<M>,
    M: RuntimeFormat<B>,
{
    fn run(&mut self, a: &Matrix, b: &Matrix) -> Result<Matrix> {
        let product = self.plan.run(a.planned(OP)?, b.planned(OP)?)?;
        self.erase(product)
    }

    fn nnz(&self) -> usize {
        self.plan.nnz()
    }

    fn choice(&self) -> &Choice {
        self.plan.choice()
    }

    fn workspace_bytes(&self) -> usize {
        self.plan.workspace_bytes()
    }
}

/// A plan of `A·B`, as [`Matrix::plan_spgemm`] makes it; values may change between runs. All matrices that it makes
/// have one pattern.
pub struct MatrixSpgemmPlan {
    plan: Box<dyn AnySpgemmPlan>,
    a: Factor,
    b: Factor,
}

impl MatrixSpgemmPlan {
    /// `A·B`. Values in borrowed arrays are copied first.
    ///
    /// # Errors
    /// [`PlanMismatch`](Error::PlanMismatch) for matrices of other patterns, types or devices than the plan was made
    /// for; an error of the device's runtime.
    pub fn run(&mut self, a: &Matrix, b: &Matrix) -> Result<Matrix> {
        self.plan.run(&self.a.own("A", a)?, &self.b.own("B", b)?)
    }

    /// The number of entries of the product.
    pub fn nnz(&self) -> usize {
        self.plan.nnz()
    }

    /// The algorithm that runs, and the reason.
    pub fn choice(&self) -> &Choice {
        self.plan.choice()
    }

    /// Bytes of workspace that the plan owns, the pattern of the product among them.
    pub fn workspace_bytes(&self) -> usize {
        self.plan.workspace_bytes()
    }
}

impl Debug for MatrixSpgemmPlan {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        let mut debug = f.debug_struct("MatrixSpgemmPlan");
        debug.field("choice", self.choice()).field("nnz", &self.nnz());
        debug.field("workspace_bytes", &self.workspace_bytes()).finish()
    }
}

//! Sampled products of two dense matrices.

use crate::runtime::dispatch::backend::{FormatKernels, RuntimeBackend};
use crate::runtime::dispatch::operands::with_samples;
use crate::runtime::dispatch::runtime_format::RuntimeFormat;
use crate::runtime::{DenseMatrix, Matrix, Vector};
use sparse_core::op::{Sampling, SddmmKernel, SddmmPlan};
use sparse_core::{Algorithm, Choice, Error, PlanOptions, Result, c64};
use std::fmt::{Debug, Formatter};
use std::ops::Range;

/// Sampled products of two dense matrices.
impl Matrix {
    /// `A ∘ (U·Vᵀ)`: the elements of `U·Vᵀ` at the entries of A, each times the value there, in a matrix with the
    /// pattern of A. For CSR, CSC, COO and batches, whose U and V have the rows of all members one below the other.
    ///
    /// The plan of the first call is cached for the next ones with as many columns. [`sddmm_into`](Self::sddmm_into)
    /// also takes factors and [`Sampling::Pattern`].
    ///
    /// ```
    /// # use nnz::prelude::*;
    /// let device = Device::host()?;
    /// let a = Matrix::from_typed(&device, Csr::<f64>::new(2, 2, vec![0, 1, 2], vec![1, 0], vec![1.0, 10.0])?)?;
    /// let u = DenseMatrix::from_vec(&device, vec![1.0, 2.0, 3.0, 4.0], 2, 2, Order::RowMajor)?;
    /// let v = DenseMatrix::from_vec(&device, vec![1.0, 1.0, 0.0, 1.0], 2, 2, Order::RowMajor)?;
    /// let scores = a.sddmm(&u, &v)?;
    /// assert_eq!(scores.to_dense()?.values().to_vec::<f64>()?, [0.0, 2.0, 70.0, 0.0]);
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Operands`](crate::Error::Operands) if types or devices differ; [`Shape`](crate::Error::Shape) unless U has as
    /// many rows as A, V as many as A has columns, and both as many columns; [`Unsupported`](crate::Error::Unsupported)
    /// for other formats; an error of the device's runtime.
    pub fn sddmm(&self, u: &DenseMatrix, v: &DenseMatrix) -> Result<Self> {
        let mut c = Vector::zeros(self.device(), self.dtype(), self.nnz())?;
        self.sddmm_into(Sampling::Values, 1.0, (u, v), 0.0, &mut c)?;
        self.with_values(&c)
    }

    /// `C ← alpha·A ∘ (U·Vᵀ) + beta·C`, where `c` has a value for each entry of A, in the order of the entries; a
    /// `beta` of zero does not read it. With [`Sampling::Pattern`] the values of A count as 1.
    ///
    /// ```
    /// # use nnz::{op::Sampling, prelude::*};
    /// let device = Device::host()?;
    /// let a = Matrix::from_typed(&device, Csr::<f64>::new(2, 2, vec![0, 1, 2], vec![1, 0], vec![1.0, 10.0])?)?;
    /// let u = DenseMatrix::from_vec(&device, vec![1.0, 2.0], 2, 1, Order::RowMajor)?;
    /// let mut c = Vector::from_slice(&device, &[1.0, 1.0])?;
    /// a.sddmm_into(Sampling::Pattern, 2.0, (&u, &u), -1.0, &mut c)?;
    /// assert_eq!(c.to_vec::<f64>()?, [3.0, 3.0]);
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`sddmm`](Self::sddmm), and [`Operands`](crate::Error::Operands) for a factor that the type does not hold.
    pub fn sddmm_into(
        &self,
        sampling: Sampling,
        alpha: impl Into<c64>,
        (u, v): (&DenseMatrix, &DenseMatrix),
        beta: impl Into<c64>,
        c: &mut Vector,
    ) -> Result<()> {
        let (plans, key) = (&self.plans.sddmm, (sampling, u.ncols()));
        let mut plan = match plans.take(&key) {
            Some(plan) => plan,
            None => self.plan_sddmm(sampling, u.ncols(), &PlanOptions::default())?,
        };
        let done = plan.run(alpha, self, (u, v), beta, c);
        plans.put(key, plan);
        done
    }

    /// `A ∘ (U_h·V_hᵀ)` for each of `heads` heads, which have as many columns of U and V each, one beside the other: a
    /// matrix for each head, all of the pattern of A. One plan serves them.
    ///
    /// ```
    /// # use nnz::prelude::*;
    /// let device = Device::host()?;
    /// let a = Matrix::from_typed(&device, Csr::<f64>::new(1, 2, vec![0, 2], vec![0, 1], vec![1.0, 1.0])?)?;
    /// let u = DenseMatrix::from_vec(&device, vec![1.0, 10.0], 1, 2, Order::RowMajor)?; // two heads of one column
    /// let v = DenseMatrix::from_vec(&device, vec![1.0, 2.0, 3.0, 4.0], 2, 2, Order::RowMajor)?;
    /// let scores = a.sddmm_heads(&u, &v, 2)?;
    /// assert_eq!(scores[1].to_dense()?.values().to_vec::<f64>()?, [20.0, 40.0]);
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`sddmm`](Self::sddmm); [`Shape`](crate::Error::Shape) if the columns of U are not of `heads` heads.
    #[doc(alias = "attention")]
    pub fn sddmm_heads(&self, u: &DenseMatrix, v: &DenseMatrix, heads: usize) -> Result<Vec<Self>> {
        if heads == 0 || !u.ncols().is_multiple_of(heads) {
            let reason = format_args!("{} columns of U are not those of {heads} heads", u.ncols());
            return Err(Error::shape("sddmm", reason));
        }
        if v.ncols() != u.ncols() {
            let reason = format_args!("V has {} columns, U has {}", v.ncols(), u.ncols());
            return Err(Error::shape("sddmm", reason));
        }
        let inner = u.ncols() / heads;
        let mut plan = self.plan_sddmm(Sampling::Values, inner, &PlanOptions::default())?;
        let mut c = Vector::zeros(self.device(), self.dtype(), self.nnz())?;
        let head = |head: usize| {
            let columns = head * inner..(head + 1) * inner;
            plan.0.run(Some(columns), c64::ONE, self, (u, v), c64::ZERO, &mut c)?;
            self.with_values(&c)
        };
        (0..heads).map(head).collect()
    }

    /// A plan of `C ← alpha·A ∘ (U·Vᵀ) + beta·C` for `inner` columns of U and V, with options of its own.
    ///
    /// ```
    /// # use nnz::{op::Sampling, prelude::*};
    /// let a = Matrix::from_typed(&Device::host()?, Csr::<f64>::identity(2)?)?;
    /// let plan = a.plan_sddmm(Sampling::Values, 4, &PlanOptions::forced("sequential"))?;
    /// assert_eq!(plan.choice().algorithm, "sequential");
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`SddmmPlan::new`], and [`Unsupported`](crate::Error::Unsupported) for ELL, HYB and SELL.
    pub fn plan_sddmm(
        &self,
        sampling: Sampling,
        inner: usize,
        options: &PlanOptions,
    ) -> Result<MatrixSddmmPlan> {
        self.any().plan_sddmm(sampling, inner, options).map(MatrixSddmmPlan)
    }

    /// The algorithms of [`plan_sddmm`](Self::plan_sddmm), the default first; empty for formats that lack it.
    ///
    /// ```
    /// # use nnz::prelude::*;
    /// let a = Matrix::from_typed(&Device::host()?, Csr::<f64>::identity(2)?)?;
    /// assert_eq!(a.sddmm_algorithms()[0].name, "entry_chunks");
    /// # Ok::<(), Error>(())
    /// ```
    pub fn sddmm_algorithms(&self) -> &'static [Algorithm] {
        self.any().sddmm_algorithms()
    }
}

/// A plan of `C ← alpha·A ∘ (U·Vᵀ) + beta·C` behind one object-safe trait.
pub(crate) trait AnySddmmPlan: Send {
    /// Runs with a range of the columns of U and V, or with all.
    fn run(
        &mut self,
        columns: Option<Range<usize>>,
        alpha: c64,
        a: &Matrix,
        factors: (&DenseMatrix, &DenseMatrix),
        beta: c64,
        c: &mut Vector,
    ) -> Result<()>;
    fn choice(&self) -> &Choice;
    fn workspace_bytes(&self) -> usize;
}

impl<B, M> AnySddmmPlan for SddmmPlan<B, M>
where
    B: RuntimeBackend + FormatKernels<M> + SddmmKernel<M>,
    M: RuntimeFormat<B>,
{
    fn run(
        &mut self,
        columns: Option<Range<usize>>,
        alpha: c64,
        a: &Matrix,
        (u, v): (&DenseMatrix, &DenseMatrix),
        beta: c64,
        c: &mut Vector,
    ) -> Result<()> {
        let matrix = a.planned::<M>("sddmm")?;
        let operand = (a.as_operand(), matrix.context());
        let (factors, c) = ((alpha, u, v), (beta, c));
        with_samples::<B, M::Scalar>("sddmm", operand, columns, factors, c, &mut |alpha, u, v, beta, c| {
            self.run(alpha, matrix, u, v, beta, c)
        })
    }

    fn choice(&self) -> &Choice {
        self.choice()
    }

    fn workspace_bytes(&self) -> usize {
        self.workspace_bytes()
    }
}

/// A plan for `C ← alpha·A ∘ (U·Vᵀ) + beta·C`, as [`Matrix::plan_sddmm`] makes it; values may change between runs.
///
/// ```
/// use nnz::op::Sampling;
/// use nnz::prelude::*;
/// let device = Device::host()?;
/// let a = Matrix::from_typed(&device, Csr::<f64>::identity(2)?)?;
/// let u = DenseMatrix::from_vec(&device, vec![1.0, 2.0], 2, 1, Order::RowMajor)?;
/// let mut c = Vector::zeros(&device, DType::F64, a.nnz())?;
/// let mut plan = a.plan_sddmm(Sampling::Values, u.ncols(), &PlanOptions::default())?;
/// plan.run(1.0, &a, (&u, &u), 0.0, &mut c)?;
/// plan.run(1.0, &a.with_values(&c)?, (&u, &u), 0.0, &mut c)?; // other values, the same pattern
/// assert_eq!(c.to_vec::<f64>()?, [1.0, 16.0]);
/// # Ok::<(), Error>(())
/// ```
pub struct MatrixSddmmPlan(Box<dyn AnySddmmPlan>);

impl MatrixSddmmPlan {
    /// `C ← alpha·A ∘ (U·Vᵀ) + beta·C`; a `beta` of zero does not read C. There is an example at the type.
    ///
    /// # Errors
    /// [`PlanMismatch`](crate::Error::PlanMismatch) for a matrix of another pattern, type or device than the plan was
    /// made for; [`Operands`](crate::Error::Operands) and [`Shape`](crate::Error::Shape) for operands that do not fit.
    pub fn run(
        &mut self,
        alpha: impl Into<c64>,
        a: &Matrix,
        factors: (&DenseMatrix, &DenseMatrix),
        beta: impl Into<c64>,
        c: &mut Vector,
    ) -> Result<()> {
        self.0.run(None, alpha.into(), a, factors, beta.into(), c)
    }

    /// The algorithm that runs, and why.
    pub fn choice(&self) -> &Choice {
        self.0.choice()
    }

    /// Bytes of workspace that the plan owns.
    pub fn workspace_bytes(&self) -> usize {
        self.0.workspace_bytes()
    }
}

impl Debug for MatrixSddmmPlan {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("MatrixSddmmPlan").field(self.choice()).finish()
    }
}

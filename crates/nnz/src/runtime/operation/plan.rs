//! Plans of products whose types are known at run time.

use crate::runtime::{DenseMatrix, Matrix, MatrixSddmmPlan, Vector};
use sparse_core::op::{Op, Sampling};
use sparse_core::{Choice, Result, c64};
use std::fmt::{Debug, Formatter};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// A plan of `y ← alpha·op(A)·x + beta·y` behind one object-safe trait.
pub(crate) trait AnySpmvPlan: Send {
    fn run(&mut self, alpha: c64, a: &Matrix, x: &Vector, beta: c64, y: &mut Vector) -> Result<()>;
    fn choice(&self) -> &Choice;
    fn workspace_bytes(&self) -> usize;
}

/// A plan of `C ← alpha·op(A)·B + beta·C` behind one object-safe trait.
pub(crate) trait AnySpmmPlan: Send {
    fn run(&mut self, alpha: c64, a: &Matrix, b: &DenseMatrix, beta: c64, c: &mut DenseMatrix) -> Result<()>;
    fn choice(&self) -> &Choice;
    fn workspace_bytes(&self) -> usize;
}

/// A plan for `y ← alpha·op(A)·x + beta·y`, as [`Matrix::plan_spmv`] makes it; values may change between runs.
///
/// ```
/// use nnz::prelude::*;
/// let device = Device::host()?;
/// let a = Matrix::from_typed(&device, Csr::<f64>::identity(2)?)?;
/// let x = Vector::from_slice(&device, &[1.0, 2.0])?;
/// let mut y = Vector::zeros(&device, DType::F64, 2)?;
/// let mut plan = a.plan_spmv(Op::None, &PlanOptions::default())?;
/// plan.run(2.0, &a, &x, 0.0, &mut y)?;
/// plan.run(1.0, &(&a * 10.0)?, &x, 1.0, &mut y)?; // other values, the same pattern
/// assert_eq!(y.to_vec::<f64>()?, [12.0, 24.0]);
/// # Ok::<(), Error>(())
/// ```
pub struct MatrixSpmvPlan(pub(crate) Box<dyn AnySpmvPlan>);

impl MatrixSpmvPlan {
    /// `y ← alpha·op(A)·x + beta·y`; a `beta` of zero does not read `y`.
    ///
    /// ```
    /// # use nnz::prelude::*;
    /// let device = Device::host()?;
    /// let a = Matrix::from_typed(&device, Csr::<f64>::identity(2)?)?;
    /// let x = Vector::from_slice(&device, &[1.0, 2.0])?;
    /// let mut y = Vector::zeros(&device, DType::F64, 2)?;
    /// a.plan_spmv(Op::None, &PlanOptions::default())?.run(3.0, &a, &x, 0.0, &mut y)?;
    /// assert_eq!(y.to_vec::<f64>()?, [3.0, 6.0]);
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// [`PlanMismatch`](crate::Error::PlanMismatch) for a matrix of another pattern, type or device than the plan was
    /// made for; [`Operands`](crate::Error::Operands) and [`Shape`](crate::Error::Shape) for operands that do not fit.
    pub fn run(
        &mut self,
        alpha: impl Into<c64>,
        a: &Matrix,
        x: &Vector,
        beta: impl Into<c64>,
        y: &mut Vector,
    ) -> Result<()> {
        self.0.run(alpha.into(), a, x, beta.into(), y)
    }

    /// The algorithm that runs, and why.
    ///
    /// ```
    /// # use nnz::prelude::*;
    /// let device = Device::host()?;
    /// let a = Matrix::from_typed(&device, Csr::<f64>::identity(2)?)?;
    /// let plan = a.plan_spmv(Op::None, &PlanOptions::forced("sequential"))?;
    /// assert_eq!(plan.choice().algorithm, "sequential");
    /// # Ok::<(), Error>(())
    /// ```
    pub fn choice(&self) -> &Choice {
        self.0.choice()
    }

    /// Bytes of workspace that the plan owns.
    ///
    /// ```
    /// # use nnz::prelude::*;
    /// let device = Device::host()?;
    /// let a = Matrix::from_typed(&device, Csr::<f64>::identity(2)?)?;
    /// let plan = a.plan_spmv(Op::None, &PlanOptions::forced("sequential"))?;
    /// assert!(plan.workspace_bytes() <= 64);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn workspace_bytes(&self) -> usize {
        self.0.workspace_bytes()
    }
}

/// A plan for `C ← alpha·op(A)·B + beta·C`, as [`Matrix::plan_spmm`] makes it; values may change between runs.
///
/// ```
/// use nnz::prelude::*;
/// let device = Device::host()?;
/// let a = Matrix::from_typed(&device, Csr::<f64>::identity(2)?)?;
/// let b = DenseMatrix::from_vec(&device, vec![1.0, 2.0, 3.0, 4.0], 2, 2, Order::RowMajor)?;
/// let mut c = DenseMatrix::zeros(&device, DType::F64, 2, 2, Order::RowMajor)?;
/// a.plan_spmm(Op::None, b.ncols(), &PlanOptions::default())?.run(2.0, &a, &b, 0.0, &mut c)?;
/// assert_eq!(c.values().to_vec::<f64>()?, [2.0, 4.0, 6.0, 8.0]);
/// # Ok::<(), Error>(())
/// ```
pub struct MatrixSpmmPlan(pub(crate) Box<dyn AnySpmmPlan>);

impl MatrixSpmmPlan {
    /// `C ← alpha·op(A)·B + beta·C`; a `beta` of zero does not read C.
    ///
    /// ```
    /// # use nnz::prelude::*;
    /// let device = Device::host()?;
    /// let a = Matrix::from_typed(&device, Csr::<f64>::identity(2)?)?;
    /// let b = DenseMatrix::from_vec(&device, vec![1.0, 2.0], 2, 1, Order::RowMajor)?;
    /// let mut c = DenseMatrix::zeros(&device, DType::F64, 2, 1, Order::RowMajor)?;
    /// a.plan_spmm(Op::None, 1, &PlanOptions::default())?.run(3.0, &a, &b, 0.0, &mut c)?;
    /// assert_eq!(c.values().to_vec::<f64>()?, [3.0, 6.0]);
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`MatrixSpmvPlan::run`].
    pub fn run(
        &mut self,
        alpha: impl Into<c64>,
        a: &Matrix,
        b: &DenseMatrix,
        beta: impl Into<c64>,
        c: &mut DenseMatrix,
    ) -> Result<()> {
        self.0.run(alpha.into(), a, b, beta.into(), c)
    }

    /// The algorithm that runs, and why.
    ///
    /// ```
    /// # use nnz::prelude::*;
    /// let device = Device::host()?;
    /// let a = Matrix::from_typed(&device, Csr::<f64>::identity(2)?)?;
    /// let plan = a.plan_spmm(Op::None, 2, &PlanOptions::forced("sequential"))?;
    /// assert_eq!(plan.choice().algorithm, "sequential");
    /// # Ok::<(), Error>(())
    /// ```
    pub fn choice(&self) -> &Choice {
        self.0.choice()
    }

    /// Bytes of workspace that the plan owns.
    ///
    /// ```
    /// # use nnz::prelude::*;
    /// let device = Device::host()?;
    /// let a = Matrix::from_typed(&device, Csr::<f64>::identity(2)?)?;
    /// let plan = a.plan_spmm(Op::None, 2, &PlanOptions::forced("sequential"))?;
    /// assert!(plan.workspace_bytes() <= 64);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn workspace_bytes(&self) -> usize {
        self.0.workspace_bytes()
    }
}

impl Debug for MatrixSpmvPlan {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("MatrixSpmvPlan").field(self.choice()).finish()
    }
}

impl Debug for MatrixSpmmPlan {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("MatrixSpmmPlan").field(self.choice()).finish()
    }
}

/// The cached plans of [`Matrix::spmv`], [`Matrix::spmm`] and [`Matrix::sddmm`].
#[derive(Default)]
pub(crate) struct ProductPlans {
    pub(crate) spmv: PlanCache<Op, MatrixSpmvPlan>,
    pub(crate) spmm: PlanCache<(Op, usize), MatrixSpmmPlan>,
    pub(crate) sddmm: PlanCache<(Sampling, usize), MatrixSddmmPlan>,
}

/// A cache of plans by key. A call takes its plan out and puts it back, so that concurrent calls do not wait for each
/// other: each has its own plan.
pub(crate) struct PlanCache<K, P>(Mutex<Vec<(K, P)>>);

/// Capacity of a cache; the oldest plan is dropped first. Products with one matrix differ in the operation and in the
/// number of columns, and each thread that multiplies has a plan.
const CACHED_PLANS: usize = 16;

impl<K, P> Default for PlanCache<K, P> {
    fn default() -> Self {
        Self(Mutex::new(vec![]))
    }
}

impl<K: PartialEq, P> PlanCache<K, P> {
    /// Removes and returns a plan for `key`.
    pub(crate) fn take(&self, key: &K) -> Option<P> {
        let mut plans = self.lock();
        let position = plans.iter().rposition(|(other, _)| other == key)?;
        Some(plans.remove(position).1)
    }

    /// Stores a plan for the next call.
    pub(crate) fn put(&self, key: K, plan: P) {
        let mut plans = self.lock();
        if plans.len() == CACHED_PLANS {
            plans.remove(0);
        }
        plans.push((key, plan));
    }

    fn lock(&self) -> MutexGuard<'_, Vec<(K, P)>> {
        // A call that panicked had taken its plan out, so the cache is sound.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plans_come_back_by_their_key_and_the_oldest_goes_first() {
        let cache = PlanCache::default();
        for key in 0..=CACHED_PLANS {
            cache.put(key, 10 * key);
        }
        assert_eq!((cache.take(&0), cache.take(&1), cache.take(&1)), (None, Some(10), None));
        assert_eq!(cache.take(&CACHED_PLANS), Some(10 * CACHED_PLANS));
    }
}

//! Preconditioners whose inverse is stored as a sparse matrix.

use sparse_core::backend::{Buf, SpaceOf, ViewOf};
use sparse_core::op::{Op, SpmvKernel, SpmvPlan, VectorKernel};
use sparse_core::{Accumulator, Csr, PlanOptions, Result, Scalar, Space, SparseFormat};

/// K⁻¹ in a backend's memory, and the plan of its product.
#[derive(Debug)]
pub(super) struct InverseProduct<B, T>
where
    B: SpmvKernel<Csr<T, SpaceOf<B>>>,
    T: Scalar,
{
    backend: B,
    inverse: Csr<T, SpaceOf<B>>,
    plan: SpmvPlan<B, Csr<T, SpaceOf<B>>>,
    result: Buf<B, T>,
}

impl<B, T> InverseProduct<B, T>
where
    B: SpmvKernel<Csr<T, SpaceOf<B>>> + VectorKernel<T>,
    T: Accumulator,
{
    /// Uploads K⁻¹.
    pub(super) fn new(backend: &B, inverse: &Csr<T>) -> Result<Self> {
        let result = backend.zeros(inverse.nrows())?;
        let inverse = inverse.to_device(backend)?;
        let plan = SpmvPlan::new(backend, &inverse, Op::None, &PlanOptions::default())?;
        Ok(Self { backend: backend.clone(), inverse, plan, result })
    }

    /// Takes other values for K⁻¹, in the order of its entries.
    pub(super) fn set_values(&mut self, values: &[T]) -> Result<()> {
        self.inverse = self.inverse.with_values(self.backend.upload(values)?)?;
        Ok(())
    }

    /// K⁻¹·r.
    pub(super) fn apply(&mut self, r: ViewOf<'_, B, T>) -> Result<ViewOf<'_, B, T>> {
        let result = SpaceOf::<B>::view_mut(&mut self.result);
        self.plan.run(T::one(), &self.inverse, r, T::zero(), result)?;
        Ok(SpaceOf::<B>::view(&self.result))
    }
}

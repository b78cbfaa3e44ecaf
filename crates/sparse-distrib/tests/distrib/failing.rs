//! A backend that fails on command.

use sparse_core::op::{AccOf, CoefficientOf, Op, SpmmKernel, SpmvKernel, VectorKernel};
use sparse_core::reference::{Entries, ProductPlan, Reference};
use sparse_core::{
    Algorithm, Backend, Caps, ContextId, DenseView, DenseViewMut, Element, Error, Host, PlanOptions, Result,
};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The reference, whose operation number `left` from here on fails.
#[derive(Debug, Clone)]
pub(crate) struct Failing {
    pub(crate) left: Arc<AtomicUsize>,
}

impl Failing {
    fn next(&self) -> Result<Reference> {
        match self.left.fetch_sub(1, Ordering::Relaxed) {
            0 => Err(Error::Backend { backend: "failing", source: "the device is gone".into() }),
            _ => Ok(Reference),
        }
    }
}

// SAFETY: buffers are those of the reference.
unsafe impl Backend for Failing {
    type Space = Host;

    fn caps(&self) -> &Caps {
        Reference.caps()
    }

    fn context(&self) -> ContextId {
        ContextId::HOST
    }

    fn upload<T: Element>(&self, host: &[T]) -> Result<Vec<T>> {
        self.next()?.upload(host)
    }

    fn download_into<T: Element>(&self, device: &[T], host: &mut [T]) -> Result<()> {
        self.next()?.download_into(device, host)
    }

    fn copy<T: Element>(&self, from: &[T], to: &mut [T]) -> Result<()> {
        self.next()?.copy(from, to)
    }

    fn synchronize(&self) -> Result<()> {
        self.next()?.synchronize()
    }
}

impl VectorKernel<f64> for Failing {
    unsafe fn axpby(
        &self,
        alpha: CoefficientOf<'_, Self, f64>,
        x: &[f64],
        beta: CoefficientOf<'_, Self, f64>,
        y: &mut [f64],
    ) -> Result<()> {
        // SAFETY: the caller promises the same, here and below.
        unsafe { self.next()?.axpby(alpha, x, beta, y) }
    }

    unsafe fn dot(&self, x: &[f64], y: &[f64]) -> Result<f64> {
        // SAFETY: as above.
        unsafe { self.next()?.dot(x, y) }
    }

    unsafe fn nrm2(&self, x: &[f64]) -> Result<f64> {
        // SAFETY: as above.
        unsafe { VectorKernel::<f64>::nrm2(&self.next()?, x) }
    }

    unsafe fn scal(&self, alpha: CoefficientOf<'_, Self, f64>, x: &mut [f64]) -> Result<()> {
        // SAFETY: as above.
        unsafe { self.next()?.scal(alpha, x) }
    }

    unsafe fn scale_dense(&self, beta: f64, c: DenseViewMut<'_, f64>) -> Result<()> {
        // SAFETY: as above.
        unsafe { self.next()?.scale_dense(beta, c) }
    }
}

impl<M: Entries> SpmvKernel<M> for Failing {
    type Plan = ProductPlan<AccOf<M>>;

    fn spmv_algorithms(&self, op: Op) -> &'static [Algorithm] {
        SpmvKernel::<M>::spmv_algorithms(&Reference, op)
    }

    fn plan_spmv(&self, a: &M, op: Op, options: &PlanOptions) -> Result<Self::Plan> {
        self.next()?.plan_spmv(a, op, options)
    }

    unsafe fn run_spmv(
        &self,
        plan: &mut Self::Plan,
        alpha: AccOf<M>,
        a: &M,
        x: &[M::Scalar],
        beta: AccOf<M>,
        y: &mut [M::Scalar],
    ) -> Result<()> {
        // SAFETY: as above.
        unsafe { self.next()?.run_spmv(plan, alpha, a, x, beta, y) }
    }
}

impl<M: Entries> SpmmKernel<M> for Failing {
    type Plan = ProductPlan<AccOf<M>>;

    fn spmm_algorithms(&self, op: Op) -> &'static [Algorithm] {
        SpmmKernel::<M>::spmm_algorithms(&Reference, op)
    }

    fn plan_spmm(&self, a: &M, op: Op, columns: usize, options: &PlanOptions) -> Result<Self::Plan> {
        self.next()?.plan_spmm(a, op, columns, options)
    }

    unsafe fn run_spmm(
        &self,
        plan: &mut Self::Plan,
        alpha: AccOf<M>,
        a: &M,
        b: DenseView<'_, M::Scalar>,
        beta: AccOf<M>,
        c: DenseViewMut<'_, M::Scalar>,
    ) -> Result<()> {
        // SAFETY: as above.
        unsafe { self.next()?.run_spmm(plan, alpha, a, b, beta, c) }
    }
}

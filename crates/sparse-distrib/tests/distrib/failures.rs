//! A rank whose backend fails, at any of its operations: all ranks return an error, and nobody waits for it.

use sparse_core::op::{AccOf, CoefficientOf, Op, SpmmKernel, SpmvKernel, VectorKernel};
use sparse_core::reference::{Entries, ProductPlan, Reference};
use sparse_core::{
    Algorithm, Backend, Caps, ContextId, Csr, DenseView, DenseViewMut, Element, Error, Host, PlanOptions,
    Result,
};
use sparse_distrib::{
    DistributedBackend, DistributedCg, DistributedMatrix, DistributedSpmmPlan, DistributedSpmvPlan,
    DistributedVector, Local, Transport,
};
use sparse_solvers::{Identity, Options};
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The reference, whose operation number `left` from here on fails.
#[derive(Debug, Clone)]
struct Failing {
    left: Arc<AtomicUsize>,
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

    unsafe fn spmv(
        &self,
        plan: &mut Self::Plan,
        alpha: AccOf<M>,
        a: &M,
        x: &[M::Scalar],
        beta: AccOf<M>,
        y: &mut [M::Scalar],
    ) -> Result<()> {
        // SAFETY: as above.
        unsafe { self.next()?.spmv(plan, alpha, a, x, beta, y) }
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

    unsafe fn spmm(
        &self,
        plan: &mut Self::Plan,
        alpha: AccOf<M>,
        a: &M,
        b: DenseView<'_, M::Scalar>,
        beta: AccOf<M>,
        c: DenseViewMut<'_, M::Scalar>,
    ) -> Result<()> {
        // SAFETY: as above.
        unsafe { self.next()?.spmm(plan, alpha, a, b, beta, c) }
    }
}

/// Every kind of collective call, one after the other; the first error ends it.
fn all_calls(rank: &DistributedBackend<Local, Failing>, a: &Csr<f64>) -> Result<()> {
    let options = PlanOptions::default();
    let a = DistributedMatrix::from_root(rank, 0, (rank.rank() == 0).then_some(a), None)?;
    let own = a.row_ownership().range(rank.rank()).len();
    let x = DistributedVector::from_local(rank, a.col_ownership(), &vec![1.0; own])?;
    let mut y = DistributedVector::zeros(rank, a.row_ownership())?;
    for op in [Op::None, Op::Transpose] {
        DistributedSpmvPlan::new(rank, &a, op, &options)?.run(1.0, &a, &x, 0.0, &mut y)?;
        let (b, mut c) = (vec![1.0; 2 * own], vec![0.0; 2 * own]);
        let (b, c) = (DenseView::row_major(&b, own, 2)?, DenseViewMut::row_major(&mut c, own, 2)?);
        DistributedSpmmPlan::new(rank, &a, op, 2, &options)?.run(1.0, &a, b, 0.0, c)?;
    }
    y.axpby(rank, 2.0, &x, 0.0)?;
    y.dot(rank, &x)?;
    y.nrm2(rank)?;
    let mut cg = DistributedCg::new(rank, &a, Identity, &Options::default())?;
    cg.solve(&a, &x, &mut y, |_| ControlFlow::Continue(()))?;
    y.gather(rank, 0)?;
    Ok(())
}

#[test]
fn wherever_a_rank_fails_all_ranks_return_an_error_that_names_it() {
    let a = sparse_generate::stencil_5::<f64>(4, 6).unwrap();
    for failing in [0, 2] {
        let mut operation = 0;
        loop {
            let results = Local::run(4, |rank| {
                let left = if rank.rank() == failing { operation } else { usize::MAX };
                let backend = Failing { left: Arc::new(AtomicUsize::new(left)) };
                all_calls(&DistributedBackend::new(rank, backend), &a).map_err(|error| error.to_string())
            });
            if results.iter().all(Result::is_ok) {
                break;
            }
            let named = format!("rank {failing}: failing: the device is gone");
            for (rank, result) in results.into_iter().enumerate() {
                let told = result.expect_err("all ranks fail");
                let is_named = told.contains(&named) || rank == failing && named.contains(&told);
                assert!(is_named, "operation {operation}, rank {rank}: {told}");
            }
            operation += 1;
        }
        assert!(operation > 100, "only {operation} operations were made to fail");
    }
}

#[test]
fn a_rank_that_leaves_before_a_product_is_an_error_on_all_others() {
    let a = sparse_generate::stencil_5::<f64>(4, 6).unwrap();
    let told = Local::run(4, |rank| {
        let rank = DistributedBackend::new(rank, Reference);
        let a = DistributedMatrix::from_root(&rank, 0, Some(&a), None).unwrap();
        let x = DistributedVector::<f64>::zeros(&rank, a.col_ownership()).unwrap();
        let mut y = DistributedVector::zeros(&rank, a.row_ownership()).unwrap();
        let options = PlanOptions::default();
        let mut plan = DistributedSpmvPlan::new(&rank, &a, Op::None, &options).unwrap();
        (rank.rank() != 2).then(|| plan.run(1.0, &a, &x, 0.0, &mut y).unwrap_err().to_string())
    });
    assert!(told.iter().flatten().count() == 3);
    assert!(told.iter().flatten().all(|told| told.contains("has ended")), "{told:?}");
}

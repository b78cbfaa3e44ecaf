//! The operations of the CPU backend for one call, over arrays in the caller's memory, as a backend whose plans do
//! nothing: so that the table checks them, too.

use backend_cpu::Cpu;
use sparse_conformance::Suite;
use sparse_core::backend::{Buf, ViewMutOf, ViewOf};
use sparse_core::op::{
    Coefficient, ConvertKernel, Duplicates, Op, SpgemmBound, SpgemmKernel, SpmmKernel, SpmvKernel,
    VectorKernel,
};
use sparse_core::{
    Algorithm, Backend, Caps, Choice, ContextId, Coo, Csc, Csr, DenseView, DenseViewMut, Element, Error,
    Host, KernelPlan, PatternId, PlanOptions, Result, Row,
};

/// Computes by [`Cpu::multiply_borrowed`], [`Cpu::multiply_transposed`], [`Cpu::multiply_csr`], [`Cpu::csr_to_csc`] and
/// [`Cpu::compress_coo`].
#[derive(Debug, Clone)]
pub(crate) struct OneCall(pub(crate) Cpu);

const ALGORITHMS: &[Algorithm] = &[Algorithm::new("one_call", "always")];

/// The choice, and the parameters of a run.
#[derive(Debug)]
pub(crate) struct Plan<P>(Choice, P);

impl<P> Plan<P> {
    fn new(op: &'static str, options: &PlanOptions, inner: P) -> Result<Self> {
        Ok(Self(options.choose(op, ALGORITHMS, "one_call", "there is no other")?, inner))
    }
}

impl<P: std::fmt::Debug + Send> KernelPlan for Plan<P> {
    fn choice(&self) -> &Choice {
        &self.0
    }
}

/// Shape and arrays of CSR.
type Arrays<'a> = ((usize, usize), (&'a [i32], &'a [i32], &'a [f64]));

fn arrays(a: &Csr<f64>) -> Arrays<'_> {
    ((a.nrows(), a.ncols()), (a.offsets(), a.indices(), a.values()))
}

impl OneCall {
    pub(crate) fn suite(&self) -> Suite {
        let mut suite = Suite::new(self);
        suite.spmv::<Self, Csr<f64>>(self).spmm::<Self, Csr<f64>>(self).spgemm::<Self, Csr<f64>>(self);
        suite.convert::<Self, Csr<f64>, Csc<f64>>(self).convert::<Self, Coo<f64>, Csr<f64>>(self);
        suite
    }
}

// SAFETY: all is the CPU backend's.
unsafe impl Backend for OneCall {
    type Space = Host;

    fn caps(&self) -> &Caps {
        self.0.caps()
    }

    fn context(&self) -> ContextId {
        self.0.context()
    }

    fn upload<T: Element>(&self, host: &[T]) -> Result<Buf<Self, T>> {
        self.0.upload(host)
    }

    fn download_into<T: Element>(&self, device: ViewOf<'_, Self, T>, host: &mut [T]) -> Result<()> {
        self.0.download_into(device, host)
    }

    fn copy<T: Element>(&self, from: ViewOf<'_, Self, T>, to: ViewMutOf<'_, Self, T>) -> Result<()> {
        self.0.copy(from, to)
    }

    fn synchronize(&self) -> Result<()> {
        self.0.synchronize()
    }
}

impl VectorKernel<f64> for OneCall {
    unsafe fn axpby(
        &self,
        alpha: Coefficient<'_, Host, f64>,
        x: &[f64],
        beta: Coefficient<'_, Host, f64>,
        y: &mut [f64],
    ) -> Result<()> {
        // SAFETY: the caller promises the same.
        unsafe { self.0.axpby(alpha, x, beta, y) }
    }

    unsafe fn dot(&self, x: &[f64], y: &[f64]) -> Result<f64> {
        // SAFETY: the caller promises the same.
        unsafe { VectorKernel::<f64>::dot(&self.0, x, y) }
    }

    unsafe fn nrm2(&self, x: &[f64]) -> Result<f64> {
        // SAFETY: the caller promises the same.
        unsafe { VectorKernel::<f64>::nrm2(&self.0, x) }
    }

    unsafe fn scal(&self, alpha: Coefficient<'_, Host, f64>, x: &mut [f64]) -> Result<()> {
        // SAFETY: the caller promises the same.
        unsafe { self.0.scal(alpha, x) }
    }

    unsafe fn scale_dense(&self, beta: f64, c: DenseViewMut<'_, f64>) -> Result<()> {
        // SAFETY: the caller promises the same.
        unsafe { self.0.scale_dense(beta, c) }
    }
}

/// `alpha·product + beta·before`, which is not read if beta is zero.
fn update(y: &mut f64, alpha: f64, product: f64, beta: f64) {
    *y = if beta == 0.0 { alpha * product } else { alpha * product + beta * *y };
}

impl SpmvKernel<Csr<f64>> for OneCall {
    type Plan = Plan<Op>;

    fn spmv_algorithms(&self, _: Op) -> &'static [Algorithm] {
        ALGORITHMS
    }

    fn plan_spmv(&self, _: &Csr<f64>, op: Op, options: &PlanOptions) -> Result<Self::Plan> {
        Plan::new("spmv", options, op)
    }

    unsafe fn run_spmv(
        &self,
        &mut Plan(_, op): &mut Plan<Op>,
        alpha: f64,
        a: &Csr<f64>,
        x: &[f64],
        beta: f64,
        y: &mut [f64],
    ) -> Result<()> {
        let (shape, (offsets, indices, values)) = arrays(a);
        let mut product = vec![f64::NAN; y.len()];
        // SAFETY: no code writes the matrix.
        unsafe { self.0.multiply_borrowed(shape, (offsets, indices, values), op, x, &mut product)? };
        y.iter_mut().zip(product).for_each(|(y, product)| update(y, alpha, product, beta));
        Ok(())
    }
}

impl SpmmKernel<Csr<f64>> for OneCall {
    type Plan = Plan<Op>;

    fn spmm_algorithms(&self, _: Op) -> &'static [Algorithm] {
        ALGORITHMS
    }

    fn plan_spmm(&self, _: &Csr<f64>, op: Op, _: usize, options: &PlanOptions) -> Result<Self::Plan> {
        Plan::new("spmm", options, op)
    }

    /// By the transpose of A, or of that.
    unsafe fn run_spmm(
        &self,
        &mut Plan(_, op): &mut Plan<Op>,
        alpha: f64,
        a: &Csr<f64>,
        b: DenseView<'_, f64>,
        beta: f64,
        mut c: DenseViewMut<'_, f64>,
    ) -> Result<()> {
        let (shape, slices) = arrays(a);
        let other = self.0.csr_to_csc(shape, slices.0, slices.1, slices.2)?;
        let (shape, slices) = match op {
            Op::None => {
                ((shape.1, shape.0), (&other.offsets()[..], &other.indices()[..], &other.values()[..]))
            }
            Op::Transpose | Op::ConjugateTranspose => (shape, slices),
        };
        let columns = b.ncols();
        let rows = (0..b.nrows()).flat_map(|row| (0..columns).map(move |column| (row, column)));
        let b: Vec<f64> = rows.map(|(row, column)| b.at(row, column)).collect();
        let mut product = vec![f64::NAN; c.nrows() * columns];
        self.0.multiply_transposed(shape, slices, &b, columns, &mut product)?;
        for (k, product) in product.into_iter().enumerate() {
            update(c.at_mut(k / columns, k % columns), alpha, product, beta);
        }
        Ok(())
    }
}

/// The plan of the CPU backend, and whether it has a mask, which products for one call do not take.
type SpgemmPlan = Plan<(<Cpu as SpgemmKernel<Csr<f64>>>::Plan, bool)>;

impl SpgemmKernel<Csr<f64>> for OneCall {
    type Plan = SpgemmPlan;

    fn spgemm_algorithms(&self) -> &'static [Algorithm] {
        ALGORITHMS
    }

    unsafe fn spgemm_bound(&self, a: &Csr<f64>, b: &Csr<f64>) -> Result<SpgemmBound> {
        // SAFETY: the caller promises the same.
        unsafe { self.0.spgemm_bound(a, b) }
    }

    unsafe fn plan_spgemm(
        &self,
        a: &Csr<f64>,
        b: &Csr<f64>,
        mask: Option<&Csr<f64>>,
        options: &PlanOptions,
    ) -> Result<SpgemmPlan> {
        // SAFETY: the caller promises the same.
        let inner = unsafe { self.0.plan_spgemm(a, b, mask, &PlanOptions::default())? };
        Plan::new("spgemm", options, (inner, mask.is_some()))
    }

    fn spgemm_pattern(&self, plan: &SpgemmPlan) -> (PatternId, usize) {
        SpgemmKernel::<Csr<f64>>::spgemm_pattern(&self.0, &plan.1.0)
    }

    fn spgemm_output(&self, plan: &SpgemmPlan) -> Result<Csr<f64>> {
        self.0.spgemm_output(&plan.1.0)
    }

    /// An error if the pattern is not that of the plan.
    unsafe fn run_spgemm(
        &self,
        Plan(_, (inner, is_masked)): &mut SpgemmPlan,
        a: &Csr<f64>,
        b: &Csr<f64>,
        c: &mut Csr<f64>,
    ) -> Result<()> {
        if *is_masked {
            // SAFETY: the caller promises the same.
            return unsafe { self.0.run_spgemm(inner, a, b, c) };
        }
        let ((a_shape, a), (b_shape, b)) = (arrays(a), arrays(b));
        let found = self.0.multiply_csr(a_shape, a, b_shape, b)?;
        if (found.offsets(), found.indices()) != (c.offsets(), c.indices()) {
            return Err(Error::format("csr", "the product has another pattern than that of a plan"));
        }
        c.values_mut().copy_from_slice(found.values());
        Ok(())
    }
}

impl ConvertKernel<Csr<f64>, Csc<f64>> for OneCall {
    type Plan = Plan<()>;

    fn convert_algorithms(&self) -> &'static [Algorithm] {
        ALGORITHMS
    }

    fn plan_convert(&self, _: &Csr<f64>, (): &(), options: &PlanOptions) -> Result<Self::Plan> {
        Plan::new("csr_to_csc", options, ())
    }

    unsafe fn run_convert(&self, _: &mut Self::Plan, from: &Csr<f64>) -> Result<Csc<f64>> {
        let (shape, (offsets, indices, values)) = arrays(from);
        self.0.csr_to_csc(shape, offsets, indices, values)
    }
}

impl ConvertKernel<Coo<f64>, Csr<f64>> for OneCall {
    /// The plan of the CPU backend where duplicates are not added.
    type Plan = Plan<Option<<Cpu as ConvertKernel<Coo<f64>, Csr<f64>>>::Plan>>;

    fn convert_algorithms(&self) -> &'static [Algorithm] {
        ALGORITHMS
    }

    fn plan_convert(
        &self,
        from: &Coo<f64>,
        layout: &Duplicates,
        options: &PlanOptions,
    ) -> Result<Self::Plan> {
        let plan = || {
            ConvertKernel::<Coo<f64>, Csr<f64>>::plan_convert(&self.0, from, layout, &PlanOptions::default())
        };
        let inner = if *layout == Duplicates::Sum { None } else { Some(plan()?) };
        Plan::new("coo_to_csr", options, inner)
    }

    unsafe fn run_convert(&self, Plan(_, inner): &mut Self::Plan, from: &Coo<f64>) -> Result<Csr<f64>> {
        match inner {
            // SAFETY: the caller promises the same.
            Some(plan) => unsafe { self.0.run_convert(plan, from) },
            None => self.0.compress_coo::<Row, f64, i32>(
                (from.nrows(), from.ncols()),
                from.row_idx(),
                from.col_idx(),
                from.values(),
            ),
        }
    }
}

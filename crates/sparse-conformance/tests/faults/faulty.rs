//! The CPU backend with a fault: in its operands, in its answers, or in what its plans leave from run to run.

use super::fault::{Fault, OnHost, drop_first, elements_of};
use backend_cpu::Cpu;
use sparse_conformance::Suite;
use sparse_core::backend::{Buf, ViewMutOf, ViewOf};
use sparse_core::op::{
    Coefficient, CompressedArrays, Conversion, ConvertKernel, DenseToCsrKernel, Elementwise,
    ElementwiseKernel, GradientStep, Keep, Op, PruneKernel, PrunePlan, ScanKernel, ScanKind, ScanOrder,
    SortKernel, SpgemmBound, SpgemmKernel, SpmmKernel, SpmvKernel, ToDenseKernel, VectorKernel,
};
use sparse_core::reference::Entries;
use sparse_core::{
    Algorithm, Axis, Backend, BatchCsc, BatchCsr, Caps, Choice, Compressed, ContextId, Coo, Csc, Csr,
    DenseBatchView, DenseView, DenseViewMut, Element, Ell, Host, Hyb, KernelPlan, PatternId, PlanOptions,
    Result, Sell, for_each_operation,
};
use std::fmt::Debug;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The CPU backend with a fault.
#[derive(Debug, Clone)]
pub(crate) struct Faulty {
    cpu: Cpu,
    fault: Fault,
    runs: Arc<AtomicUsize>,
}

/// The CPU backend's plan, what op(A) is, and what the first run gave.
#[derive(Debug)]
pub(crate) struct FaultyPlan<P, R> {
    plan: P,
    op: Op,
    first: Option<R>,
}

impl<P, R> FaultyPlan<P, R> {
    fn new(plan: P, op: Op) -> Self {
        Self { plan, op, first: None }
    }
}

impl<P: KernelPlan, R: Debug + Send> KernelPlan for FaultyPlan<P, R> {
    fn choice(&self) -> &Choice {
        self.plan.choice()
    }
}

/// The call, for an operation that [`Faulty`] implements.
macro_rules! if_implemented {
    (spmv, $($call:tt)+) => { $($call)+ };
    (spmm, $($call:tt)+) => { $($call)+ };
    (convert, $($call:tt)+) => { $($call)+ };
    (to_dense, $($call:tt)+) => { $($call)+ };
    (sort, $($call:tt)+) => { $($call)+ };
    (prune, $($call:tt)+) => { $($call)+ };
    (elementwise, $($call:tt)+) => { $($call)+ };
    ($other:ident, $($call:tt)+) => {};
}

impl Faulty {
    pub(crate) fn new(cpu: Cpu, fault: Fault) -> Self {
        Self { cpu, fault, runs: Arc::default() }
    }

    /// The operations that it has, in the formats of the catalogue.
    pub(crate) fn suite(&self) -> Suite {
        let mut suite = Suite::new(self);
        macro_rules! register {
            (
                formats { $($of:ident $name:ident $kernel:ident $title:literal {
                    $($($format:ident<$($index:ident),+>)=>+),+
                })+ }
                $($others:tt)+
            ) => {
                $($(if_implemented!($name, suite.$name::<Self, $($format<f64>),+>(self));)+)+
            };
        }
        for_each_operation!(register);
        suite.spgemm::<Self, Csr<f64>>(self).spgemm::<Self, Csc<f64>>(self);
        suite.dense_to_csr::<Self, f64, i32, i32>(self).vector::<Self, f64>(self).scan::<Self, i32>(self);
        suite
    }

    /// The sums as they come when the parts of a row arrive in another order every time.
    fn in_some_order(
        &self,
        op: Op,
        alpha: f64,
        a: &impl Entries<Scalar = f64>,
        x: &[f64],
        beta: f64,
        y: &mut [f64],
    ) {
        let mut entries: Vec<_> = a.entries().collect();
        let first = self.runs.fetch_add(1, Ordering::Relaxed) * 7 % entries.len();
        entries.rotate_left(first);
        let mut sums = vec![0.0; y.len()];
        for (row, col, value) in entries {
            let (to, from) = if op.transposes() { (col, row) } else { (row, col) };
            sums[to] += value * x[from];
        }
        for (y, sum) in y.iter_mut().zip(sums) {
            *y = alpha * sum + if beta == 0.0 { 0.0 } else { beta * *y };
        }
    }
}

// SAFETY: its memory is the CPU backend's.
unsafe impl Backend for Faulty {
    type Space = Host;

    fn caps(&self) -> &Caps {
        self.cpu.caps()
    }

    fn context(&self) -> ContextId {
        self.cpu.context()
    }

    fn upload<T: Element>(&self, host: &[T]) -> Result<Buf<Self, T>> {
        let mut host = host.to_vec();
        if self.fault == Fault::ForgetsAnUpload {
            drop_first::<f64>(elements_of(&mut host));
        }
        self.cpu.upload(&host)
    }

    fn download_into<T: Element>(&self, device: ViewOf<'_, Self, T>, host: &mut [T]) -> Result<()> {
        self.cpu.download_into(device, host)
    }

    fn copy<T: Element>(&self, from: ViewOf<'_, Self, T>, to: ViewMutOf<'_, Self, T>) -> Result<()> {
        self.cpu.copy(from, to)
    }

    fn synchronize(&self) -> Result<()> {
        self.cpu.synchronize()
    }
}

impl VectorKernel<f64> for Faulty {
    unsafe fn axpby(
        &self,
        alpha: Coefficient<'_, Host, f64>,
        x: &[f64],
        beta: Coefficient<'_, Host, f64>,
        y: &mut [f64],
    ) -> Result<()> {
        let before = y.to_vec();
        // SAFETY: the caller promises the same.
        unsafe { self.cpu.axpby(alpha, &self.fault.elements(x), beta, y)? };
        self.fault.spoil(&before, y);
        Ok(())
    }

    unsafe fn dot(&self, x: &[f64], y: &[f64]) -> Result<f64> {
        let mut x = self.fault.elements(x);
        if self.fault == Fault::DropsAnEntry {
            drop_first(&mut x);
        }
        // SAFETY: the caller promises the same.
        unsafe { VectorKernel::<f64>::dot(&self.cpu, &x, y) }
    }

    unsafe fn nrm2(&self, x: &[f64]) -> Result<f64> {
        let mut x = x.to_vec();
        if self.fault == Fault::DropsAnEntry {
            drop_first(&mut x);
        }
        // SAFETY: the caller promises the same.
        unsafe { VectorKernel::<f64>::nrm2(&self.cpu, &x) }
    }

    unsafe fn scal(&self, alpha: Coefficient<'_, Host, f64>, x: &mut [f64]) -> Result<()> {
        let before = x.to_vec();
        // SAFETY: the caller promises the same.
        unsafe { self.cpu.scal(alpha, x)? };
        self.fault.spoil(&before, x);
        Ok(())
    }

    unsafe fn scale_dense(&self, beta: f64, mut c: DenseViewMut<'_, f64>) -> Result<()> {
        let before = c.data_mut().to_vec();
        // SAFETY: the caller promises the same.
        unsafe { self.cpu.scale_dense(beta, c.reborrow())? };
        self.fault.spoil_dense(&before, c, &mut None);
        Ok(())
    }

    unsafe fn gradient_step(
        &self,
        workspace: &mut Vec<f64>,
        step: GradientStep<'_, Self, f64>,
    ) -> Result<()> {
        let before = step.p.to_vec();
        let GradientStep { q, p, x, r, rho, next_rho } = step;
        // SAFETY: the caller promises the same.
        unsafe { self.cpu.gradient_step(workspace, GradientStep { q, p: &mut *p, x, r, rho, next_rho })? };
        if self.fault == Fault::KeepsTheDirection {
            p.copy_from_slice(&before);
        }
        Ok(())
    }
}

impl<M: OnHost + Entries> SpmvKernel<M> for Faulty
where
    Cpu: SpmvKernel<M>,
{
    type Plan = FaultyPlan<<Cpu as SpmvKernel<M>>::Plan, Vec<f64>>;

    fn spmv_algorithms(&self, op: Op) -> &'static [Algorithm] {
        SpmvKernel::<M>::spmv_algorithms(&self.cpu, op)
    }

    fn plan_spmv(&self, a: &M, op: Op, options: &PlanOptions) -> Result<Self::Plan> {
        Ok(FaultyPlan::new(self.cpu.plan_spmv(a, op, options)?, op))
    }

    unsafe fn spmv(
        &self,
        plan: &mut Self::Plan,
        alpha: f64,
        a: &M,
        x: &[f64],
        beta: f64,
        y: &mut [f64],
    ) -> Result<()> {
        let (before, a, x) = (y.to_vec(), self.fault.operand(a)?, self.fault.elements(x));
        if self.fault == Fault::DependsOnThreadOrder {
            self.in_some_order(plan.op, alpha, &a, &x, beta, y);
            return Ok(());
        }
        // SAFETY: pattern and lengths are those that the caller promises.
        unsafe { self.cpu.spmv(&mut plan.plan, alpha, &a, &x, beta, y)? };
        match self.fault {
            Fault::ReadsYAtBetaZero if beta == 0.0 => {
                y.iter_mut().zip(before).for_each(|(y, before)| *y += beta * before);
            }
            // SAFETY: none: this is the fault. Guard words of the same allocation stand behind y.
            Fault::WritesPastTheEnd => unsafe { *y.as_mut_ptr().add(y.len()) = 1.0 },
            _ => self.fault.spoil(&before, y),
        }
        self.fault.bring_back(&(0..y.len()).collect::<Vec<_>>(), y, &mut plan.first);
        Ok(())
    }
}

impl<M: OnHost> SpmmKernel<M> for Faulty
where
    Cpu: SpmmKernel<M>,
{
    type Plan = FaultyPlan<<Cpu as SpmmKernel<M>>::Plan, Vec<f64>>;

    fn spmm_algorithms(&self, op: Op) -> &'static [Algorithm] {
        SpmmKernel::<M>::spmm_algorithms(&self.cpu, op)
    }

    fn plan_spmm(&self, a: &M, op: Op, columns: usize, options: &PlanOptions) -> Result<Self::Plan> {
        Ok(FaultyPlan::new(self.cpu.plan_spmm(a, op, columns, options)?, op))
    }

    unsafe fn spmm(
        &self,
        plan: &mut Self::Plan,
        alpha: f64,
        a: &M,
        b: DenseView<'_, f64>,
        beta: f64,
        mut c: DenseViewMut<'_, f64>,
    ) -> Result<()> {
        let (before, a, elements) =
            (c.data_mut().to_vec(), self.fault.operand(a)?, self.fault.elements(b.data()));
        let b = DenseView::<f64>::new(&elements, b.nrows(), b.ncols(), b.leading_dimension(), b.order())?;
        // SAFETY: pattern and shapes are those that the caller promises.
        unsafe { self.cpu.spmm(&mut plan.plan, alpha, &a, b, beta, c.reborrow())? };
        self.fault.spoil_dense(&before, c, &mut plan.first);
        Ok(())
    }
}

impl<A: Axis> SpgemmKernel<Compressed<A, f64>> for Faulty {
    type Plan = FaultyPlan<<Cpu as SpgemmKernel<Compressed<A, f64>>>::Plan, Vec<f64>>;

    fn spgemm_algorithms(&self) -> &'static [Algorithm] {
        SpgemmKernel::<Compressed<A, f64>>::spgemm_algorithms(&self.cpu)
    }

    unsafe fn spgemm_bound(&self, a: &Compressed<A, f64>, b: &Compressed<A, f64>) -> Result<SpgemmBound> {
        // SAFETY: the caller promises the same.
        unsafe { self.cpu.spgemm_bound(a, b) }
    }

    unsafe fn plan_spgemm(
        &self,
        a: &Compressed<A, f64>,
        b: &Compressed<A, f64>,
        options: &PlanOptions,
    ) -> Result<Self::Plan> {
        // SAFETY: the caller promises the same.
        Ok(FaultyPlan::new(unsafe { self.cpu.plan_spgemm(a, b, options)? }, Op::None))
    }

    fn spgemm_pattern(&self, plan: &Self::Plan) -> (PatternId, usize) {
        SpgemmKernel::<Compressed<A, f64>>::spgemm_pattern(&self.cpu, &plan.plan)
    }

    fn spgemm_output(&self, plan: &Self::Plan) -> Result<Compressed<A, f64>> {
        let c: Compressed<A, f64> = self.cpu.spgemm_output(&plan.plan)?;
        // Plans know C by its pattern, which a copy has not.
        if self.fault == Fault::ShiftsAnIndex { self.fault.made(c, &mut None) } else { Ok(c) }
    }

    unsafe fn spgemm(
        &self,
        plan: &mut Self::Plan,
        a: &Compressed<A, f64>,
        b: &Compressed<A, f64>,
        c: &mut Compressed<A, f64>,
    ) -> Result<()> {
        // SAFETY: the pattern is that which the caller promises.
        unsafe { self.cpu.spgemm(&mut plan.plan, &self.fault.operand(a)?, b, c)? };
        let all: Vec<_> = (0..c.nnz()).collect();
        self.fault.bring_back(&all, c.values_mut(), &mut plan.first);
        Ok(())
    }
}

impl<M: OnHost> ToDenseKernel<M> for Faulty
where
    Cpu: ToDenseKernel<M>,
{
    type Plan = FaultyPlan<<Cpu as ToDenseKernel<M>>::Plan, Vec<f64>>;

    fn to_dense_algorithms(&self) -> &'static [Algorithm] {
        ToDenseKernel::<M>::to_dense_algorithms(&self.cpu)
    }

    fn plan_to_dense(&self, a: &M, options: &PlanOptions) -> Result<Self::Plan> {
        Ok(FaultyPlan::new(self.cpu.plan_to_dense(a, options)?, Op::None))
    }

    unsafe fn to_dense(&self, plan: &mut Self::Plan, a: &M, mut dense: DenseViewMut<'_, f64>) -> Result<()> {
        let before = dense.data_mut().to_vec();
        // SAFETY: pattern and shape are those that the caller promises.
        unsafe { self.cpu.to_dense(&mut plan.plan, &self.fault.operand(a)?, dense.reborrow())? };
        self.fault.spoil_dense(&before, dense, &mut plan.first);
        Ok(())
    }
}

impl<From, To> ConvertKernel<From, To> for Faulty
where
    Cpu: ConvertKernel<From, To>,
    From: OnHost + Conversion<To>,
    To: OnHost,
{
    type Plan = FaultyPlan<<Cpu as ConvertKernel<From, To>>::Plan, To>;

    fn convert_algorithms(&self) -> &'static [Algorithm] {
        ConvertKernel::<From, To>::convert_algorithms(&self.cpu)
    }

    fn plan_convert(&self, from: &From, layout: &From::Layout, options: &PlanOptions) -> Result<Self::Plan> {
        Ok(FaultyPlan::new(
            ConvertKernel::<From, To>::plan_convert(&self.cpu, from, layout, options)?,
            Op::None,
        ))
    }

    unsafe fn convert(&self, plan: &mut Self::Plan, from: &From) -> Result<To> {
        // SAFETY: the pattern is the one that the caller promises.
        let made = unsafe {
            ConvertKernel::<From, To>::convert(&self.cpu, &mut plan.plan, &self.fault.operand(from)?)?
        };
        self.fault.made(made, &mut plan.first)
    }
}

impl<M: OnHost> SortKernel<M> for Faulty
where
    Cpu: SortKernel<M>,
{
    type Plan = FaultyPlan<<Cpu as SortKernel<M>>::Plan, M>;

    fn sort_algorithms(&self) -> &'static [Algorithm] {
        SortKernel::<M>::sort_algorithms(&self.cpu)
    }

    fn plan_sort(&self, a: &M, options: &PlanOptions) -> Result<Self::Plan> {
        Ok(FaultyPlan::new(self.cpu.plan_sort(a, options)?, Op::None))
    }

    unsafe fn sort(&self, plan: &mut Self::Plan, a: &M) -> Result<M> {
        // SAFETY: the pattern is the one that the caller promises.
        let made = unsafe { self.cpu.sort(&mut plan.plan, &self.fault.operand(a)?)? };
        self.fault.made(made, &mut plan.first)
    }
}

impl<M: OnHost> PruneKernel<M> for Faulty
where
    Cpu: PruneKernel<M>,
{
    type Plan = FaultyPlan<<Cpu as PruneKernel<M>>::Plan, M>;

    fn prune_algorithms(&self) -> &'static [Algorithm] {
        PruneKernel::<M>::prune_algorithms(&self.cpu)
    }

    fn plan_prune(&self, a: &M, options: &PlanOptions) -> Result<Self::Plan> {
        Ok(FaultyPlan::new(self.cpu.plan_prune(a, options)?, Op::None))
    }

    unsafe fn prune(&self, plan: &mut Self::Plan, a: &M, keep: Keep<f64>) -> Result<M> {
        // SAFETY: the pattern is the one that the caller promises.
        let made = unsafe { self.cpu.prune(&mut plan.plan, &self.fault.operand(a)?, keep)? };
        self.fault.made(made, &mut plan.first)
    }
}

impl<M: OnHost> ElementwiseKernel<M> for Faulty
where
    Cpu: ElementwiseKernel<M> + PruneKernel<M>,
{
    type Plan = FaultyPlan<<Cpu as ElementwiseKernel<M>>::Plan, M>;

    fn elementwise_algorithms(&self) -> &'static [Algorithm] {
        ElementwiseKernel::<M>::elementwise_algorithms(&self.cpu)
    }

    fn plan_elementwise(&self, op: Elementwise, a: &M, b: &M, options: &PlanOptions) -> Result<Self::Plan> {
        Ok(FaultyPlan::new(self.cpu.plan_elementwise(op, a, b, options)?, Op::None))
    }

    unsafe fn elementwise(&self, plan: &mut Self::Plan, alpha: f64, a: &M, beta: f64, b: &M) -> Result<M> {
        let beta = if self.fault == Fault::TakesAlphaForBeta { alpha } else { beta };
        // SAFETY: the patterns are those that the caller promises.
        let made = unsafe { self.cpu.elementwise(&mut plan.plan, alpha, &self.fault.operand(a)?, beta, b)? };
        let made = match self.fault {
            Fault::DropsZeros => {
                PrunePlan::new(&self.cpu, &made, &PlanOptions::once())?.run(&made, Keep::NonZero)?
            }
            _ => made,
        };
        self.fault.made(made, &mut plan.first)
    }
}

impl DenseToCsrKernel<f64, i32, i32> for Faulty {
    type Plan = FaultyPlan<<Cpu as DenseToCsrKernel<f64, i32, i32>>::Plan, Vec<f64>>;

    fn dense_to_csr_algorithms(&self) -> &'static [Algorithm] {
        DenseToCsrKernel::<f64, i32, i32>::dense_to_csr_algorithms(&self.cpu)
    }

    fn plan_dense_to_csr(
        &self,
        a: &DenseBatchView<'_, f64>,
        keep: Keep<f64>,
        options: &PlanOptions,
    ) -> Result<Self::Plan> {
        let plan = DenseToCsrKernel::<f64, i32, i32>::plan_dense_to_csr(&self.cpu, a, keep, options)?;
        Ok(FaultyPlan::new(plan, Op::None))
    }

    unsafe fn dense_to_csr(
        &self,
        plan: &mut Self::Plan,
        a: DenseBatchView<'_, f64>,
    ) -> Result<CompressedArrays<Self, f64, i32, i32>> {
        // SAFETY: the caller promises the same.
        let arrays: CompressedArrays<Cpu, f64, i32, i32> =
            unsafe { self.cpu.dense_to_csr(&mut plan.plan, a)? };
        let CompressedArrays { member_ptr, offsets, indices, mut values } = arrays;
        if self.fault == Fault::DropsAnEntry {
            drop_first(&mut values);
        }
        self.fault.bring_back(&(0..values.len()).collect::<Vec<_>>(), &mut values, &mut plan.first);
        let indices = self.fault.indices(&indices)?;
        Ok(CompressedArrays { member_ptr, offsets, indices, values })
    }
}

impl ScanKernel<i32> for Faulty {
    type Plan = <Cpu as ScanKernel<i32>>::Plan;

    fn scan_algorithms(&self, order: ScanOrder) -> &'static [Algorithm] {
        ScanKernel::<i32>::scan_algorithms(&self.cpu, order)
    }

    fn plan_scan(
        &self,
        shape: (usize, usize),
        order: ScanOrder,
        kind: ScanKind,
        options: &PlanOptions,
    ) -> Result<Self::Plan> {
        ScanKernel::<i32>::plan_scan(&self.cpu, shape, order, kind, options)
    }

    unsafe fn scan(&self, plan: &mut Self::Plan, input: &[i32], output: &mut [i32]) -> Result<()> {
        let (before, mut input) = (output.to_vec(), input.to_vec());
        if self.fault == Fault::DropsAnEntry {
            drop_first(&mut input);
        }
        // SAFETY: the caller promises the same.
        unsafe { ScanKernel::<i32>::scan(&self.cpu, plan, &input, output)? };
        self.fault.spoil(&before, output);
        Ok(())
    }
}

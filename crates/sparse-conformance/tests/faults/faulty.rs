//! The CPU backend with a fault: in its operands, in its answers, or in what its plans leave from run to run.

mod making;
mod products;

use super::fault::{Fault, OnHost, drop_first, elements_of};
use backend_cpu::Cpu;
use sparse_conformance::Suite;
use sparse_core::backend::{Buf, ViewMutOf, ViewOf};
use sparse_core::op::{
    Coefficient, GradientAdvance, GradientStep, GradientTurn, Op, ReduceKernel, Reduction, ScanKernel,
    ScanKind, ScanOrder, StoredLines, ToDenseKernel, VectorKernel,
};
use sparse_core::reference::Entries;
use sparse_core::{
    Algorithm, Backend, BatchCsc, BatchCsr, Caps, Choice, ContextId, Coo, Csc, Csr, DenseViewMut, Element,
    Ell, Host, Hyb, KernelPlan, PlanOptions, Result, Sell, for_each_operation,
};
use std::fmt::Debug;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The entries between those with which two orders of a sum begin.
const STEP: usize = 211;

/// The CPU backend with a fault.
#[derive(Debug, Clone)]
pub(crate) struct Faulty {
    cpu: Cpu,
    fault: Fault,
    runs: Arc<AtomicUsize>,
}

/// The CPU backend's plan, op, and the result of the first run.
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
    (sddmm, $($call:tt)+) => { $($call)+ };
    (convert, $($call:tt)+) => { $($call)+ };
    (to_dense, $($call:tt)+) => { $($call)+ };
    (sort, $($call:tt)+) => { $($call)+ };
    (prune, $($call:tt)+) => { $($call)+ };
    (select, $($call:tt)+) => { $($call)+ };
    (elementwise, $($call:tt)+) => { $($call)+ };
    (reduce, $($call:tt)+) => { $($call)+ };
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
        suite.trisolve::<Self, Csr<f64>>(self).trisolve::<Self, Csc<f64>>(self);
        suite.dense_to_csr::<Self, f64, i32, i32>(self).vector::<Self, f64>(self).scan::<Self, i32>(self);
        suite
    }

    /// The number of the order in which sums are made; `None` if it is that of the CPU backend.
    fn order(&self) -> Option<usize> {
        match self.fault {
            Fault::DependsOnThreadOrder => Some(self.runs.fetch_add(1, Ordering::Relaxed)),
            Fault::DependsOnThreadCount => Some(self.cpu.threads()),
            _ => None,
        }
    }

    /// The sums as they come when the parts of a row arrive in the order of this number.
    fn in_order(
        order: usize,
        op: Op,
        alpha: f64,
        a: &impl Entries<Scalar = f64>,
        x: &[f64],
        beta: f64,
        y: &mut [f64],
    ) {
        let mut entries: Vec<_> = a.entries().collect();
        let first = order * STEP % entries.len();
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

    unsafe fn gradient_advance(
        &self,
        workspace: &mut Vec<f64>,
        advance: GradientAdvance<'_, Self, f64>,
    ) -> Result<()> {
        let GradientAdvance { q, p, x, r, numbers } = advance;
        // SAFETY: the caller promises the same.
        unsafe { self.cpu.gradient_advance(workspace, GradientAdvance { q, p, x, r, numbers }) }
    }

    unsafe fn gradient_step(
        &self,
        workspace: &mut Vec<f64>,
        step: GradientStep<'_, Self, f64>,
    ) -> Result<()> {
        let before = step.p.to_vec();
        let GradientStep { q, p, x, r, numbers, next } = step;
        // SAFETY: the caller promises the same.
        unsafe {
            self.cpu.gradient_step(workspace, GradientStep { q, p: &mut *p, x, r, numbers, next })?;
        }
        if self.fault == Fault::KeepsTheDirection {
            p.copy_from_slice(&before);
        }
        Ok(())
    }

    unsafe fn gradient_turn(
        &self,
        workspace: &mut Vec<f64>,
        turn: GradientTurn<'_, Self, f64>,
    ) -> Result<()> {
        let before = turn.p.to_vec();
        let GradientTurn { r, z, p, numbers, next } = turn;
        // SAFETY: the caller promises the same.
        unsafe { self.cpu.gradient_turn(workspace, GradientTurn { r, z, p: &mut *p, numbers, next })? };
        if self.fault == Fault::KeepsTheDirection {
            p.copy_from_slice(&before);
        }
        Ok(())
    }
}

impl<M: OnHost + StoredLines> ReduceKernel<M> for Faulty
where
    Cpu: ReduceKernel<M>,
{
    type Plan = FaultyPlan<<Cpu as ReduceKernel<M>>::Plan, Vec<f64>>;

    fn reduce_algorithms(&self) -> &'static [Algorithm] {
        ReduceKernel::<M>::reduce_algorithms(&self.cpu)
    }

    fn plan_reduce(&self, by: Reduction, a: &M, options: &PlanOptions) -> Result<Self::Plan> {
        Ok(FaultyPlan::new(self.cpu.plan_reduce(by, a, options)?, Op::None))
    }

    unsafe fn run_reduce(&self, plan: &mut Self::Plan, a: &M, y: &mut [f64]) -> Result<()> {
        let before = y.to_vec();
        // SAFETY: pattern and length are those that the caller promises.
        unsafe { self.cpu.run_reduce(&mut plan.plan, &self.fault.operand(a)?, y)? };
        self.fault.spoil(&before, y);
        self.fault.bring_back(&(0..y.len()).collect::<Vec<_>>(), y, &mut plan.first);
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

    unsafe fn run_to_dense(
        &self,
        plan: &mut Self::Plan,
        a: &M,
        mut dense: DenseViewMut<'_, f64>,
    ) -> Result<()> {
        let before = dense.data_mut().to_vec();
        // SAFETY: pattern and shape are those that the caller promises.
        unsafe { self.cpu.run_to_dense(&mut plan.plan, &self.fault.operand(a)?, dense.reborrow())? };
        self.fault.spoil_dense(&before, dense, &mut plan.first);
        Ok(())
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

    unsafe fn run_scan(&self, plan: &mut Self::Plan, input: &[i32], output: &mut [i32]) -> Result<()> {
        let (before, mut input) = (output.to_vec(), input.to_vec());
        if self.fault == Fault::DropsAnEntry {
            drop_first(&mut input);
        }
        // SAFETY: the caller promises the same.
        unsafe { ScanKernel::<i32>::run_scan(&self.cpu, plan, &input, output)? };
        self.fault.spoil(&before, output);
        Ok(())
    }
}

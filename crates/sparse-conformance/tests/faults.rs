//! Planted faults: each is reported as a failure, and the backend without them passes.

use backend_cpu::Cpu;
use sparse_conformance::{Filter, Record, Run, Snapshots, Status, Suite, Tier, table};
use sparse_core::backend::{Buf, ViewMutOf, ViewOf};
use sparse_core::op::{Coefficient, GradientStep, Op, SpmvKernel, VectorKernel};
use sparse_core::{
    Algorithm, Backend, Caps, ContextId, Csr, DenseViewMut, Element, Host, PlanOptions, Result,
};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The fault of a backend.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Fault {
    None,
    DropsAnEntry,
    SwapsTwoColumns,
    ReadsYAtBetaZero,
    WritesPastTheEnd,
    AccumulatesInF32,
    DependsOnThreadOrder,
    KeepsTheDirection,
}

/// The CPU backend with a fault in its SpMV or in its step of conjugate gradients.
#[derive(Debug, Clone)]
struct Faulty {
    cpu: Cpu,
    fault: Fault,
    runs: Arc<AtomicUsize>,
}

impl Faulty {
    fn new(fault: Fault) -> Self {
        let cpu = Cpu::new().expect("the CPU backend starts");
        Self { cpu, fault, runs: Arc::default() }
    }

    /// The sums with the parts of a row in another order every time.
    fn in_some_order(&self, op: Op, alpha: f64, a: &Csr<f64>, x: &[f64], beta: f64, y: &mut [f64]) {
        let mut entries: Vec<_> = a.triplets().collect();
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
        self.cpu.upload(host)
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
        // SAFETY: the caller promises the same.
        unsafe { self.cpu.axpby(alpha, x, beta, y) }
    }

    unsafe fn dot(&self, x: &[f64], y: &[f64]) -> Result<f64> {
        // SAFETY: the caller promises the same.
        unsafe { VectorKernel::<f64>::dot(&self.cpu, x, y) }
    }

    unsafe fn nrm2(&self, x: &[f64]) -> Result<f64> {
        // SAFETY: the caller promises the same.
        unsafe { VectorKernel::<f64>::nrm2(&self.cpu, x) }
    }

    unsafe fn scal(&self, alpha: Coefficient<'_, Host, f64>, x: &mut [f64]) -> Result<()> {
        // SAFETY: the caller promises the same.
        unsafe { self.cpu.scal(alpha, x) }
    }

    unsafe fn scale_dense(&self, beta: f64, c: DenseViewMut<'_, f64>) -> Result<()> {
        // SAFETY: the caller promises the same.
        unsafe { self.cpu.scale_dense(beta, c) }
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

impl SpmvKernel<Csr<f64>> for Faulty {
    type Plan = FaultyPlan;

    fn spmv_algorithms(&self, op: Op) -> &'static [Algorithm] {
        SpmvKernel::<Csr<f64>>::spmv_algorithms(&self.cpu, op)
    }

    fn plan_spmv(&self, a: &Csr<f64>, op: Op, options: &PlanOptions) -> Result<Self::Plan> {
        Ok(FaultyPlan { plan: self.cpu.plan_spmv(a, op, options)?, op })
    }

    unsafe fn spmv(
        &self,
        plan: &mut Self::Plan,
        alpha: f64,
        a: &Csr<f64>,
        x: &[f64],
        beta: f64,
        y: &mut [f64],
    ) -> Result<()> {
        let before = y.to_vec();
        let (mut a, mut x) = (a.clone(), x.to_vec());
        match self.fault {
            Fault::DropsAnEntry => a.values_mut()[0] = 0.0,
            Fault::SwapsTwoColumns if x.len() > 1 => x.swap(0, 1),
            Fault::AccumulatesInF32 => {
                a.values_mut().iter_mut().for_each(|value| *value = f64::from(*value as f32));
            }
            Fault::DependsOnThreadOrder => {
                self.in_some_order(plan.op, alpha, &a, &x, beta, y);
                return Ok(());
            }
            _ => {}
        }
        // SAFETY: pattern and lengths are those that the caller promises.
        unsafe { self.cpu.spmv(&mut plan.plan, alpha, &a, &x, beta, y)? };
        match self.fault {
            Fault::ReadsYAtBetaZero if beta == 0.0 => {
                y.iter_mut().zip(before).for_each(|(y, before)| *y += beta * before);
            }
            Fault::AccumulatesInF32 => y.iter_mut().for_each(|y| *y = f64::from(*y as f32)),
            // SAFETY: none: this is the fault. Guard words of the same allocation follow y.
            Fault::WritesPastTheEnd => unsafe { *y.as_mut_ptr().add(y.len()) = 1.0 },
            _ => {}
        }
        Ok(())
    }
}

/// The CPU backend's plan, and op.
#[derive(Debug)]
struct FaultyPlan {
    plan: <Cpu as SpmvKernel<Csr<f64>>>::Plan,
    op: Op,
}

impl sparse_core::KernelPlan for FaultyPlan {
    fn choice(&self) -> &sparse_core::Choice {
        self.plan.choice()
    }
}

/// The failures of the backend with a fault.
fn failures(fault: Fault) -> Vec<Record> {
    let backend = Faulty::new(fault);
    let mut suite = Suite::new(&backend);
    suite.spmv::<Faulty, Csr<f64>>(&backend).vector::<Faulty, f64>(&backend);
    let filter = Filter { tier: Tier::Quick, ..Filter::default() };
    let run = Run { suite: &suite, reference: &Suite::reference(), cases: &table(), filter: &filter };
    let mut records = vec![];
    run.run(&mut Snapshots::compare(Snapshots::default_folder()), &mut records);
    assert!(records.len() > 100, "{} records", records.len());
    records.retain(|record| record.status == Status::Fail);
    records
}

/// Asserts that a fault is found, with the right reason.
fn is_caught(fault: Fault, reason: &str) {
    let failures = failures(fault);
    let right = failures.iter().any(|record| record.reason.contains(reason));
    assert!(right, "{fault:?}: no failure says `{reason}`: {failures:#?}");
}

#[test]
fn without_a_fault_everything_passes() {
    assert_eq!(failures(Fault::None), vec![]);
}

#[test]
fn a_dropped_entry_is_caught() {
    is_caught(Fault::DropsAnEntry, "A2: element");
}

#[test]
fn swapped_columns_are_caught() {
    is_caught(Fault::SwapsTwoColumns, "A2: element");
}

#[test]
fn a_read_of_y_at_beta_zero_is_caught() {
    is_caught(Fault::ReadsYAtBetaZero, "B1, B3: element");
}

#[test]
fn a_write_past_the_end_is_caught() {
    is_caught(Fault::WritesPastTheEnd, "guard");
}

#[test]
fn f32_accumulation_is_caught_by_integers_and_by_the_bound() {
    is_caught(Fault::AccumulatesInF32, "A2: element");
    is_caught(Fault::AccumulatesInF32, "A1: element");
}

#[test]
fn a_direction_that_is_not_turned_is_caught() {
    is_caught(Fault::KeepsTheDirection, "result=x, r, p factor=1: A1: element");
}

#[test]
fn a_sum_in_the_order_of_threads_is_caught() {
    is_caught(Fault::DependsOnThreadOrder, "R1: a second run gives other bits");
}

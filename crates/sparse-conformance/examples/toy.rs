//! A third party's backend in the conformance table: SpMV for CSR in `f64`, over `Vec`, and vector operations.
//!
//! `cargo run -p sparse-conformance --example toy`

use sparse_conformance::{Filter, Record, Run, Snapshots, Status, Suite, Tier, table};
use sparse_core::backend::{Buf, ViewMutOf, ViewOf, check_copy, check_download};
use sparse_core::op::{Coefficient, Op, SpmvKernel, VectorKernel};
use sparse_core::reference::Reference;
use sparse_core::{
    Algorithm, Backend, Caps, Choice, ContextId, Csr, DenseViewMut, Element, Host, KernelPlan, PlanOptions,
    Result,
};

/// A backend that computes on the calling thread, in the simplest way.
#[derive(Debug, Clone)]
struct Toy(Caps);

impl Toy {
    fn new() -> Self {
        Self(Caps { backend: "toy", ..Reference.caps().clone() })
    }
}

// SAFETY: a buffer is a vector of exactly the uploaded elements, in the one context of the host.
unsafe impl Backend for Toy {
    type Space = Host;

    fn caps(&self) -> &Caps {
        &self.0
    }

    fn context(&self) -> ContextId {
        ContextId::HOST
    }

    fn upload<T: Element>(&self, host: &[T]) -> Result<Buf<Self, T>> {
        Ok(host.to_vec())
    }

    fn download_into<T: Element>(&self, device: ViewOf<'_, Self, T>, host: &mut [T]) -> Result<()> {
        check_download(self, &device, host)?;
        host.copy_from_slice(device);
        Ok(())
    }

    fn copy<T: Element>(&self, from: ViewOf<'_, Self, T>, to: ViewMutOf<'_, Self, T>) -> Result<()> {
        check_copy(self, &from, &to)?;
        to.copy_from_slice(from);
        Ok(())
    }

    fn synchronize(&self) -> Result<()> {
        Ok(())
    }
}

/// `sum + beta·y`; y is not read if beta is zero.
fn update(y: &mut f64, sum: f64, beta: f64) {
    *y = if beta == 0.0 { sum } else { sum + beta * *y };
}

impl VectorKernel<f64> for Toy {
    unsafe fn axpby(
        &self,
        alpha: Coefficient<'_, Host, f64>,
        x: &[f64],
        beta: Coefficient<'_, Host, f64>,
        y: &mut [f64],
    ) -> Result<()> {
        let (alpha, beta) = (alpha.value(), beta.value());
        let term = |x: f64| if alpha == 0.0 { 0.0 } else { alpha * x };
        y.iter_mut().zip(x).for_each(|(y, &x)| update(y, term(x), beta));
        Ok(())
    }

    unsafe fn dot(&self, x: &[f64], y: &[f64]) -> Result<f64> {
        Ok(x.iter().zip(y).map(|(x, y)| x * y).sum())
    }

    unsafe fn nrm2(&self, x: &[f64]) -> Result<f64> {
        let scale = x.iter().fold(f64::MIN_POSITIVE, |largest, x| largest.max(x.abs())).min(f64::MAX);
        Ok(scale * x.iter().map(|x| (x / scale).powi(2)).sum::<f64>().sqrt())
    }

    unsafe fn scal(&self, alpha: Coefficient<'_, Host, f64>, x: &mut [f64]) -> Result<()> {
        let alpha = alpha.value();
        x.iter_mut().for_each(|x| update(x, 0.0, alpha));
        Ok(())
    }

    unsafe fn scale_dense(&self, beta: f64, mut c: DenseViewMut<'_, f64>) -> Result<()> {
        for row in 0..c.nrows() {
            (0..c.ncols()).for_each(|col| update(c.at_mut(row, col), 0.0, beta));
        }
        Ok(())
    }
}

/// The only algorithm, and the operation on the matrix.
#[derive(Debug)]
struct ToyPlan(Choice, Op);

impl KernelPlan for ToyPlan {
    fn choice(&self) -> &Choice {
        &self.0
    }
}

const ALGORITHMS: &[Algorithm] = &[Algorithm::new("loop", "always")];

impl SpmvKernel<Csr<f64>> for Toy {
    type Plan = ToyPlan;

    fn spmv_algorithms(&self, _: Op) -> &'static [Algorithm] {
        ALGORITHMS
    }

    fn plan_spmv(&self, _: &Csr<f64>, op: Op, options: &PlanOptions) -> Result<Self::Plan> {
        Ok(ToyPlan(options.choose("spmv", ALGORITHMS, "loop", "there is no other")?, op))
    }

    unsafe fn run_spmv(
        &self,
        ToyPlan(_, op): &mut ToyPlan,
        alpha: f64,
        a: &Csr<f64>,
        x: &[f64],
        beta: f64,
        y: &mut [f64],
    ) -> Result<()> {
        let mut sums = vec![0.0; y.len()];
        for row in 0..a.nrows() {
            for (col, value) in a.major_entries(row) {
                let (to, from) = if op.transposes() { (col, row) } else { (row, col) };
                sums[to] += value * x[from];
            }
        }
        y.iter_mut().zip(sums).for_each(|(y, sum)| update(y, alpha * sum, beta));
        Ok(())
    }
}

/// Runs the backend through the quick part of the table.
pub(crate) fn conform() -> Vec<Record> {
    let toy = Toy::new();
    let mut suite = Suite::new(&toy);
    suite.spmv::<Toy, Csr<f64>>(&toy).vector::<Toy, f64>(&toy);
    let filter = Filter { tier: Tier::Quick, ..Filter::default() };
    let run = Run { suite: &suite, reference: &Suite::reference(), cases: &table(), filter: &filter };
    let mut records = vec![];
    run.run(&mut Snapshots::compare(Snapshots::default_folder()), &mut records);
    records
}

#[allow(dead_code, clippy::print_stdout, reason = "the test that includes this file has no use for it")]
fn main() {
    for record in conform().iter().filter(|record| record.status != Status::Pass) {
        println!("{} [{}] {}: {}", record.name(), record.types, record.status, record.reason);
    }
}

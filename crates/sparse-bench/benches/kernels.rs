//! Micro-benchmarks for those who change one kernel of the CPU backend: each algorithm on a regular matrix and on a graph.
//!
//! `cargo bench -p sparse-bench -- spmv/csr/arxiv` runs those whose names begin so.

use backend_cpu::Cpu;
use criterion::measurement::WallTime;
use criterion::{BenchmarkGroup, BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use sparse_core::generate::{stand_in, stencil_5};
use sparse_core::op::{
    ConvertPlan, DenseToCompressedPlan, DenseToCsrKernel, Duplicates, Keep, Op, Operations, SpmmKernel,
    SpmmPlan, SpmvKernel, SpmvPlan,
};
use sparse_core::reference::Reference;
use sparse_core::{
    Algorithm, BatchCsr, Coo, Csr, DenseBatchView, DenseView, DenseViewMut, Host, Matrix, Order, PlanOptions,
    Row, Sell, SellLayout,
};

/// Columns of the dense operand of SpMM.
const COLUMNS: usize = 32;

fn backend() -> Cpu {
    Cpu::new().expect("a CPU")
}

/// A regular matrix, and one with long and empty rows.
fn matrices() -> [(&'static str, Csr<f32>); 2] {
    let arxiv = stand_in::find("arxiv").and_then(|graph| graph.generate(4));
    [("stencil_5", stencil_5(500, 500).expect("a stencil")), ("arxiv", arxiv.expect("a graph"))]
}

/// A group named by operation, format and matrix; its throughput is in entries.
fn group<'a>(
    criterion: &'a mut Criterion,
    name: impl Into<String>,
    entries: usize,
) -> BenchmarkGroup<'a, WallTime> {
    let mut group = criterion.benchmark_group(name);
    group.throughput(Throughput::Elements(entries as u64));
    group
}

/// The algorithms that are worth their time.
fn fast(algorithms: &'static [Algorithm]) -> impl Iterator<Item = &'static str> {
    algorithms.iter().map(|algorithm| algorithm.name).filter(|name| *name != "sequential")
}

fn spmv(criterion: &mut Criterion) {
    for (name, a) in matrices() {
        let mut to_sell = ConvertPlan::new(&backend(), &a, &SellLayout::default(), &PlanOptions::once());
        let sell: Sell<f32> = to_sell.as_mut().expect("a plan").run(&a).expect("SELL");
        spmv_of(criterion, name, &a);
        spmv_of(criterion, name, &sell);
    }
}

fn spmv_of<M: Matrix<Scalar = f32, Space = Host>>(criterion: &mut Criterion, name: &str, a: &M)
where
    Cpu: SpmvKernel<M>,
{
    let (backend, x, mut y) = (backend(), vec![1.0; a.cols()], vec![0.0; a.rows()]);
    let mut group = group(criterion, format!("spmv/{}/{name}", M::FORMAT), a.nnz());
    for algorithm in fast(SpmvKernel::<M>::spmv_algorithms(&backend, Op::None)) {
        let options = PlanOptions::forced(algorithm).relaxed();
        let Ok(mut plan) = SpmvPlan::new(&backend, a, Op::None, &options) else { continue };
        group.bench_function(BenchmarkId::from_parameter(algorithm), |bencher| {
            bencher.iter(|| plan.run(1.0, a, &x, 0.0, &mut y).expect("a product"));
        });
    }
}

fn spmm(criterion: &mut Criterion) {
    let backend = backend();
    for (name, a) in matrices() {
        let (b, mut c) = (vec![1.0; a.cols() * COLUMNS], vec![0.0; a.rows() * COLUMNS]);
        let b = DenseView::row_major(&b, a.cols(), COLUMNS).expect("a view");
        let mut group = group(criterion, format!("spmm/csr/{name}"), a.nnz() * COLUMNS);
        for algorithm in fast(SpmmKernel::<Csr<f32>>::spmm_algorithms(&backend, Op::None)) {
            let options = PlanOptions::forced(algorithm).relaxed();
            let Ok(mut plan) = SpmmPlan::new(&backend, &a, Op::None, COLUMNS, &options) else { continue };
            group.bench_function(BenchmarkId::from_parameter(algorithm), |bencher| {
                bencher.iter(|| {
                    let c = DenseViewMut::row_major(&mut c, a.rows(), COLUMNS).expect("a view");
                    plan.run(1.0, &a, b, 0.0, c).expect("a product");
                });
            });
        }
    }
}

fn coo_to_csr(criterion: &mut Criterion) {
    let backend = backend();
    for (name, a) in matrices() {
        let coo: Coo<f32> = Reference.convert(&a, &()).expect("COO");
        let mut group = group(criterion, "coo_to_csr", a.nnz());
        group.bench_function(BenchmarkId::from_parameter(name), |bencher| {
            bencher.iter(|| {
                let options = PlanOptions::once();
                let plan =
                    ConvertPlan::<_, Coo<f32>, Csr<f32>>::new(&backend, &coo, &Duplicates::Sum, &options);
                plan.expect("a plan").run(&coo).expect("CSR")
            });
        });
    }
}

/// Members of 256 × 256 with every tenth element.
fn dense_to_csr(criterion: &mut Criterion) {
    let (backend, count, n) = (backend(), 16, 256);
    let dense: Vec<f32> = (0..count * n * n).map(|k| if k * 7 % 10 == 0 { 1.0 } else { 0.0 }).collect();
    let batch = DenseBatchView::new(&dense[..], count, n * n, (n, n), n, Order::RowMajor).expect("a batch");
    let mut group = group(criterion, "dense_to_csr/batch", dense.len());
    for algorithm in fast(DenseToCsrKernel::<f32, i32, i32>::dense_to_csr_algorithms(&backend)) {
        let options = PlanOptions::forced(algorithm);
        let plan = DenseToCompressedPlan::<_, Row, _, _, i32>::new(&backend, batch, Keep::NonZero, &options);
        let mut plan = plan.expect("a plan");
        group.bench_function(BenchmarkId::from_parameter(algorithm), |bencher| {
            bencher.iter(|| -> BatchCsr<f32> { plan.run_batch(batch).expect("a batch") });
        });
    }
}

criterion_group!(kernels, spmv, spmm, coo_to_csr, dense_to_csr);
criterion_main!(kernels);

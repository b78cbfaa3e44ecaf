//! Micro-benchmarks for those who change one kernel of the CPU backend.

use backend_cpu::Cpu;
use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use sparse_core::op::{Op, SpmvKernel, SpmvPlan};
use sparse_core::{Csr, Matrix, PlanOptions, generate};

fn spmv(criterion: &mut Criterion) {
    let backend = Cpu::new().expect("a CPU");
    let a: Csr<f32> = generate::stencil_5(500, 500).expect("a stencil");
    let x = vec![1.0; a.cols()];
    let mut y = vec![0.0; a.rows()];
    let mut group = criterion.benchmark_group("spmv/csr/stencil_5");
    group.throughput(Throughput::Elements(a.nnz() as u64));
    for algorithm in SpmvKernel::<Csr<f32>>::spmv_algorithms(&backend, Op::None) {
        let options = PlanOptions::forced(algorithm.name).relaxed();
        let Ok(mut plan) = SpmvPlan::new(&backend, &a, Op::None, &options) else { continue };
        group.bench_function(BenchmarkId::from_parameter(algorithm.name), |bencher| {
            bencher.iter(|| plan.run(1.0, &a, &x, 0.0, &mut y).expect("a product"));
        });
    }
    group.finish();
}

criterion_group!(kernels, spmv);
criterion_main!(kernels);

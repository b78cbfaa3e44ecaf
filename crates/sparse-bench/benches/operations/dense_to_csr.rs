//! Dense matrices by rows to CSR, every tenth element an entry. Bytes: the elements once, the result once (8·nnz and
//! 4·(rows + 1) for each matrix).

use crate::bench::{Bench, algorithms};
use crate::workload::{WORD, dense, entry_bytes, size};
use sparse_core::op::{AllTypes, DenseToCompressedPlan, DenseToCsrKernel, Keep};
use sparse_core::{DenseBatchView, DenseView, Order, Row, Space, SpaceOf};

pub(crate) fn run<B: AllTypes>(bench: &mut Bench<'_, B>) {
    single(bench, size(2000, 30));
    batch(bench, size(16, 3), size(256, 30));
}

/// Bytes of `count` matrices of `n` × `n` in both forms.
fn bytes(elements: &[f32], count: usize, n: usize) -> usize {
    let nnz = elements.iter().filter(|element| **element != 0.0).count();
    WORD * elements.len() + entry_bytes(nnz) + WORD * count * (n + 1)
}

fn single<B: AllTypes>(bench: &mut Bench<'_, B>, n: usize) {
    let (backend, host) = (bench.backend, dense(n * n));
    let a = backend.upload(&host).expect("A");
    let a = DenseView::new(SpaceOf::<B>::view(&a), n, n, n, Order::RowMajor).expect("a view");
    let table = DenseToCsrKernel::<f32, i32, i32>::dense_to_csr_algorithms(backend);
    for (name, options) in algorithms(&format!("dense_to_csr/f32/{n}x{n}"), table) {
        let plan = DenseToCompressedPlan::<B, Row, f32, i32, i32>::new(backend, a, Keep::NonZero, &options);
        let Some(mut plan) = bench.available(&name, plan) else { continue };
        bench.time(&name, bytes(&host, 1, n), || plan.run(a).map(drop));
    }
}

fn batch<B: AllTypes>(bench: &mut Bench<'_, B>, count: usize, n: usize) {
    let (backend, host) = (bench.backend, dense(count * n * n));
    let a = backend.upload(&host).expect("A");
    let a = DenseBatchView::new(SpaceOf::<B>::view(&a), count, n * n, (n, n), n, Order::RowMajor);
    let a = a.expect("a batch");
    let table = DenseToCsrKernel::<f32, i32, i32>::dense_to_csr_algorithms(backend);
    for (name, options) in algorithms(&format!("dense_to_csr/batch/f32/{count}x{n}x{n}"), table) {
        let plan = DenseToCompressedPlan::<B, Row, f32, i32, i32>::new(backend, a, Keep::NonZero, &options);
        let Some(mut plan) = bench.available(&name, plan) else { continue };
        bench.time(&name, bytes(&host, count, n), || plan.run_batch(a).map(drop));
    }
}

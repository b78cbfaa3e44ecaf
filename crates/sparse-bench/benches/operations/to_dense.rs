//! CSR to a dense matrix by rows. Bytes: A (8·nnz + 4·(rows + 1)), every element of the result once.

use crate::bench::Bench;
use crate::workload::{WORD, csr_bytes, size};
use sparse_core::op::{AllTypes, ToDensePlan};
use sparse_core::{Csr, DenseViewMut, Order, PlanOptions, Space, SpaceOf, SparseFormat};
use sparse_generate::uniform;

pub(crate) fn run<B: AllTypes>(bench: &mut Bench<'_, B>) {
    let (backend, n) = (bench.backend, size(2000, 30));
    let host: Csr<f32> = uniform(n, n, n / 10, 1).expect("a matrix");
    let a = host.to_device(backend).expect("a matrix");
    let mut dense = backend.zeros::<f32>(n * n).expect("the result");
    let mut plan = ToDensePlan::new(backend, &a, &PlanOptions::default()).expect("a plan");
    bench.time(&format!("to_dense/csr/f32/uniform_{n}"), csr_bytes(&host) + WORD * n * n, || {
        plan.run(&a, DenseViewMut::new(SpaceOf::<B>::view_mut(&mut dense), n, n, n, Order::RowMajor)?)
    });
}

//! C = A·B in CSR, B and C by rows, β = 0. Bytes: A (8·nnz + 4·(rows + 1)), B once, C once.

use crate::bench::{Bench, algorithms};
use crate::workload::{WORD, csr_bytes, matrices};
use sparse_core::op::{AllTypes, Op, SpmmKernel, SpmmPlan};
use sparse_core::{Csr, DenseView, DenseViewMut, Order, Space, SpaceOf, SparseFormat};

/// Columns of B.
const COLUMNS: usize = 32;

pub(crate) fn run<B: AllTypes>(bench: &mut Bench<'_, B>) {
    let backend = bench.backend;
    for (name, host) in matrices() {
        let bytes = csr_bytes(&host) + WORD * COLUMNS * (host.ncols() + host.nrows());
        let a = host.to_device(backend).expect("a matrix");
        let b = backend.upload(&vec![1.0_f32; a.ncols() * COLUMNS]).expect("B");
        let mut c = backend.zeros::<f32>(a.nrows() * COLUMNS).expect("C");
        let table = SpmmKernel::<Csr<f32, SpaceOf<B>>>::spmm_algorithms(backend, Op::None);
        for (name, options) in algorithms(&format!("spmm/csr/f32/{name}"), table) {
            let plan = SpmmPlan::new(backend, &a, Op::None, COLUMNS, &options);
            let Some(mut plan) = bench.available(&name, plan) else { continue };
            bench.time(&name, bytes, || {
                let (b, c) = (SpaceOf::<B>::view(&b), SpaceOf::<B>::view_mut(&mut c));
                let b = DenseView::new(b, a.ncols(), COLUMNS, COLUMNS, Order::RowMajor)?;
                let c = DenseViewMut::new(c, a.nrows(), COLUMNS, COLUMNS, Order::RowMajor)?;
                plan.run(1.0, &a, b, 0.0, c)
            });
        }
    }
}

//! C = A·B in CSR, B and C by rows, β = 0, in f32, f16 and c32. Bytes: A, B once, C once.

use crate::bench::{Bench, algorithms};
use crate::workload::{csr_bytes, matrices};
use sparse_core::op::{AllTypes, Op, SpmmKernel, SpmmPlan, VectorKernel};
use sparse_core::{Csr, DenseView, DenseViewMut, Order, Scalar, Space, SpaceOf, SparseFormat, c32, c64, f16};

/// Columns of B.
const COLUMNS: usize = 32;

pub(crate) fn run<B: AllTypes>(bench: &mut Bench<'_, B>) {
    for (name, a) in matrices() {
        values::<B, f32>(bench, name, &a);
        values::<B, f16>(bench, name, &a);
        values::<B, c32>(bench, name, &a);
    }
}

/// Products of the matrix with its values as `T`.
fn values<B, T>(bench: &mut Bench<'_, B>, matrix: &str, a: &Csr<f32>)
where
    B: SpmmKernel<Csr<T, SpaceOf<B>>> + VectorKernel<T>,
    T: Scalar,
{
    let backend = bench.backend;
    let value = |value: f32| T::from_c64(c64::new(value.into(), 0.0));
    let dense_bytes = size_of::<T>() * COLUMNS * (a.ncols() + a.nrows());
    let bytes = csr_bytes(a) - size_of::<f32>() * a.nnz() + size_of::<T>() * a.nnz() + dense_bytes;
    let a = a.map_values(value).to_device(backend).expect("a matrix");
    let b = backend.upload(&vec![value(1.0); a.ncols() * COLUMNS]).expect("B");
    let mut c = backend.zeros::<T>(a.nrows() * COLUMNS).expect("C");
    let (alpha, beta) = (value(1.0).to_acc(), T::ZERO.to_acc());
    let table = SpmmKernel::<Csr<T, SpaceOf<B>>>::spmm_algorithms(backend, Op::None);
    for (name, options) in algorithms(&format!("spmm/csr/{}/{matrix}", T::DTYPE), table) {
        let plan = SpmmPlan::new(backend, &a, Op::None, COLUMNS, &options);
        let Some(mut plan) = bench.available(&name, plan) else { continue };
        bench.time(&name, bytes, || {
            let (b, c) = (SpaceOf::<B>::view(&b), SpaceOf::<B>::view_mut(&mut c));
            let b = DenseView::new(b, a.ncols(), COLUMNS, COLUMNS, Order::RowMajor)?;
            let c = DenseViewMut::new(c, a.nrows(), COLUMNS, COLUMNS, Order::RowMajor)?;
            plan.run(alpha, &a, b, beta, c)
        });
    }
}

//! y = A·x, β = 0. Bytes: A as CSR for any format (8·nnz + 4·(rows + 1)), x once, y once.

use crate::bench::{Bench, algorithms};
use crate::workload::{WORD, csr_bytes, matrices};
use sparse_core::op::{AllTypes, Op, Operations, SpmvKernel, SpmvPlan, VectorKernel};
use sparse_core::reference::Reference;
use sparse_core::{
    Coo, Csc, Csr, Ell, EllLayout, Host, Hyb, HybWidth, Sell, SellLayout, Space, SpaceOf, SparseFormat,
};

pub(crate) fn run<B: AllTypes>(bench: &mut Bench<'_, B>) {
    for (name, a) in matrices() {
        let bytes = csr_bytes(&a) + WORD * (a.ncols() + a.nrows());
        let convert = "a conversion";
        let csc: Csc<f32> = Reference.convert(&a, &()).expect(convert);
        let coo: Coo<f32> = Reference.convert(&a, &()).expect(convert);
        let hyb: Hyb<f32> = Reference.convert(&a, &HybWidth::default()).expect(convert);
        let sell: Sell<f32> = Reference.convert(&a, &SellLayout::default()).expect(convert);
        format::<B, Csr<f32>>(bench, name, &a, bytes);
        format::<B, Csc<f32>>(bench, name, &csc, bytes);
        format::<B, Coo<f32>>(bench, name, &coo, bytes);
        format::<B, Hyb<f32>>(bench, name, &hyb, bytes);
        format::<B, Sell<f32>>(bench, name, &sell, bytes);
        // ELL would be as wide as the longest row of the graph.
        if name == "stencil_5" {
            let ell: Ell<f32> = Reference.convert(&a, &EllLayout::default()).expect(convert);
            format::<B, Ell<f32>>(bench, name, &ell, bytes);
        }
    }
}

fn format<B, H>(bench: &mut Bench<'_, B>, name: &str, host: &H, bytes: usize)
where
    B: SpmvKernel<H::In<SpaceOf<B>>> + VectorKernel<f32>,
    H: SparseFormat<Scalar = f32, Space = Host>,
{
    let backend = bench.backend;
    let a = host.to_device(backend).expect("a matrix");
    let x = backend.upload(&vec![1.0_f32; a.ncols()]).expect("x");
    let mut y = backend.zeros::<f32>(a.nrows()).expect("y");
    let table = SpmvKernel::<H::In<SpaceOf<B>>>::spmv_algorithms(backend, Op::None);
    for (name, options) in algorithms(&format!("spmv/{}/f32/{name}", H::FORMAT), table) {
        let plan = SpmvPlan::new(backend, &a, Op::None, &options);
        let Some(mut plan) = bench.available(&name, plan) else { continue };
        bench.time(&name, bytes, || {
            plan.run(1.0, &a, SpaceOf::<B>::view(&x), 0.0, SpaceOf::<B>::view_mut(&mut y))
        });
    }
}

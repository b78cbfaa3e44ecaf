//! Sampled products against the serial reference, of numbers whose sums are exact.

use crate::common::*;
use sparse_core::op::{Sampling, SddmmPlan};
use sparse_core::reference::Reference;
use sparse_core::{Csr, DenseView, PlanOptions};
use sparse_generate::with_row_lengths;

#[test]
fn rows_of_every_length_agree_with_the_reference() {
    let lengths: Vec<usize> = (0..12).chain([100, 3]).collect();
    let p = with_row_lengths::<f32>(&lengths, 150, 1).unwrap();
    let p = Csr::new(14, 150, p.offsets().to_vec(), p.indices().to_vec(), integers(p.nnz())).unwrap();
    for inner in [1, 15, 16, 37, 64] {
        let (u, v) = (integers::<f32>(14 * inner), integers::<f32>(150 * inner));
        for v in
            [DenseView::row_major(&v, 150, inner).unwrap(), DenseView::col_major(&v, 150, inner).unwrap()]
        {
            let u = DenseView::row_major(&u, 14, inner).unwrap();
            let options = PlanOptions::default();
            let mut expected = vec![0.0; p.nnz()];
            let mut plan = SddmmPlan::new(&Reference, &p, Sampling::Values, inner, &options).unwrap();
            plan.run(2.0, &p, u, v, 0.0, &mut expected).unwrap();
            for cpu in backends() {
                let mut found = vec![f32::NAN; p.nnz()];
                let mut plan = SddmmPlan::new(cpu, &p, Sampling::Values, inner, &options).unwrap();
                plan.run(2.0, &p, u, v, 0.0, &mut found).unwrap();
                assert_eq!(found, expected, "inner extent {inner}, {:?}", cpu.simd());
            }
        }
    }
}

//! Dense to CSR, CSC and COO against the reference, with every algorithm, instruction set and number of threads.

use crate::samples::{Bytes, Random, backends_of_all_sets};
use backend_cpu::Cpu;
use sparse_core::op::{DenseToCompressedPlan, DenseToCsrKernel, Keep};
use sparse_core::reference::Reference;
use sparse_core::{
    Axis, BatchCompressed, Col, DenseBatchView, DenseView, Host, Index, Order, PlanOptions, Row, Scalar,
    bf16, c32, c64, f16,
};

fn bytes<A: Axis, T: Scalar, I: Index, O: Index>(batch: &BatchCompressed<A, T, Host, I, O>) -> Vec<Vec<u8>> {
    vec![
        bytemuck::cast_slice(batch.member_ptr()).to_vec(),
        bytemuck::cast_slice(batch.offsets()).to_vec(),
        bytemuck::cast_slice(batch.indices()).to_vec(),
        bytemuck::cast_slice(batch.values()).to_vec(),
    ]
}

fn check_axis<A: Axis, T: Scalar, I: Index, O: Index>(a: DenseBatchView<'_, T>, keep: Keep<T>) {
    let options = PlanOptions::once();
    let mut plan = DenseToCompressedPlan::<_, A, T, I, O>::new(&Reference, a, keep, &options).unwrap();
    let expected = bytes(&plan.run_batch(a).unwrap());
    for cpu in backends_of_all_sets() {
        for algorithm in DenseToCsrKernel::<T, I, O>::dense_to_csr_algorithms(&cpu) {
            let options = PlanOptions::forced(algorithm.name);
            let mut plan = DenseToCompressedPlan::<_, A, T, I, O>::new(&cpu, a, keep, &options).unwrap();
            for _ in 0..2 {
                let found = bytes(&plan.run_batch(a).unwrap());
                assert!(
                    found == expected,
                    "{} of {} times {} x {}, {:?}, {keep:?}, {}, {cpu:?}",
                    A::FORMAT,
                    a.count(),
                    a.nrows(),
                    a.ncols(),
                    a.order(),
                    algorithm.name
                );
            }
        }
    }
}

/// Random bits, so that NaN, infinities, subnormals and both zeros occur; `tenths` of the elements are not zeros.
fn elements<T: Scalar>(len: usize, tenths: usize) -> Vec<T> {
    let mut random = Random(len as u64 + 1);
    let special = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, f64::MIN_POSITIVE, 1e-40, 6e-8];
    (0..len)
        .map(|_| {
            let part = |bits: u64| match bits % 7 {
                0 => special[(bits >> 8) as usize % special.len()],
                1 => 0.0,
                _ => (bits >> 16) as i32 as f64,
            };
            if random.below(10) < tenths {
                T::from_c64(c64::new(part(random.next()), part(random.next())))
            } else {
                T::from_c64(c64::new(-0.0, 0.0))
            }
        })
        .collect()
}

const SHAPES: [(usize, usize, usize); 14] = [
    (1, 0, 0),
    (1, 0, 5),
    (2, 5, 0),
    (0, 3, 4),
    (1, 1, 1),
    (1, 1, 300),
    (1, 300, 1),
    (3, 31, 33),
    (2, 64, 64),
    (1, 65, 127),
    (40, 7, 5),
    (1, 600, 130),
    (2, 1, 9000),
    (2, 9000, 1),
];

fn check_type<T: Scalar, I: Index, O: Index>(above: Keep<T>) {
    for (at, (count, rows, cols)) in SHAPES.into_iter().enumerate() {
        for order in [Order::RowMajor, Order::ColMajor] {
            let (lines, line) = if order == Order::RowMajor { (rows, cols) } else { (cols, rows) };
            let (ld, stride) = (line + at % 3, lines * (line + at % 3) + at % 2);
            let data = elements::<T>(count * stride, [1, 5, 10][at % 3]);
            let a = DenseBatchView::new(&data[..], count, stride, (rows, cols), ld, order).unwrap();
            for keep in [Keep::NonZero, above] {
                check_axis::<Row, T, I, O>(a, keep);
                check_axis::<Col, T, I, O>(a, keep);
            }
        }
    }
}

#[test]
fn batches_of_f32() {
    check_type::<f32, i32, i32>(Keep::Above(1e6));
    check_type::<f32, i64, i64>(Keep::Above(f32::NAN));
}

#[test]
fn batches_of_f64() {
    check_type::<f64, i32, i64>(Keep::Above(0.0));
    check_type::<f64, i64, i64>(Keep::Above(1e6));
}

#[test]
fn batches_of_complex() {
    check_type::<c32, i32, i32>(Keep::Above(1e6));
    check_type::<c64, i32, i32>(Keep::Above(1e6));
}

#[test]
fn batches_of_half_precision() {
    check_type::<f16, i32, i32>(Keep::Above(1.0));
    check_type::<bf16, i32, i32>(Keep::Above(1.0));
}

/// Zeros are found by their bits, value by value.
#[test]
fn zeros_of_either_sign_are_dropped_and_everything_else_is_kept() {
    let subnormal = f32::from_bits(1);
    let row = [0.0, -0.0, f32::NAN, -f32::NAN, f32::INFINITY, subnormal, -subnormal, 1.0];
    let a = DenseView::row_major(&row[..], 1, 8).unwrap();
    for cpu in backends_of_all_sets() {
        let kept = |keep| {
            let mut plan =
                DenseToCompressedPlan::<_, Row, f32, i32, i32>::new(&cpu, a, keep, &PlanOptions::once())
                    .unwrap();
            plan.run(a).unwrap().indices().clone()
        };
        assert_eq!(kept(Keep::NonZero), [2, 3, 4, 5, 6, 7]);
        assert_eq!(kept(Keep::Above(1.0)), [2, 3, 4]);
        assert_eq!(kept(Keep::Above(0.0)), [2, 3, 4, 5, 6, 7]);
    }
}

#[test]
fn a_plan_serves_matrices_of_more_and_of_fewer_entries() {
    type Plan<B> = DenseToCompressedPlan<B, Row, f32, i32, i32>;
    let (rows, cols) = (300, 700);
    let options = PlanOptions::default();
    let matrices = [1, 0, 2, 10, 3].map(|tenths| elements::<f32>(rows * cols, tenths));
    for (order, ld) in [(Order::RowMajor, cols), (Order::ColMajor, rows)] {
        let batch = |data| DenseBatchView::new(data, 1, rows * cols, (rows, cols), ld, order).unwrap();
        let first = batch(&matrices[0][..]);
        let mut reference = Plan::new(&Reference, first, Keep::NonZero, &options).unwrap();
        let expected = matrices.each_ref().map(|data| bytes(&reference.run_batch(batch(data)).unwrap()));
        for cpu in backends_of_all_sets() {
            let mut plan = Plan::new(&cpu, first, Keep::NonZero, &options).unwrap();
            let found = matrices.each_ref().map(|data| bytes(&plan.run_batch(batch(data)).unwrap()));
            assert!(found == expected, "{order:?}, {cpu:?}");
        }
    }
}

#[test]
fn coo_comes_out_row_by_row() {
    let data = elements::<f64>(50 * 40, 5);
    let a = DenseView::col_major(&data[..], 50, 40).unwrap();
    let options = PlanOptions::once();
    let plan =
        |()| DenseToCompressedPlan::<_, Row, f64, i32, i32>::new(&Cpu::new()?, a, Keep::NonZero, &options);
    let found = plan(()).unwrap().run_coo(a).unwrap();
    let mut reference =
        DenseToCompressedPlan::<_, Row, f64, i32, i32>::new(&Reference, a, Keep::NonZero, &options).unwrap();
    assert_eq!(found.bytes(), reference.run_coo(a).unwrap().bytes());
}

/// Members without columns take no memory, so their number has no other limit.
#[test]
fn more_rows_than_can_be_counted_are_refused() {
    let a = DenseBatchView::<f64>::new(&[], 1 << 40, 0, (1 << 30, 0), 0, Order::RowMajor).unwrap();
    let plan = DenseToCompressedPlan::<_, Row, f64, i32, i32>::new(
        &Cpu::new().unwrap(),
        a,
        Keep::NonZero,
        &PlanOptions::once(),
    );
    let reason = "members x offsets (1099511627776 x 1073741825) = 1180591621816922931200 does not fit usize";
    assert_eq!(plan.unwrap_err().to_string(), reason);
}

//! Prefix sums against the reference, and worked examples.

use crate::samples::{Random, backends};
use sparse_core::PlanOptions;
use sparse_core::op::{ScanElement, ScanKernel, ScanKind, ScanOrder, ScanPlan};
use sparse_core::reference::Reference;

const ORDERS: [ScanOrder; 3] = [ScanOrder::Flat, ScanOrder::RowMajor, ScanOrder::ColumnMajor];
const KINDS: [ScanKind; 2] = [ScanKind::Inclusive, ScanKind::Exclusive];

fn check<T: ScanElement>(shape: (usize, usize), element: impl Fn(u64) -> T) {
    let mut random = Random(7);
    let input: Vec<T> = (0..shape.0 * shape.1).map(|_| element(random.next())).collect();
    for (order, kind) in ORDERS.into_iter().flat_map(|order| KINDS.map(|kind| (order, kind))) {
        let mut expected = input.clone();
        let options = PlanOptions::default();
        ScanPlan::new(&Reference, shape, order, kind, &options).unwrap().run(&input, &mut expected).unwrap();
        for cpu in backends() {
            for algorithm in ScanKernel::<T>::scan_algorithms(&cpu, order) {
                let mut found: Vec<T> = input.iter().map(|_| element(!0)).collect();
                let options = PlanOptions::forced(algorithm.name);
                let mut plan = ScanPlan::new(&cpu, shape, order, kind, &options).unwrap();
                plan.run(&input, &mut found).unwrap();
                assert!(found == expected, "{shape:?}, {order:?}, {kind:?}, {}, {cpu:?}", algorithm.name);
            }
        }
    }
}

#[test]
fn all_orders_and_algorithms_agree_around_block_edges() {
    for len in [0, 1, 2, 31, 32, 33, 255, 256, 257, 1023, 1024, 1025, 8191, 8192, 8193, 40_000] {
        for shape in [(1, len), (len, 1), (3, len), (len, 3)] {
            check(shape, |bits| bits as i32);
        }
    }
    for shape in [(300, 70), (1025, 33), (0, 5), (5, 0)] {
        check(shape, |bits| bits as i64);
    }
}

/// Worked examples: a vector and its prefix sums.
#[test]
fn worked_examples_of_every_order() {
    let input = [6, 3, 1, 0, 2, 4, 5, 7, 1, 7, 4, 6, 2, 5, 3, 0, 3, 0, 5, 4, 6, 1, 7, 2];
    let by_rows =
        [6, 9, 10, 10, 12, 16, 21, 28, 29, 36, 40, 46, 48, 53, 56, 56, 59, 59, 64, 68, 74, 75, 82, 84];
    let by_columns =
        [6, 13, 21, 30, 42, 54, 65, 82, 7, 20, 25, 36, 44, 59, 68, 82, 10, 20, 30, 40, 50, 60, 75, 84];
    let by_columns_exclusive =
        [0, 10, 20, 30, 40, 50, 60, 75, 6, 13, 21, 30, 42, 54, 65, 82, 7, 20, 25, 36, 44, 59, 68, 82];
    let [cpu, _] = backends();
    for (order, kind, expected) in [
        (ScanOrder::Flat, ScanKind::Inclusive, by_rows),
        (ScanOrder::RowMajor, ScanKind::Inclusive, by_rows),
        (ScanOrder::ColumnMajor, ScanKind::Inclusive, by_columns),
        (ScanOrder::ColumnMajor, ScanKind::Exclusive, by_columns_exclusive),
    ] {
        for algorithm in ScanKernel::<i32>::scan_algorithms(&cpu, order) {
            let mut found = [-1; 24];
            let options = PlanOptions::forced(algorithm.name);
            ScanPlan::new(&cpu, (3, 8), order, kind, &options).unwrap().run(&input, &mut found).unwrap();
            assert_eq!(found, expected, "{order:?} {kind:?} {}", algorithm.name);
        }
    }
}

//! Prefix sums against their closed forms.

use proptest::prelude::*;
use sparse_core::PlanOptions;
use sparse_core::op::{ScanKind, ScanOrder, ScanPlan};
use sparse_core::reference::Reference;

/// The elements that come before (i, j), or at it, in `order`.
fn before(order: ScanOrder, (i, j): (usize, usize), (k, l): (usize, usize)) -> bool {
    match order {
        ScanOrder::Tps | ScanOrder::Hps => (k, l) < (i, j),
        ScanOrder::Vps => (l, k) < (j, i),
    }
}

/// Sums wrap: the numbers are anything.
fn array() -> impl Strategy<Value = (usize, usize, Vec<i64>)> {
    (0..7_usize, 0..7_usize).prop_flat_map(|(rows, cols)| {
        (Just(rows), Just(cols), prop::collection::vec(any::<i64>(), rows * cols))
    })
}

proptest! {
    #[test]
    fn scans_agree_with_their_closed_forms((rows, cols, input) in array()) {
        for order in [ScanOrder::Tps, ScanOrder::Hps, ScanOrder::Vps] {
            for kind in [ScanKind::Inclusive, ScanKind::Exclusive] {
                let mut output = vec![-1; input.len()];
                let plan = ScanPlan::new(&Reference, (rows, cols), order, kind, &PlanOptions::once());
                plan.unwrap().run(&input, &mut output).unwrap();
                for (at, &found) in output.iter().enumerate() {
                    let place = (at / cols, at % cols);
                    let counts = |&k: &usize| {
                        before(order, place, (k / cols, k % cols)) || kind == ScanKind::Inclusive && k == at
                    };
                    let sum = (0..input.len()).filter(counts).fold(0, |sum: i64, k| sum.wrapping_add(input[k]));
                    prop_assert_eq!(found, sum);
                }
            }
        }
    }
}

//! Prefix sums against their closed forms.

use crate::Property;
use nnz::op::{AllTypes, ScanKind, ScanOrder, ScanPlan};
use nnz::{PlanOptions, Result, Space, SpaceOf};
use proptest::prelude::*;

/// The elements that come before (i, j), or at it, in `order`.
fn before(order: ScanOrder, (i, j): (usize, usize), (k, l): (usize, usize)) -> bool {
    match order {
        ScanOrder::Flat | ScanOrder::RowMajor => (k, l) < (i, j),
        ScanOrder::ColumnMajor => (l, k) < (j, i),
    }
}

/// Prefix sums of an array, which wrap: its elements are any numbers.
#[derive(Debug, Clone)]
pub(crate) struct Scan {
    rows: usize,
    cols: usize,
    input: Vec<i64>,
}

impl Property for Scan {
    fn any() -> impl Strategy<Value = Self> {
        (0..7_usize, 0..7_usize).prop_flat_map(|(rows, cols)| {
            let input = prop::collection::vec(any::<i64>(), rows * cols);
            input.prop_map(move |input| Self { rows, cols, input })
        })
    }

    fn check<B: AllTypes>(&self, backend: &B) -> Result<()> {
        let Self { rows, cols, input } = self;
        let device = backend.upload(input)?;
        for order in [ScanOrder::Flat, ScanOrder::RowMajor, ScanOrder::ColumnMajor] {
            for kind in [ScanKind::Inclusive, ScanKind::Exclusive] {
                let mut output = backend.upload(&vec![-1; input.len()])?;
                let mut plan = ScanPlan::new(backend, (*rows, *cols), order, kind, &PlanOptions::once())?;
                plan.run(SpaceOf::<B>::view(&device), SpaceOf::<B>::view_mut(&mut output))?;
                for (at, found) in backend.download(&output)?.into_iter().enumerate() {
                    let place = (at / cols, at % cols);
                    let counts = |&k: &usize| {
                        before(order, place, (k / cols, k % cols)) || kind == ScanKind::Inclusive && k == at
                    };
                    let sum =
                        (0..input.len()).filter(counts).fold(0, |sum: i64, k| sum.wrapping_add(input[k]));
                    assert_eq!(found, sum, "{order:?} {kind:?}: element {at}");
                }
            }
        }
        Ok(())
    }
}

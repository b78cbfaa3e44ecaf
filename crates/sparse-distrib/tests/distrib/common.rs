//! Matrices and partitions of the property tests.

use proptest::prelude::*;
use sparse_core::{Csr, Dense, Order, Scalar, c64};
use sparse_distrib::Partition;

/// Settings of a property test with this number of cases and no files of those that failed.
pub(crate) fn cases(cases: u32) -> ProptestConfig {
    ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() }
}

/// Values at which a test for zero could go wrong, and ordinary ones.
fn element() -> impl Strategy<Value = f32> {
    prop_oneof![
        6 => Just(0.0),
        1 => Just(-0.0),
        1 => Just(f32::NAN),
        1 => Just(f32::from_bits(1)),
        1 => Just(f32::NEG_INFINITY),
        3 => (1_i8..9).prop_map(f32::from),
    ]
}

/// Matrices of 0 to 20 rows and columns, in either order: sparse ones, all zeros and all nonzeros.
pub(crate) fn matrices() -> impl Strategy<Value = Dense<f32>> {
    let order = prop_oneof![Just(Order::RowMajor), Just(Order::ColMajor)];
    let fill = prop_oneof![4 => Just(None), 1 => Just(Some(0.0)), 1 => Just(Some(2.5))];
    (0_usize..20, 0_usize..20, order, fill).prop_flat_map(|(rows, cols, order, fill)| {
        let elements = match fill {
            None => prop::collection::vec(element(), rows * cols).boxed(),
            Some(value) => Just(vec![value; rows * cols]).boxed(),
        };
        elements.prop_map(move |elements| Dense::new(elements, rows, cols, order).unwrap())
    })
}

/// Row and column partitions and meshes of 1 to 16 parts.
pub(crate) fn partitions() -> impl Strategy<Value = Partition> {
    let parts = 1_usize..17;
    prop_oneof![
        parts.clone().prop_map(|p| Partition::rows(p).unwrap()),
        parts.prop_map(|p| Partition::cols(p).unwrap()),
        (1_usize..5, 1_usize..5).prop_map(|(r, c)| Partition::mesh(r, c).unwrap()),
    ]
}

/// Numbers that look random, the same on every run.
pub(crate) struct Draws(u64);

impl Draws {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// From -1 to 1.
    fn real(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 11) as f64 / (1_u64 << 52) as f64 - 1.0
    }

    pub(crate) fn value<T: Scalar>(&mut self) -> T {
        T::from_c64(c64::new(self.real(), self.real()))
    }

    pub(crate) fn values<T: Scalar>(&mut self, count: usize) -> Vec<T> {
        (0..count).map(|_| self.value()).collect()
    }
}

/// A matrix whose every fourth row and every fifth column is empty, with up to `entries` entries in the other rows; if
/// these are all columns, with no empty row or column.
pub(crate) fn nearly_empty<T: Scalar>(rows: usize, cols: usize, entries: usize, draws: &mut Draws) -> Csr<T> {
    let mut triplets = vec![];
    for i in (0..rows).filter(|i| entries == cols || i % 4 != 1) {
        for k in 0..entries {
            let j = if entries == cols { k } else { (i + k * k * 7) % cols };
            if entries == cols || j % 5 != 2 {
                triplets.push((i, j, draws.value()));
            }
        }
    }
    triplets.sort_by_key(|&(i, j, _)| (i, j));
    triplets.dedup_by_key(|&mut (i, j, _)| (i, j));
    Csr::from_triplets(rows, cols, triplets).unwrap()
}

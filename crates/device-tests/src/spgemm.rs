//! Products of sparse matrices whose rows need every method, in columns far apart.

use crate::{each_device, values};
use sparse_core::op::{Duplicates, Operations, SpgemmKernel, SpgemmPlan};
use sparse_core::reference::Reference;
use sparse_core::{Backend, Coo, Csr, Host, PlanOptions, SparseFormat};
use sparse_device::{Device, Library};

type Wide<S> = Csr<f64, S, i64, i64>;

/// Rows of B.
const INNER: usize = 500;

/// Three rows: every row of B, none, and every seventh.
fn left() -> Wide<Host> {
    let columns: Vec<i64> = (0..INNER as i64).chain((0..INNER as i64).step_by(7)).collect();
    let offsets = vec![0, INNER as i64, INNER as i64, columns.len() as i64];
    let count = columns.len();
    Csr::new(3, INNER, offsets, columns, values(count, 1)).unwrap()
}

/// Rows of five columns in eight clusters, which lie 2^36 columns apart.
fn right() -> Wide<Host> {
    let column = |row: usize, k: usize| (((row + 3 * k) % 8) << 36) + (row * 37 + k * 1001) % 2999;
    let entries = (0..INNER).flat_map(|row| (0..5).map(move |k| (row, column(row, k), 1.0 + k as f64)));
    let coo = Coo::<f64, Host, i64>::from_triplets(INNER, 1 << 40, entries).unwrap();
    Reference.convert(&coo, &Duplicates::Sum).unwrap()
}

/// All algorithms, with other values in the same plan.
pub fn products_of_far_columns_are_those_of_the_reference(library: &Library) {
    let (a, b) = (left(), right());
    let other_values = values(a.nnz(), 2);
    let expected = Operations::spgemm(&Reference, &a, &b).unwrap();
    let changed = Operations::spgemm(&Reference, &a.with_values(other_values.clone()).unwrap(), &b).unwrap();
    let bound = SpgemmPlan::bound(&Reference, &a, &b).unwrap();
    each_device(library, |backend| {
        let (first, right) = (a.to_device(backend).unwrap(), b.to_device(backend).unwrap());
        let second = first.with_values(backend.upload(&other_values).unwrap()).unwrap();
        assert_eq!(SpgemmPlan::bound(backend, &first, &right).unwrap(), bound);
        for algorithm in SpgemmKernel::<Wide<Device>>::spgemm_algorithms(backend) {
            let options = PlanOptions::forced(algorithm.name);
            let mut plan = SpgemmPlan::new(backend, &first, &right, &options).unwrap();
            let mut c = plan.run(&first, &right).unwrap();
            assert_eq!(c.to_host(backend).unwrap(), expected, "{}", algorithm.name);
            plan.run_into(&second, &right, &mut c).unwrap();
            assert_eq!(c.to_host(backend).unwrap(), changed, "{}", algorithm.name);
        }
    });
}

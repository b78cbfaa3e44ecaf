//! Sums and element-wise products against the reference, bit for bit, with every algorithm and number of threads.

use crate::samples::{Bytes, Random, backends, random};
use sparse_core::op::{Duplicates, Elementwise, ElementwiseKernel, ElementwisePlan, Operations};
use sparse_core::reference::Reference;
use sparse_core::{
    Axis, Col, Compressed, Coo, Csr, Host, Index, PlanOptions, Row, Scalar, SparseFormat, c32, c64,
};

fn acc<T: Scalar>(value: f64) -> T::Acc {
    T::Acc::from_c64(c64::new(value, 0.0))
}

/// Checks both operations on `a` and `b` against the reference, twice with one plan.
fn check<A: Axis, T: Scalar, I: Index, O: Index>(
    a: &Compressed<A, T, Host, I, O>,
    b: &Compressed<A, T, Host, I, O>,
) where
    Compressed<A, T, Host, I, O>: Bytes,
{
    let (alpha, beta) = (acc::<T>(2.0), acc::<T>(-1.0));
    for op in Elementwise::ALL {
        let plan = |options: &PlanOptions| ElementwisePlan::new(&Reference, op, a, b, options);
        let expected = plan(&PlanOptions::once()).unwrap().run(alpha, a, beta, b).unwrap();
        for cpu in backends() {
            for algorithm in ElementwiseKernel::<Compressed<A, T, Host, I, O>>::elementwise_algorithms(&cpu) {
                let options = PlanOptions::forced(algorithm.name);
                let mut plan = ElementwisePlan::new(&cpu, op, a, b, &options).unwrap();
                for run in 0..2 {
                    let found = plan.run(alpha, a, beta, b).unwrap();
                    let place = format!("{op} by {}, run {run}, {cpu:?}", algorithm.name);
                    assert_eq!(found.bytes(), expected.bytes(), "{place}");
                    assert!(found.order().sorted && found.order().unique, "{place}");
                }
            }
        }
    }
}

/// A matrix in CSR or CSC, sorted and without duplicates.
fn compressed<A: Axis>(coo: &Coo<f64>) -> Compressed<A, f64> {
    Reference.convert(coo, &Duplicates::Sum).unwrap()
}

#[test]
fn sums_and_products_are_those_of_the_reference() {
    for (rows, cols, nnz) in [(0, 3, 0), (3, 0, 0), (2, 3, 0), (1, 1, 2), (31, 33, 100), (900, 700, 30_000)] {
        let (a, b) = (random(rows, cols, nnz), random(rows, cols, nnz / 2));
        check::<Row, f64, i32, i32>(&compressed(&a), &compressed(&b));
        check::<Col, f64, i32, i32>(&compressed(&a), &compressed(&b));
    }
    let a = random::<f64, i32>(50, 50, 300);
    check::<Row, f64, i32, i32>(&compressed(&a), &compressed(&a));
}

/// Rows in no order, with entries of one coordinate.
#[test]
fn unsorted_operands_with_duplicates_are_added_up_first() {
    let unsorted = |nnz| -> Csr<c32, Host, i64, i64> {
        Reference.convert(&random::<c32, i64>(300, 40, nnz), &Duplicates::Keep).unwrap()
    };
    let reversed = |a: &Csr<c32, Host, i64, i64>| {
        let (offsets, mut indices, mut values) = a.clone().into_parts();
        for row in 0..a.nrows() {
            indices[a.pattern().range(row)].reverse();
            values[a.pattern().range(row)].reverse();
        }
        Csr::new_unsorted(a.nrows(), a.ncols(), offsets, indices, values).unwrap()
    };
    let (a, b) = (unsorted(20_000), unsorted(5_000));
    assert!(!a.order().unique && !reversed(&b).order().sorted);
    check(&a, &reversed(&b));
}

/// A row that is cut in several parts, beside short ones.
#[test]
fn long_rows_are_cut_between_columns() {
    let mut random = Random(5);
    let mut matrix = |step: usize| {
        let long = (0..60_000).step_by(step).map(|col| (1, col, 1.0));
        let short = (0..400).map(|k| (2 + k / 100, k * 100, 1.0));
        let entries = long.chain(short).map(|(i, j, _)| (i, j, random.value::<f64>()));
        Csr::<f64>::from_triplets(7, 60_000, entries).unwrap()
    };
    check(&matrix(1), &matrix(2));
    check(&matrix(3), &matrix(2));
    check(&matrix(50_000), &matrix(1));
}

#[test]
fn results_of_one_plan_share_their_pattern() {
    let mut a: Csr<f64> = compressed(&random(200, 200, 20_000));
    let b: Csr<f64> = compressed(&random(200, 200, 20_000 - 1));
    for cpu in backends() {
        let mut plan = ElementwisePlan::new(&cpu, Elementwise::Add, &a, &b, &PlanOptions::default()).unwrap();
        let first = plan.run(1.0, &a, 1.0, &b).unwrap();
        a.scale(3.0);
        let second = plan.run(1.0, &a, 1.0, &b).unwrap();
        assert_eq!(second.pattern_id(), first.pattern_id());
        assert_eq!(second, Reference.add(1.0, &a, 1.0, &b).unwrap());
        assert!(plan.workspace_bytes() > 0);
    }
}

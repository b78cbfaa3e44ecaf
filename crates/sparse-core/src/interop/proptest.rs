//! Strategies of proptest that generate matrices of any shape, order and number of entries.

use crate::format::{Axis, Compressed, Coo};
use crate::scalar::Scalar;
use proptest::collection::{SizeRange, vec};
use proptest::strategy::Strategy;
use std::ops::Range;

/// COO matrices whose entries are in any order and may repeat.
///
/// `rows` and `cols` say how large a matrix may be, `nnz` how many entries one that is not empty may have.
///
/// ```
/// use proptest::prelude::*;
/// use sparse_core::strategy;
/// proptest!(|(a in strategy::coo(0..9, 0..9, 0..20, -1.0..1.0))| {
///     prop_assert!(a.nrows() < 9 && a.nnz() < 20);
/// });
/// ```
pub fn coo<T: Scalar>(
    rows: Range<usize>,
    cols: Range<usize>,
    nnz: impl Into<SizeRange>,
    value: impl Strategy<Value = T> + Clone,
) -> impl Strategy<Value = Coo<T>> {
    let nnz = nnz.into();
    (rows, cols).prop_flat_map(move |(rows, cols)| {
        let entries = if rows == 0 || cols == 0 { SizeRange::from(0) } else { nnz.clone() };
        let entry = (0..rows.max(1), 0..cols.max(1), value.clone());
        vec(entry, entries).prop_filter_map("an extent does not fit the index type", move |entries| {
            Coo::from_triplets(rows, cols, entries).ok()
        })
    })
}

/// CSR or CSC matrices, sorted and without duplicates; as [`coo`], whose repeated entries are added.
///
/// ```
/// use proptest::prelude::*;
/// use sparse_core::{Csr, strategy};
/// proptest!(|(a in strategy::compressed(0..9, 0..9, 0..20, -1.0..1.0))| {
///     let a: Csr<f64> = a;
///     prop_assert_eq!(a.transpose().transpose().to_owned().unwrap(), a);
/// });
/// ```
pub fn compressed<A: Axis, T: Scalar>(
    rows: Range<usize>,
    cols: Range<usize>,
    nnz: impl Into<SizeRange>,
    value: impl Strategy<Value = T> + Clone,
) -> impl Strategy<Value = Compressed<A, T>> {
    coo(rows, cols, nnz, value).prop_filter_map("an extent does not fit the index type", |coo| {
        Compressed::from_triplets(coo.nrows(), coo.ncols(), coo.triplets()).ok()
    })
}

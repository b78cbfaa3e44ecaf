//! Conversions, dense matrices, batches, sort, prune and statistics.

use crate::model::{Triplets, scalar, triplets};
use crate::{for_types, in_every_format};
use proptest::prelude::*;
use sparse_core::op::{DenseToCompressedPlan, Duplicates, Keep, Operations, RowStatistics};
use sparse_core::reference::{Entries, Reference};
use sparse_core::{
    BatchCsc, BatchCsr, Col, Coo, Csc, Csr, DenseBatchView, DenseView, DenseViewMut, Ell, EllLayout, Host,
    Hyb, HybWidth, Index, Matrix, Order, PlanOptions, Result, Row, Scalar, Sell, SellLayout,
};
use std::collections::BTreeMap;

fn round_trips<T: Scalar, I: Index, O: Index>(t: &Triplets, width: usize, layout: SellLayout) -> Result<()> {
    let (csr, sorted) = (t.csr::<T, I, O>()?, t.sorted_csr::<T, I, O>()?);
    let ell: Ell<T, Host, I> = Reference.convert(&csr, &EllLayout::default())?;
    let hyb: Hyb<T, Host, I> = Reference.convert(&csr, &HybWidth::Width(width))?;
    let sell: Sell<T, Host, I, O> = Reference.convert(&csr, &layout)?;
    assert_eq!(Reference.convert::<_, Csr<T, Host, I, O>>(&ell, &())?, csr);
    assert_eq!(Reference.convert::<_, Csr<T, Host, I, O>>(&hyb, &())?, csr);
    assert_eq!(Reference.convert::<_, Csr<T, Host, I, O>>(&sell, &())?, csr);
    let overflow: usize = csr.row_lengths().iter().map(|n| n.saturating_sub(width)).sum();
    assert_eq!(
        (hyb.coo().nnz(), hyb.nnz(), ell.nnz(), sell.nnz()),
        (overflow, csr.nnz(), csr.nnz(), csr.nnz())
    );

    let coo: Coo<T, Host, I> = Reference.convert(&csr, &())?;
    let csc: Csc<T, Host, I, O> = Reference.convert(&csr, &())?;
    let by_columns: Coo<T, Host, I> = Reference.convert(&csc, &())?;
    assert!(coo.triplets().eq(csr.triplets()));
    assert!(by_columns.triplets().eq(csc.triplets()));
    assert_eq!(Reference.convert::<_, Csr<T, Host, I, O>>(&coo, &Duplicates::Keep)?, sorted);
    assert_eq!(Reference.convert::<_, Csc<T, Host, I, O>>(&coo, &Duplicates::Keep)?, csc);
    assert_eq!(Reference.convert::<_, Csr<T, Host, I, O>>(&csc, &())?, sorted);

    assert_eq!(Reference.sort(&csr)?, sorted);
    assert_eq!(Reference.sort(&csc)?, csc);
    assert_eq!(Reference.sort(&coo)?, Reference.convert(&sorted, &())?);
    Ok(())
}

fn duplicates<T: Scalar, I: Index, O: Index>(t: &Triplets) -> Result<()> {
    let mut of_coordinate = BTreeMap::<(usize, usize), Vec<T>>::new();
    for (i, j, value) in t.entries::<T>() {
        of_coordinate.entry((i, j)).or_default().push(value);
    }
    let coo = t.coo::<T, I>()?;
    let csr = |duplicates| -> Result<Csr<T, Host, I, O>> { Reference.convert(&coo, &duplicates) };
    let sum = |values: &Vec<T>| T::from_c64(values.iter().map(|v| v.to_c64()).sum());
    let each = |value: &dyn Fn(&Vec<T>) -> T| -> Vec<_> {
        of_coordinate.iter().map(|(&(i, j), values)| (i, j, value(values))).collect()
    };
    assert!(csr(Duplicates::Sum)?.triplets().eq(each(&sum)));
    assert!(csr(Duplicates::Last)?.triplets().eq(each(&|values| values[values.len() - 1])));
    assert_eq!(csr(Duplicates::Keep)?, t.sorted_csr()?);
    match of_coordinate.iter().find(|(_, values)| values.len() > 1) {
        None => assert!(csr(Duplicates::Error)?.triplets().eq(each(&|values| values[0]))),
        Some(((i, j), values)) => {
            let message = format!("coo: row {i}: column {j} stands {} times", values.len());
            assert_eq!(csr(Duplicates::Error).unwrap_err().to_string(), message);
        }
    }
    Ok(())
}

/// The arrays of a dense matrix with lines two elements longer than need be.
struct Strided<T> {
    data: Vec<T>,
    ld: usize,
    order: Order,
}

/// What padding holds.
const PADDING: (i32, i32) = (99, 0);

impl<T: Scalar> Strided<T> {
    fn new(t: &Triplets, order: Order) -> Self {
        let (lines, line) = if order == Order::RowMajor { (t.rows, t.cols) } else { (t.cols, t.rows) };
        Self { data: vec![scalar(PADDING); lines * (line + 2)], ld: line + 2, order }
    }

    fn of(t: &Triplets, order: Order) -> Result<Self> {
        let mut strided = Self::new(t, order);
        let mut view = DenseViewMut::<T>::new(&mut strided.data, t.rows, t.cols, strided.ld, order)?;
        for (i, row) in t.dense::<T>().into_iter().enumerate() {
            for (j, value) in row.into_iter().enumerate() {
                *view.at_mut(i, j) = T::from_c64(value);
            }
        }
        Ok(strided)
    }
}

fn expands<M: Entries>(a: &M, t: &Triplets) -> Result<()> {
    for order in [Order::RowMajor, Order::ColMajor] {
        let mut written = Strided::<M::Scalar>::new(t, order);
        let view = DenseViewMut::new(written.data.as_mut_slice(), t.rows, t.cols, written.ld, order)?;
        Reference.to_dense(a, view)?;
        assert_eq!(written.data, Strided::of(t, order)?.data);
    }
    Ok(())
}

fn dense<T: Scalar, I: Index, O: Index>(t: &Triplets) -> Result<()> {
    in_every_format!(t.csr::<T, I, O>()?, |a| expands(a, t));
    for order in [Order::RowMajor, Order::ColMajor] {
        let strided = Strided::<T>::of(t, order)?;
        let view = DenseView::<T>::new(&strided.data, t.rows, t.cols, strided.ld, strided.order)?;
        let csr: Csr<T, Host, I, O> = Reference.dense_to_csr(view, Keep::NonZero)?;
        assert!(csr.triplets().eq(t.canonical()));
        let options = PlanOptions::once();
        let mut by_rows =
            DenseToCompressedPlan::<_, Row, T, I, O>::new(&Reference, view, Keep::NonZero, &options)?;
        assert!(by_rows.run_coo(view)?.triplets().eq(t.canonical()));
        let csc = DenseToCompressedPlan::<_, Col, T, I, O>::new(&Reference, view, Keep::NonZero, &options)?
            .run(view)?;
        assert_eq!(csc, Reference.convert(&csr, &())?);
    }
    Ok(())
}

/// The members of a batch, one after the other with a gap, compress as each does by itself.
fn batches<T: Scalar, I: Index, O: Index>(members: &[Triplets]) -> Result<()> {
    let (rows, cols) = (members[0].rows, members[0].cols);
    let mut data = vec![];
    for member in members {
        data.extend(member.dense::<T>().into_iter().flatten().map(T::from_c64));
        data.push(scalar(PADDING));
    }
    let view =
        DenseBatchView::<T>::new(&data, members.len(), rows * cols + 1, (rows, cols), cols, Order::RowMajor)?;
    let options = PlanOptions::once();
    let csr: BatchCsr<T, Host, I, O> =
        DenseToCompressedPlan::<_, Row, _, _, _>::new(&Reference, view, Keep::NonZero, &options)?
            .run_batch(view)?;
    let csc: BatchCsc<T, Host, I, O> =
        DenseToCompressedPlan::<_, Col, _, _, _>::new(&Reference, view, Keep::NonZero, &options)?
            .run_batch(view)?;
    for (k, member) in members.iter().enumerate() {
        let expected: Csr<T, Host, I, O> = csr.member(k).to_owned()?;
        assert!(expected.triplets().eq(member.canonical()));
        assert_eq!(csc.member(k).to_owned()?, Reference.convert(&expected, &())?);
    }
    Ok(())
}

fn prunes<T: Scalar, I: Index, O: Index>(t: &Triplets) -> Result<()> {
    let (csr, coo) = (t.csr::<T, I, O>()?, t.coo::<T, I>()?);
    let pruned = |entries: Vec<(usize, usize, T)>| entries.into_iter().filter(|e| !e.2.is_zero());
    assert!(Reference.prune(&csr, Keep::NonZero)?.triplets().eq(pruned(csr.triplets().collect())));
    assert!(Reference.prune(&coo, Keep::NonZero)?.triplets().eq(pruned(coo.triplets().collect())));
    Ok(())
}

fn statistics<T: Scalar, I: Index, O: Index>(t: &Triplets) -> Result<()> {
    let entries = t.entries::<T>();
    let length = |row| entries.iter().filter(|e| e.0 == row).count();
    let expected = RowStatistics::from_lengths((0..t.rows).map(length));
    in_every_format!(t.csr::<T, I, O>()?, |a| {
        assert_eq!(Reference.row_statistics(a)?, expected);
        Result::Ok(())
    });
    assert_eq!(expected.histogram.iter().sum::<usize>(), t.rows);
    assert_eq!((expected.nnz, expected.rows), (entries.len(), t.rows));
    Ok(())
}

/// Up to three matrices of one shape.
fn members() -> impl Strategy<Value = Vec<Triplets>> {
    prop::collection::vec(triplets(), 1..4).prop_map(|mut members| {
        let (rows, cols) = (members[0].rows, members[0].cols);
        members.iter_mut().for_each(|member| member.reshape(rows, cols));
        members
    })
}

proptest! {
    #[test]
    fn conversions_round_trip(t in triplets(), width in 0..6_usize, slice_height in 1..9_usize, sort_window in 1..20_usize) {
        for_types!(round_trips(&t, width, SellLayout { slice_height, sort_window }));
    }

    #[test]
    fn duplicates_follow_their_policy(t in triplets()) {
        for_types!(duplicates(&t));
    }

    #[test]
    fn dense_matrices_are_compressed_and_expanded(t in triplets()) {
        for_types!(dense(&t));
    }

    #[test]
    fn batches_are_their_members(members in members()) {
        for_types!(batches(&members));
    }

    #[test]
    fn pruning_keeps_what_is_not_zero(t in triplets()) {
        for_types!(prunes(&t));
    }

    #[test]
    fn row_statistics_count_entries(t in triplets()) {
        for_types!(statistics(&t));
    }
}

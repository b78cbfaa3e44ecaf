//! The methods that matrices on the host have: defined for every matrix, also empty ones, unsorted ones and those with
//! duplicates, and compared with a dense model.

use proptest::collection::vec;
use proptest::prelude::*;
use sparse_core::op::{Duplicates, Op, Operations, SpmvPlan};
use sparse_core::reference::Reference;
use sparse_core::{
    Axis, Col, Compressed, Coo, Csc, Csr, Dense, DenseView, EllLayout, Error, Host, HybWidth, Index,
    IndexOrder, Order, PlanOptions, Result, Row, Scalar, SellLayout, block_diag, c64, f16, hstack, kron,
    vstack,
};

type Triplet = (usize, usize, f64);

/// Entries in any order, with repetitions and zeros, and a shape that has them all.
#[derive(Debug, Clone)]
struct Triplets {
    shape: (usize, usize),
    entries: Vec<Triplet>,
}

fn triplets() -> impl Strategy<Value = Triplets> {
    (0..6_usize, 0..6_usize).prop_flat_map(|(rows, cols)| {
        let most = if rows * cols == 0 { 0 } else { 20 };
        let value = (-3..4).prop_map(f64::from);
        vec((0..rows.max(1), 0..cols.max(1), value), 0..=most)
            .prop_map(move |entries| Triplets { shape: (rows, cols), entries })
    })
}

impl Triplets {
    /// The same entries in another shape, without those outside.
    fn reshaped(mut self, rows: usize, cols: usize) -> Self {
        self.shape = (rows, cols);
        self.entries.retain(|entry| entry.0 < rows && entry.1 < cols);
        self
    }

    fn coo(&self) -> Coo<f64> {
        Coo::from_triplets(self.shape.0, self.shape.1, self.entries.iter().copied()).unwrap()
    }

    /// Rows or columns with duplicates, and in input order: unsorted.
    fn compressed<A: Axis>(&self) -> Compressed<A, f64> {
        let (major, _) = A::swap(self.shape.0, self.shape.1);
        let mut entries = self.entries.clone();
        entries.sort_by_key(|entry| A::swap(entry.0, entry.1).0);
        let before = |k| entries.iter().filter(|entry| A::swap(entry.0, entry.1).0 < k).count() as i32;
        let offsets = (0..=major).map(before).collect();
        let indices = entries.iter().map(|entry| A::swap(entry.0, entry.1).1 as i32).collect();
        let values = entries.iter().map(|entry| entry.2).collect();
        Compressed::new_unsorted(self.shape.0, self.shape.1, offsets, indices, values).unwrap()
    }

    /// The sum of the entries at a coordinate.
    fn at(&self, i: usize, j: usize) -> Option<f64> {
        let same = self.entries.iter().filter(|entry| (entry.0, entry.1) == (i, j));
        same.map(|entry| entry.2).reduce(|a, b| a + b)
    }

    fn dense(&self) -> Dense<f64> {
        dense(self.shape, |i, j| self.at(i, j).unwrap_or(0.0))
    }

    fn filtered(&self, keep: impl Fn(usize, usize, f64) -> bool) -> Dense<f64> {
        let mut filtered = self.clone();
        filtered.entries.retain(|&(i, j, value)| keep(i, j, value));
        filtered.dense()
    }
}

fn dense((rows, cols): (usize, usize), element: impl Fn(usize, usize) -> f64) -> Dense<f64> {
    let data = (0..rows).flat_map(|i| (0..cols).map(move |j| (i, j))).map(|(i, j)| element(i, j)).collect();
    Dense::new(data, rows, cols, Order::RowMajor).unwrap()
}

/// The element that two matrices give at a coordinate of the first, or of the second with its start subtracted.
fn either(a: &Dense<f64>, b: &Dense<f64>, start: (usize, usize), i: usize, j: usize) -> f64 {
    if i < a.nrows() && j < a.ncols() {
        return a.at(i, j);
    }
    if i >= start.0 && j >= start.1 { b.at(i - start.0, j - start.1) } else { 0.0 }
}

fn elements_agree<A: Axis>(t: &Triplets) {
    let (a, coo, (rows, cols)) = (t.compressed::<A>(), t.coo(), t.shape);
    for i in 0..=rows {
        for j in 0..=cols {
            assert_eq!((a.get(i, j), coo.get(i, j)), (t.at(i, j), t.at(i, j)));
        }
    }
    let diagonal: Vec<_> = (0..rows.min(cols)).map(|k| t.at(k, k).unwrap_or(0.0)).collect();
    assert_eq!((a.diagonal(), coo.diagonal()), (diagonal.clone(), diagonal));
    assert_eq!((a.to_dense().unwrap(), coo.to_dense().unwrap()), (t.dense(), t.dense()));

    let summed = Compressed::<A, f64>::from_triplets(rows, cols, t.entries.iter().copied()).unwrap();
    assert_eq!((summed.order(), summed.to_dense().unwrap()), (IndexOrder::CANONICAL, t.dense()));
    assert!(summed.triplets().all(|(i, j, value)| summed.get(i, j) == Some(value)));
    let nonzero = Compressed::<A, f64>::from_dense(t.dense().as_view()).unwrap();
    assert_eq!(nonzero, summed.filter(|_, _, value| value != 0.0));
}

fn transforms_agree<A: Axis>(t: &Triplets) {
    let (a, coo) = (t.compressed::<A>(), t.coo());
    let upper = |i, j, _| i <= j;
    assert_eq!(a.upper_triangle().to_dense().unwrap(), t.filtered(upper));
    assert_eq!(coo.upper_triangle().to_dense().unwrap(), t.filtered(upper));
    let lower = |i, j, _| i >= j;
    assert_eq!(a.lower_triangle().to_dense().unwrap(), t.filtered(lower));
    assert_eq!(coo.lower_triangle().to_dense().unwrap(), t.filtered(lower));
    let some = |i: usize, j: usize, value: f64| (i + j).is_multiple_of(2) && value > 0.0;
    assert_eq!(a.filter(some).to_dense().unwrap(), t.filtered(some));
    assert_eq!(coo.filter(some).to_dense().unwrap(), t.filtered(some));

    let tripled = dense(t.shape, |i, j| 3.0 * t.at(i, j).unwrap_or(0.0));
    assert_eq!(a.map_values(|value| 3.0 * value).to_dense().unwrap(), tripled);
    assert_eq!(coo.map_values(|value| 3.0 * value).to_dense().unwrap(), tripled);
    let (mut a, mut coo) = (a, coo);
    a.scale(3.0);
    coo.scale(3.0);
    assert_eq!((a.to_dense().unwrap(), coo.to_dense().unwrap()), (tripled.clone(), tripled));

    let transpose = a.transpose().to_owned().unwrap();
    let expected = dense(a.transpose().shape(), |i, j| a.get(j, i).unwrap_or(0.0));
    assert_eq!(transpose.to_dense().unwrap(), expected);
    assert_eq!(transpose, a.into_transpose());
}

fn combinations_agree<A: Axis>(a: &Triplets, b: &Triplets) {
    let (rows, cols) = a.shape;
    let wide = b.clone().reshaped(b.shape.0, cols);
    let stacked = vstack(&[&a.compressed::<A>(), &wide.compressed()]).unwrap();
    let (top, bottom) = (a.dense(), wide.dense());
    let expected = dense((rows + b.shape.0, cols), |i, j| either(&top, &bottom, (rows, 0), i, j));
    assert_eq!(stacked.to_dense().unwrap(), expected);

    let high = b.clone().reshaped(rows, b.shape.1);
    let beside = hstack(&[&a.compressed::<A>(), &high.compressed()]).unwrap();
    let right = high.dense();
    let expected = dense((rows, cols + b.shape.1), |i, j| either(&top, &right, (0, cols), i, j));
    assert_eq!(beside.to_dense().unwrap(), expected);

    let blocks = block_diag(&[&a.compressed::<A>(), &b.compressed()]).unwrap();
    let second = b.dense();
    let shape = (rows + b.shape.0, cols + b.shape.1);
    assert_eq!(blocks.to_dense().unwrap(), dense(shape, |i, j| either(&top, &second, (rows, cols), i, j)));

    let product = kron(&a.compressed::<A>(), &b.compressed()).unwrap();
    let (n, m) = b.shape;
    let expected = dense((rows * n, cols * m), |i, j| top.at(i / n, j / m) * second.at(i % n, j % m));
    assert_eq!(product.to_dense().unwrap(), expected);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn elements_are_those_of_the_dense_model(t in triplets()) {
        elements_agree::<Row>(&t);
        elements_agree::<Col>(&t);
    }

    #[test]
    fn transforms_are_those_of_the_dense_model(t in triplets()) {
        transforms_agree::<Row>(&t);
        transforms_agree::<Col>(&t);
    }

    #[test]
    fn combinations_are_those_of_the_dense_model(a in triplets(), b in triplets()) {
        combinations_agree::<Row>(&a, &b);
        combinations_agree::<Col>(&a, &b);
    }

    #[test]
    fn entries_pushed_one_by_one_are_those_given_at_once(t in triplets()) {
        let mut pushed = Coo::<f64>::with_capacity(t.shape.0, t.shape.1, t.entries.len()).unwrap();
        for &(i, j, value) in &t.entries {
            pushed.push(i, j, value).unwrap();
        }
        let at_once = t.coo();
        prop_assert_eq!(pushed.order(), at_once.order());
        prop_assert_eq!(&pushed, &at_once);
        let collected: Coo<f64> = t.entries.iter().copied().collect();
        prop_assert!(collected.triplets().eq(at_once.triplets()));
    }
}

#[test]
fn rows_and_columns_are_as_stored() -> Result<()> {
    let a =
        Csr::<f64>::new_unsorted(3, 4, vec![0, 3, 3, 4], vec![2, 0, 2, 1], vec![1.0, 2.0, 4.0, f64::NAN])?;
    assert!(a.row(0).iter().eq([(2, 1.0), (0, 2.0), (2, 4.0)]));
    assert_eq!((a.row(0).get(2), a.row(0).get(1), a.row(0).dim()), (Some(5.0), None, 4));
    assert!(a.get(2, 1).is_some_and(f64::is_nan));
    let sorted = Csr::<f64>::from_triplets(2, 4, [(1, 1, 7.0)])?;
    let unsorted = Csr::<f64>::new_unsorted(2, 4, vec![0, 1, 3], vec![1, 2, 0], vec![7.0, 1.0, 1.0])?;
    assert_eq!(sorted.row(1), unsorted.row(0));
    assert_ne!(sorted.row(0), unsorted.row(0));
    assert!(a.rows().map(|row| row.nnz()).eq([3, 0, 1]));
    assert!((0..3).map(|i| a.row_nnz(i)).eq([3, 0, 1]));
    let columns = a.transpose().to_owned()?;
    assert!(columns.cols().rev().map(|col| col.nnz()).eq([1, 0, 3]));
    assert_eq!((columns.col(0).indices(), columns.col_nnz(1)), (&[2, 0, 2][..], 0));
    Ok(())
}

#[test]
fn empty_matrices_have_every_method() -> Result<()> {
    for (rows, cols) in [(0_usize, 0_usize), (0, 3), (3, 0), (2, 2)] {
        let a = Csr::<f64>::from_triplets(rows, cols, [])?;
        let smaller = rows.min(cols);
        assert_eq!((a.shape(), a.nnz(), a.get(0, 0)), ((rows, cols), 0, None));
        assert_eq!((a.diagonal(), a.rows().len()), (vec![0.0; smaller], rows));
        assert_eq!(a.to_dense()?.shape(), (rows, cols));
        assert_eq!(Csr::from_dense(a.to_dense()?.as_view())?, a);
        assert_eq!(a.transpose().shape(), (cols, rows));
        assert_eq!(
            (a.filter(|_, _, _| true), a.upper_triangle(), a.lower_triangle()),
            (a.clone(), a.clone(), a.clone())
        );
        assert_eq!(vstack(&[&a, &a])?.shape(), (2 * rows, cols));
        assert_eq!(hstack(&[&a, &a])?.shape(), (rows, 2 * cols));
        assert_eq!(block_diag(&[&a, &a])?.shape(), (2 * rows, 2 * cols));
        assert_eq!(kron(&a, &a)?.shape(), (rows * rows, cols * cols));
        assert_eq!(a.to_string().lines().count(), 2);
    }
    assert_eq!(block_diag::<Row, f64, i32, i32>(&[])?.shape(), (0, 0));
    let nothing: Coo<f64> = std::iter::empty().collect();
    assert_eq!((nothing.shape(), nothing.diagonal()), ((0, 0), vec![]));
    Ok(())
}

fn message<M>(result: Result<M>) -> String {
    result.err().expect("the operands do not fit").to_string()
}

#[test]
fn operands_that_do_not_fit_are_named() -> Result<()> {
    let (a, b) = (Csr::<f64>::zeros(2, 3)?, Csr::<f64>::zeros(3, 2)?);
    assert_eq!(message(vstack(&[&a, &a, &b])), "vstack: matrix 2 has 2 columns where matrix 0 has 3");
    assert_eq!(message(hstack(&[&a, &b])), "hstack: matrix 1 has 3 rows where matrix 0 has 2");
    let none: [&Csr<f64>; 0] = [];
    assert_eq!(message(hstack(&none)), "hstack: there are no matrices; at least one is needed");
    assert_eq!(
        message(Csr::<f64>::from_triplets(2, 3, [(0, 3, 1.0)])),
        "coo: entry 0: column 3 is not below 3"
    );

    let wide = Csr::<f64>::zeros(1, 1 << 30)?;
    assert_eq!(message(hstack(&[&wide, &wide])), "columns = 2147483648 does not fit i32");
    assert_eq!(message(block_diag(&[&wide, &wide])), "columns = 2147483648 does not fit i32");
    assert_eq!(message(kron(&wide, &wide)), format!("columns = {} does not fit i32", 1_u64 << 60));
    let widest = Csr::<f64, Host, i64>::from_triplets(1, i64::MAX as usize, [])?;
    assert!(matches!(hstack(&[&widest, &widest, &widest]), Err(Error::IndexOverflow { .. })));
    assert!(matches!(kron(&widest, &widest), Err(Error::IndexOverflow { .. })));
    assert!(matches!(widest.to_dense(), Err(Error::IndexOverflow { .. })));
    Ok(())
}

#[test]
fn pushing_changes_neither_clones_nor_what_plans_were_made_for() -> Result<()> {
    let mut a = Coo::<f64>::from_triplets(2, 2, [(0, 0, 1.0)])?;
    let before = a.clone();
    let mut plan = SpmvPlan::new(&Reference, &a, Op::None, &PlanOptions::once())?;
    a.push(1, 1, 2.0)?;
    assert_eq!((before.nnz(), a.nnz()), (1, 2));
    let mut y = [0.0; 2];
    plan.run(1.0, &before, &[1.0, 1.0], 0.0, &mut y)?;
    assert_eq!(y, [1.0, 0.0]);
    assert!(matches!(plan.run(1.0, &a, &[1.0, 1.0], 0.0, &mut y), Err(Error::PlanMismatch { .. })));
    assert_eq!(message(a.extend([(0, 1, 3.0), (0, 2, 1.0)])), "coo: entry 3: column 2 is not below 2");
    assert_eq!((a.nnz(), a.get(0, 1)), (3, Some(3.0)));
    Ok(())
}

#[test]
#[should_panic(expected = "rows = 2147483648 does not fit i32")]
fn collecting_an_index_that_does_not_fit_panics() {
    let _: Coo<f64> = [((1_usize << 31) - 1, 0, 1.0)].into_iter().collect();
}

/// 2049 is no `f16`: a sum in `f16` would lose the 1 twice.
#[test]
fn sums_and_products_are_rounded_once() -> Result<()> {
    let value = f16::from_f32;
    let entries = [(0, 0, value(2048.0)), (0, 0, value(1.0)), (0, 0, value(1.0))];
    let coo = Coo::<f16>::from_triplets(1, 1, entries)?;
    let unmerged: Csr<f16> = Reference.convert(&coo, &Duplicates::Keep)?;
    let merged = Csr::<f16>::from_triplets(1, 1, entries)?;
    let sum = value(2050.0);
    assert_eq!((coo.get(0, 0), unmerged.get(0, 0), merged.get(0, 0)), (Some(sum), Some(sum), Some(sum)));
    assert_eq!((coo.diagonal(), unmerged.diagonal()), (vec![sum], vec![sum]));
    let mut third = Csr::<f16>::from_triplets(1, 1, [(0, 0, value(3.0))])?;
    third.scale(1.0 / 3.0);
    assert_eq!(third.get(0, 0), Some(value(1.0)));
    Ok(())
}

#[test]
fn explicit_zeros_and_nan_stay() -> Result<()> {
    let a = Csr::<f64>::from_triplets(2, 2, [(0, 0, 0.0), (0, 1, f64::NAN), (1, 1, -0.0)])?;
    assert_eq!(
        (a.nnz(), a.upper_triangle().nnz(), vstack(&[&a, &a])?.nnz(), kron(&a, &a)?.nnz()),
        (3, 3, 6, 9)
    );
    assert!(a.get(1, 1).is_some_and(f64::is_sign_negative));
    let mut nothing = a.clone();
    nothing.scale(0.0);
    assert_eq!((nothing.nnz(), nothing.get(0, 1).map(f64::is_nan)), (3, Some(true)));
    assert_eq!(Csr::<f64>::from_dense(a.to_dense()?.as_view())?.nnz(), 1);
    Ok(())
}

/// Every format becomes the same dense matrix.
#[test]
fn every_format_becomes_dense() -> Result<()> {
    fn csr<T: Scalar, I: Index, O: Index>(t: &[(usize, usize, T)]) -> Result<Csr<T, Host, I, O>> {
        Csr::from_triplets(3, 4, t.iter().copied())
    }
    let a = csr::<f64, i32, i64>(&[(0, 3, 1.0), (2, 0, 2.0), (2, 2, 3.0)])?;
    let dense = a.to_dense()?;
    assert_eq!(dense.data(), &[0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 2.0, 0.0, 3.0, 0.0]);
    let csc: Csc<f64, Host, i32, i64> = Reference.convert(&a, &())?;
    let coo: Coo<f64> = Reference.convert(&a, &())?;
    let ell: sparse_core::Ell<f64> = Reference.convert(&a, &EllLayout::default())?;
    let hyb: sparse_core::Hyb<f64> = Reference.convert(&a, &HybWidth::Width(1))?;
    let sell: sparse_core::Sell<f64, Host, i32, i64> = Reference.convert(&a, &SellLayout::default())?;
    for other in [csc.to_dense()?, coo.to_dense()?, ell.to_dense()?, hyb.to_dense()?, sell.to_dense()?] {
        assert_eq!(other, dense);
    }
    assert_eq!((ell.shape(), hyb.nnz(), sell.nrows(), csc.ncols()), ((3, 4), 3, 3, 4));
    Ok(())
}

#[test]
fn dense_matrices_are_equal_by_their_elements() -> Result<()> {
    let by_rows = Dense::new(vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0], 2, 3, Order::RowMajor)?;
    let by_columns = Dense::new(vec![1.0, 4.0, 2.0, 5.0, 3.0, 6.0], 2, 3, Order::ColMajor)?;
    assert_eq!((&by_rows, by_rows.clone()), (&by_columns, by_rows.clone()));
    assert_ne!(by_rows, Dense::new(by_rows.data().clone(), 3, 2, Order::RowMajor)?);
    assert_ne!(by_rows, Dense::new(by_rows.data().clone(), 2, 3, Order::ColMajor)?);
    assert!(
        Coo::<f64>::from_dense(by_columns.as_view())?
            .triplets()
            .map(|entry| entry.2)
            .eq([1.0, 2.0, 3.0, 4.0, 5.0, 6.0])
    );
    let strided = DenseView::<f64>::new(&[1.0, 9.0, 2.0], 2, 1, 2, Order::RowMajor)?;
    assert_eq!(Csc::<f64>::from_dense(strided)?.diagonal(), [1.0]);
    assert!(matches!(
        Dense::<f64>::zeros(1 << 40, 1 << 22, Order::RowMajor),
        Err(Error::IndexOverflow { .. })
    ));
    Ok(())
}

#[test]
fn long_matrices_are_printed_in_part() -> Result<()> {
    let a = Csc::<f64>::identity(51)?;
    let text = a.to_string();
    let lines: Vec<_> = text.lines().collect();
    assert_eq!(lines[0], "<Compressed Sparse Column sparse matrix of dtype 'f64'");
    assert_eq!(lines[1], "\twith 51 stored elements and shape (51, 51)>");
    assert_eq!((lines[27], lines[28], lines[29]), ("  (24, 24)\t1.0", "  :\t:", "  (26, 26)\t1.0"));
    assert_eq!((lines.len(), lines[53]), (54, "  (50, 50)\t1.0"));
    assert_eq!(Csr::<f64>::identity(50)?.to_string().lines().count(), 53);

    let complex = Coo::<c64>::from_triplets(1, 1, [(0, 0, c64::new(1.0, -2.5))])?;
    assert_eq!(complex.to_string().lines().last(), Some("  (0, 0)\t1-2.5i"));
    assert_eq!(
        format!("{:.2}", Coo::<f64>::from_triplets(1, 1, [(0, 0, 0.125)])?).lines().last(),
        Some("  (0, 0)\t0.12")
    );
    Ok(())
}

#[test]
fn debug_shows_a_few_lines() -> Result<()> {
    let small = format!("{:?}", Csr::<f32>::from_triplets(2, 2, [(0, 1, 5.0)])?);
    assert!(small.starts_with("csr { dtype: F32, shape: (2, 2), nnz: 1, pattern: PatternId("), "{small}");
    assert!(small.ends_with("), offsets: [0, 1, 1], indices: [1], values: [5.0] }"), "{small}");
    let large = format!("{:#?}", Csr::<f32>::identity(100_000)?);
    assert!(large.lines().count() < 12 && large.len() < 500, "{large}");
    assert!(large.contains("    values: [1.0, 1.0, "), "{large}");
    assert!(large.contains("1.0, ...,\n"), "{large}");
    let dense = format!("{:?}", Dense::<f64>::zeros(1000, 1000, Order::ColMajor)?);
    assert!(dense.starts_with("dense { shape: (1000, 1000), order: ColMajor, data: [0.0, "), "{dense}");
    assert!(dense.len() < 200, "{dense}");
    Ok(())
}

#[test]
fn rows_and_columns_are_selected_in_the_order_of_lists() -> Result<()> {
    let entries = [(0, 0, 1.0), (0, 2, 2.0), (1, 1, 3.0), (2, 0, 4.0), (2, 2, 5.0)];
    let a = Csr::<f64>::from_triplets(3, 3, entries)?;
    let permuted = a.select(&[2, 0, 1], &[2, 1, 0])?;
    assert!(permuted.triplets().eq([(0, 2, 4.0), (0, 0, 5.0), (1, 2, 1.0), (1, 0, 2.0), (2, 1, 3.0)]));
    assert!(!permuted.order().sorted);
    let columns: Csc<f64> = Reference.convert(&a, &())?;
    let repeated = columns.select(&[0, 0, 2], &[2, 0])?;
    assert_eq!((repeated.col_ptr(), repeated.row_idx()), (&vec![0, 3, 6], &vec![0, 1, 2, 0, 1, 2]));
    assert_eq!(repeated.values(), &[2.0, 2.0, 5.0, 1.0, 1.0, 4.0]);
    assert_eq!(a.select(&[], &[0])?.shape(), (0, 1));
    assert!(a.select(&[0], &[3]).is_err());
    Ok(())
}

#[test]
fn diagonals_have_the_places_that_their_numbers_say() -> Result<()> {
    for (rows, cols) in [(0_usize, 0_usize), (0, 3), (3, 0), (1, 1), (2, 5), (5, 2), (4, 4)] {
        for k in -6_isize..=6 {
            let places: Vec<_> =
                (0..rows).filter_map(|i| Some((i, i.checked_add_signed(k).filter(|&j| j < cols)?))).collect();
            let values: Vec<f64> = (1..=places.len()).map(|value| value as f64).collect();
            let a = Csr::<f64>::from_diagonals(rows, cols, &[(k, &values)])?;
            assert!(a.triplets().eq(places.iter().zip(&values).map(|(&(i, j), &value)| (i, j, value))));
            let longer = [&values[..], &[0.0]].concat();
            assert!(matches!(
                Csc::<f64>::from_diagonals(rows, cols, &[(k, &longer)]),
                Err(Error::Shape { .. })
            ));
        }
    }
    let extreme = Csr::<f64>::from_diagonals(2, 2, &[(isize::MIN, &[]), (isize::MAX, &[]), (0, &[1.0; 2])])?;
    assert_eq!(extreme, Csr::identity(2)?);
    let twice = Csr::<f64>::from_diagonals(2, 2, &[(0, &[1.0; 2]), (0, &[2.0; 2])])?;
    assert_eq!(twice.values(), &[3.0; 2]);
    Ok(())
}

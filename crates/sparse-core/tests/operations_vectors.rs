//! Worked examples with known answers: a 4 x 4 matrix with an empty row, and three vectors.

use sparse_core::op::{Keep, Op, Operations, ScanKind, ScanOrder, ScanPlan};
use sparse_core::reference::Reference;
use sparse_core::{
    Csc, Csr, Dense, DenseView, Ell, EllLayout, Hyb, HybWidth, Order, PlanOptions, Result, Sell, SellLayout,
};

#[rustfmt::skip]
const FOUR_BY_FOUR: &[f64] = &[
    3.0, 0.0, 1.0, 0.0,
    0.0, 0.0, 0.0, 0.0,
    0.0, 2.0, 4.0, 1.0,
    1.0, 0.0, 0.0, 1.0,
];

fn four_by_four() -> Result<Csr<f64>> {
    Reference.dense_to_csr(DenseView::row_major(FOUR_BY_FOUR, 4, 4)?, Keep::NonZero)
}

#[test]
fn four_by_four_is_compressed_by_rows() -> Result<()> {
    let a = four_by_four()?;
    assert_eq!(a.row_ptr(), &[0, 2, 2, 5, 7]);
    assert_eq!(a.col_idx(), &[0, 2, 1, 2, 3, 0, 3]);
    assert_eq!(a.values(), &[3.0, 1.0, 2.0, 4.0, 1.0, 1.0, 1.0]);
    Ok(())
}

#[test]
fn four_by_four_as_ell_has_five_slots_of_padding() -> Result<()> {
    let ell: Ell<f64> = Reference.convert(&four_by_four()?, &EllLayout::default())?;
    assert_eq!(ell.width(), 3);
    assert_eq!(ell.col_idx(), &[0, -1, 1, 0, 2, -1, 2, 3, -1, -1, 3, -1]);
    assert_eq!(ell.values(), &[3.0, 0.0, 2.0, 1.0, 1.0, 0.0, 4.0, 1.0, 0.0, 0.0, 1.0, 0.0]);
    assert_eq!(ell.col_idx().len() - ell.nnz(), 5);
    Ok(())
}

#[test]
fn four_by_four_as_hyb_of_width_two_overflows_once() -> Result<()> {
    let hyb: Hyb<f64> = Reference.convert(&four_by_four()?, &HybWidth::Width(2))?;
    assert_eq!(hyb.ell().col_idx(), &[0, -1, 1, 0, 2, -1, 2, 3]);
    assert_eq!(hyb.ell().col_idx().len() - hyb.ell().nnz(), 2);
    assert_eq!(hyb.coo().triplets().collect::<Vec<_>>(), [(2, 3, 1.0)]);
    Ok(())
}

#[test]
fn four_by_four_as_sell_sorts_rows_within_windows() -> Result<()> {
    let layout = SellLayout { slice_height: 2, sort_window: 4 };
    let sell: Sell<f64> = Reference.convert(&four_by_four()?, &layout)?;
    assert_eq!(sell.row_order(), &[2, 0, 3, 1]);
    assert_eq!(sell.slice_ptr(), &[0, 6, 10]);
    assert_eq!(sell.col_idx(), &[1, 0, 2, 2, 3, -1, 0, -1, 3, -1]);
    assert_eq!(sell.values(), &[2.0, 3.0, 4.0, 1.0, 1.0, 0.0, 1.0, 0.0, 1.0, 0.0]);
    Ok(())
}

#[test]
fn four_by_four_times_a_vector() -> Result<()> {
    let (a, x) = (four_by_four()?, [1.0, 2.0, 3.0, 4.0]);
    let mut y = [f64::NAN; 4];
    Reference.spmv(Op::None, 1.0, &a, &x, 0.0, &mut y)?;
    assert_eq!(y, [6.0, 0.0, 20.0, 5.0]);
    Reference.spmv(Op::Transpose, 2.0, &a, &x, -1.0, &mut y)?;
    assert_eq!(y, [8.0, 12.0, 6.0, 9.0]);
    Ok(())
}

/// A matrix with `k + 1` at the coordinate `k`, by rows and by columns.
fn by_rows_and_by_columns(
    rows: usize,
    cols: usize,
    coordinates: &[(usize, usize)],
) -> Result<(Csr<f32>, Csc<f32>)> {
    let mut dense = Dense::zeros(rows, cols, Order::RowMajor)?;
    for (k, &(i, j)) in coordinates.iter().enumerate() {
        *dense.as_view_mut().at_mut(i, j) = (k + 1) as f32;
    }
    let csr = Reference.dense_to_csr(dense.as_view(), Keep::NonZero)?;
    let csc = Reference.convert(&csr, &())?;
    Ok((csr, csc))
}

/// The slides count offsets from 1.
fn from_one(offsets: &[i32]) -> Vec<i32> {
    offsets.iter().map(|offset| offset + 1).collect()
}

#[rustfmt::skip]
const E1: [(usize, usize); 16] = [
    (0, 1), (1, 6), (2, 0), (2, 7), (3, 5), (4, 3), (5, 4), (6, 6),
    (7, 4), (7, 7), (8, 1), (8, 2), (8, 4), (9, 0), (9, 3), (9, 6),
];

#[test]
fn goos_e1_by_rows_and_by_columns() -> Result<()> {
    let (csr, csc) = by_rows_and_by_columns(10, 8, &E1)?;
    assert_eq!(from_one(csr.row_ptr()), [1, 2, 3, 5, 6, 7, 8, 9, 11, 14, 17]);
    assert_eq!(csr.col_idx(), &[1, 6, 0, 7, 5, 3, 4, 6, 4, 7, 1, 2, 4, 0, 3, 6]);
    assert_eq!(csr.values(), &(1..=16).map(|v| v as f32).collect::<Vec<_>>());
    assert_eq!(from_one(csc.col_ptr()), [1, 3, 5, 6, 8, 11, 12, 15, 17]);
    assert_eq!(csc.row_idx(), &[2, 9, 0, 8, 8, 4, 9, 5, 7, 8, 3, 1, 6, 9, 2, 7]);
    let values = [3, 14, 1, 11, 12, 6, 15, 7, 9, 13, 5, 2, 8, 16, 4, 10].map(|v| v as f32);
    assert_eq!(csc.values(), &values);
    Ok(())
}

#[rustfmt::skip]
const E3: [(usize, usize); 9] =
    [(0, 2), (0, 4), (1, 7), (2, 2), (3, 2), (4, 6), (6, 3), (7, 5), (8, 1)];

#[test]
fn goos_e3_by_rows_and_by_columns() -> Result<()> {
    let (csr, csc) = by_rows_and_by_columns(9, 9, &E3)?;
    assert_eq!(from_one(csr.row_ptr()), [1, 3, 4, 5, 6, 7, 7, 8, 9, 10]);
    assert_eq!(csr.col_idx(), &[2, 4, 7, 2, 2, 6, 3, 5, 1]);
    assert_eq!(from_one(csc.col_ptr()), [1, 1, 2, 5, 6, 7, 8, 9, 10, 10]);
    assert_eq!(csc.row_idx(), &[8, 0, 2, 3, 6, 0, 7, 4, 1]);
    assert_eq!(csc.values(), &[9.0, 1.0, 4.0, 5.0, 7.0, 2.0, 8.0, 6.0, 3.0]);
    Ok(())
}

fn scan(shape: (usize, usize), order: ScanOrder, kind: ScanKind, input: &[i32]) -> Result<Vec<i32>> {
    let mut output = vec![-1; input.len()];
    ScanPlan::new(&Reference, shape, order, kind, &PlanOptions::once())?.run(input, &mut output)?;
    Ok(output)
}

#[test]
fn goos_e6_one_series() -> Result<()> {
    let scan = |kind| scan((1, 8), ScanOrder::Flat, kind, &E7[..8]);
    assert_eq!(scan(ScanKind::Inclusive)?, [6, 9, 10, 10, 12, 16, 21, 28]);
    assert_eq!(scan(ScanKind::Exclusive)?, [0, 6, 9, 10, 10, 12, 16, 21]);
    Ok(())
}

#[rustfmt::skip]
const E7: [i32; 24] = [
    6, 3, 1, 0, 2, 4, 5, 7,
    1, 7, 4, 6, 2, 5, 3, 0,
    3, 0, 5, 4, 6, 1, 7, 2,
];

#[test]
#[rustfmt::skip]
fn goos_e7_series_after_series() -> Result<()> {
    for order in [ScanOrder::RowMajor, ScanOrder::Flat] {
        let scan = |kind| scan((3, 8), order, kind, &E7);
        assert_eq!(scan(ScanKind::Inclusive)?, [
            6, 9, 10, 10, 12, 16, 21, 28,
            29, 36, 40, 46, 48, 53, 56, 56,
            59, 59, 64, 68, 74, 75, 82, 84,
        ]);
        assert_eq!(scan(ScanKind::Exclusive)?, [
            0, 6, 9, 10, 10, 12, 16, 21,
            28, 29, 36, 40, 46, 48, 53, 56,
            56, 59, 59, 64, 68, 74, 75, 82,
        ]);
    }
    Ok(())
}

#[test]
#[rustfmt::skip]
fn goos_e8_down_the_columns() -> Result<()> {
    let scan = |kind| scan((3, 8), ScanOrder::ColumnMajor, kind, &E7);
    assert_eq!(scan(ScanKind::Inclusive)?, [
        6, 13, 21, 30, 42, 54, 65, 82,
        7, 20, 25, 36, 44, 59, 68, 82,
        10, 20, 30, 40, 50, 60, 75, 84,
    ]);
    assert_eq!(scan(ScanKind::Exclusive)?, [
        0, 10, 20, 30, 40, 50, 60, 75,
        6, 13, 21, 30, 42, 54, 65, 82,
        7, 20, 25, 36, 44, 59, 68, 82,
    ]);
    Ok(())
}

//! SpMV of one call, whose columns nobody has checked, against the serial reference: products, and columns out of
//! range.

use super::spmv::product;
use crate::common::*;
use backend_cpu::{Cpu, Simd};
use proptest::prelude::*;
use sparse_core::op::{Op, SpmvKernel, VectorKernel};
use sparse_core::reference::{Convert, Reference};
use sparse_core::{Csr, Error, Index, PlanOptions, Scalar, c64, f16};
use sparse_generate::{stencil_5, uniform, with_row_lengths};

/// Groups of rows, in each of which a row has the columns of the row before, one further; the last column is in use.
fn shifted_rows() -> impl Strategy<Value = Csr<f64>> {
    let group = (1..70_usize, proptest::collection::btree_set(0..60_usize, 0..27));
    proptest::collection::vec(group, 1..8).prop_map(|groups| {
        let rows = groups.iter().flat_map(|(rows, first)| (0..*rows).map(move |row| (row, first)));
        let rows: Vec<Vec<_>> =
            rows.map(|(row, first)| first.iter().map(|col| col + row).collect()).collect();
        let cols = rows.iter().flatten().max().map_or(0, |last| last + 1);
        let entries =
            rows.iter().enumerate().flat_map(|(row, columns)| columns.iter().map(move |&col| (row, col)));
        let entries = entries.map(|(row, col)| (row, col, ((row * 7 + col) % 9) as f64 - 4.0));
        let coo = sparse_core::Coo::<f64>::from_triplets(rows.len(), cols, entries).unwrap();
        coo.convert(&Default::default()).unwrap()
    })
}

/// `A·x` by the product of one call, with these indices.
fn multiply_once<T: Scalar, I: Index>(
    cpu: &Cpu,
    a: &Csr<T>,
    cols: usize,
    columns: &[I],
) -> Result<Vec<T>, Error> {
    apply_once(cpu, a, Op::None, cols, columns)
}

/// `op(A)·x` by the product of one call, with these indices.
fn apply_once<T: Scalar, I: Index>(
    cpu: &Cpu,
    a: &Csr<T>,
    op: Op,
    cols: usize,
    columns: &[I],
) -> Result<Vec<T>, Error> {
    let (y_len, x_len) = op.orient(a.nrows(), cols);
    let offsets: Vec<I> = a.offsets().iter().map(|offset| I::cast(offset.as_usize())).collect();
    let mut y = output(y_len, 0.0);
    // SAFETY: nobody writes the arrays.
    unsafe {
        let shape = (a.nrows(), cols);
        cpu.multiply_borrowed(shape, (&offsets[..], columns, &a.values()[..]), op, &integers(x_len), &mut y)?;
    }
    Ok(y)
}

#[test]
fn bits_do_not_depend_on_the_number_of_threads() {
    let lengths: Vec<usize> = (0..9000).map(|row| row % 23).collect();
    let matrices = [uniform(3500, 3000, 60, 1), with_row_lengths(&lengths, 4000, 2), stencil_5(150, 150)];
    for a in matrices.map(|a: Result<Csr<f32>, _>| inexact(a.unwrap())) {
        for simd in [Simd::Portable, Simd::detect()] {
            for op in [Op::None, Op::Transpose] {
                let [one, four] = [1, 4].map(|threads| {
                    let cpu = Cpu::with(threads, simd).unwrap();
                    apply_once(&cpu, &a, op, a.ncols(), a.indices()).unwrap()
                });
                assert_eq!(bits(&one), bits(&four), "{} {op}", a.nnz());
            }
        }
    }
}

#[test]
fn rows_without_entries_have_sums_of_zero() {
    fn check_type<T: Scalar>()
    where
        Reference: SpmvKernel<Csr<T>> + VectorKernel<T>,
    {
        // A long row, and more rows than a product in order has where they have entries.
        for (rows, longest) in [(300, 150), (5000, 400), (200_000, 1000)] {
            let lengths: Vec<_> = (0..rows)
                .map(|row| if row == rows / 2 { longest } else { usize::from(row % 7 == 3) })
                .collect();
            let a = with_row_lengths::<T>(&lengths, 2000, 1).unwrap();
            let expected = product(&Reference, &a, Op::None, &PlanOptions::default(), (1.0, 0.0)).unwrap();
            for cpu in backends() {
                let found = multiply_once(cpu, &a, 2000, a.indices()).unwrap();
                assert!(found == expected, "{} {rows} rows", T::DTYPE);
                let last = a.indices().iter().max().unwrap().as_usize();
                assert!(multiply_once(cpu, &a, last, a.indices()).is_err());
            }
        }
    }
    check_type::<f32>();
    check_type::<f64>();
    check_type::<c64>();
    check_type::<f16>();
}

#[test]
fn rows_of_one_entry_have_its_product_and_never_a_negative_zero() {
    for rows in [1, 7, 1000] {
        // A permutation, whose products are −0 where x is 0; then as many entries in other rows.
        let columns: Vec<i32> = (0..rows).map(|row| row * 3 % rows).collect();
        let (one_each, two_in_first) = (
            (0..=rows).collect(),
            (0..=rows).map(|row| if row == 0 { 0 } else { rows.min(row + 1) }).collect(),
        );
        for offsets in [one_each, two_in_first] {
            let (rows, values) = (rows as usize, vec![-2.0; rows as usize]);
            let a = Csr::<f64>::new_unsorted(rows, rows, offsets, columns.clone(), values).unwrap();
            let expected = product(&Reference, &a, Op::None, &PlanOptions::default(), (1.0, 0.0)).unwrap();
            for cpu in backends() {
                let found = multiply_once(cpu, &a, rows, a.indices()).unwrap();
                assert_eq!(bits(&found), bits(&expected), "{rows} rows");
                let mut outside = columns.clone();
                outside[rows / 2] = rows as i32;
                assert!(multiply_once(cpu, &a, rows, &outside).is_err());
            }
        }
    }
}

/// Few entries are added by the calling thread, many by several, unless each of two had about as many sums as entries.
#[test]
fn products_of_one_call_across_the_rows_agree_with_the_reference() {
    fn check_across<T: Scalar>(rows: usize, cols: usize, entries: usize)
    where
        Reference: SpmvKernel<Csr<T>> + VectorKernel<T>,
    {
        let a = uniform::<T>(rows, cols, entries, 5).unwrap();
        for op in [Op::Transpose, Op::ConjugateTranspose] {
            let expected = product(&Reference, &a, op, &PlanOptions::default(), (1.0, 0.0)).unwrap();
            for cpu in backends() {
                let found = apply_once(cpu, &a, op, cols, a.indices()).unwrap();
                assert!(found == expected, "{} {rows} rows {op}", T::DTYPE);
                let last = a.indices().iter().max().unwrap().as_usize();
                assert!(apply_once(cpu, &a, op, last, a.indices()).is_err());
            }
        }
    }
    check_across::<f32>(300, 200, 7);
    check_across::<f64>(3000, 2000, 150);
    check_across::<f64>(40, 250_000, 10_000);
    check_across::<f64>(300, 200, 7);
    check_across::<f16>(40, 20, 3);
    check_across::<c64>(300, 200, 7);
}

/// More entries than the calling thread adds in order; their columns are compared by blocks of rows.
#[test]
fn products_of_one_call_along_many_rows_agree_with_the_reference() {
    let grid = stencil_5::<f64>(190, 190).unwrap();
    for a in [grid, uniform(30_000, 400, 5, 1).unwrap(), uniform(3500, 3000, 60, 2).unwrap()] {
        let expected = product(&Reference, &a, Op::None, &PlanOptions::default(), (1.0, 0.0)).unwrap();
        for cpu in backends() {
            assert_eq!(multiply_once(cpu, &a, a.ncols(), a.indices()).unwrap(), expected);
            for at in [0, a.nnz() / 2, a.nnz() - 1] {
                let mut columns = a.indices().clone();
                columns[at] = a.ncols() as i32;
                assert!(multiply_once(cpu, &a, a.ncols(), &columns).is_err());
            }
        }
    }
}

proptest! {
    #[test]
    fn shifted_rows_agree_with_the_reference(a in shifted_rows(), fault in any::<prop::sample::Index>()) {
        let expected = product(&Reference, &a, Op::None, &PlanOptions::default(), (1.0, 0.0)).unwrap();
        let single = a.with_values(a.values().iter().map(|&value| value as f32).collect()).unwrap();
        let mut wide: Vec<i64> = a.indices().iter().map(|&column| column.into()).collect();
        for cpu in backends() {
            let once = |columns: &[i64]| multiply_once(cpu, &a, a.ncols(), columns);
            prop_assert_eq!(&multiply_once(cpu, &a, a.ncols(), a.indices()).unwrap(), &expected);
            prop_assert_eq!(&once(&wide).unwrap(), &expected);
            let found = multiply_once(cpu, &single, a.ncols(), a.indices()).unwrap();
            prop_assert!(found.iter().zip(&expected).all(|(&found, &expected)| f64::from(found) == expected));
        }
        if wide.is_empty() {
            return Ok(());
        }
        let at = fault.index(wide.len());
        for outside in [-1, a.ncols() as i64, i64::MAX] {
            let column = std::mem::replace(&mut wide[at], outside);
            for cpu in backends() {
                let error = multiply_once(cpu, &a, a.ncols(), &wide).unwrap_err().to_string();
                prop_assert!(error.contains(&format!("column {outside} is")), "{}", error);
            }
            wide[at] = column;
        }
    }

    /// The last columns of a group are out of range together.
    #[test]
    fn shifted_rows_of_a_matrix_that_is_too_narrow_are_refused(a in shifted_rows()) {
        if a.nnz() > 0 {
            for cpu in backends() {
                prop_assert!(multiply_once(cpu, &a, a.ncols() - 1, a.indices()).is_err());
            }
        }
    }
}

//! SpMV and SpMM in every format, SpMV of batches, and the vector operations.

use crate::model::{Triplets, Value, scalar, triplets, value};
use crate::{for_types, in_every_format};
use proptest::collection::vec;
use proptest::prelude::*;
use sparse_core::op::vector::{axpby, dot, nrm2, scal};
use sparse_core::op::{Op, Operations};
use sparse_core::reference::{Entries, Reference};
use sparse_core::{
    BatchCsr, Coo, Csc, DenseView, DenseViewMut, Ell, EllLayout, Host, Hyb, HybWidth, Index, Order, Result,
    Scalar, Sell, SellLayout, c64, f16,
};

/// `alpha` and `beta`.
type Factors = (i32, i32);

fn factor<T: Scalar>(factor: i32) -> T::Acc {
    T::Acc::from_c64(real(factor))
}

fn real(factor: i32) -> c64 {
    c64::from(f64::from(factor))
}

/// Row `i` of op(A)·x, with A written out.
fn row_product<T: Scalar>(op: Op, dense: &[Vec<c64>], i: usize, x: impl Iterator<Item = T>) -> c64 {
    let element = |j: usize| if op.transposes() { dense[j][i] } else { dense[i][j] };
    x.enumerate().map(|(j, x)| op.apply(element(j)) * x.to_c64()).sum()
}

fn multiplies<M: Entries>(
    a: &M,
    dense: &[Vec<c64>],
    x: &[M::Scalar],
    y0: &[M::Scalar],
    (alpha, beta): Factors,
) -> Result<()> {
    for op in Op::ALL {
        let (rows, cols) = op.shape(a);
        let (x, mut y) = (&x[..cols], y0[..rows].to_vec());
        Reference.spmv(op, factor::<M::Scalar>(alpha), a, x, factor::<M::Scalar>(beta), &mut y)?;
        for (i, y) in y.into_iter().enumerate() {
            let product = row_product(op, dense, i, x.iter().copied());
            let expected = product * real(alpha) + y0[i].to_c64() * real(beta);
            assert_eq!(y, M::Scalar::from_c64(expected), "{} {op:?}: element {i}", M::FORMAT);
        }
    }
    Ok(())
}

/// With lines of B and C three elements longer than need be; C's padding must stay.
fn multiplies_dense<M: Entries>(
    a: &M,
    dense: &[Vec<c64>],
    values: &[M::Scalar],
    columns: usize,
    (order_b, order_c): (Order, Order),
    (alpha, beta): Factors,
) -> Result<()> {
    let line = |order, rows| if order == Order::RowMajor { columns } else { rows };
    for op in Op::ALL {
        let (rows, cols) = op.shape(a);
        let b = DenseView::<M::Scalar>::new(values, cols, columns, line(order_b, cols) + 3, order_b)?;
        let (mut data, ld) = (values.to_vec(), line(order_c, rows) + 3);
        let c = DenseViewMut::<M::Scalar>::new(&mut data, rows, columns, ld, order_c)?;
        Reference.spmm(op, factor::<M::Scalar>(alpha), a, b, factor::<M::Scalar>(beta), c)?;

        let mut expected = values.to_vec();
        let mut c = DenseViewMut::<M::Scalar>::new(&mut expected, rows, columns, ld, order_c)?;
        for i in 0..rows {
            for k in 0..columns {
                let product = row_product(op, dense, i, (0..cols).map(|j| b.at(j, k)));
                let c = c.at_mut(i, k);
                *c = M::Scalar::from_c64(product * real(alpha) + c.to_c64() * real(beta));
            }
        }
        assert_eq!(data, expected, "{} {op:?}", M::FORMAT);
    }
    Ok(())
}

fn spmv<T: Scalar, I: Index, O: Index>(
    t: &Triplets,
    vectors: &[(Value, Value)],
    factors: Factors,
) -> Result<()> {
    let (x, y): (Vec<T>, Vec<T>) = vectors.iter().map(|&(x, y)| (scalar::<T>(x), scalar::<T>(y))).unzip();
    let dense = t.dense::<T>();
    in_every_format!(t.csr::<T, I, O>()?, |a| multiplies(a, &dense, &x, &y, factors));
    Ok(())
}

fn spmm<T: Scalar, I: Index, O: Index>(
    t: &Triplets,
    values: &[Value],
    columns: usize,
    orders: (Order, Order),
    factors: Factors,
) -> Result<()> {
    let values: Vec<T> = values.iter().map(|&v| scalar(v)).collect();
    let dense = t.dense::<T>();
    in_every_format!(t.csr::<T, I, O>()?, |a| multiplies_dense(a, &dense, &values, columns, orders, factors));
    Ok(())
}

/// A batch of A twice is the block-diagonal matrix (A, A).
fn batch<T: Scalar, I: Index, O: Index>(
    t: &Triplets,
    vectors: &[(Value, Value)],
    factors: Factors,
) -> Result<()> {
    let (x, y): (Vec<T>, Vec<T>) = vectors.iter().map(|&(x, y)| (scalar::<T>(x), scalar::<T>(y))).unzip();
    let (offsets, indices, values) = t.csr::<T, I, O>()?.into_parts();
    let nnz = values.len();
    let batch: BatchCsr<T, Host, I, O> = BatchCsr::new(
        (t.rows, t.cols),
        vec![0, nnz, 2 * nnz],
        [offsets.clone(), offsets].concat(),
        [indices.clone(), indices].concat(),
        [values.clone(), values].concat(),
    )?;
    let mut diagonal = vec![vec![c64::default(); 2 * t.cols]; 2 * t.rows];
    for (i, row) in t.dense::<T>().into_iter().enumerate() {
        diagonal[i][..t.cols].copy_from_slice(&row);
        diagonal[t.rows + i][t.cols..].copy_from_slice(&row);
    }
    multiplies(&batch, &diagonal, &x, &y, factors)?;
    // As CSC the same arrays are (Aᵀ, Aᵀ).
    let transposed: Vec<Vec<c64>> =
        (0..2 * t.cols).map(|j| diagonal.iter().map(|row| row[j]).collect()).collect();
    multiplies(&batch.into_transpose(), &transposed, &x, &y, factors)
}

fn vectors<T: Scalar>(xy: &[(Value, Value)], (alpha, beta): Factors) -> Result<()> {
    let (x, y): (Vec<T>, Vec<T>) = xy.iter().map(|&(x, y)| (scalar::<T>(x), scalar::<T>(y))).unzip();
    let exact = |values: &[T]| values.iter().map(|v| v.to_c64()).collect::<Vec<_>>();
    let (x64, y64) = (exact(&x), exact(&y));

    let mut z = y.clone();
    axpby(&Reference, factor::<T>(alpha), &x, factor::<T>(beta), &mut z)?;
    let expected: Vec<c64> = x64.iter().zip(&y64).map(|(x, y)| x * real(alpha) + y * real(beta)).collect();
    assert_eq!(exact(&z), expected);

    let mut z = x.clone();
    scal(&Reference, factor::<T>(alpha), &mut z)?;
    assert_eq!(exact(&z), x64.iter().map(|x| x * real(alpha)).collect::<Vec<_>>());

    let expected: c64 = x64.iter().zip(&y64).map(|(x, y)| x.conj() * y).sum();
    assert_eq!(dot::<_, T>(&Reference, &x, &y)?.to_c64(), expected);

    let norm = x64.iter().map(|x| x.norm_sqr()).sum::<f64>().sqrt();
    assert_eq!(
        nrm2::<_, T>(&Reference, &x)?.to_c64(),
        sparse_core::op::RealOf::<T>::from_c64(norm.into()).to_c64()
    );
    Ok(())
}

fn order() -> impl Strategy<Value = Order> {
    prop_oneof![Just(Order::RowMajor), Just(Order::ColMajor)]
}

fn factors() -> impl Strategy<Value = Factors> {
    (-2..3, -2..3)
}

proptest! {
    #[test]
    fn spmv_agrees_with_a_dense_product(t in triplets(), xy in vec((value(), value()), 8), factors in factors()) {
        for_types!(spmv(&t, &xy, factors));
    }

    #[test]
    fn spmm_agrees_with_a_dense_product(
        t in triplets(),
        values in vec(value(), 11 * 11),
        columns in 0..5_usize,
        orders in (order(), order()),
        factors in factors(),
    ) {
        for_types!(spmm(&t, &values, columns, orders, factors));
    }

    #[test]
    fn a_batch_multiplies_as_its_block_diagonal_matrix(
        t in triplets(),
        xy in vec((value(), value()), 16),
        factors in factors(),
    ) {
        for_types!(batch(&t, &xy, factors));
    }

    #[test]
    fn vector_operations_agree_with_their_formulas(xy in vec((value(), value()), 0..20), factors in factors()) {
        vectors::<f64>(&xy, factors).unwrap();
        vectors::<f32>(&xy, factors).unwrap();
        vectors::<c64>(&xy, factors).unwrap();
        vectors::<f16>(&xy, factors).unwrap();
    }
}

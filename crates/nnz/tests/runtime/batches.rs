//! Batches of sparse matrices.

use super::{cpu, dense, example, values};
use nnz::prelude::*;
use nnz::reference::Reference;
use nnz::{Axis, BatchCompressed, CompressOptions, Host, Index, IndexType};

/// Two 2 x 3 matrices with 1 and 3 entries.
pub(super) fn batch<A: Axis, T: Scalar, I: Index, O: Index>() -> BatchCompressed<A, T, Host, I, O> {
    let offsets: &[usize] = if A::IS_ROW { &[0, 1, 1, 0, 2, 3] } else { &[0, 0, 0, 1, 0, 1, 2, 3] };
    let indices: &[usize] = if A::IS_ROW { &[2, 0, 1, 2] } else { &[0, 0, 0, 1] };
    let (offsets, indices) = (offsets.iter().map(|&at| O::cast(at)), indices.iter().map(|&at| I::cast(at)));
    let (offsets, indices) = (offsets.collect(), indices.collect());
    BatchCompressed::<A, T, Host, I, O>::new((2, 3), vec![0, 1, 4], offsets, indices, values(4)).unwrap()
}

/// Compares a batch of one triple of types with the typed layer.
fn check_batch<A: Axis, T: Scalar, I: Index, O: Index>() {
    let typed = batch::<A, T, I, O>();
    let a = Matrix::from_typed(&cpu(), typed.clone()).unwrap();
    let what = format!("{a:?}");
    assert_eq!((a.members(), a.member_shape(), a.shape(), a.nnz()), (Some(2), (2, 3), (4, 6), 4), "{what}");
    let arrays = 3 * size_of::<usize>() + typed.offsets().len() * size_of::<O>();
    assert_eq!(a.bytes(), arrays + 4 * (size_of::<I>() + size_of::<T>()), "{what}");
    assert_eq!(a.index_type(), IndexType::of::<I>(), "{what}");
    for op in Op::ALL {
        let (rows, cols) = a.shape_of(op);
        let (two, minus_one) = (c64::new(2.0, 0.0), c64::new(-1.0, 0.0));
        let mut expected = values::<T>(rows);
        let (alpha, beta) = (T::Acc::from_c64(two), T::Acc::from_c64(minus_one));
        Reference.spmv(op, alpha, &typed, &values(cols), beta, &mut expected).unwrap();
        let x = Vector::from_vec(&cpu(), values::<T>(cols)).unwrap();
        let mut y = Vector::from_vec(&cpu(), values::<T>(rows)).unwrap();
        a.spmv(op, two, &x, minus_one, &mut y).unwrap();
        assert_eq!(y.to_vec::<T>().unwrap(), expected, "{what}, {op}");
    }
    for k in 0..2 {
        let member = a.member(k).unwrap();
        let expected = Matrix::from_typed(&cpu(), typed.member(k).to_owned().unwrap()).unwrap();
        assert_eq!((member.format().name(), member.shape()), (A::FORMAT, (2, 3)), "{what}");
        assert_eq!(dense::<T>(&member), dense::<T>(&expected), "{what}, member {k}");
    }
    let transposed = a.transpose().unwrap();
    assert_eq!((transposed.member_shape(), transposed.shape()), ((3, 2), (6, 4)), "{what}");
    let mut entries = vec![];
    transposed.for_each_entry(&mut |row, col, _| entries.push((col, row))).unwrap();
    entries.sort_unstable();
    assert_eq!(entries, [(0, 2), (2, 3), (2, 4), (3, 5)], "{what}");
    assert_eq!(a.row_lengths().unwrap(), [1, 0, 2, 1], "{what}");
    assert_eq!(a.row_statistics().unwrap().longest, 2, "{what}");
    let doubled = a.scaled(2.0).unwrap().member(1).unwrap();
    let expected = dense::<T>(&a.member(1).unwrap().scaled(2.0).unwrap());
    assert_eq!(dense::<T>(&doubled), expected, "{what}");
}

macro_rules! check_batches {
    ($(($t:ty, $i:ty, $o:ty)),* $(,)?) => {
        $(
            check_batch::<nnz::Row, $t, $i, $o>();
            check_batch::<nnz::Col, $t, $i, $o>();
        )*
    };
}

#[test]
fn batches_multiply_as_block_diagonal_matrices_in_every_type() {
    nnz::for_all_types!(check_batches);
}

#[test]
fn what_batches_lack_their_members_have() {
    let a = Matrix::from_typed(&cpu(), batch::<nnz::Row, f64, i32, i32>()).unwrap();
    let error = |result: nnz::Result<Matrix>| result.unwrap_err().to_string();
    let members = "batch_csr is not supported: the members have it";
    assert_eq!(error(a.sort()), format!("sort of {members}"));
    assert_eq!(a.to_dense().unwrap_err().to_string(), format!("to_dense of {members}"));
    assert_eq!(
        error(a.to_format(Format::Ell)),
        "batch_csr to ell is not supported: it has many matrices: convert each, or all as one, which is block-diagonal"
    );
    assert_eq!(error(a.member(2)), "member: 2 is not below 2, the number of members");
    assert_eq!(error(example().member(0)), "a member of csr is not supported: it is one matrix");
    assert_eq!((example().members(), example().member_shape()), (None, (4, 3)));
    assert_eq!(a.cast(DType::F32).unwrap().format(), Format::BatchCsr);
    assert_eq!(a.to_format(Format::BatchCsr).unwrap().nnz(), 4);
}

#[test]
fn products_of_batches_are_those_of_block_diagonal_matrices() {
    let rows = Matrix::from_typed(&cpu(), batch::<nnz::Row, f64, i32, i64>()).unwrap();
    let columns = Matrix::from_typed(&cpu(), batch::<nnz::Col, f64, i32, i64>()).unwrap();
    for (a, other) in [(rows, Format::BatchCsc), (columns, Format::BatchCsr)] {
        let whole = a.to_block_diagonal().unwrap();
        let b = DenseMatrix::from_vec(&cpu(), values::<f64>(12), 6, 2, Order::RowMajor).unwrap();
        let u = DenseMatrix::from_vec(&cpu(), values::<f64>(8), 4, 2, Order::ColMajor).unwrap();
        let product = |a: &Matrix| a.matmul(&b).unwrap().values().to_vec::<f64>().unwrap();
        assert_eq!(product(&a), product(&whole));
        let scores = a.sddmm(&u, &b).unwrap();
        assert_eq!(scores.members(), Some(2));
        let scores = scores.to_block_diagonal().unwrap();
        assert_eq!(dense::<f64>(&scores), dense::<f64>(&whole.sddmm(&u, &b).unwrap()));
        let other_axis = a.to_format(other).unwrap();
        assert_eq!((other_axis.format(), product(&other_axis)), (other, product(&whole)));
    }
}

#[test]
fn stacks_of_dense_matrices_become_batches() {
    let elements = vec![0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 2.0, 3.0, 0.0, 0.0, 0.0, 1e-9];
    let stack = DenseMatrix::from_vec(&cpu(), elements, 4, 3, Order::RowMajor).unwrap();
    for (format, axis) in [(Format::BatchCsr, Format::Csr), (Format::BatchCsc, Format::Csc)] {
        for index_type in [IndexType::I32, IndexType::I64] {
            let options = CompressOptions { stack: Some((2, 2)), index_type, ..CompressOptions::new(format) };
            let batch = stack.plan_compress(&options).unwrap().run(&stack).unwrap();
            assert_eq!((batch.format(), batch.members(), batch.index_type()), (format, Some(2), index_type));
            let members = [vec![0.0, 0.0, 1.0, 0.0, 0.0, 0.0], vec![2.0, 3.0, 0.0, 0.0, 0.0, 1e-9]];
            for (k, expected) in members.into_iter().enumerate() {
                let member = batch.member(k).unwrap();
                assert_eq!((member.format(), dense::<f64>(&member)), (axis, expected));
            }
            let options = CompressOptions { tolerance: Some(1.0), ..options };
            assert_eq!(stack.plan_compress(&options).unwrap().run(&stack).unwrap().nnz(), 2);
        }
    }
    let refused = |dense: &DenseMatrix, options| dense.plan_compress(&options).unwrap_err().to_string();
    let of_three = CompressOptions { stack: Some((3, 2)), ..CompressOptions::new(Format::BatchCsr) };
    assert_eq!(refused(&stack, of_three), "compress: 3 members of 2 rows are not the 4 rows there are");
    let of_two = CompressOptions { stack: Some((2, 2)), ..CompressOptions::new(Format::BatchCsr) };
    let columns = stack.to_order(Order::ColMajor).unwrap();
    assert_eq!(
        refused(&columns, of_two.clone()),
        "a stack in column-major order is not supported: its members are interleaved; \
         row-major order would fit"
    );
    let single = stack.cast(DType::F32).unwrap();
    let error = stack.plan_compress(&of_two).unwrap().run(&single).unwrap_err().to_string();
    assert_eq!(error, "compress: the plan is f64 on cpu, dense is f32 on cpu; dense as f64 would fit");
    let none = DenseMatrix::from_vec(&cpu(), Vec::<f64>::new(), 0, 3, Order::RowMajor).unwrap();
    let options = CompressOptions { stack: Some((0, 5)), ..CompressOptions::new(Format::BatchCsc) };
    let empty = none.plan_compress(&options).unwrap().run(&none).unwrap();
    assert_eq!((empty.members(), empty.member_shape()), (Some(0), (5, 3)));
}

//! Entries out of order, duplicates, padding and types of indices.

use super::{cpu, dense, formats};
use nnz::prelude::*;
use nnz::{Ell, Host, Hyb, IndexType, Sell};

/// Entries out of order and twice in one place, in every format that takes them.
#[test]
fn entries_in_any_order_keep_their_sum() {
    let device = cpu();
    let (offsets, columns) = (vec![0, 3, 3, 5], vec![2, 0, 2, 1, 0]);
    let unsorted = Csr::<f64>::new_unsorted(3, 3, offsets, columns, vec![1.0, 2.0, 4.0, 8.0, 16.0]).unwrap();
    let expected = [2.0, 0.0, 5.0, 0.0, 0.0, 0.0, 16.0, 8.0, 0.0];
    let a = Matrix::from_typed(&device, unsorted).unwrap();
    let x = Vector::from_slice(&device, &[1.0, 10.0, 100.0]).unwrap();
    for format in formats() {
        let b = a.to_format(format).unwrap();
        assert_eq!(dense(&b), expected, "{format}");
        assert_eq!(b.matvec(&x).unwrap().to_vec::<f64>().unwrap(), [502.0, 0.0, 96.0], "{format}");
        let back = b.transpose().unwrap().transpose().unwrap();
        assert_eq!(dense(&back), expected, "{format}");
    }
    let coo = Coo::<f64>::from_triplets(2, 2, [(1, 0, 1.0), (0, 1, 2.0), (1, 0, 3.0)]).unwrap();
    let coo = Matrix::from_typed(&device, coo).unwrap();
    assert_eq!(coo.transpose().unwrap().nnz(), 3);
    for format in formats().filter(|&format| format != Format::Coo) {
        assert_eq!((coo.to_format(format).unwrap().nnz(), dense(&coo)), (2, vec![0.0, 2.0, 4.0, 0.0]));
    }
}

#[test]
fn indices_keep_their_type_in_every_format() {
    let wide = Csr::<f64, Host, i64, i64>::new(2, 3, vec![0, 2, 3], vec![0, 2, 1], vec![1.0; 3]).unwrap();
    let mixed = Csr::<f64, Host, i32, i64>::new(2, 3, vec![0, 2, 3], vec![0, 2, 1], vec![1.0; 3]).unwrap();
    let device = cpu();
    let (wide, mixed) =
        (Matrix::from_typed(&device, wide).unwrap(), Matrix::from_typed(&device, mixed).unwrap());
    for format in formats() {
        for (a, index) in [(&wide, IndexType::I64), (&mixed, IndexType::I32)] {
            let b = a.to_format(format).unwrap();
            assert_eq!(b.index_type(), index, "{format}");
            assert!(b.offset_type().is_none_or(|offset| offset == IndexType::I64), "{format}");
        }
    }
}

#[test]
fn values_of_padding_are_never_too_large_for_a_type() {
    let ell = || Ell::<f64>::new(2, 1, 1, vec![0, -1], vec![2.0, 1e300]).unwrap();
    let overflow = Coo::<f64>::from_triplets(2, 1, []).unwrap();
    let sell = Sell::<f64>::new((1, 1), 2, vec![0, 2], vec![0], vec![0, -1], vec![2.0, 1e300]).unwrap();
    for a in [
        Matrix::from_typed(&cpu(), ell()),
        Matrix::from_typed(&cpu(), Hyb::new(ell(), overflow).unwrap()),
        Matrix::from_typed(&cpu(), sell),
    ] {
        let a = a.unwrap().cast(DType::F32).unwrap();
        assert_eq!(a.to_dense().unwrap().values().to_vec::<f32>().unwrap()[0], 2.0, "{a:?}");
    }
    let stored = Ell::<f64>::new(1, 1, 1, vec![0], vec![1e300]).unwrap();
    assert!(Matrix::from_typed(&cpu(), stored).unwrap().cast(DType::F32).is_err());
}

#[test]
fn batches_are_made_of_matrices_and_turned_into_one_and_to_the_other_axis() {
    let device = cpu();
    let matrix = |triplets: &[(usize, usize, f64)]| {
        let csr = Csr::<f64>::from_triplets(2, 3, triplets.iter().copied()).unwrap();
        Matrix::from_typed(&device, csr).unwrap()
    };
    let (a, b) = (matrix(&[(0, 2, 1.0), (1, 0, 2.0)]), matrix(&[(1, 1, 3.0)]));
    let batch = Matrix::from_members(&[a.clone(), b.clone()]).unwrap();
    assert_eq!((batch.members(), batch.shape()), (Some(2), (4, 6)));
    assert_eq!(dense(&batch.member(1).unwrap()), dense(&b));

    let columns = batch.to_format(Format::BatchCsc).unwrap();
    assert_eq!(columns.format(), Format::BatchCsc);
    assert_eq!(dense(&columns.member(0).unwrap()), dense(&a));
    let all = columns.to_block_diagonal().unwrap();
    assert_eq!((all.format(), all.shape(), all.nnz()), (Format::Csc, (4, 6), 3));
    assert_eq!(dense(&all.to_batch(2).unwrap().member(1).unwrap()), dense(&b));

    let error = |result: nnz::Result<Matrix>| result.unwrap_err().to_string();
    let single = Matrix::from_members(&[a.clone(), b.cast(DType::F32).unwrap()]);
    let f64s = "csr of f64 with i32 indices and i32 offsets";
    let f32s = "csr of f32 with i32 indices and i32 offsets";
    assert_eq!(
        error(single),
        format!("from_members: matrix 1 is {f32s}, matrix 0 is {f64s}; one type is needed")
    );
    let instead = "csr and csc have it";
    let ell = a.to_format(Format::Ell).unwrap();
    assert_eq!(error(ell.to_batch(1)), format!("to_batch of ell is not supported: {instead}"));
    assert_eq!(error(a.to_block_diagonal()), "to_block_diagonal of csr is not supported: it is one matrix");
    assert!(Matrix::from_members(&[]).is_err());
}

#[test]
fn values_leave_the_pattern_and_come_back() {
    let entries = [(0, 1, 1.0), (0, 0, 4.0), (2, 1, 0.0), (0, 1, 9.0)];
    let coo = Matrix::from_typed(&cpu(), Coo::<f64>::from_triplets(3, 2, entries).unwrap()).unwrap();
    assert_eq!(coo.values().unwrap().to_vec::<f64>().unwrap(), [1.0, 4.0, 0.0, 9.0]); // duplicates stay apart
    let csr = coo.to_format(Format::Csr).unwrap();
    let batch = Matrix::from_members(&[csr.clone(), csr.clone()]).unwrap();
    for a in [coo, csr.to_format(Format::Csc).unwrap(), csr.clone(), batch] {
        let mut plan = a.plan_spmv(Op::None, &PlanOptions::often()).unwrap();
        let roots = a.map_values(f64::sqrt).unwrap();
        let squares = roots.with_values(&a.values().unwrap()).unwrap();
        assert_eq!((roots.format(), roots.nnz(), roots.members()), (a.format(), a.nnz(), a.members()));
        assert_eq!(
            squares.values().unwrap().to_vec::<f64>().unwrap(),
            a.values().unwrap().to_vec::<f64>().unwrap()
        );
        let expected: Vec<f64> = a.values().unwrap().to_vec().unwrap().into_iter().map(f64::sqrt).collect();
        assert_eq!(roots.values().unwrap().to_vec::<f64>().unwrap(), expected);
        let x = Vector::from_vec(&cpu(), vec![1.0; a.ncols()]).unwrap();
        let mut y = Vector::zeros(&cpu(), DType::F64, a.nrows()).unwrap();
        plan.run(1.0, &roots, &x, 0.0, &mut y).unwrap(); // the pattern is the same
    }
    let error = csr.map_values(f32::abs).unwrap_err().to_string();
    assert_eq!(error, "map_values: the values are f64, the function is of f32");
    let error = csr.to_format(Format::Ell).unwrap().values().unwrap_err().to_string();
    assert!(error.starts_with("values of ell is not supported"), "{error}");
}

#[test]
fn stacks_take_any_format_and_widen_indices() {
    let device = cpu();
    let narrow = Matrix::from_typed(&device, Csr::<f64>::new(1, 2, vec![0, 1], vec![1], vec![3.0]).unwrap());
    let wide = Csr::<f64, Host, i64, i64>::new(1, 2, vec![0, 1], vec![0], vec![5.0]).unwrap();
    let (narrow, wide) = (narrow.unwrap(), Matrix::from_typed(&device, wide).unwrap());
    for format in formats() {
        let c = Matrix::vstack(&[&narrow.to_format(format).unwrap(), &wide]).unwrap();
        assert_eq!((c.index_type(), dense(&c)), (IndexType::I64, vec![0.0, 3.0, 5.0, 0.0]), "{format}");
    }
    let csc = narrow.to_format(Format::Csc).unwrap();
    assert_eq!(Matrix::hstack(&[&csc, &csc]).unwrap().format(), Format::Csc);
    assert_eq!(Matrix::hstack(&[&csc, &narrow]).unwrap().format(), Format::Csr);

    let broad = Csr::<f64>::new(1, i32::MAX as usize, vec![0, 1], vec![i32::MAX - 1], vec![7.0]).unwrap();
    let broad = Matrix::from_typed(&device, broad).unwrap();
    let beside = Matrix::hstack(&[&broad, &broad]).unwrap();
    assert_eq!((beside.index_type(), beside.ncols()), (IndexType::I64, 2 * broad.ncols()));
    let mut columns = vec![];
    beside.for_each_entry(&mut |_, column, _| columns.push(column)).unwrap();
    assert_eq!(columns, [broad.ncols() - 1, 2 * broad.ncols() - 1]);
}

#[test]
fn stacks_that_do_not_fit_are_errors() {
    let device = cpu();
    let a = Matrix::from_typed(&device, Csr::<f64>::identity(2).unwrap()).unwrap();
    let single = a.cast(DType::F32).unwrap();
    let reported = Matrix::vstack(&[&a, &a, &single]).unwrap_err().to_string();
    assert_eq!(
        reported,
        "vstack: the matrix is f64 on cpu, another one is f32 on cpu; another one as f64 would fit"
    );
    let reported = Matrix::block_diag(&[]).unwrap_err().to_string();
    assert_eq!(reported, "block_diag: there are no matrices; at least one is needed");
    let taller = Matrix::from_typed(&device, Csr::<f64>::identity(3).unwrap()).unwrap();
    let reported = Matrix::hstack(&[&a, &taller]).unwrap_err().to_string();
    assert_eq!(reported, "hstack: matrix 1 has 3 rows where matrix 0 has 2");
}

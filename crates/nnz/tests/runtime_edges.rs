//! Edges of the run-time layer: empty operands, sizes that fit no memory, entries out of order, memory of others.
#![cfg(feature = "cpu")]

use nnz::distrib::{Local, SharedTransport, Transport};
use nnz::prelude::*;
use nnz::{
    CompressOptions, Each, Ell, Host, HostCsr, Hyb, IndexType, Layout, MatmulPlan, MatrixOnRanks, MatvecPlan,
    Method, Norm, Preconditioning, Reduction, Sell, SolveOptions,
};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

/// The methods that this build has.
fn methods() -> impl Iterator<Item = Method> {
    Method::ALL.iter().copied().filter(|&method| method != Method::Direct || cfg!(feature = "direct"))
}

fn cpu() -> Device {
    "cpu".parse().unwrap()
}

fn formats() -> impl Iterator<Item = Format> {
    Format::ALL.iter().copied().filter(|&format| Layout::try_from(format).is_ok())
}

fn dense(a: &Matrix) -> Vec<f64> {
    a.to_dense().unwrap().values().to_vec().unwrap()
}

#[test]
fn values_may_be_shared_by_threads() {
    fn shared<T: Send + Sync>() {}
    fn sent<T: Send>() {}
    shared::<(Matrix, Vector, DenseMatrix, Device)>();
    sent::<(MatvecPlan, MatmulPlan)>();
}

#[test]
fn matrices_without_rows_columns_or_entries_have_every_operation() {
    let device = cpu();
    for (rows, cols) in [(0, 0), (0, 3), (3, 0), (2, 3)] {
        let a = Matrix::from_typed(&device, Csr::<f64>::zeros(rows, cols).unwrap()).unwrap();
        for format in formats() {
            let a = a.to_format(format).unwrap();
            let what = format!("{a:?}");
            assert_eq!((a.shape(), a.nnz()), ((rows, cols), 0), "{what}");
            assert_eq!(dense(&a), vec![0.0; rows * cols], "{what}");
            assert_eq!(a.transpose().unwrap().shape(), (cols, rows), "{what}");
            assert_eq!(a.to_format(Format::Csr).unwrap().format(), Format::Csr, "{what}");
            assert_eq!(a.cast(DType::C32).unwrap().nnz(), 0, "{what}");
            assert_eq!((&a * 2.0).unwrap().shape(), (rows, cols), "{what}");
            assert_eq!(a.row_statistics().unwrap().longest, 0, "{what}");
            for op in Op::ALL {
                let (rows, cols) = a.shape_of(op);
                let x = Vector::zeros(&device, DType::F64, cols).unwrap();
                let mut y = Vector::from_vec(&device, vec![2.0; rows]).unwrap();
                a.spmv(op, 1.0, &x, 3.0, &mut y).unwrap();
                assert_eq!(y.to_vec::<f64>().unwrap(), vec![6.0; rows], "{what}, {op}");
                for columns in [0, 2] {
                    let b = DenseMatrix::zeros(&device, DType::F64, cols, columns, Order::ColMajor).unwrap();
                    let mut c =
                        DenseMatrix::zeros(&device, DType::F64, rows, columns, Order::RowMajor).unwrap();
                    a.spmm(op, 1.0, &b, 0.0, &mut c).unwrap();
                }
            }
            if matches!(format, Format::Csr | Format::Csc | Format::Coo) {
                assert_eq!(a.sort().unwrap().prune(None).unwrap().shape(), (rows, cols), "{what}");
            }
        }
    }
    let nothing = Matrix::from_typed(&device, Csr::<f64>::zeros(0, 0).unwrap()).unwrap();
    let b = Vector::zeros(&device, DType::F64, 0).unwrap();
    for method in methods() {
        let (x, solution) = nothing.solve(&b, &SolveOptions::by(method)).unwrap();
        assert!(x.is_empty() && solution.converged(), "{method:?}: {solution}");
    }
}

#[test]
fn sizes_that_fit_no_memory_are_errors() {
    let device = cpu();
    let error = Vector::zeros(&device, DType::F64, usize::MAX).unwrap_err();
    assert!(matches!(error, Error::OutOfMemory { .. }), "{error}");
    let side = i32::MAX as usize;
    let wide = Matrix::from_typed(&device, Coo::<f64>::zeros(side, side).unwrap()).unwrap();
    let error = wide.to_dense().unwrap_err().to_string();
    assert!(error.starts_with("out of memory: "), "{error}");
    let error = DenseMatrix::zeros(&device, DType::F32, usize::MAX, 2, Order::RowMajor).unwrap_err();
    assert!(matches!(error, Error::IndexOverflow { .. }), "{error}");
}

/// Offsets, counts and factors of shapes that no memory holds, whose matrices have one entry.
#[test]
fn shapes_that_fit_no_memory_are_errors() {
    fn check<T>(result: nnz::Result<T>) {
        assert!(matches!(result.err(), Some(Error::OutOfMemory { .. })));
    }
    let extent = 1 << 50;
    let hyper = Coo::<f64, Host, i64>::from_triplets(extent, extent, [(7, 7, 1.0)]).unwrap();
    let hyper = Matrix::from_typed(&cpu(), hyper).unwrap();
    check(hyper.row_lengths());
    check(hyper.graph());
    check(hyper.plan_spmm(Op::None, 1, &PlanOptions::default()));
    let wide = Csr::<f64, Host, i64, i64>::new(1, extent, vec![0, 1], vec![3], vec![1.0]).unwrap();
    let wide = Matrix::from_typed(&cpu(), wide).unwrap();
    check(wide.select(&[0], &[5]));
    check(wide.reduce(Each::Row, Reduction::Sum));
    let compress = |rows, stack| {
        let dense = DenseMatrix::from_vec(&cpu(), Vec::<f64>::new(), rows, 0, Order::RowMajor)?;
        let format = if stack { Format::BatchCsr } else { Format::Csr };
        let stack = stack.then_some((1 << 44, 0));
        let options = CompressOptions { stack, index_type: IndexType::I64, ..CompressOptions::to(format) };
        dense.plan_compress(&options)?.run(&dense)
    };
    check(compress(extent, false));
    check(compress(0, true));
    let none = DenseMatrix::from_vec(&cpu(), Vec::<f64>::new(), 0, 4, Order::RowMajor).unwrap();
    let options = CompressOptions { stack: Some((usize::MAX, 0)), ..CompressOptions::to(Format::BatchCsr) };
    assert!(matches!(none.plan_compress(&options), Err(Error::IndexOverflow { .. })));
}

#[test]
fn factors_of_rows_and_columns_are_named() {
    let a = Matrix::from_typed(&cpu(), Csr::<f64>::zeros(2, 3).unwrap()).unwrap();
    let refused = |rows, cols| a.scaled_by(rows, cols).unwrap_err().to_string();
    let zeros = |dtype| Vector::zeros(&cpu(), dtype, 2).unwrap();
    let (two, single) = (zeros(DType::F64), zeros(DType::F32));
    let types =
        "scaled_by: the matrix is f64 on the CPU, rows is f32 on the CPU; rows.cast(DType::F64)? would fit";
    assert_eq!(refused(Some(&single), None), types);
    assert_eq!(refused(None, Some(&two)), "scaled_by: cols has 2 elements where 3 are needed");
}

#[test]
fn tolerances_that_nothing_is_below_are_refused() {
    let a = Matrix::from_typed(&cpu(), Csr::<f64>::identity(2).unwrap()).unwrap();
    for tolerance in [-1.0, f64::NAN] {
        let reason = format!("the tolerance is {tolerance}; it must be at least 0");
        let error = a.prune(Some(tolerance)).unwrap_err().to_string();
        assert_eq!(error, format!("prune: {reason}"));
        let error = a.to_dense().unwrap().to_sparse(Format::Csr, Some(tolerance)).unwrap_err().to_string();
        assert_eq!(error, format!("compress: {reason}"));
    }
}

#[test]
fn dense_matrices_have_as_many_elements_as_places() {
    for len in [5, 7] {
        let error = DenseMatrix::from_vec(&cpu(), vec![1.0; len], 2, 3, Order::RowMajor).unwrap_err();
        assert_eq!(error.to_string(), format!("dense: {len} elements where 2 x 3 needs 6"));
    }
}

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
fn a_matrix_computes_with_the_threads_of_its_device() {
    let a = Matrix::from_typed(&cpu().with_threads(1).unwrap(), Csr::<f64>::identity(2).unwrap()).unwrap();
    let two = cpu().with_threads(2).unwrap();
    assert_eq!(a.to_device(&two).unwrap().device().caps().compute_units, 2);
    assert_eq!(a.device().caps().compute_units, 1);
}

#[test]
fn systems_that_do_not_fit_are_named() {
    let device = cpu();
    let wide = Matrix::from_typed(&device, Csr::<f64>::zeros(2, 3).unwrap()).unwrap();
    let square = Matrix::from_typed(&device, Csr::<f64>::identity(2).unwrap()).unwrap();
    let (two, three) =
        (Vector::zeros(&device, DType::F64, 2).unwrap(), Vector::zeros(&device, DType::F64, 3).unwrap());
    for method in methods() {
        let wide = if method.is_for_least_squares() { (&wide, &three) } else { (&wide, &two) };
        for (a, b) in [wide, (&square, &three)] {
            let error = a.solve(b, &SolveOptions::by(method)).unwrap_err();
            assert!(matches!(error, Error::Shape { .. }), "{method:?}: {error}");
        }
    }
}

#[test]
fn direct_solvers_say_why_there_are_no_factors() {
    let device = cpu();
    let singular = Csr::<f64>::from_triplets(2, 2, [(0, 0, 1.0), (1, 0, 2.0)]).unwrap();
    let singular = Matrix::from_typed(&device, singular).unwrap();
    let mut options = SolveOptions::by(Method::Direct);
    let error = singular.solver(&options).unwrap_err().to_string();
    if !cfg!(feature = "direct") {
        assert!(error.contains("this build lacks the feature `direct`"), "{error}");
        return;
    }
    assert!(error.contains("structurally singular: column 1"), "{error}");
    let a = Matrix::from_typed(&device, Csr::<f64>::identity(2).unwrap()).unwrap();
    assert_eq!(a.solver(&options).unwrap().choice().algorithm, "cholesky");
    options.preconditioner = Preconditioning::Jacobi;
    let error = a.solver(&options).unwrap_err().to_string();
    assert!(error.starts_with("a preconditioner of direct is not supported"), "{error}");
}

/// A matrix and vectors over arrays of this test: products read and write them where they lie, and what is made of the
/// matrix owns its arrays.
#[test]
fn arrays_of_others_are_used_where_they_lie() {
    let device = cpu();
    let (offsets, columns) = ([0, 2, 3], [2, 0, 1]);
    let mut values = [1.0, 2.0, 3.0];
    let (x, mut y) = ([1.0, 10.0, 100.0], [f64::NAN; 2]);
    let values = &raw mut values[..];
    // SAFETY: the arrays outlive the matrix and the vectors, and nobody uses them during a call.
    unsafe {
        let csr = HostCsr::<f64>::borrow(2, 3, &offsets, &columns, values).unwrap();
        let a = Matrix::wrap(&device, csr).unwrap();
        assert_eq!((a.format(), a.bytes()), (Format::Csr, 3 * 4 + 3 * 4 + 3 * 8));
        let made: Vec<_> = formats().skip(1).map(|format| a.to_format(format).unwrap()).collect();
        let transpose = a.transpose().unwrap();
        let (sorted, pruned) = (a.sort().unwrap(), a.prune(Some(1.5)).unwrap());
        let (doubled, single) = ((&a * 2.0).unwrap(), a.cast(DType::F32).unwrap());

        let x = Vector::borrow(&device, (&raw const x[..]).cast_mut()).unwrap();
        let mut result = Vector::borrow(&device, &raw mut y[..]).unwrap();
        a.spmv(Op::None, 1.0, &x, 0.0, &mut result).unwrap();
        assert_eq!(y, [102.0, 30.0]);
        (&mut *values)[0] = -1.0;
        a.spmv(Op::None, 1.0, &x, 0.0, &mut result).unwrap();
        assert_eq!(y, [-98.0, 30.0]);

        let folder = tempfile::tempdir().unwrap();
        a.write(&folder.path().join("a.mtx")).unwrap();
        assert_eq!(dense(&Matrix::read(&device, folder.path().join("a.mtx")).unwrap())[2], -1.0);

        let elements = [2.0, 0.0, 1.0, 0.0, 3.0, 0.0];
        assert_eq!(dense(&a), [2.0, 0.0, -1.0, 0.0, 3.0, 0.0]);
        assert!(made.iter().all(|b| dense(b) == elements));
        assert_eq!(dense(&transpose), [2.0, 0.0, 0.0, 3.0, 1.0, 0.0]);
        assert_eq!((dense(&sorted), dense(&pruned)[2]), (elements.to_vec(), 0.0));
        assert_eq!(dense(&doubled), elements.map(|value| 2.0 * value));
        assert_eq!((single.format(), single.row_statistics().unwrap().longest), (Format::Csr, 2));
    }
    // SAFETY: the pointer is refused.
    let null = unsafe {
        Vector::borrow::<f64>(&device, std::ptr::slice_from_raw_parts_mut(std::ptr::null_mut(), 0))
    };
    assert_eq!(null.unwrap_err().to_string(), "borrow: the pointer to the elements is null");
}

#[test]
fn clones_are_written_apart() {
    let device = cpu();
    let mut memory = [1.0, 2.0];
    // SAFETY: the memory outlives the vector, and nobody else uses it in that time.
    let mut x = unsafe { Vector::borrow(&device, &raw mut memory[..]).unwrap() };
    let copy = x.clone();
    x.scale(3.0).unwrap();
    drop(x);
    assert_eq!((memory, copy.to_vec::<f64>().unwrap()), ([3.0, 6.0], vec![1.0, 2.0]));

    let b = DenseMatrix::from_vec(&device, vec![1.0, 2.0], 1, 2, Order::RowMajor).unwrap();
    let mut c = b.clone();
    c.set_column(0, &Vector::from_vec(&device, vec![5.0]).unwrap()).unwrap();
    assert_eq!(c.values().to_vec::<f64>().unwrap(), [5.0, 2.0]);
    assert_eq!(b.values().to_vec::<f64>().unwrap(), [1.0, 2.0]);
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
    let instead = "csr and csc have it: a.to_format(Format::Csr)?";
    let ell = a.to_format(Format::Ell).unwrap();
    assert_eq!(error(ell.to_batch(1)), format!("to_batch of ell is not supported: {instead}"));
    assert_eq!(error(a.to_block_diagonal()), "to_block_diagonal of csr is not supported: it is one matrix");
    assert!(Matrix::from_members(&[]).is_err());
}

#[test]
fn triangular_systems_are_solved_in_both_formats_and_in_any_order() {
    let device = cpu();
    let csr = Csr::<f64>::new(2, 2, vec![0, 2, 4], vec![0, 1, 0, 1], vec![2.0, 1.0, 6.0, 4.0]).unwrap();
    let borrowed = Matrix::wrap(&device, HostCsr::from(csr.clone())).unwrap();
    let a = Matrix::from_typed(&device, csr).unwrap();
    let b = Vector::from_slice(&device, &[2.0, 10.0]).unwrap();
    let columns = DenseMatrix::from_vec(&device, vec![2.0, 10.0, 4.0, 4.0], 2, 2, Order::ColMajor).unwrap();
    for a in [&a, &borrowed, &a.to_format(Format::Csc).unwrap()] {
        let lower = a.solve_triangular(Triangular::lower(), &b).unwrap();
        assert_eq!(lower.to_vec::<f64>().unwrap(), [1.0, 1.0]);
        let system = Triangular::lower().with_op(Op::Transpose);
        let x = a.solve_triangular_many(system, &columns).unwrap();
        assert_eq!(x.values().to_vec::<f64>().unwrap(), [-6.5, 2.5, -1.0, 1.0]);
    }
    let error = |a: &Matrix, b: &Vector| a.solve_triangular(Triangular::upper(), b).unwrap_err().to_string();
    let single = b.cast(DType::F32).unwrap();
    let types = "the matrix is f64 on the CPU, b is f32 on the CPU; b.cast(DType::F64)? would fit";
    assert_eq!(error(&a, &single), format!("trisolve: {types}"));
    let coo = a.to_format(Format::Coo).unwrap();
    let cure = "csr and csc have it: a.to_format(Format::Csr)?";
    assert_eq!(error(&coo, &b), format!("trisolve of coo is not supported: {cure}"));
    let longer = Vector::zeros(&device, DType::F64, 3).unwrap();
    assert_eq!(error(&a, &longer), "trisolve: the number of rows of B is 3 where 2 is needed");
}

#[test]
fn factors_of_sparse_products_agree_in_type_format_and_indices() {
    let device = cpu();
    let a = Csr::<f64>::new(2, 3, vec![0, 2, 3], vec![0, 2, 1], vec![1.0, 2.0, 3.0]).unwrap();
    let b = Csr::<f64>::new(3, 2, vec![0, 1, 2, 2], vec![1, 0], vec![5.0, 7.0]).unwrap();
    let wide = Csr::<f64, Host, i64, i64>::new(3, 1, vec![0, 0, 0, 0], vec![], vec![]).unwrap();
    let matrix = |csr| Matrix::from_typed(&device, csr).unwrap();
    let (a, b) = (matrix(a), matrix(b));
    let product = [0.0, 5.0, 21.0, 0.0];
    assert_eq!(dense(&(&a * &b).unwrap()), product);
    let by_columns = |a: &Matrix| a.to_format(Format::Csc).unwrap();
    let c = (&by_columns(&a) * &by_columns(&b)).unwrap();
    assert_eq!((c.format(), dense(&c)), (Format::Csc, product.to_vec()));
    let error = |a: &Matrix, b: &Matrix| a.matmul_sparse(b).unwrap_err().to_string();
    assert_eq!(error(&a, &a), "spgemm: the number of rows of B is 2 where 3 is needed");
    let single = b.cast(DType::F32).unwrap();
    let types = "the matrix is f64 on the CPU, B is f32 on the CPU; B.cast(DType::F64)? would fit";
    assert_eq!(error(&a, &single), format!("spgemm: {types}"));
    let coo = a.to_format(Format::Coo).unwrap();
    let cure = "csr and csc have it: a.to_format(Format::Csr)?";
    assert_eq!(error(&coo, &b), format!("spgemm of coo is not supported: {cure}"));
    let wide = Matrix::from_typed(&device, wide).unwrap();
    let indices = "A has i32 indices and i32 offsets, B has i64 indices and i64 offsets, which must agree";
    assert_eq!(error(&a, &wide), format!("spgemm: {indices}"));
}

/// Duplicates are added, formats brought together, borrowed arrays copied.
#[test]
fn sums_take_operands_of_any_format() {
    let device = cpu();
    let coo = Coo::<f64>::from_triplets(2, 3, [(1, 2, 4.0), (0, 1, 1.0), (1, 2, 1.0)]).unwrap();
    let a = Matrix::from_typed(&device, coo).unwrap();
    let csr = Csr::<f64>::new(2, 3, vec![0, 1, 2], vec![0, 2], vec![7.0, -5.0]).unwrap();
    let borrowed = Matrix::wrap(&device, HostCsr::from(csr.clone())).unwrap();
    let b = Matrix::from_typed(&device, csr).unwrap();
    for b in formats().map(|format| b.to_format(format).unwrap()).chain([borrowed]) {
        let sum = (&a + &b).unwrap();
        assert_eq!(
            (sum.format(), sum.nnz(), dense(&sum)),
            (Format::Csr, 3, vec![7.0, 1.0, 0.0, 0.0, 0.0, 0.0])
        );
        assert_eq!(dense(&b.multiply(&a).unwrap()), [0.0, 0.0, 0.0, 0.0, 0.0, -25.0]);
        let kept = if b.format() == Format::Csc { Format::Csc } else { Format::Csr };
        assert_eq!(b.add(&a, 0.0, 2.0).unwrap().format(), kept);
        assert_eq!(dense(&b.select(&[1], &[2, 2]).unwrap()), [-5.0, -5.0]);
    }
    let single = b.cast(DType::F32).unwrap();
    let error = a.add(&single, 1.0, 1.0).unwrap_err().to_string();
    assert_eq!(
        error,
        "add: the matrix is f64 on the CPU, B is f32 on the CPU; B.cast(DType::F64)? would fit"
    );
    assert!(a.add(&b, c64::new(0.0, 1.0), 1.0).is_err());
}

/// Elements that are not stored count, NaN stays, and lines without elements have sums alone.
#[test]
fn reductions_see_zeros_and_nan() {
    let device = cpu();
    let a = Csr::<f64>::new(3, 2, vec![0, 2, 3, 3], vec![0, 1, 1], vec![-2.0, f64::NAN, 3.0]).unwrap();
    let a = Matrix::from_typed(&device, a).unwrap();
    let of = |each, by| a.reduce(each, by).unwrap().to_vec::<f64>().unwrap();
    let largest = of(Each::Row, Reduction::Max);
    assert!(largest[0].is_nan() && largest[1..] == [3.0, 0.0]);
    let least = of(Each::Column, Reduction::Min);
    assert!(least[0] == -2.0 && least[1].is_nan());
    assert!(a.norm(Norm::Frobenius).unwrap().is_nan() && a.norm(Norm::One).unwrap().is_nan());
    let empty = Matrix::from_typed(&device, Csr::<f64>::zeros(2, 0).unwrap()).unwrap();
    assert_eq!(empty.reduce(Each::Row, Reduction::Sum).unwrap().to_vec::<f64>().unwrap(), [0.0; 2]);
    assert_eq!(empty.reduce(Each::Row, Reduction::Norm2).unwrap().to_vec::<f64>().unwrap(), [0.0; 2]);
    assert!(empty.reduce(Each::Row, Reduction::Mean).is_err());
    assert!(empty.reduce(Each::Row, Reduction::Variance).is_err());
    assert_eq!(empty.reduce(Each::Column, Reduction::Min).unwrap().len(), 0);
    assert_eq!(empty.norm(Norm::Infinity).unwrap(), 0.0);
}

/// Entries of one coordinate are added first, and no sum of narrow values overflows.
#[test]
fn norms_add_duplicates_and_hold_large_sums() {
    let entries = [(1, 0, 60_000.0), (0, 2, 3.0), (1, 1, -60_000.0), (0, 2, -7.0)];
    for dtype in [DType::F16, DType::F32, DType::F64, DType::C32] {
        let triplets = entries.map(|(i, j, v)| (i, j, c64::new(v, 0.0)));
        let a = Matrix::from_triplets(&cpu(), dtype, IndexType::I32, (2, 3), &triplets).unwrap();
        for format in [Format::Coo, Format::Csr, Format::Csc, Format::Ell] {
            let a = a.to_format(format).unwrap();
            let large = 60_000.0; // which f16 holds
            assert_eq!(a.norm(Norm::Infinity).unwrap(), 2.0 * large, "{dtype} {format}");
            assert_eq!(a.norm(Norm::One).unwrap(), large, "{dtype} {format}");
            let frobenius = a.norm(Norm::Frobenius).unwrap();
            let expected = (2.0 * large * large + 16.0).sqrt();
            assert!((frobenius / expected - 1.0).abs() < 1e-12, "{dtype} {format}: {frobenius}");
        }
    }
}

/// The products of exact entries are those of one device, whatever the type, the operation and the number of devices.
#[test]
fn rows_on_several_devices_multiply_and_refuse_as_on_one() {
    let entries = [(0, 0, 1.0), (0, 2, 2.0), (2, 1, -3.0), (3, 0, 4.0), (3, 2, 5.0)];
    for dtype in [DType::F32, DType::F64, DType::C32, DType::C64] {
        let triplets = entries.map(|(i, j, v)| (i, j, c64::new(v, 0.0)));
        let a = Matrix::from_triplets(&cpu(), dtype, IndexType::I32, (4, 3), &triplets).unwrap();
        for (devices, op) in [(1, Op::None), (2, Op::None), (6, Op::None), (3, Op::Transpose)] {
            let mut divided = a.distribute(&vec![cpu(); devices]).unwrap();
            assert_eq!(divided.rows().last().unwrap().end, 4);
            let (rows, columns) = a.shape_of(op);
            let numbers = |len: usize| Vector::from_vec(&cpu(), (0..len).map(|k| k as f64 + 1.0).collect());
            let x = numbers(columns).unwrap().cast(dtype).unwrap();
            let (mut y, mut z) =
                (numbers(rows).unwrap().cast(dtype).unwrap(), Vector::zeros(&cpu(), dtype, rows).unwrap());
            z.axpby(1.0, &y, 0.0).unwrap();
            for _ in 0..2 {
                a.spmv(op, 2.0, &x, -1.0, &mut y).unwrap();
                divided.spmv(op, 2.0, &x, -1.0, &mut z).unwrap();
            }
            z.axpby(-1.0, &y, 1.0).unwrap();
            assert_eq!(z.nrm2().unwrap(), 0.0, "{dtype}, {devices} devices, {op:?}");
        }
    }
    let a = Matrix::from_typed(&cpu(), nnz::generate::stencil_5::<f64>(2, 2).unwrap()).unwrap();
    let refused = |result: nnz::Result<Vector>| result.unwrap_err().to_string();
    let mut divided = a.distribute(&[cpu(), cpu()]).unwrap();
    let short = Vector::zeros(&cpu(), DType::F64, 3).unwrap();
    assert_eq!(refused(divided.matvec(&short)), "spmv: the length of x is 3 where 4 is needed");
    let single = Vector::zeros(&cpu(), DType::F32, 4).unwrap();
    assert!(refused(divided.matvec(&single)).contains("x.cast(DType::F64)? would fit"));
    let b = Vector::zeros(&cpu(), DType::F64, 4).unwrap();
    let enqueued = divided.solve(&b, &SolveOptions::by(Method::EnqueuedCg));
    assert!(enqueued.unwrap_err().to_string().contains("CG and BiCGSTAB run on several"));
    assert!(a.distribute(&[]).unwrap_err().to_string().contains("no ranks"));
}

#[test]
fn a_callback_that_panics_ends_the_solver_on_all_devices() {
    let a = Matrix::from_typed(&cpu(), nnz::generate::stencil_5::<f64>(4, 4).unwrap()).unwrap();
    let mut divided = a.distribute(&[cpu(), cpu()]).unwrap();
    let b = Vector::from_vec(&cpu(), vec![1.0; 16]).unwrap();
    let mut x = Vector::zeros(&cpu(), DType::F64, 16).unwrap();
    let options = SolveOptions::by(Method::Cg);
    let solve = AssertUnwindSafe(|| divided.solve_from(&b, &mut x, &options, |_| panic!("planned")));
    let panic = catch_unwind(solve).unwrap_err();
    assert_eq!(panic.downcast_ref::<&str>(), Some(&"planned"));
    assert!(divided.solve(&b, &options).unwrap().1.converged());
}

/// Products, sums and norms of vectors on several devices, which have the bits of those that pass through the host.
#[test]
fn vectors_stay_on_the_devices_of_a_matrix() {
    let entries = [(0, 0, 1.0), (0, 2, 0.3), (2, 1, -3.0), (3, 0, 4.0), (3, 2, 0.7)];
    for dtype in [DType::F32, DType::F64, DType::C32, DType::C64] {
        let triplets = entries.map(|(i, j, v)| (i, j, c64::new(v, 0.0)));
        let a = Matrix::from_triplets(&cpu(), dtype, IndexType::I32, (4, 3), &triplets).unwrap();
        let numbers = |len: usize| Vector::from_vec(&cpu(), (0..len).map(|k| 0.1 * k as f64 + 1.0).collect());
        let numbers = |len| numbers(len).unwrap().cast(dtype).unwrap();
        let bits = |x: &Vector| x.cast(DType::C64).unwrap().to_vec::<c64>().unwrap();
        for devices in [1, 2, 5] {
            let mut divided = a.distribute(&vec![cpu(); devices]).unwrap();
            let (rows, columns) = (numbers(4), numbers(3));
            let on_rows = divided.upload_rows(&rows).unwrap();
            let on_columns = divided.upload_columns(&columns).unwrap();
            for op in Op::ALL {
                let (x, mut y) = if op.transposes() { (&rows, numbers(3)) } else { (&columns, numbers(4)) };
                let resident = if op.transposes() { &on_rows } else { &on_columns };
                let upload =
                    if op.transposes() { divided.upload_columns(&y) } else { divided.upload_rows(&y) };
                let mut z = upload.unwrap();
                for _ in 0..2 {
                    divided.spmv(op, 2.0, x, -1.0, &mut y).unwrap();
                    divided.spmv_resident(op, 2.0, resident, -1.0, &mut z).unwrap();
                }
                assert_eq!(bits(&z.to_host().unwrap()), bits(&y), "{dtype}, {devices} devices, {op:?}");
            }
            let mut sum = divided.matvec_resident(&on_columns).unwrap();
            assert_eq!(bits(&sum.to_host().unwrap()), bits(&divided.matvec(&columns).unwrap()));
            sum.axpby(2.0, &on_rows, 0.0).unwrap();
            assert!((sum.dot(&on_rows).unwrap().re - 2.0 * rows.dot(&rows).unwrap().re).abs() < 1e-5);
            assert!((sum.nrm2().unwrap() - 2.0 * rows.nrm2().unwrap()).abs() < 1e-5);
            assert_eq!((sum.len(), sum.dtype()), (4, dtype));
        }
    }
}

#[test]
fn vectors_on_devices_refuse_what_is_not_their_matrix() {
    let a =
        Matrix::from_typed(&cpu(), Csr::<f64>::new(2, 3, vec![0, 1, 2], vec![0, 2], vec![1.0; 2]).unwrap());
    let a = a.unwrap();
    let [mut first, mut second] = [(), ()].map(|()| a.distribute(&[cpu(), cpu()]).unwrap());
    let (three, two) = ([1.0; 3], [1.0; 2]);
    let [three, two] = [&three[..], &two[..]].map(|x| Vector::from_slice(&cpu(), x).unwrap());
    let x = first.upload_columns(&three).unwrap();
    let mut y = first.upload_rows(&two).unwrap();
    let foreign = second.upload_columns(&three).unwrap();
    let refused = |result: nnz::Result<()>| result.unwrap_err().to_string();
    let told = refused(first.spmv_resident(Op::None, 1.0, &foreign, 0.0, &mut y));
    assert!(told.contains("goes with the matrix that it was made for"), "{told}");
    let mut other_x = first.upload_columns(&three).unwrap();
    assert!(refused(other_x.axpby(1.0, &foreign, 1.0)).contains("the matrix that it was made for"));
    let told = refused(first.spmv_resident(Op::Transpose, 1.0, &x, 0.0, &mut y));
    assert!(told.contains("x is not divided as the rows of the matrix"), "{told}");
    assert!(refused(y.axpby(1.0, &x, 1.0)).contains("one vector is divided as the rows"));
    assert!(refused(first.spmv_resident(Op::None, c64::new(0.0, 1.0), &x, 0.0, &mut y)).contains("complex"));
    assert!(first.upload_rows(&three).unwrap_err().to_string().contains("the length of y is 3 where 2"));
    first.spmv_resident(Op::None, 1.0, &x, 0.0, &mut y).unwrap();
    assert_eq!(y.to_host().unwrap().to_vec::<f64>().unwrap(), [1.0, 1.0]);
}

/// What the root lacks or no rank can do is the same kind of error on every rank, and nobody waits.
#[test]
fn rows_on_ranks_refuse_on_all_ranks() {
    let told = Local::run(3, |rank| {
        let is_root = rank.rank() == 0;
        let rank: Arc<dyn SharedTransport> = Arc::new(rank);
        let a = Matrix::from_typed(&cpu(), nnz::generate::stencil_5::<f64>(2, 2).unwrap()).unwrap();
        let (half, a) = (a.cast(DType::F16).unwrap(), is_root.then_some(a));
        let refused =
            |a: Option<&Matrix>| MatrixOnRanks::from_root(rank.clone(), &cpu(), a).unwrap_err().to_string();
        let [none, half] = [refused(None), refused(is_root.then_some(&half))];
        let mut a = MatrixOnRanks::from_root(rank.clone(), &cpu(), a.as_ref()).unwrap();
        let zeros = |dtype, len| is_root.then(|| Vector::zeros(&cpu(), dtype, len).unwrap());
        let mut product = |x: Option<&Vector>| a.matvec(x).unwrap_err().to_string();
        let (short, single) = (zeros(DType::F64, 3), zeros(DType::F32, 4));
        let products = [product(None), product(short.as_ref()), product(single.as_ref())];
        let dense =
            |rows| is_root.then(|| DenseMatrix::zeros(&cpu(), DType::F64, rows, 2, Order::ColMajor).unwrap());
        let dense_products = [None, dense(3)].map(|b| a.matmul(b.as_ref()).unwrap_err().to_string());
        assert_eq!(
            a.matmul(dense(4).as_ref()).unwrap().map(|c| c.order()),
            is_root.then_some(Order::ColMajor)
        );
        let b = zeros(DType::F64, 4);
        let minres = a.solve(b.as_ref(), &SolveOptions::by(Method::Minres)).unwrap_err().to_string();
        let after = a.matvec(b.as_ref()).unwrap().map(|y| y.len());
        assert_eq!(after, is_root.then_some(4));
        [vec![none, half], products.to_vec(), dense_products.to_vec(), vec![minres]].concat()
    });
    let reasons = [
        "rank 0 has no matrix",
        "f32, f64, c32 and c64 can be distributed",
        "rank 0 has no vectors",
        "the length of x is 3 where 4 is needed",
        "x.cast(DType::F64)? would fit",
        "rank 0 has no matrices",
        "B is 3 x 2 where 4 x 2 is needed",
        "CG and BiCGSTAB run on several",
    ];
    for told in told {
        for (told, reason) in told.iter().zip(reasons) {
            assert!(told.contains(reason), "{told}");
        }
    }
}

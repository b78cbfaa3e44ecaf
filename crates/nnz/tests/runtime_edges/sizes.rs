//! Empty operands, and sizes that fit no memory.

use super::{cpu, dense, formats, methods};
use nnz::prelude::*;
use nnz::{CompressOptions, Each, Host, IndexType, Method, Norm, Reduction, SolveOptions};

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
        let (x, solution) = nothing.solve(&b, &SolveOptions::new(method)).unwrap();
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

/// Offsets, counts, sums and factors of shapes that no memory holds, whose matrices have one or two entries.
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
    // Transposing takes memory for the entries alone.
    let moved = Coo::<f64, Host, i64>::from_triplets(9, extent, [(7, 2, 1.0), (0, 1 << 40, 2.0)]).unwrap();
    let mut entries = vec![];
    let moved = Matrix::from_typed(&cpu(), moved).unwrap().transpose().unwrap();
    moved.for_each_entry(&mut |row, column, value| entries.push((row, column, value.re))).unwrap();
    assert_eq!((moved.shape(), entries), ((extent, 9), vec![(2, 7, 1.0), (1 << 40, 0, 2.0)]));
    let wide = Csr::<f64, Host, i64, i64>::new(1, extent, vec![0, 1], vec![3], vec![1.0]).unwrap();
    let wide = Matrix::from_typed(&cpu(), wide).unwrap();
    // Selections take memory for what they choose alone.
    assert_eq!(wide.select(&[0, 0], &[5, 3]).unwrap().nnz(), 2);
    assert_eq!(wide.select(&[0], 1..extent).unwrap().shape(), (1, extent - 1));
    assert_eq!(
        wide.reduce(Each::Row, Reduction::Mean).unwrap().to_vec::<f64>().unwrap(),
        [1.0 / extent as f64]
    );
    let far = 1 << 62;
    let row =
        Csr::<f64, Host, i64, i64>::new(1, far, vec![0, 2], vec![0, far as i64 - 1], vec![1.0; 2]).unwrap();
    let ends =
        Coo::<f64, Host, i64>::from_triplets(far, far, [(far - 1, far - 1, 1.0), (0, 0, 1.0)]).unwrap();
    let (row, ends) = (Matrix::from_typed(&cpu(), row).unwrap(), Matrix::from_typed(&cpu(), ends).unwrap());
    for options in [PlanOptions::default(), PlanOptions::forced("chunked_scatter")] {
        check(row.plan_spmv(Op::Transpose, &options));
        check(ends.plan_spmv(Op::None, &options));
        check(ends.plan_spmv(Op::ConjugateTranspose, &options));
    }
    for method in [Method::Lsqr, Method::Lsmr] {
        check(wide.solver(&SolveOptions::new(method)));
    }
    for method in Method::ALL.iter().copied().filter(|&method| method != Method::Direct) {
        check(hyper.solver(&SolveOptions::new(method)));
        check(ends.solver(&SolveOptions::new(method)));
    }
    let compress = |rows, stack| {
        let dense = DenseMatrix::from_vec(&cpu(), Vec::<f64>::new(), rows, 0, Order::RowMajor)?;
        let format = if stack { Format::BatchCsr } else { Format::Csr };
        let stack = stack.then_some((1 << 44, 0));
        let options = CompressOptions { stack, index_type: IndexType::I64, ..CompressOptions::new(format) };
        dense.plan_compress(&options)?.run(&dense)
    };
    check(compress(extent, false));
    check(compress(0, true));
    let none = DenseMatrix::from_vec(&cpu(), Vec::<f64>::new(), 0, 4, Order::RowMajor).unwrap();
    let options = CompressOptions { stack: Some((usize::MAX, 0)), ..CompressOptions::new(Format::BatchCsr) };
    assert!(matches!(none.plan_compress(&options), Err(Error::IndexOverflow { .. })));
}

/// Norms, symmetries, statistics, sums and selections of COO take memory for its entries alone.
#[test]
fn hypersparse_matrices_are_not_counted_line_by_line() {
    let extent = 1 << 60;
    let last = extent - 1;
    let coo = |entries: &[(usize, usize, f64)]| {
        let coo = Coo::<f64, Host, i64>::from_triplets(extent, extent, entries.iter().copied()).unwrap();
        Matrix::from_typed(&cpu(), coo).unwrap()
    };
    let a = coo(&[(last, 3, 2.0), (3, last, 1.0), (7, 7, 5.0), (3, last, 3.0)]);
    let norms = [Norm::Frobenius, Norm::One, Norm::Infinity].map(|norm| a.norm(norm).unwrap());
    assert_eq!(norms, [45.0_f64.sqrt(), 5.0, 5.0]);
    let symmetry = a.symmetry().unwrap().unwrap();
    assert_eq!((symmetry.mirrored, symmetry.pattern, symmetry.symmetric), (3, true, false));
    assert!(coo(&[(last, 3, -2.0), (3, last, 2.0)]).symmetry().unwrap().unwrap().skew);
    let rows = a.row_statistics().unwrap();
    assert_eq!((rows.rows, rows.nnz, rows.empty, rows.longest), (extent, 4, extent - 3, 2));
    assert_eq!(rows.histogram, [extent - 3, 2, 1]);
    let chosen = a.select(&[last, 5, 3, last], &[last, 3]).unwrap();
    assert_eq!((chosen.shape(), chosen.format()), ((4, 2), Format::Csr));
    assert_eq!(dense(&chosen), [0.0, 2.0, 0.0, 0.0, 4.0, 0.0, 0.0, 2.0]);
    assert_eq!(dense(&a.select(2..9, 3..8).unwrap())[29], 5.0);
    let error = a.select(&[extent], ..).unwrap_err().to_string();
    assert_eq!(error, format!("select: row {extent} is not below {extent}"));
    let none = coo(&[]);
    assert_eq!((none.norm(Norm::One).unwrap(), none.row_statistics().unwrap().empty), (0.0, extent));
    let wide = Coo::<f64, Host, i64>::from_triplets(2, extent, [(1, last, 2.0), (1, 5, -0.5)]).unwrap();
    let wide = Matrix::from_typed(&cpu(), wide).unwrap();
    let sums = |a: &Matrix, each| a.reduce(each, Reduction::Sum).unwrap().to_vec::<f64>().unwrap();
    assert_eq!(sums(&wide, Each::Row), [0.0, 1.5]);
    assert_eq!(sums(&wide.transpose().unwrap(), Each::Column), [0.0, 1.5]);
}

/// Sums, products element by element and chosen ranges of COO take memory for its entries alone, and are COO.
#[test]
fn hypersparse_results_have_entries_alone() {
    let extent = 1 << 60;
    let last = extent - 1;
    let coo = |shape: (usize, usize), entries: &[(usize, usize, f64)]| {
        let coo = Coo::<f64, Host, i64>::from_triplets(shape.0, shape.1, entries.iter().copied()).unwrap();
        Matrix::from_typed(&cpu(), coo).unwrap()
    };
    let entries_of = |a: &Matrix| {
        let mut entries = vec![];
        a.for_each_entry(&mut |row, column, value| entries.push((row, column, value.re))).unwrap();
        (a.format(), a.shape(), entries)
    };
    let square = (extent, extent);
    // Unsorted, with one coordinate twice.
    let a = coo(square, &[(last, 3, 2.0), (3, last, 1.0), (7, 7, 5.0), (3, last, 3.0)]);
    let b = coo(square, &[(9, 0, 1.0), (7, 7, 2.0), (last, 3, -2.0)]);
    let sum = a.add(&b, 1.0, 2.0).unwrap();
    let expected = vec![(3, last, 4.0), (7, 7, 9.0), (9, 0, 2.0), (last, 3, -2.0)];
    assert_eq!(entries_of(&sum), (Format::Coo, square, expected));
    let product = a.multiply(&b).unwrap();
    assert_eq!(entries_of(&product), (Format::Coo, square, vec![(7, 7, 10.0), (last, 3, -4.0)]));
    assert_eq!(a.symmetrize().unwrap().nnz(), 3);
    let none = coo(square, &[]);
    assert_eq!(entries_of(&none.add(&none, 1.0, 1.0).unwrap()), (Format::Coo, square, vec![]));
    for (shape, other) in [((extent, 9), "columns"), ((9, extent), "rows")] {
        let error = a.add(&coo(shape, &[]), 1.0, 1.0).unwrap_err().to_string();
        assert_eq!(error, format!("add: the number of {other} of B is 9 where {extent} is needed"));
    }

    let chosen = a.select(4.., 3..8).unwrap();
    assert_eq!(entries_of(&chosen), (Format::Coo, (extent - 4, 5), vec![(3, 4, 5.0), (last - 4, 0, 2.0)]));
    let chosen = a.select(.., &[last, 3]).unwrap();
    assert_eq!(entries_of(&chosen), (Format::Coo, (extent, 2), vec![(3, 0, 4.0), (last, 1, 2.0)]));
    let few = a.add(&b, 1.0, 0.0).unwrap();
    assert!(few.is_hypersparse() && !coo((9, 9), &[(1, 1, 1.0)]).is_hypersparse());
}

#[test]
fn dense_matrices_have_as_many_elements_as_places() {
    for len in [5, 7] {
        let error = DenseMatrix::from_vec(&cpu(), vec![1.0; len], 2, 3, Order::RowMajor).unwrap_err();
        assert_eq!(error.to_string(), format!("dense: {len} elements where 2 x 3 needs 6"));
    }
}

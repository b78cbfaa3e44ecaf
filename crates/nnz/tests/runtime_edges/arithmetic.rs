//! Sums, products, reductions and norms of sparse matrices.

use super::{cpu, dense, formats};
use nnz::prelude::*;
use nnz::{Each, Host, HostCsr, IndexType, Norm, Reduction};

#[test]
fn factors_of_rows_and_columns_are_named() {
    let a = Matrix::from_typed(&cpu(), Csr::<f64>::zeros(2, 3).unwrap()).unwrap();
    let refused = |rows, cols| a.scaled_by(rows, cols).unwrap_err().to_string();
    let zeros = |dtype| Vector::zeros(&cpu(), dtype, 2).unwrap();
    let (two, single) = (zeros(DType::F64), zeros(DType::F32));
    let types = "scaled_by: the matrix is f64 on cpu, rows is f32 on cpu; rows as f64 would fit";
    assert_eq!(refused(Some(&single), None), types);
    assert_eq!(refused(None, Some(&two)), "scaled_by: cols has 2 elements where 3 are needed");
    for format in [Format::Ell, Format::Hyb, Format::Sell] {
        let error = a.to_format(format).unwrap().scaled_by(Some(&two), None).unwrap_err().to_string();
        assert_eq!(error, format!("scaled_by of {format} is not supported: csr, csc and coo have it"));
    }
}

#[test]
fn factors_whose_product_would_overflow_scale_one_after_the_other() {
    let a =
        Matrix::from_typed(&cpu(), Csr::<f32>::new(1, 1, vec![0, 1], vec![0], vec![1e-30]).unwrap()).unwrap();
    let factor = Vector::from_slice(&cpu(), &[1e20_f32]).unwrap();
    let scaled = a.scaled_by(Some(&factor), Some(&factor)).unwrap();
    let element = scaled.to_dense().unwrap().values().to_vec::<f32>().unwrap()[0];
    assert!((element / 1e10 - 1.0).abs() < 1e-6, "{element}");
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
fn factors_of_other_formats_are_checked_before_they_are_converted() {
    let device = cpu();
    // Offsets of its rows would take 8 TB.
    let tall = Coo::<f64, Host, i64>::from_triplets(1 << 40, 2, [(1 << 39, 1, 3.0)]).unwrap();
    let tall = Matrix::from_typed(&device, tall).unwrap();
    let b = Matrix::from_typed(&device, Csr::<f64>::identity(3).unwrap()).unwrap();
    let error = |b: &Matrix| (&tall * b).unwrap_err().to_string();
    assert_eq!(error(&b), "spgemm: the number of rows of B is 3 where 2 is needed");
    let types = "the matrix is f64 on cpu, B is f32 on cpu; B as f64 would fit";
    assert_eq!(error(&b.cast(DType::F32).unwrap()), format!("spgemm: {types}"));
}

#[test]
fn factors_of_sparse_products_agree_in_type_format_and_indices() {
    let device = cpu();
    let a = Csr::<f64>::new(2, 3, vec![0, 2, 3], vec![0, 2, 1], vec![1.0, 2.0, 3.0]).unwrap();
    let b = Csr::<f64>::new(3, 2, vec![0, 1, 2, 2], vec![1, 0], vec![5.0, 7.0]).unwrap();
    let wide = Csr::<f64, Host, i64, i64>::new(3, 1, vec![0, 0, 1, 1], vec![0], vec![2.0]).unwrap();
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
    let types = "the matrix is f64 on cpu, B is f32 on cpu; B as f64 would fit";
    assert_eq!(error(&a, &single), format!("spgemm: {types}"));
    let coo = a.to_format(Format::Coo).unwrap();
    let cure = "csr and csc have it";
    assert_eq!(error(&coo, &b), format!("spgemm of coo is not supported: {cure}"));
    let wide = Matrix::from_typed(&device, wide).unwrap();
    for product in [a.matmul_sparse(&wide), a.matmul_in_chunks(&wide, None)] {
        let product = product.unwrap();
        let parts = (product.index_type(), product.offset_type(), dense(&product));
        assert_eq!(parts, (IndexType::I64, Some(IndexType::I64), vec![0.0, 6.0]));
    }
    let narrow = Csr::<f64>::new(2, 1, vec![0, 0, 1], vec![0], vec![0.0]).unwrap();
    let narrow = Matrix::from_typed(&device, narrow).unwrap();
    for masked in [a.matmul_masked(&wide, &narrow), a.matmul_masked_in_chunks(&wide, &narrow, Some(1))] {
        let masked = masked.unwrap();
        assert_eq!((masked.index_type(), dense(&masked)), (IndexType::I64, vec![0.0, 6.0]));
    }
}

#[test]
fn refusals_say_what_would_be_right() {
    let a =
        Matrix::from_typed(&cpu(), Csr::<f32>::new(1, 2, vec![0, 1], vec![1], vec![1.0]).unwrap()).unwrap();
    let error = a.symmetrize().unwrap_err().to_string();
    assert_eq!(error, "symmetrize: a square matrix is needed, this one is 1 x 2");
    let error = a.add(&a, 1e300, 1.0).unwrap_err().to_string();
    assert_eq!(error, "add: alpha = 1e300 does not fit f32");
    let other = a.select(.., ..).unwrap();
    let x = Vector::zeros(&cpu(), DType::F32, 2).unwrap();
    let mut y = Vector::zeros(&cpu(), DType::F32, 1).unwrap();
    let mut plan = a.plan_spmv(Op::None, &PlanOptions::default()).unwrap();
    let error = plan.run(1.0, &other, &x, 0.0, &mut y).unwrap_err().to_string();
    assert_eq!(
        error,
        "spmv: the matrix has another pattern than the plan was made for; with_values keeps one"
    );
}

#[test]
fn plans_of_galerkin_products_take_options() {
    let a = Matrix::from_typed(&cpu(), Csr::<f64>::identity(2).unwrap()).unwrap();
    let error = a.plan_galerkin(&a, &a, &PlanOptions::forced("no_such")).unwrap_err().to_string();
    assert!(error.starts_with("spgemm algorithm `no_such` is not supported"), "{error}");
    assert_eq!(dense(&a.galerkin(&a, &a).unwrap()), [1.0, 0.0, 0.0, 1.0]);
    let row = Matrix::from_typed(&cpu(), Csr::<f64>::zeros(1, 2).unwrap()).unwrap();
    let error = a.plan_galerkin(&row, &row, &PlanOptions::default()).unwrap_err().to_string();
    assert_eq!(error, "galerkin: the number of rows of P is 1 where 2 is needed");
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
        let format = if b.format() == Format::Csc { Format::Csc } else { Format::Csr };
        assert_eq!(b.add(&a, 0.0, 2.0).unwrap().format(), format);
        assert_eq!(dense(&b.select(&[1], &[2, 2]).unwrap()), [-5.0, -5.0]);
    }
    let single = b.cast(DType::F32).unwrap();
    let error = a.add(&single, 1.0, 1.0).unwrap_err().to_string();
    assert_eq!(error, "add: the matrix is f64 on cpu, B is f32 on cpu; B as f64 would fit");
    let wide = Csr::<f64, Host, i64, i64>::new(2, 3, vec![0, 0, 1], vec![2], vec![10.0]).unwrap();
    let wide = Matrix::from_typed(&device, wide).unwrap();
    let sums = [(&a + &wide).unwrap(), (&wide + &a).unwrap()];
    for sum in sums {
        assert_eq!((sum.index_type(), dense(&sum)), (IndexType::I64, vec![0.0, 1.0, 0.0, 0.0, 0.0, 15.0]));
    }
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

#[test]
fn sums_of_complex_infinities_are_infinite() {
    let infinity = c64::new(f64::INFINITY, 0.0);
    let entries = [(0, 0, infinity), (0, 1, c64::new(1.0, 2.0)), (1, 1, c64::new(0.0, 3.0))];
    for dtype in [DType::C32, DType::C64] {
        let a = Matrix::from_triplets(&cpu(), dtype, IndexType::I32, (2, 2), &entries).unwrap();
        for format in formats() {
            let a = a.to_format(format).unwrap();
            let of = |each| a.reduce(each, Reduction::Sum).unwrap().cast(DType::C64).unwrap();
            let (rows, cols) = (of(Each::Row).to_vec::<c64>(), of(Each::Column).to_vec::<c64>());
            assert_eq!(rows.unwrap(), [c64::new(f64::INFINITY, 2.0), c64::new(0.0, 3.0)], "{a:?}");
            assert_eq!(cols.unwrap(), [infinity, c64::new(1.0, 5.0)], "{a:?}");
        }
    }
}

/// A real factor multiplies both parts of a complex number.
#[test]
fn real_factors_leave_complex_infinities_infinite() {
    let infinity = f64::INFINITY;
    let entries = [(0, 0, c64::new(infinity, 1.0)), (1, 1, c64::new(2.0, -infinity))];
    for dtype in [DType::C32, DType::C64] {
        let matrix = |entries| Matrix::from_triplets(&cpu(), dtype, IndexType::I32, (2, 2), entries).unwrap();
        let a = matrix(&entries);
        let elements = |x: &Vector| x.cast(DType::C64).unwrap().to_vec::<c64>().unwrap();
        for negated in [-&a, &matrix(&[]) - &a] {
            let expected = [c64::new(-infinity, -1.0), c64::new(-2.0, infinity)];
            assert_eq!(elements(&negated.unwrap().diagonal(0).unwrap()), expected);
        }
        let mut x = a.diagonal(0).unwrap();
        x.scale(-1.0).unwrap();
        x.axpby(0.5, &a.diagonal(0).unwrap(), -1.0).unwrap();
        assert_eq!(elements(&x), [c64::new(infinity, 1.5), c64::new(3.0, -infinity)]);
    }
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

#[test]
fn no_lines_have_every_reduction() {
    for (rows, cols, each) in
        [(0, 0, Each::Row), (0, 0, Each::Column), (0, 3, Each::Row), (3, 0, Each::Column)]
    {
        let a = Matrix::from_typed(&cpu(), Csr::<f64>::zeros(rows, cols).unwrap()).unwrap();
        for (format, by) in formats().flat_map(|format| Reduction::ALL.map(|by| (format, by))) {
            let reduced = a.to_format(format).unwrap().reduce(each, by).unwrap();
            assert!(reduced.is_empty(), "{format} {by} of {rows} x {cols}");
        }
    }
    let a = Matrix::from_typed(&cpu(), Csr::<f64>::zeros(3, 0).unwrap()).unwrap();
    let error = a.reduce(Each::Row, Reduction::Mean).unwrap_err().to_string();
    assert_eq!(error, "reduce: the rows or columns have no elements; only their sums and norms exist");
}

#[test]
fn functions_of_vectors_have_the_type_of_the_elements() {
    let x = Vector::from_slice(&cpu(), &[c64::new(1.0, 2.0), c64::new(0.0, -1.0)]).unwrap();
    let conjugate = x.map_values(|x: c64| x.conj()).unwrap();
    assert_eq!(conjugate.to_vec::<c64>().unwrap(), [c64::new(1.0, -2.0), c64::new(0.0, 1.0)]);
    let error = x.map_values(|x: f64| x).unwrap_err().to_string();
    assert_eq!(error, "map_values: the elements are c64, the function is of f64");
    assert!(Vector::zeros(&cpu(), DType::F32, 0).unwrap().map_values(f32::exp).unwrap().is_empty());
}

#[test]
fn operators_multiply_matrices_of_any_two_formats() {
    let a = Csr::<f64>::from_triplets(3, 3, [(0, 0, 2.0), (0, 2, 1.0), (1, 1, 3.0), (2, 0, -1.0)]).unwrap();
    let a = Matrix::from_typed(&cpu(), a).unwrap();
    let expected = dense(&a.matmul_sparse(&a).unwrap());
    for left in formats() {
        for right in formats() {
            let (a, b) = (a.to_format(left).unwrap(), a.to_format(right).unwrap());
            let product = (&a * &b).unwrap();
            let format = if left == Format::Csc { Format::Csc } else { Format::Csr };
            assert_eq!((dense(&product), product.format()), (expected.clone(), format), "{left} x {right}");
        }
    }
    let batch = Matrix::from_members(std::slice::from_ref(&a)).unwrap();
    assert!(matches!((&batch * &a).unwrap_err(), Error::Unsupported { .. }));
    assert!(matches!((&a * &batch).unwrap_err(), Error::Unsupported { .. } | Error::Operands { .. }));
}

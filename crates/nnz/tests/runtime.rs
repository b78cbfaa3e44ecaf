//! Values of types known at run time give what the typed layer gives, in every format and type.
#![cfg(feature = "cpu")]

use nnz::prelude::*;
use nnz::reference::Reference;
use nnz::{Host, Index, IndexType, Layout, Method, SolveOptions, bf16, f16, generate};

/// Entries of 4 x 3 matrix whose products are exact in every type; row 1 is empty.
const ENTRIES: [(usize, usize, c64); 5] = [
    (0, 0, c64::new(1.0, 1.0)),
    (0, 2, c64::new(2.0, 0.0)),
    (2, 1, c64::new(-3.0, 2.0)),
    (3, 0, c64::new(4.0, 0.0)),
    (3, 2, c64::new(0.0, -1.0)),
];

fn cpu() -> Device {
    "cpu".parse().unwrap()
}

fn values<T: Scalar>(len: usize) -> Vec<T> {
    (0..len).map(|k| T::from_c64(c64::new(k as f64 - 1.0, k as f64))).collect()
}

fn typed<T: Scalar, I: Index, O: Index>() -> Csr<T, Host, I, O> {
    let triplets = ENTRIES.map(|(row, col, value)| (row, col, T::from_c64(value)));
    let offsets = [0, 2, 2, 3, 5].map(O::cast).to_vec();
    let columns = triplets.map(|(_, col, _)| I::cast(col)).to_vec();
    Csr::<T, Host, I, O>::new(4, 3, offsets, columns, triplets.map(|(_, _, value)| value).to_vec()).unwrap()
}

fn example() -> Matrix {
    Matrix::from_typed(&cpu(), typed::<f64, i32, i32>()).unwrap()
}

fn dense<T: Scalar>(a: &Matrix) -> Vec<T> {
    a.to_dense().unwrap().values().to_vec().unwrap()
}

/// The formats of one matrix.
fn formats() -> impl Iterator<Item = Format> {
    Format::ALL.iter().copied().filter(|&format| Layout::try_from(format).is_ok())
}

/// Both products of one triple of types in every format, by every op, against the typed layer's.
fn check_products<T: Scalar, I: Index, O: Index>() {
    let (device, csr) = (cpu(), typed::<T, I, O>());
    let (two, minus_one) = (c64::new(2.0, 0.0), c64::new(-1.0, 0.0));
    let (alpha, beta) = (T::Acc::from_c64(two), T::Acc::from_c64(minus_one));
    let a = Matrix::from_typed(&device, csr.clone()).unwrap();
    for format in formats() {
        let a = a.to_format(format).unwrap();
        let what = format!("{a:?}");
        assert_eq!((a.format(), a.dtype(), a.shape(), a.nnz()), (format, T::DTYPE, (4, 3), 5), "{what}");
        assert_eq!(a.index_type(), IndexType::of::<I>(), "{what}");
        assert_eq!(dense::<T>(&a), dense::<T>(&a.transpose().unwrap().transpose().unwrap()), "{what}");
        assert_eq!(a.row_statistics().unwrap(), Reference.row_statistics(&csr).unwrap(), "{what}");
        for op in Op::ALL {
            let (rows, cols) = a.shape_of(op);
            let mut expected = values::<T>(rows);
            Reference.spmv(op, alpha, &csr, &values(cols), beta, &mut expected).unwrap();
            let x = Vector::from_vec(&device, values::<T>(cols)).unwrap();
            for run in 0..2 {
                let mut y = Vector::from_vec(&device, values::<T>(rows)).unwrap();
                a.spmv(op, two, &x, minus_one, &mut y).unwrap();
                assert_eq!(y.to_vec::<T>().unwrap(), expected, "{what}, {op}, run {run}");
            }
            let b = DenseMatrix::from_vec(&device, values::<T>(2 * cols), cols, 2, Order::ColMajor).unwrap();
            let mut c =
                DenseMatrix::from_vec(&device, values::<T>(2 * rows), rows, 2, Order::RowMajor).unwrap();
            a.spmm(op, two, &b, minus_one, &mut c).unwrap();
            let mut expected = values::<T>(2 * rows);
            let b = values::<T>(2 * cols);
            let b = DenseView::col_major(&b, cols, 2).unwrap();
            let c_view = DenseViewMut::row_major(&mut expected, rows, 2).unwrap();
            Reference.spmm(op, alpha, &csr, b, beta, c_view).unwrap();
            assert_eq!(c.values().to_vec::<T>().unwrap(), expected, "{what}, {op}");
        }
    }
}

macro_rules! check_all {
    ($(($t:ty, $i:ty, $o:ty)),* $(,)?) => {
        $(check_products::<$t, $i, $o>();)*
    };
}

#[test]
fn products_are_those_of_the_typed_layer_in_every_format_and_type() {
    nnz::for_all_types!(check_all);
}

#[test]
fn every_format_becomes_every_other_without_a_change() {
    let a = example();
    for from in formats() {
        for to in formats() {
            let b = a.to_format(from).unwrap().to_layout(&Layout::try_from(to).unwrap()).unwrap();
            assert_eq!((b.format(), b.nnz()), (to, 5), "{from} to {to}");
            assert_eq!(dense::<f64>(&b), dense::<f64>(&a), "{from} to {to}");
            let bytes = b.bytes();
            assert!(bytes >= 5 * (8 + 4), "{to}: {bytes}");
        }
        let transpose = a.to_format(from).unwrap().transpose().unwrap();
        let expected = [1.0, 0.0, 0.0, 4.0, 0.0, 0.0, -3.0, 0.0, 2.0, 0.0, 0.0, 0.0];
        assert_eq!((transpose.shape(), dense::<f64>(&transpose)), ((3, 4), expected.to_vec()), "{from}");
    }
}

#[test]
fn values_are_cast_in_every_format_and_keep_their_pattern() {
    let types = [DType::F16, DType::Bf16, DType::F32, DType::F64, DType::C32, DType::C64];
    for format in formats() {
        let a = example().to_format(format).unwrap();
        for dtype in types {
            let b = a.cast(dtype).unwrap();
            assert_eq!((b.dtype(), b.format()), (dtype, format));
            assert_eq!(
                dense::<c64>(&b.cast(DType::C64).unwrap()),
                dense::<c64>(&a.cast(DType::C64).unwrap())
            );
        }
        let complex = a.cast(DType::C64).unwrap();
        let error = complex.cast(DType::F64).unwrap_err().to_string();
        assert!(error.contains("the imaginary parts would be lost"), "{error}");
    }
    let wide = Matrix::from_typed(&cpu(), typed::<f32, i64, i64>()).unwrap();
    let error = wide.cast(DType::F16).unwrap_err().to_string();
    assert!(error.starts_with("a matrix of csr and f16 with these index types is not supported"), "{error}");
}

#[test]
fn operands_that_do_not_fit_are_named_with_what_would_fit() {
    let (device, a) = (cpu(), example());
    let x = Vector::zeros(&device, DType::F32, 3).unwrap();
    let error = |result: nnz::Result<Vector>| result.unwrap_err().to_string();
    assert_eq!(
        error(a.matvec(&x)),
        "spmv: the matrix is f64 on the CPU, x is f32 on the CPU; x.cast(DType::F64)? would fit"
    );
    let x = Vector::zeros(&device, DType::F64, 4).unwrap();
    assert_eq!(error(&a * &x), "spmv: the length of x is 4 where 3 is needed");
    let b = DenseMatrix::zeros(&device, DType::C64, 3, 2, Order::RowMajor).unwrap();
    assert_eq!(
        (&a * &b).unwrap_err().to_string(),
        "spmm: the matrix is f64 on the CPU, B is c64 on the CPU; B.cast(DType::F64)? would fit"
    );
    assert_eq!(
        (&a * c64::new(0.0, 1.0)).unwrap_err().to_string(),
        "scale: the factor = 0+1i is complex, the operands are real; cast(DType::C64)? would fit"
    );
    let single = a.cast(DType::F32).unwrap();
    assert_eq!((&single * 1e300).unwrap_err().to_string().split(" = ").next(), Some("scale: the factor"));
    let ell = a.to_format(Format::Ell).unwrap();
    assert_eq!(
        ell.sort().unwrap_err().to_string(),
        "sort of ell is not supported: csr, csc and coo have it: a.to_format(Format::Csr)?"
    );
    let mut plan = a.plan_spmv(Op::None, &PlanOptions::default()).unwrap();
    let (x, mut y) = (x.cast(DType::F32).unwrap(), Vector::zeros(&device, DType::F32, 4).unwrap());
    let error = plan.run(1.0, &single, &x, 0.0, &mut y).unwrap_err();
    assert_eq!(
        error.to_string(),
        "spmv: the plan was made for csr of f64, the matrix is csr of f32 with i32 indices on the CPU"
    );
    let other = plan.run(1.0, &example(), &x, 0.0, &mut y).unwrap_err();
    assert!(other.to_string().starts_with("spmv: the matrix is f64"), "{other}");
}

#[test]
fn a_plan_takes_other_values_and_no_other_pattern() {
    let (device, a) = (cpu(), example());
    let x = Vector::from_slice(&device, &[1.0, 1.0, 1.0]).unwrap();
    let mut y = Vector::zeros(&device, DType::F64, 4).unwrap();
    let mut plan = a.plan_spmv(Op::None, &PlanOptions::default()).unwrap();
    plan.run(1.0, &(&a * 2.0).unwrap(), &x, 0.0, &mut y).unwrap();
    assert_eq!(y.to_vec::<f64>().unwrap(), [6.0, 0.0, -6.0, 8.0]);
    assert!(matches!(plan.run(1.0, &example(), &x, 0.0, &mut y), Err(Error::PlanMismatch { .. })));
}

#[test]
fn threads_multiply_with_one_matrix_at_a_time() {
    let a = example();
    let x = Vector::from_slice(&cpu(), &[1.0, 1.0, 1.0]).unwrap();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..50 {
                    assert_eq!(a.matvec(&x).unwrap().to_vec::<f64>().unwrap(), [3.0, 0.0, -3.0, 4.0]);
                }
            });
        }
    });
}

#[test]
fn vectors_compute_in_every_type() {
    fn check<T: Scalar>() {
        let x = Vector::from_vec(&cpu(), values::<T>(5)).unwrap();
        let mut y = x.to_device(&cpu()).unwrap();
        y.axpby(2.0, &x, 1.0).unwrap();
        y.scale(0.5).unwrap();
        let doubled = x.to_vec::<T>().unwrap().iter().map(|v| v.to_c64() * 1.5).collect::<Vec<_>>();
        assert_eq!(y.to_vec::<T>().unwrap().iter().map(|v| v.to_c64()).collect::<Vec<_>>(), doubled);
        let squares: f64 = x.to_vec::<T>().unwrap().iter().map(|v| v.to_c64().norm_sqr()).sum();
        assert!((x.dot(&x).unwrap().re - squares).abs() < 1e-9, "{}", T::DTYPE);
        assert!((x.nrm2().unwrap() - squares.sqrt()).abs() < 1e-5, "{}", T::DTYPE);
    }
    check::<f16>();
    check::<bf16>();
    check::<f32>();
    check::<f64>();
    check::<c32>();
    check::<c64>();
}

#[test]
fn dense_operands_may_have_padding() {
    let device = cpu();
    let padded = Vector::from_slice(&device, &[1.0, 2.0, 9.0, 3.0, 4.0, 9.0]).unwrap();
    let b = DenseMatrix::new(padded, 2, 2, 3, Order::RowMajor).unwrap();
    let a = b.to_sparse(Format::Coo, Some(1.0)).unwrap();
    assert_eq!((a.nnz(), dense::<f64>(&a)), (3, vec![0.0, 2.0, 3.0, 4.0]));
    assert_eq!(a.matmul(&b).unwrap().values().to_vec::<f64>().unwrap(), [6.0, 8.0, 15.0, 22.0]);
    let values = Vector::zeros(&device, DType::F32, 5).unwrap();
    let error = DenseMatrix::new(values, 2, 2, 4, Order::ColMajor).unwrap_err().to_string();
    assert_eq!(error, "dense: 5 elements where 2 x 2 needs 6");
}

#[test]
fn systems_are_solved_in_every_format_and_type() {
    let device = cpu();
    let a: Csr<f64> = generate::stencil_5(6, 5).unwrap();
    let a = Matrix::from_typed(&device, a).unwrap();
    for (format, dtype) in formats().zip([DType::F32, DType::F64, DType::C32, DType::C64].repeat(2)) {
        let a = a.cast(dtype).unwrap().to_format(format).unwrap();
        let ones = Vector::from_slice(&device, &[1.0; 30]).unwrap();
        let b = (&a * &ones.cast(dtype).unwrap()).unwrap();
        for method in [Method::Cg, Method::EnqueuedCg, Method::BiCgStab] {
            let mut options = SolveOptions::by(method);
            options.jacobi = method != Method::EnqueuedCg;
            options.options.tolerance = 1e-5;
            let (x, solution) = a.solve(&b, &options).unwrap();
            assert!(solution.converged(), "{a:?}, {method:?}: {solution}");
            let x = x.cast(DType::C64).unwrap().to_vec::<c64>().unwrap();
            assert!(x.iter().all(|x| (x - c64::ONE).norm() < 1e-3), "{a:?}, {method:?}: {x:?}");
        }
    }
    let b = Vector::zeros(&device, DType::F32, 30).unwrap();
    let error = a.solve(&b, &SolveOptions::default()).unwrap_err().to_string();
    assert!(error.starts_with("solve: the matrix is f64 on the CPU, b is f32"), "{error}");
    let half = a.cast(DType::F16).unwrap();
    let error = half.solve(&b, &SolveOptions::default()).unwrap_err().to_string();
    assert_eq!(
        error,
        "a solver of f16 values is not supported: f32, f64, c32 and c64 have them: a.cast(DType::F32)?"
    );
    let options = SolveOptions { jacobi: true, ..SolveOptions::by(Method::EnqueuedCg) };
    let b = b.cast(DType::F64).unwrap();
    assert!(matches!(a.solve(&b, &options), Err(Error::Unsupported { .. })));
}

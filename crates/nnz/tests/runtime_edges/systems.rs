//! Systems of equations, triangular ones among them.

use super::{cpu, methods};
use nnz::prelude::*;
use nnz::{HostCsr, Method, PreconditionerKind, SolveOptions};
use std::ops::ControlFlow;

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
            let error = a.solve(b, &SolveOptions::new(method)).unwrap_err();
            assert!(matches!(error, Error::Shape { .. }), "{method:?}: {error}");
        }
    }
}

#[test]
fn direct_solvers_say_why_there_are_no_factors() {
    let device = cpu();
    let singular = Csr::<f64>::from_triplets(2, 2, [(0, 0, 1.0), (1, 0, 2.0)]).unwrap();
    let singular = Matrix::from_typed(&device, singular).unwrap();
    let mut options = SolveOptions::new(Method::Direct);
    let error = singular.solver(&options).unwrap_err();
    if !cfg!(feature = "direct") {
        assert!(error.to_string().contains("this build lacks the feature `direct`"), "{error}");
        return;
    }
    assert!(matches!(error, Error::Singular { .. }), "{error:?}");
    assert!(error.to_string().contains("structurally singular: column 1"), "{error}");
    let a = Matrix::from_typed(&device, Csr::<f64>::identity(2).unwrap()).unwrap();
    assert_eq!(a.solver(&options).unwrap().choice().algorithm, "cholesky");
    options.preconditioner = PreconditionerKind::Jacobi;
    let error = a.solver(&options).unwrap_err().to_string();
    assert!(error.starts_with("a preconditioner of direct is not supported"), "{error}");
}

#[test]
fn solvers_share_a_preconditioner_that_fits() {
    let device = cpu();
    let a = Matrix::from_typed(&device, nnz::generate::stencil_5::<f64>(12, 12).unwrap()).unwrap();
    let b = Vector::from_vec(&device, (0..144).map(f64::from).collect()).unwrap();
    for by in [
        PreconditionerKind::None,
        PreconditionerKind::Jacobi,
        PreconditionerKind::Ilu0,
        PreconditionerKind::Ic0,
    ] {
        let shared = a.preconditioner(by).unwrap();
        let options = SolveOptions { preconditioner: by, ..SolveOptions::new(Method::Gmres) };
        let (expected, own) = a.solve(&b, &options).unwrap();
        std::thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    let mut x = Vector::zeros(&device, DType::F64, 144).unwrap();
                    let mut solver = a.solver_with(&options, &shared).unwrap();
                    let found = solver.solve_from(&b, &mut x, |_| ControlFlow::Continue(())).unwrap();
                    assert_eq!((found.converged(), found.iterations), (true, own.iterations), "{by}");
                    assert_eq!(x.to_vec::<f64>().unwrap(), expected.to_vec::<f64>().unwrap(), "{by}");
                });
            }
        });
    }
    let shared = a.preconditioner(PreconditionerKind::Jacobi).unwrap();
    let gmres = SolveOptions::new(Method::Gmres);
    let error = a.cast(DType::F32).unwrap().solver_with(&gmres, &shared).unwrap_err().to_string();
    let types = "the matrix is f32 on cpu, the preconditioner f64 on cpu: make it of a matrix like this one";
    assert_eq!(error, format!("precondition: {types}"));
    let smaller = Matrix::from_typed(&device, Csr::<f64>::identity(2).unwrap()).unwrap();
    let error = smaller.solver_with(&gmres, &shared).unwrap_err().to_string();
    assert_eq!(error, "precondition: the preconditioner has 144 rows, for a matrix of 2 rows");
    let error = a.solver_with(&SolveOptions::new(Method::Lsqr), &shared).unwrap_err().to_string();
    assert!(error.starts_with("a preconditioner of lsqr is not supported"), "{error}");
    let error = shared.apply(&b.cast(DType::F32).unwrap()).unwrap_err().to_string();
    assert!(error.starts_with("precondition: the preconditioner is f64 on cpu, r is f32"), "{error}");
    let error = shared.apply(&Vector::zeros(&device, DType::F64, 3).unwrap()).unwrap_err();
    assert!(matches!(error, Error::Shape { .. }), "{error}");
}

#[test]
fn incomplete_factors_take_rows_out_of_order_with_duplicates() {
    let device = cpu();
    let sorted = Csr::<f64>::new(2, 2, vec![0, 2, 4], vec![0, 1, 0, 1], vec![4.0, 1.0, 1.0, 3.0]).unwrap();
    let out_of_order =
        Csr::<f64>::new_unsorted(2, 2, vec![0, 2, 4], vec![1, 0, 1, 0], vec![1.0, 4.0, 3.0, 1.0]).unwrap();
    let (offsets, columns) = (vec![0, 3, 5], vec![0, 0, 1, 0, 1]);
    let duplicates = Csr::<f64>::new_unsorted(2, 2, offsets, columns, vec![3.0, 1.0, 1.0, 1.0, 3.0]).unwrap();
    let b = Vector::from_slice(&device, &[5.0, 4.0]).unwrap();
    for by in [PreconditionerKind::Ilu0, PreconditionerKind::Ic0] {
        let [expected, found @ ..] = [&sorted, &out_of_order, &duplicates].map(|a| {
            let a = Matrix::from_typed(&device, a.clone()).unwrap();
            a.preconditioner(by).unwrap().apply(&b).unwrap().to_vec::<f64>().unwrap()
        });
        assert!(found.iter().all(|x| *x == expected), "{by}: {found:?}, not {expected:?}");
    }
}

#[cfg(feature = "direct")]
#[test]
fn factors_serve_new_values_of_columns_in_order() {
    let device = cpu();
    let unsorted = Csc::<f64>::new_unsorted(2, 2, vec![0, 2, 3], vec![1, 0, 1], vec![1.0, 2.0, 4.0]).unwrap();
    let unsorted = Matrix::from_typed(&device, unsorted).unwrap();
    let sorted = Csc::<f64>::new(2, 2, vec![0, 2, 3], vec![0, 1, 1], vec![2.0, 1.0, 4.0]).unwrap();
    let sorted = Matrix::from_typed(&device, sorted).unwrap();
    for a in [&unsorted, &sorted, &sorted.to_format(Format::Csr).unwrap()] {
        let mut factors = a.factorize().unwrap();
        let mut x = [0.0; 2];
        let (b, column) = (
            DenseView::col_major(&[2.0, 5.0], 2, 1).unwrap(),
            DenseViewMut::col_major(&mut x, 2, 1).unwrap(),
        );
        factors.apply(Op::None, b, column).unwrap();
        assert_eq!(x, [1.0, 1.0]);
        a.scaled(2.0).unwrap().refactor(&mut factors).unwrap();
        factors.apply(Op::None, b, DenseViewMut::col_major(&mut x, 2, 1).unwrap()).unwrap();
        assert_eq!(x, [0.5, 0.5]);
    }
    let error = sorted.cast(DType::F16).unwrap().factorize().unwrap_err().to_string();
    assert!(error.starts_with("a factorization of f16 values is not supported"), "{error}");
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
    let types = "the matrix is f64 on cpu, b is f32 on cpu; b as f64 would fit";
    assert_eq!(error(&a, &single), format!("trisolve: {types}"));
    let coo = a.to_format(Format::Coo).unwrap();
    let cure = "csr and csc have it";
    assert_eq!(error(&coo, &b), format!("trisolve of coo is not supported: {cure}"));
    let longer = Vector::zeros(&device, DType::F64, 3).unwrap();
    assert_eq!(error(&a, &longer), "trisolve: the number of rows of B is 3 where 2 is needed");
}

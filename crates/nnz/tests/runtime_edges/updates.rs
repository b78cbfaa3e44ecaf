//! Solvers and preconditioners that take other values of their matrix.

use super::{cpu, methods};
use nnz::prelude::*;
use nnz::{Host, HostCsr, IndexType, Method, Preconditioner, PreconditionerKind, SolveOptions, Solver};
use std::ops::ControlFlow;

const KINDS: [PreconditionerKind; 5] = [
    PreconditionerKind::None,
    PreconditionerKind::Jacobi,
    PreconditionerKind::BlockJacobi(5),
    PreconditionerKind::Ilu0,
    PreconditionerKind::Ic0,
];

/// A symmetric positive definite matrix of 144 rows.
fn laplacian() -> Matrix {
    Matrix::from_typed(&cpu(), nnz::generate::stencil_5::<f64>(12, 12).unwrap()).unwrap()
}

/// Other values in the same pattern, symmetric positive definite, too.
fn shifted(a: &Matrix) -> Matrix {
    a.map_values(|value: f64| if value > 0.0 { 3.0 * value } else { 0.5 * value }).unwrap()
}

/// Other values in the same pattern, without incomplete Cholesky factors.
fn indefinite(a: &Matrix) -> Matrix {
    a.map_values(|value: f64| if value > 0.0 { 0.5 } else { value }).unwrap()
}

fn right_hand_side() -> Vector {
    Vector::from_vec(&cpu(), (0..144).map(|k| f64::from(k % 7) - 2.0).collect()).unwrap()
}

fn solution(solver: &mut Solver) -> Vec<f64> {
    let mut x = Vector::zeros(&cpu(), DType::F64, 144).unwrap();
    let found = solver.solve_from(&right_hand_side(), &mut x, |_| ControlFlow::Continue(())).unwrap();
    assert!(found.converged(), "{solver:?}: {found}");
    x.to_vec().unwrap()
}

fn applied(preconditioner: &Preconditioner) -> Vec<f64> {
    preconditioner.apply(&right_hand_side()).unwrap().to_vec().unwrap()
}

#[test]
fn an_updated_solver_computes_what_a_new_one_does() {
    for format in [Format::Csr, Format::Csc, Format::Coo] {
        let a = laplacian().to_format(format).unwrap();
        let other = shifted(&a);
        for method in methods() {
            for preconditioner in KINDS {
                let options = SolveOptions { preconditioner, ..SolveOptions::new(method) };
                if preconditioner != PreconditionerKind::None && !method.takes_preconditioner() {
                    continue;
                }
                let mut solver = a.solver(&options).unwrap();
                let (first, algorithm) = (solution(&mut solver), solver.choice().algorithm);
                solver.update(&other).unwrap();
                let new = solution(&mut other.solver(&options).unwrap());
                assert_eq!(solution(&mut solver), new, "{method} with {preconditioner} of {format}");
                assert_eq!(solver.choice().algorithm, algorithm);
                solver.update(&a).unwrap();
                assert_eq!(solution(&mut solver), first, "{method} with {preconditioner} of {format}");
            }
        }
    }
}

#[test]
fn formats_that_pad_rows_are_updated_by_scaled_values() {
    for format in [Format::Ell, Format::Hyb, Format::Sell] {
        let a = laplacian().to_format(format).unwrap();
        let twice = a.scaled(2.0).unwrap();
        for preconditioner in KINDS {
            let options = SolveOptions { preconditioner, ..SolveOptions::new(Method::Minres) };
            let mut solver = a.solver(&options).unwrap();
            solver.update(&twice).unwrap();
            let new = solution(&mut twice.solver(&options).unwrap());
            assert_eq!(solution(&mut solver), new, "{preconditioner} of {format}");
        }
    }
}

#[test]
fn an_updated_preconditioner_is_a_new_one_for_all_who_share_it() {
    let a = laplacian();
    let other = shifted(&a);
    for kind in KINDS {
        let mut preconditioner = a.preconditioner(kind).unwrap();
        let clone = preconditioner.clone();
        let mut solver = a.solver_with(&SolveOptions::new(Method::Gmres), &preconditioner).unwrap();
        let old = applied(&clone);
        solver.update(&other).unwrap();
        solution(&mut solver);
        assert_eq!(applied(&clone), old, "the solver left {kind} as it was");
        preconditioner.update(&other).unwrap();
        assert_eq!(applied(&clone), applied(&other.preconditioner(kind).unwrap()), "{kind}");
        let options = SolveOptions { preconditioner: kind, ..SolveOptions::new(Method::Gmres) };
        assert_eq!(solution(&mut solver), solution(&mut other.solver(&options).unwrap()), "{kind}");
    }
}

#[test]
fn an_update_that_fails_changes_nothing() {
    let a = laplacian();
    for method in [Method::Cg, Method::EnqueuedCg, Method::Minres] {
        let options = SolveOptions { preconditioner: PreconditionerKind::Ic0, ..SolveOptions::new(method) };
        let mut solver = a.solver(&options).unwrap();
        let before = solution(&mut solver);
        let error = solver.update(&indefinite(&a)).unwrap_err();
        assert!(matches!(error, Error::Singular { op: "ic0", .. }), "{error}");
        assert_eq!(solution(&mut solver), before, "{method}");
    }
    let zero = a.scaled(0.0).unwrap();
    for kind in KINDS.into_iter().filter(|&kind| kind != PreconditionerKind::None) {
        let mut preconditioner = a.preconditioner(kind).unwrap();
        let before = applied(&preconditioner);
        let error = preconditioner.update(&zero).unwrap_err();
        assert!(matches!(error, Error::Singular { .. }), "{error}");
        assert_eq!(applied(&preconditioner), before, "{kind}");
        preconditioner.update(&shifted(&a)).unwrap();
        assert_eq!(applied(&preconditioner), applied(&shifted(&a).preconditioner(kind).unwrap()), "{kind}");
    }
}

fn with_wide_offsets(a: &Matrix) -> Matrix {
    let a: &Csr<f64> = a.downcast_ref().unwrap();
    let (rows, offsets) = (a.nrows(), a.row_ptr().iter().map(|&offset| i64::from(offset)).collect());
    let wide = Csr::<f64, Host, i32, i64>::new(rows, rows, offsets, a.col_idx().clone(), a.values().clone());
    Matrix::from_typed(&cpu(), wide.unwrap()).unwrap()
}

#[test]
fn a_matrix_of_another_type_or_pattern_is_refused_with_what_would_fit() {
    let a = laplacian();
    let mut reversed: Vec<_> = (0..144).rev().collect();
    reversed.swap(3, 70);
    let other = a.permute(&reversed, &reversed).unwrap();
    for method in methods() {
        let mut solver = a.solver(&SolveOptions::new(method)).unwrap();
        let mut error = |a: &Matrix| solver.update(a).unwrap_err().to_string();
        let types = "update: the solver is f64 on cpu, the matrix is f32 on cpu; the matrix as f64 would fit";
        assert_eq!(error(&a.cast(DType::F32).unwrap()), types);
        let of = "144 x 144 with 672 entries";
        let cure = "with_values of the former matrix gives one of its pattern";
        let found = error(&other);
        let patterns = format!("the solver was made for csr (i32) of {of}, the matrix is csr (i32) of {of}");
        assert_eq!(found, format!("update: {patterns} and has another pattern; {cure}"));
        let found = error(&a.transpose().unwrap());
        assert!(found.contains("the matrix is csc (i32) of 144 x 144"), "{found}");
        let found = error(&with_wide_offsets(&a));
        assert!(found.contains("the matrix is csr (i32, i64 offsets) of 144 x 144"), "{found}");
        solver.update(&a.with_values(&other.values().unwrap()).unwrap()).unwrap();
    }
    for kind in [PreconditionerKind::Ilu0, PreconditionerKind::Ic0] {
        let error = a.preconditioner(kind).unwrap().update(&other).unwrap_err();
        assert!(matches!(error, Error::PlanMismatch { op: "update", .. }), "{error}");
        assert!(error.to_string().starts_with("update: the preconditioner was made for csr"), "{error}");
    }
    let mut jacobi = a.preconditioner(PreconditionerKind::Jacobi).unwrap();
    assert!(matches!(jacobi.update(&a.cast(DType::C64).unwrap()), Err(Error::Operands { .. })));
}

/// Triplets of [`shifted`], as a program assembles them in each step.
fn assembled(format: Format) -> Matrix {
    let mut entries = vec![];
    shifted(&laplacian()).for_each_entry(&mut |row, col, value| entries.push((row, col, value))).unwrap();
    let a = Matrix::from_triplets(&cpu(), DType::F64, IndexType::I32, (144, 144), &entries).unwrap();
    a.to_format(format).unwrap()
}

#[test]
fn a_matrix_that_was_assembled_anew_has_the_pattern_that_it_had() {
    for format in [Format::Csr, Format::Csc, Format::Coo] {
        let a = laplacian().to_format(Format::Coo).unwrap().to_format(format).unwrap();
        let other = assembled(format);
        for method in methods() {
            let mut solver = a.solver(&SolveOptions::new(method)).unwrap();
            solver.update(&other).unwrap();
            let new = solution(&mut other.solver(&SolveOptions::new(method)).unwrap());
            assert_eq!(solution(&mut solver), new, "{method} of {format}");
        }
        for kind in KINDS {
            let mut preconditioner = a.preconditioner(kind).unwrap();
            preconditioner.update(&other).unwrap();
            assert_eq!(applied(&preconditioner), applied(&other.preconditioner(kind).unwrap()), "{kind}");
        }
    }
}

#[test]
fn matrices_that_borrow_their_arrays_are_updated_by_those_that_own_them_and_back() {
    let a = nnz::generate::stencil_5::<f64>(12, 12).unwrap();
    let twice: Vec<f64> = a.values().iter().map(|value| 2.0 * value).collect();
    // SAFETY: `a` and the values outlive the matrices, and nobody writes them.
    let borrow = |values: &[f64]| unsafe {
        let same = HostCsr::borrow_pattern(&a, values).unwrap();
        let equal = HostCsr::borrow(144, 144, &a.offsets()[..], &a.indices()[..], values).unwrap();
        [same, equal].map(|borrowed| Matrix::wrap(&cpu(), borrowed).unwrap())
    };
    let owned = Matrix::from_typed(&cpu(), a.clone()).unwrap();
    let [first, second] = borrow(a.values());
    let [twice_first, twice_second] = borrow(&twice);
    let own_twice = owned.scaled(2.0).unwrap();
    for method in methods() {
        let expected = solution(&mut own_twice.solver(&SolveOptions::new(method)).unwrap());
        for before in [&owned, &first, &second] {
            let mut solver = before.solver(&SolveOptions::new(method)).unwrap();
            for other in [&twice_first, &twice_second, &own_twice, &twice_second] {
                solver.update(other).unwrap();
                assert_eq!(solution(&mut solver), expected, "{method}");
            }
            solver.update(&owned).unwrap();
            assert_ne!(solution(&mut solver), expected, "{method}");
        }
    }
}

#[cfg(feature = "direct")]
#[test]
fn factors_of_values_that_are_no_longer_hermitian_are_theirs() {
    let a = Csr::<f64>::new(2, 2, vec![0, 2, 4], vec![0, 1, 0, 1], vec![2.0, 1.0, 1.0, 2.0]).unwrap();
    let a = Matrix::from_typed(&cpu(), a).unwrap();
    let other = a.with_values(&Vector::from_slice(&cpu(), &[2.0, -1.0, 1.0, 2.0]).unwrap()).unwrap();
    let mut factors = a.factorize().unwrap();
    other.refactor(&mut factors).unwrap();
    let mut x = [0.0; 2];
    let (b, column) = (DenseView::col_major(&[1.0, 3.0], 2, 1), DenseViewMut::col_major(&mut x, 2, 1));
    factors.apply(Op::None, b.unwrap(), column.unwrap()).unwrap();
    assert!(x.iter().all(|x| f64::abs(x - 1.0) < 1e-14), "{x:?}");
}

#[cfg(feature = "direct")]
#[test]
fn a_direct_solver_takes_values_that_are_no_longer_positive_definite() {
    let a = laplacian();
    let mut solver = a.solver(&SolveOptions::new(Method::Direct)).unwrap();
    assert_eq!(solver.choice().algorithm, "cholesky");
    let mut k = 0.0;
    let not_symmetric = a
        .map_values(|value: f64| {
            k += 1.0;
            value + 1.0 / k
        })
        .unwrap();
    for (other, algorithm) in [(&shifted(&a), "cholesky"), (&not_symmetric, "lu"), (&a, "lu")] {
        solver.update(other).unwrap();
        assert_eq!(solver.choice().algorithm, algorithm);
        solution(&mut solver);
    }
    let mut solver = a.solver(&SolveOptions::new(Method::Direct)).unwrap();
    solver.update(&indefinite(&a)).unwrap();
    assert_eq!(solver.choice().algorithm, "lu");
    let before = solution(&mut solver);
    assert!(matches!(solver.update(&a.scaled(0.0).unwrap()), Err(Error::Singular { .. })));
    assert_eq!(solution(&mut solver), before);
}

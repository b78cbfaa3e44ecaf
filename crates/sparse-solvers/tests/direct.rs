//! Direct solvers: exact solutions, the choice of a factorization, and each error.

use sparse_core::op::Op;
use sparse_core::{Csc, Csr, DenseView, DenseViewMut, Error, Scalar, c32, c64};
use sparse_generate::stencil_5;
use sparse_solvers::{Breakdown, DirectMethod, DirectPlan, Factorization, Outcome};

const METHODS: [DirectMethod; 3] = [DirectMethod::Cholesky, DirectMethod::Lu, DirectMethod::Qr];

/// The matrix of the given rows, without its zeros.
fn by_columns<T: Scalar>(rows: &[&[c64]]) -> Csc<T> {
    let (mut offsets, mut indices, mut values) = (vec![0], vec![], vec![]);
    for col in 0..rows[0].len() {
        for (row, elements) in rows.iter().enumerate().filter(|(_, elements)| elements[col] != c64::ZERO) {
            indices.push(row as i32);
            values.push(T::from_c64(elements[col]));
        }
        offsets.push(indices.len() as i32);
    }
    Csc::new(rows.len(), rows[0].len(), offsets, indices, values).unwrap()
}

fn real(rows: &[&[f64]]) -> Csc<f64> {
    let rows: Vec<Vec<c64>> = rows.iter().map(|row| row.iter().map(|&x| x.into()).collect()).collect();
    by_columns(&rows.iter().map(Vec::as_slice).collect::<Vec<_>>())
}

/// Hermitian, and positive definite: a Laplacian with phases.
fn laplacian<T: Scalar>() -> Csc<T> {
    let a: Csc<c64> = stencil_5::<c64>(9, 7).unwrap().into_transpose();
    let phase = |k: usize| if T::DTYPE.is_complex() { c64::from_polar(1.0, k as f64) } else { c64::ONE };
    let values = a.triplets().map(|(i, j, value)| T::from_c64(phase(i) * value * phase(j).conj())).collect();
    let (offsets, indices) = (a.offsets().to_vec(), a.indices().to_vec());
    Csc::new(63, 63, offsets, indices, values).unwrap()
}

/// A·x for x_k = 1 + k/10 and, where it is complex, i·k/10 more.
fn system<T: Scalar>(a: &Csc<T>) -> (Vec<T>, Vec<c64>) {
    let part = |k: usize| if T::DTYPE.is_complex() { k as f64 / 10.0 } else { 0.0 };
    let x: Vec<c64> = (0..a.ncols()).map(|k| c64::new(1.0 + k as f64 / 10.0, part(k))).collect();
    let mut b = vec![c64::ZERO; a.nrows()];
    a.triplets().for_each(|(i, j, value)| b[i] += value.to_c64() * x[j]);
    (b.into_iter().map(T::from_c64).collect(), x)
}

#[test]
fn every_factorization_solves_in_every_type() {
    fn solves<T: Scalar>(tolerance: f64) {
        let a = laplacian::<T>();
        let (b, exact) = system(&a);
        for method in METHODS {
            let mut x = vec![T::ZERO; b.len()];
            let factors = DirectPlan::new(&a, method).unwrap().factorize(&a).unwrap();
            let solution = factors.solve(&b, &mut x, tolerance).unwrap();
            assert_eq!(solution.outcome, Outcome::Converged, "{method:?}: {solution}");
            let error =
                x.iter().zip(&exact).map(|(x, exact)| (x.to_c64() - exact).norm()).fold(0.0, f64::max);
            assert!(error < 100.0 * tolerance, "{method:?}: {error:e}");
        }
    }
    solves::<f32>(1e-5);
    solves::<f64>(1e-13);
    solves::<c32>(1e-5);
    solves::<c64>(1e-13);
}

#[test]
fn new_values_need_no_analysis_and_other_patterns_are_refused() {
    let mut a = laplacian::<f64>();
    let plan = DirectPlan::new(&a, DirectMethod::Lu).unwrap();
    let mut factors = plan.factorize(&a).unwrap();
    a.scale(-2.0);
    let (b, exact) = system(&a);
    factors.refactor(&a).unwrap();
    for factors in [factors, plan.factorize(&a).unwrap()] {
        let mut x = vec![0.0; 63];
        assert!(factors.solve(&b, &mut x, 1e-13).unwrap().converged());
        assert!(x.iter().zip(&exact).all(|(x, exact)| (x - exact.re).abs() < 1e-11));
    }
    assert!(plan.factorize(&laplacian::<f64>()).is_ok(), "an equal pattern is the same");
    let other = Csc::<f64>::identity(63).unwrap();
    assert!(matches!(plan.factorize(&other), Err(Error::PlanMismatch { .. })));
    let mut rows = a.indices().to_vec();
    rows[2] += 1; // the last entry of the first column
    let moved = Csc::<f64>::new(63, 63, a.offsets().to_vec(), rows, a.values().to_vec()).unwrap();
    assert!(matches!(plan.factorize(&moved), Err(Error::PlanMismatch { .. })));
    a.values_mut()[0] = f64::NAN;
    let error = plan.factorize(&a).unwrap_err().to_string();
    assert!(error.ends_with("the element in row 0 and column 0 is NaN+0i"), "{error}");
}

#[test]
fn many_right_hand_sides_are_solved_at_once() {
    let a = laplacian::<f64>();
    let (b, exact) = system(&a);
    // B in rows, its second column is three times the first.
    let b: Vec<f64> = b.iter().flat_map(|&b| [b, 3.0 * b]).collect();
    let mut x = vec![0.0; 126];
    let (b, columns) =
        (DenseView::row_major(&b, 63, 2).unwrap(), DenseViewMut::col_major(&mut x, 63, 2).unwrap());
    let solutions = Factorization::new(&a).unwrap().solve_many(b, columns, 1e-13).unwrap();
    assert!(solutions.len() == 2 && solutions.iter().all(|solution| solution.converged()));
    assert!((0..63).all(|k| (x[k] - exact[k].re).abs() < 1e-11 && (x[63 + k] - 3.0 * x[k]).abs() < 1e-10));
    let mut one = vec![0.0; 63];
    let one = DenseViewMut::col_major(&mut one, 63, 1).unwrap();
    let error = Factorization::new(&a).unwrap().solve_many(b, one, 1e-13).unwrap_err();
    assert_eq!(error.to_string(), "cholesky: X has 1 columns, B has 2");
}

#[test]
fn transposed_systems_have_the_same_factors() {
    let rows: [&[c64]; 3] = [
        &[c64::new(2.0, 1.0), c64::new(1.0, 0.0), c64::ZERO],
        &[c64::ZERO, c64::new(0.0, 3.0), c64::new(-1.0, 0.5)],
        &[c64::new(1.0, -1.0), c64::ZERO, c64::new(4.0, 0.0)],
    ];
    let exact = [c64::new(1.0, 2.0), c64::new(-1.0, 0.5), c64::new(0.0, 3.0)];
    let general = by_columns::<c64>(&rows);
    for (a, method) in [(&general, DirectMethod::Lu), (&laplacian(), DirectMethod::Cholesky)] {
        let factors = DirectPlan::new(a, method).unwrap().factorize(a).unwrap();
        let exact: Vec<c64> = (0..a.nrows()).map(|k| exact[k % 3]).collect();
        for op in [Op::None, Op::Transpose, Op::ConjugateTranspose] {
            let mut b = vec![c64::ZERO; a.nrows()];
            for (i, j, value) in a.triplets() {
                match op {
                    Op::None => b[i] += value * exact[j],
                    Op::Transpose => b[j] += value * exact[i],
                    Op::ConjugateTranspose => b[j] += value.conj() * exact[i],
                }
            }
            let mut x = vec![c64::ZERO; b.len()];
            let (b, column) = (
                DenseView::col_major(&b, b.len(), 1).unwrap(),
                DenseViewMut::col_major(&mut x, b.len(), 1).unwrap(),
            );
            factors.apply(op, b, column).unwrap();
            assert!(x.iter().zip(&exact).all(|(x, exact)| (x - exact).norm() < 1e-11), "{method:?} {op:?}");
        }
    }
    let qr = DirectPlan::new(&general, DirectMethod::Qr).unwrap().factorize(&general).unwrap();
    let (b, mut x) = ([c64::ONE; 3], [c64::ZERO; 3]);
    let (b, column) =
        (DenseView::col_major(&b, 3, 1).unwrap(), DenseViewMut::col_major(&mut x, 3, 1).unwrap());
    assert!(matches!(qr.apply(Op::Transpose, b, column), Err(Error::Unsupported { .. })));
}

#[test]
fn the_factorization_fits_the_matrix() {
    let chosen = |a: &Csc<f64>| Factorization::new(a).unwrap().choice().algorithm;
    assert_eq!(chosen(&laplacian()), "cholesky");
    assert_eq!(chosen(&real(&[&[2.0, 1.0], &[0.0, 2.0]])), "lu"); // not symmetric
    assert_eq!(chosen(&real(&[&[1.0, 3.0], &[3.0, 1.0]])), "lu"); // indefinite, which Cholesky finds out
    assert_eq!(chosen(&real(&[&[0.0, 1.0], &[1.0, 0.0]])), "lu");
    assert_eq!(chosen(&real(&[&[1.0], &[1.0]])), "qr");
}

#[test]
fn qr_finds_the_least_squares_solution() {
    let a = real(&[&[1.0, 0.0], &[1.0, 1.0], &[1.0, 2.0]]);
    let factors = Factorization::new(&a).unwrap();
    let mut x = [0.0_f64; 2];
    let solution = factors.solve(&[1.0, 2.0, 4.0], &mut x, 1e-13).unwrap();
    assert_eq!(solution.outcome, Outcome::LeastSquares);
    assert!((x[0] - 5.0 / 6.0).abs() < 1e-13 && (x[1] - 1.5).abs() < 1e-13);
    assert_eq!(factors.solve(&[1.0, 1.0, 1.0], &mut x, 1e-13).unwrap().outcome, Outcome::Converged);
    // A complex right-hand side of a real matrix.
    let mut x = [c64::ZERO; 2];
    factors.solve(&[1.0, 2.0, 4.0].map(|b| c64::new(b, -b)), &mut x, 1e-13).unwrap();
    assert!((x[1] - c64::new(1.5, -1.5)).norm() < 1e-13, "{x:?}");
}

#[test]
fn singular_matrices_are_named() {
    let error = |a: &Csc<f64>| {
        let error = Factorization::new(a).unwrap_err();
        assert!(matches!(error, Error::Singular { row: None, .. }), "{error:?}");
        error.to_string()
    };
    let structural = error(&real(&[&[1.0, 2.0, 0.0], &[3.0, 4.0, 0.0], &[5.0, 6.0, 0.0]]));
    assert!(structural.contains("structurally singular: column 2 has no entry"), "{structural}");
    let numeric = error(&real(&[&[1.0, 2.0], &[2.0, 4.0]]));
    assert_eq!(numeric, "lu: the matrix is singular: a pivot is zero");
    let rank = error(&real(&[&[1.0, 0.0], &[2.0, 0.0], &[4.0, 0.0]]));
    assert!(rank.contains("structurally singular: column 1"), "{rank}");
    assert!(error(&Csc::zeros(3, 3).unwrap()).contains("column 0"));
}

#[test]
fn a_matrix_that_is_not_positive_definite_has_no_cholesky_factors() {
    let a = real(&[&[1.0, 3.0], &[3.0, 1.0]]);
    let error = DirectPlan::new(&a, DirectMethod::Cholesky).unwrap().factorize(&a).unwrap_err();
    assert!(matches!(error, Error::Singular { row: None, .. }), "{error:?}");
    assert_eq!(
        error.to_string(),
        "cholesky: the matrix is not positive definite; LU takes any regular matrix"
    );
    let a = real(&[&[1.0, 3.0], &[3.0, -1.0]]);
    let error = DirectPlan::new(&a, DirectMethod::Cholesky).unwrap().factorize(&a).unwrap_err().to_string();
    assert!(error.starts_with("cholesky: row 1: the diagonal element is -1"), "{error}");
}

#[test]
fn shapes_and_orders_that_do_not_fit_are_refused() {
    let wide = Csc::<f64>::zeros(2, 3).unwrap();
    let error = Factorization::new(&wide).unwrap_err().to_string();
    assert_eq!(error, "qr: at least as many rows as columns are needed, this one is 2 x 3");
    let error = DirectPlan::new(&wide, DirectMethod::Lu).unwrap_err().to_string();
    assert_eq!(error, "lu: a square matrix is needed, this one is 2 x 3");
    let unsorted = Csc::<f64>::new_unsorted(2, 1, vec![0, 2], vec![1, 0], vec![1.0, 1.0]).unwrap();
    assert!(matches!(Factorization::new(&unsorted), Err(Error::Unsupported { .. })));
    let error = Factorization::new(&laplacian::<f64>()).unwrap().solve(&[1.0], &mut [0.0; 63], 0.0);
    assert_eq!(error.unwrap_err().to_string(), "cholesky: the length of b is 1 where 63 is needed");
    for tolerance in [-1.0, f64::NAN] {
        let error =
            Factorization::new(&laplacian::<f64>()).unwrap().solve(&[1.0; 63], &mut [0.0; 63], tolerance);
        assert!(error.unwrap_err().to_string().ends_with("it must be at least 0"));
    }
}

#[test]
fn what_is_not_exact_is_not_claimed() {
    let a = laplacian::<f32>();
    let (b, _) = system(&a);
    let factors = Factorization::new(&a).unwrap();
    let solve = |b: &[f32]| factors.solve(b, &mut [0.0; 63], 1e-12).unwrap().outcome;
    assert_eq!(solve(&b), Outcome::Breakdown(Breakdown::Stagnation));
    assert!(matches!(solve(&[f32::NAN; 63]), Outcome::Breakdown(Breakdown::NotFinite { .. })));
    assert_eq!(solve(&[0.0; 63]), Outcome::Converged);
}

#[test]
fn empty_systems_are_solved() {
    let a = Csr::<f64>::zeros(0, 0).unwrap().into_transpose();
    assert!(Factorization::new(&a).unwrap().solve::<f64>(&[], &mut [], 0.0).unwrap().converged());
}

//! LSQR and LSMR: exact solutions, each outcome, and SciPy's numbers of iterations.

use crate::common::{matrix, right_hand_side};
use sparse_core::reference::Reference;
use sparse_core::{Accumulator, Csr, Scalar, c64};
use sparse_generate::stencil_5;
use sparse_solvers::{
    Breakdown, LeastSquares, LeastSquaresMethod, LeastSquaresOptions, Outcome, Solution, SolverOptions,
};
use std::ops::ControlFlow;

const METHODS: [LeastSquaresMethod; 2] = [LeastSquaresMethod::Lsqr, LeastSquaresMethod::Lsmr];

/// Solves from the `x` that is given, and compares the reported norms with those of x.
fn solve<T: Accumulator>(
    method: LeastSquaresMethod,
    a: &Csr<T>,
    b: &[T],
    x: &mut [T],
    options: &SolverOptions,
) -> Solution {
    let start = x.to_vec();
    let mut solver = LeastSquares::new(&Reference, a, method, options).unwrap();
    let solution = solver.solve(a, b, x, |_| ControlFlow::Continue(())).unwrap();
    if solution.residual.is_finite() && solution.iterations > 0 {
        let (residual, normal_residual) = norms(a, b, x, &start, options.least_squares.damp);
        let size: f64 = b.iter().map(|b| b.to_c64().norm()).sum::<f64>()
            + a.triplets().map(|(_, j, value)| value.to_c64().norm() * x[j].to_c64().norm()).sum::<f64>();
        let rounding = 16.0 * 0.5f64.powi(T::PRECISION as i32) * size;
        let largest = a.values().iter().map(|value| value.to_c64().norm()).fold(1.0, f64::max);
        assert!((solution.residual - residual).abs() <= rounding, "{method:?}: {solution}, {residual:e}");
        let reported = solution.normal_residual.unwrap();
        let bound = rounding * largest * a.ncols() as f64;
        assert!((reported - normal_residual).abs() <= bound, "{method:?}: {reported:e}, {normal_residual:e}");
    }
    solution
}

/// ‖b − A·x‖ and ‖Aᴴ·(b − A·x) − damp²·(x − x₀)‖.
fn norms<T: Scalar>(a: &Csr<T>, b: &[T], x: &[T], start: &[T], damp: f64) -> (f64, f64) {
    let mut r: Vec<c64> = b.iter().map(|b| b.to_c64()).collect();
    a.triplets().for_each(|(i, j, value)| r[i] -= value.to_c64() * x[j].to_c64());
    let moved = x.iter().zip(start).map(|(x, start)| x.to_c64() - start.to_c64());
    let mut gradient: Vec<c64> = moved.map(|moved| -damp * damp * moved).collect();
    a.triplets().for_each(|(i, j, value)| gradient[j] += value.to_c64().conj() * r[i]);
    let norm = |v: &[c64]| v.iter().map(|v| v.norm_sqr()).sum::<f64>().sqrt();
    (norm(&r), norm(&gradient))
}

fn tolerance(tolerance: f64) -> SolverOptions {
    SolverOptions { tolerance, ..SolverOptions::default() }
}

fn damped(damp: f64) -> SolverOptions {
    let least_squares = LeastSquaresOptions { damp, ..LeastSquaresOptions::default() };
    SolverOptions { tolerance: 1e-12, least_squares, ..SolverOptions::default() }
}

fn rows<T: Scalar>(rows: &[&[f64]]) -> Csr<T> {
    let (m, n) = (rows.len(), rows[0].len());
    let offsets = (0..=m as i32).map(|row| row * n as i32).collect();
    let columns = (0..m).flat_map(|_| 0..n as i32).collect();
    let values = rows.iter().flat_map(|row| row.iter().map(|&value| T::from_c64(value.into())));
    Csr::new(m, n, offsets, columns, values.collect()).unwrap()
}

/// The first 200 columns of a Laplacian of order 300.
fn tall() -> Csr<f64> {
    let a = stencil_5::<f64>(20, 15).unwrap();
    let (mut offsets, mut columns, mut values) = (vec![0], vec![], vec![]);
    for row in 0..a.nrows() {
        for (col, value) in a.major_entries(row).filter(|&(col, _)| col < 200) {
            columns.push(col as i32);
            values.push(value);
        }
        offsets.push(columns.len() as i32);
    }
    Csr::new(300, 200, offsets, columns, values).unwrap()
}

fn transposed(a: &Csr<f64>) -> Csr<f64> {
    let mut entries: Vec<_> = a.triplets().map(|(i, j, value)| (j, i, value)).collect();
    entries.sort_by_key(|&(row, col, _)| (row, col));
    let mut offsets = vec![0; a.ncols() + 1];
    entries.iter().for_each(|entry| offsets[entry.0 + 1] += 1);
    (0..a.ncols()).for_each(|row| offsets[row + 1] += offsets[row]);
    let (columns, values) = entries.into_iter().map(|(_, col, value)| (col as i32, value)).unzip();
    Csr::new(a.ncols(), a.nrows(), offsets, columns, values).unwrap()
}

#[test]
fn a_line_is_fitted_in_every_type() {
    fn fit<T: Accumulator>(tolerance_of_type: f64) {
        let a = rows::<T>(&[&[1.0, 0.0], &[1.0, 1.0], &[1.0, 2.0]]);
        let b = [1.0, 2.0, 4.0].map(|b| T::from_c64(c64::new(b, 2.0 * b)));
        for method in METHODS {
            let mut x = [T::ZERO; 2];
            let solution = solve(method, &a, &b, &mut x, &tolerance(tolerance_of_type));
            assert_eq!(solution.outcome, Outcome::LeastSquares, "{method:?}: {solution}");
            for (x, exact) in x.iter().zip([5.0 / 6.0, 1.5]) {
                assert!((x.to_c64().re - exact).abs() < 10.0 * tolerance_of_type, "{method:?}: {x}");
            }
        }
    }
    fit::<f32>(1e-5);
    fit::<f64>(1e-12);
    fit::<sparse_core::c32>(1e-5);
    fit::<c64>(1e-12);
}

#[test]
fn damping_pulls_towards_the_start() {
    // (x − 3)² + (2·x − 4)² + 4·(x − 1)² is least at x = 15/9.
    let a = rows::<f64>(&[&[1.0], &[2.0]]);
    for method in METHODS {
        let mut x = [1.0];
        let solution = solve(method, &a, &[3.0, 4.0], &mut x, &damped(2.0));
        assert_eq!(solution.outcome, Outcome::LeastSquares);
        assert!((x[0] - 15.0 / 9.0).abs() < 1e-12, "{method:?}: {x:?}");
    }
}

#[test]
fn an_underdetermined_system_has_the_closest_solution() {
    let a = rows::<f64>(&[&[1.0, 1.0, 0.0]]);
    for method in METHODS {
        let mut x = [0.0, 4.0, 7.0];
        let solution = solve(method, &a, &[2.0], &mut x, &tolerance(1e-12));
        assert_eq!(solution.outcome, Outcome::Converged);
        assert!(x.iter().zip([-1.0, 3.0, 7.0]).all(|(x, exact)| (x - exact).abs() < 1e-12), "{x:?}");
    }
}

#[test]
fn a_matrix_of_rank_one_is_no_obstacle() {
    let a = matrix(4, |_, _| 1.0);
    for method in METHODS {
        for (b, outcome) in [([2.0; 4], Outcome::Converged), ([0.0, 4.0, 1.0, 3.0], Outcome::LeastSquares)] {
            let mut x = [0.0; 4];
            let solution = solve(method, &a, &b, &mut x, &tolerance(1e-12));
            assert_eq!(solution.outcome, outcome, "{method:?}: {solution}");
            assert!(x.iter().all(|x| (x - 0.5).abs() < 1e-12), "{method:?}: {x:?}");
        }
    }
}

#[test]
fn what_is_solved_at_once_takes_no_iteration() {
    let a = rows::<f64>(&[&[1.0, 1.0], &[1.0, -1.0], &[0.0, 0.0]]);
    for method in METHODS {
        let mut x = [f64::NAN; 2];
        let zero = solve(method, &a, &[0.0; 3], &mut x, &tolerance(1e-12));
        assert_eq!((zero.outcome, zero.iterations, x), (Outcome::Converged, 0, [0.0; 2]));
        let mut x = [2.0, 1.0];
        let exact = solve(method, &a, &[3.0, 1.0, 0.0], &mut x, &tolerance(0.0));
        assert_eq!((exact.outcome, exact.iterations, x), (Outcome::Converged, 0, [2.0, 1.0]));
        // b is orthogonal to the columns of A.
        let mut x = [0.0; 2];
        let orthogonal = solve(method, &a, &[0.0, 0.0, 5.0], &mut x, &tolerance(0.0));
        assert_eq!((orthogonal.outcome, orthogonal.iterations), (Outcome::LeastSquares, 0));
        assert_eq!((orthogonal.residual, orthogonal.normal_residual), (5.0, Some(0.0)));
    }
}

#[test]
fn norm_and_condition_are_estimated() {
    // The singular values are 4 and 1, and b has a component along each.
    let a = rows::<f64>(&[&[4.0, 0.0], &[0.0, 1.0], &[0.0, 0.0]]);
    for method in METHODS {
        let solution = solve(method, &a, &[1.0, 1.0, 1.0], &mut [0.0; 2], &tolerance(1e-12));
        let estimates = solution.estimates.unwrap();
        assert!((4.0..4.2).contains(&estimates.norm), "{method:?}: {estimates:?}");
        assert!((3.9..8.0).contains(&estimates.condition), "{method:?}: {estimates:?}");
    }
}

#[test]
fn numbers_that_are_not_finite_break_down() {
    let (a, broken) = (rows::<f64>(&[&[1.0], &[2.0]]), rows::<f64>(&[&[1.0], &[f64::NAN]]));
    for method in METHODS {
        for (a, b) in [(&a, [f64::NAN, 1.0]), (&a, [f64::INFINITY, 1.0]), (&broken, [1.0, 1.0])] {
            let outcome = solve(method, a, &b, &mut [0.0], &SolverOptions::default()).outcome;
            let not_finite = matches!(outcome, Outcome::Breakdown(Breakdown::NotFinite { .. }));
            assert!(not_finite, "{method:?}, {b:?}: {outcome}");
        }
    }
}

#[test]
fn an_ill_conditioned_matrix_is_named() {
    let a = matrix(8, |i, j| if i == j { 10f64.powi(-2 * i as i32) } else { 0.0 });
    for method in METHODS {
        let solution = solve(method, &a, &[1.0; 8], &mut [0.0; 8], &tolerance(1e-14));
        assert_eq!(solution.outcome, Outcome::Breakdown(Breakdown::IllConditioned), "{method:?}: {solution}");
    }
}

#[test]
fn the_iteration_limit_is_kept() {
    for method in METHODS {
        let options = SolverOptions { max_iterations: Some(3), ..SolverOptions::default() };
        let solution = solve(method, &tall(), &right_hand_side(300), &mut vec![0.0; 200], &options);
        assert_eq!((solution.outcome, solution.iterations), (Outcome::IterationLimit, 3));
    }
}

#[test]
fn a_tolerance_beyond_the_precision_is_not_claimed() {
    let a = rows::<f32>(&[&[1.0, 0.3], &[0.7, 1.0], &[0.1, 2.0]]);
    let options = SolverOptions { max_iterations: Some(1000), ..tolerance(1e-30) };
    for method in METHODS {
        let solution = solve(method, &a, &[1.0, 2.0, 4.0], &mut [0.0; 2], &options);
        assert_eq!(solution.outcome, Outcome::Breakdown(Breakdown::Stagnation), "{method:?}: {solution}");
    }
}

#[test]
fn wrong_lengths_and_options_are_refused() {
    let a = tall();
    let mut solver =
        LeastSquares::new(&Reference, &a, LeastSquaresMethod::Lsmr, &SolverOptions::default()).unwrap();
    let mut error = |b: usize, x: usize| {
        let end = solver.solve(&a, &vec![1.0; b], &mut vec![0.0; x], |_| ControlFlow::Continue(()));
        end.unwrap_err().to_string()
    };
    assert_eq!(error(200, 200), "lsmr: the length of b is 200 where 300 is needed");
    assert_eq!(error(300, 300), "lsmr: the length of x is 300 where 200 is needed");
    let error = LeastSquares::new(&Reference, &a, LeastSquaresMethod::Lsqr, &damped(-1.0)).unwrap_err();
    assert_eq!(error.to_string(), "a damp of -1 is not supported: it must be at least 0");
}

/// `itn` and `istop` of SciPy 1.17.1 with `atol=1e-8, btol=1e-8, conlim=0`.
#[test]
fn as_many_iterations_as_scipys() {
    let (tall, wide) = (tall(), transposed(&tall()));
    let square = stencil_5::<f64>(30, 20).unwrap();
    let (converged, least_squares) = (Outcome::Converged, Outcome::LeastSquares);
    for (a, damp, scipy, outcome) in [
        (&square, 0.0, [506, 509], converged),
        (&tall, 0.0, [165, 164], least_squares),
        (&wide, 0.0, [163, 165], converged),
        (&tall, 0.5, [90, 87], least_squares),
        (&wide, 0.5, [99, 97], least_squares),
    ] {
        let least_squares = LeastSquaresOptions { damp, condition_limit: 0.0, ..Default::default() };
        let options = SolverOptions { least_squares, max_iterations: Some(10_000), ..tolerance(1e-8) };
        for (method, scipy) in METHODS.into_iter().zip(scipy) {
            let mut x = vec![0.0; a.ncols()];
            let solution = solve(method, a, &right_hand_side(a.nrows()), &mut x, &options);
            assert_eq!(solution.outcome, outcome, "{method:?}: {solution}");
            assert!(solution.iterations.abs_diff(scipy) <= 1, "{method:?}, {scipy}: {solution}");
        }
    }
}

/// 1/‖b‖ is infinite, and b is not.
#[test]
fn subnormal_right_hand_sides_are_solved() {
    let a = Csr::<f64>::identity(3).unwrap();
    for method in METHODS {
        let mut x = [0.0; 3];
        let solution = solve(method, &a, &[1e-310; 3], &mut x, &tolerance(1e-8));
        assert!(solution.converged(), "{method:?}: {solution}");
        assert!(x.iter().all(|x| (x / 1e-310 - 1.0).abs() < 1e-8), "{method:?}: {x:?}");
    }
}

/// A·b underflows or overflows, where neither A nor b does: the normal equations of the first have a zero on both
/// sides, which is no solution, and those of the second infinity.
fn solves_at_any_scale<T: Accumulator>(size: f64) {
    let scaled = |value: &T| T::from_c64(size * value.to_c64());
    let a = rows::<T>(&[&[4.0, 1.0, 0.0], &[1.0, 3.0, 1.0], &[0.0, 1.0, 2.0], &[1.0, 0.0, 1.0]]);
    let a = a.with_values(a.values().iter().map(scaled).collect()).unwrap();
    let solution_of = |x: [f64; 3]| x.map(|x| T::from_c64(x.into()));
    let wanted = solution_of([2.0, -1.0, 3.0]);
    let mut b = vec![T::ZERO; 4];
    sparse_core::op::SpmvPlan::new(&Reference, &a, sparse_core::op::Op::None, &Default::default())
        .and_then(|mut plan| plan.run(T::one(), &a, &wanted, T::zero(), &mut b))
        .unwrap();
    for method in METHODS {
        let options = tolerance(1e-5);
        let mut x = [T::ZERO; 3];
        let mut solver = LeastSquares::new(&Reference, &a, method, &options).unwrap();
        let solution = solver.solve(&a, &b, &mut x, |_| ControlFlow::Continue(())).unwrap();
        assert!(solution.converged(), "{method:?} at {size:e}: {solution}");
        for (x, wanted) in x.iter().zip(wanted) {
            assert!((x.to_c64() - wanted.to_c64()).norm() < 1e-3, "{method:?} at {size:e}: {x} for {wanted}");
        }
        // Without an iteration nothing is solved.
        let none = SolverOptions { max_iterations: Some(0), ..options };
        let mut x = [T::ZERO; 3];
        let mut solver = LeastSquares::new(&Reference, &a, method, &none).unwrap();
        let solution = solver.solve(&a, &b, &mut x, |_| ControlFlow::Continue(())).unwrap();
        assert_eq!(solution.outcome, Outcome::IterationLimit, "{method:?} at {size:e}");
    }
}

#[test]
fn small_and_large_problems_are_solved() {
    for size in [1e-300, 1e-160, 1e160, 1e300] {
        solves_at_any_scale::<f64>(size);
        solves_at_any_scale::<c64>(size);
    }
    for size in [1e-30, 1e-20, 1e20, 1e36] {
        solves_at_any_scale::<f32>(size);
    }
}

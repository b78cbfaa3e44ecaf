//! Systems that are badly scaled, indefinite or singular: the outcome of each method, beside SciPy's.
//!
//! SciPy's outcomes were recorded by `outcomes_of_scipy.py`, which is beside this file and makes the same systems.

use crate::common::{Method, hilbert, matrix, right_hand_side, solve};
use sparse_core::Csr;
use sparse_core::op::{Op, Operations};
use sparse_core::reference::Reference;
use sparse_solvers::{Breakdown, Outcome, SolverOptions};
use std::path::Path;

/// The order of all systems.
const N: usize = 60;
const TOLERANCE: f64 = 1e-10;

/// The outcome of SciPy 1.17.1, with NumPy 2.4.6, the same tolerance and limit of iterations, and `atol=0`.
struct SciPy {
    /// True if it claims convergence (`info == 0`).
    claims: bool,
    /// ‖b − A·x‖ / ‖b‖ of its x.
    residual: f64,
}

const fn scipy(claims: bool, residual: f64) -> SciPy {
    SciPy { claims, residual }
}

/// A system's name, and our outcome and SciPy's of CG, BiCGSTAB, GMRES and MINRES.
type Row = (&'static str, [(&'static str, SciPy); 4]);

#[rustfmt::skip]
const TABLE: [Row; 24] = [
    ("laplacian", [("converged", scipy(true, 5.5e-15)), ("converged", scipy(true, 6.4e-11)),
        ("limit", scipy(false, 1.6e-8)), ("converged", scipy(true, 4.3e-14))]),
    ("scaled_1e4", [("converged", scipy(true, 8.5e-13)), ("converged", scipy(true, 9.8e-11)),
        ("limit", scipy(false, 3.1e-7)), ("converged", scipy(true, 1.7e-8))]),
    ("scaled_1e12", [("stagnation", scipy(true, 4.9e-9)), ("rho", scipy(false, 5.0e-2)),
        ("limit", scipy(false, 7.6e-7)), ("stagnation", scipy(true, 4.8e-1))]),
    ("scaled_1e32", [("stagnation", scipy(true, 6.3e1)), ("limit", scipy(false, 8.2e-1)),
        ("singular", scipy(false, 3.2e1)), ("singular", scipy(true, 9.8e-1))]),
    ("graded_diagonal", [("converged", scipy(true, 1.2e-11)), ("converged", scipy(true, 5.0e-14)),
        ("converged", scipy(false, 1.0e-3)), ("limit", scipy(true, 5.7e-1))]),
    ("hilbert", [("limit", scipy(false, 4.1e-5)), ("limit", scipy(false, 7.2e-5)),
        ("stagnation", scipy(false, 1.1e-8)), ("limit", scipy(true, 1.3e-5))]),
    ("tiny", [("converged", scipy(true, 1.0e0)), ("converged", scipy(true, 1.0e0)),
        ("limit", scipy(true, 1.0e0)), ("converged", scipy(true, 1.0e0))]),
    ("huge", [("converged", scipy(false, f64::NAN)), ("converged", scipy(false, f64::NAN)),
        ("limit", scipy(true, 1.0e0)), ("converged", scipy(true, f64::NAN))]),
    ("indefinite_laplacian", [("indefinite", scipy(true, 5.9e-11)), ("converged", scipy(true, 1.0e-11)),
        ("limit", scipy(false, 1.5e-3)), ("converged", scipy(true, 1.5e-14))]),
    ("alternating_signs", [("indefinite", scipy(true, 1.0e-11)), ("converged", scipy(true, 7.2e-11)),
        ("limit", scipy(false, 6.3e-3)), ("converged", scipy(true, 1.9e-9))]),
    ("saddle_point", [("indefinite", scipy(false, 3.4e17)), ("limit", scipy(false, 1.5e18)),
        ("stalled cycle", scipy(false, 6.6e-2)), ("singular", scipy(true, 6.6e-2))]),
    ("negative_definite", [("indefinite", scipy(true, 5.5e-15)), ("converged", scipy(true, 6.4e-11)),
        ("limit", scipy(false, 1.6e-8)), ("converged", scipy(true, 4.3e-14))]),
    ("skew_symmetric", [("indefinite", scipy(false, 7.1e19)), ("rho", scipy(false, 2.8e22)),
        ("limit", scipy(false, 4.4e-4)), ("limit", scipy(false, 6.7e0))]),
    ("cyclic_shift", [("indefinite", scipy(false, 1.4e12)), ("rho", scipy(false, 2.0e0)),
        ("stalled cycle", scipy(false, 4.3e-1)), ("limit", scipy(false, 5.1e0))]),
    ("nearly_jordan", [("limit", scipy(false, 5.1e5)), ("rho", scipy(false, 9.2e0)),
        ("stalled cycle", scipy(false, 4.8e-1)), ("limit", scipy(false, 5.9e0))]),
    ("strong_convection", [("limit", scipy(false, 3.5e3)), ("rho", scipy(false, 7.5e-3)),
        ("converged", scipy(true, 7.5e-11)), ("limit", scipy(false, 6.6e0))]),
    ("neumann_consistent", [("converged", scipy(true, 6.8e-16)), ("converged", scipy(true, 4.9e-11)),
        ("converged", scipy(true, 1.0e-10)), ("converged", scipy(true, 1.4e-15))]),
    ("neumann_inconsistent", [("limit", scipy(false, f64::NAN)), ("limit", scipy(false, 3.7e5)),
        ("stalled cycle", scipy(false, 1.7e-2)), ("limit", scipy(true, 1.7e-2))]),
    ("neumann_null_vector", [("indefinite", scipy(false, f64::NAN)), ("zero divisor", scipy(false, 1.0e0)),
        ("singular", scipy(false, 1.0e0)), ("singular", scipy(true, 1.0e0))]),
    ("zero_rows_consistent", [("converged", scipy(true, 3.8e-16)), ("converged", scipy(true, 1.1e-11)),
        ("converged", scipy(true, 8.8e-11)), ("converged", scipy(true, 3.9e-16))]),
    ("zero_rows_inconsistent", [("not finite", scipy(false, f64::NAN)), ("limit", scipy(false, 2.4e0)),
        ("stalled cycle", scipy(false, 8.1e15)), ("limit", scipy(true, 1.5e0))]),
    ("rank_one_consistent", [("converged", scipy(true, 1.3e-15)), ("converged", scipy(true, 1.3e-15)),
        ("converged", scipy(true, 1.9e-15)), ("converged", scipy(true, 1.9e-15))]),
    ("rank_one_inconsistent", [("indefinite", scipy(true, 6.2e17)), ("zero divisor", scipy(false, 1.3e3)),
        ("singular", scipy(false, 5.5e1)), ("singular", scipy(true, 1.3e0))]),
    ("zero", [("indefinite", scipy(false, 1.0e0)), ("zero divisor", scipy(false, 1.0e0)),
        ("singular", scipy(false, 1.0e0)), ("singular", scipy(true, 1.0e0))]),
];

/// Matrices of the SuiteSparse collection, with b = A·1.
#[rustfmt::skip]
const FILES: [Row; 15] = [
    ("494_bus.mtx", [("limit", scipy(false, 7.0e-4)), ("limit", scipy(false, 8.5e-5)),
        ("limit", scipy(false, 2.2e-4)), ("limit", scipy(false, 5.0e-5))]),
    ("bcsstk26.mtx", [("limit", scipy(false, 1.7e-4)), ("limit", scipy(false, 1.6e-5)),
        ("limit", scipy(false, 1.4e-4)), ("limit", scipy(false, 2.0e-5))]),
    ("lund_a.mtx", [("converged", scipy(true, 9.4e-9)), ("limit", scipy(false, 2.2e-7)),
        ("limit", scipy(false, 1.7e-6)), ("converged", scipy(true, 1.5e-7))]),
    ("hangGlider_2.mtx", [("indefinite", scipy(false, 3.6e-2)), ("limit", scipy(false, 5.0e-3)),
        ("limit", scipy(false, 1.5e-2)), ("limit", scipy(false, 6.8e-4))]),
    ("zenios.mtx", [("indefinite", scipy(false, 1.4e-4)), ("limit", scipy(false, 8.1e-5)),
        ("limit", scipy(false, 6.1e-4)), ("limit", scipy(false, 1.8e-5))]),
    ("QSHIP12L_P.mtx.gz", [("converged", scipy(true, 1.5e-9)), ("converged", scipy(true, 4.9e-10)),
        ("converged", scipy(true, 1.5e-9)), ("converged", scipy(true, 1.5e-7))]),
    ("chesapeake.mtx", [("indefinite", scipy(true, 7.1e-9)), ("converged", scipy(true, 2.8e-11)),
        ("limit", scipy(false, 2.1e-6)), ("converged", scipy(true, 1.6e-8))]),
    ("adder_dcop_05.mtx", [("indefinite", scipy(false, 9.2e-2)), ("limit", scipy(false, 2.3e-4)),
        ("stalled cycle", scipy(false, 7.7e-4)), ("limit", scipy(false, 1.2e-3))]),
    ("mahindas.mtx", [("indefinite", scipy(false, 2.5e5)), ("rho", scipy(false, 3.1e-3)),
        ("stalled cycle", scipy(false, 7.5e-5)), ("limit", scipy(false, 2.4e0))]),
    ("olm1000.mtx", [("indefinite", scipy(false, 1.9e1)), ("limit", scipy(false, 1.7e-1)),
        ("stalled cycle", scipy(false, 6.7e-3)), ("limit", scipy(false, 2.0e-2))]),
    ("plskz362.mtx", [("indefinite", scipy(false, 2.9e19)), ("rho", scipy(false, 2.3e43)),
        ("limit", scipy(false, 6.4e-3)), ("limit", scipy(false, 5.9e0))]),
    ("west0067.mtx", [("indefinite", scipy(false, 1.0e19)), ("rho", scipy(false, 6.4e0)),
        ("stalled cycle", scipy(false, 7.0e-1)), ("limit", scipy(false, 1.9e0))]),
    ("west0479.mtx", [("indefinite", scipy(false, 3.8e3)), ("limit", scipy(false, 2.4e7)),
        ("limit", scipy(false, 7.6e-1)), ("limit", scipy(false, 1.6e0))]),
    ("isooctane_A0.mtx", [("limit", scipy(false, 3.0e-2)), ("converged", scipy(true, 8.7e-9)),
        ("converged", scipy(true, 9.6e-9)), ("limit", scipy(false, 1.1e-2))]),
    ("2dcyl1.mtx.gz", [("limit", scipy(false, 2.6e2)), ("converged", scipy(true, 8.8e-9)),
        ("limit", scipy(false, 1.1e-3)), ("limit", scipy(false, 2.5e0))]),
];

fn tridiagonal(below: f64, diagonal: f64, above: f64) -> Csr<f64> {
    matrix(N, |i, j| match j as isize - i as isize {
        -1 => below,
        0 => diagonal,
        1 => above,
        _ => 0.0,
    })
}

fn diagonal(element: impl Fn(usize) -> f64) -> Csr<f64> {
    matrix(N, |i, j| if i == j { element(i) } else { 0.0 })
}

fn with_values(a: &Csr<f64>, value: impl Fn(usize, usize, f64) -> f64) -> Csr<f64> {
    a.with_values(a.triplets().map(|(i, j, v)| value(i, j, v)).collect()).unwrap()
}

/// D·A·D with a diagonal D of 1, 10^spread and 10^(2·spread) in turn.
fn scaled(a: &Csr<f64>, spread: i32) -> Csr<f64> {
    let factor = |k: usize| 10f64.powi(spread * (k % 3) as i32);
    with_values(a, |i, j, value| factor(i) * value * factor(j))
}

/// The Laplacian without boundary values, which is singular.
fn neumann() -> Csr<f64> {
    with_values(
        &tridiagonal(-1.0, 2.0, -1.0),
        |i, j, value| {
            if i == j && (i == 0 || i == N - 1) { 1.0 } else { value }
        },
    )
}

fn product(a: &Csr<f64>, x: &[f64]) -> Vec<f64> {
    let mut y = vec![0.0; a.nrows()];
    Reference.spmv(Op::None, 1.0, a, x, 0.0, &mut y).unwrap();
    y
}

fn times(factor: f64, b: &[f64]) -> Vec<f64> {
    b.iter().map(|b| factor * b).collect()
}

/// A and b by their name in the table.
fn system(name: &str) -> (Csr<f64>, Vec<f64>) {
    let (wave, ones): (Vec<f64>, _) = (right_hand_side(N), vec![1.0; N]);
    let laplacian = tridiagonal(-1.0, 2.0, -1.0);
    let half_zero = matrix(N, |i, j| if i == j && i % 2 == 0 { 1.0 + i as f64 } else { 0.0 });
    let rank_one = matrix(N, |_, _| 1.0);
    let saddle = |i: usize, j: usize| match (i < 40, j < 40) {
        (true, true) if i == j => 2.0,
        (true, false) | (false, true) if (i + j) % 20 < 2 => 1.0,
        _ => 0.0,
    };
    match name {
        "laplacian" => (laplacian, wave),
        "scaled_1e4" => (scaled(&laplacian, 1), wave),
        "scaled_1e12" => (scaled(&laplacian, 3), wave),
        "scaled_1e32" => (scaled(&laplacian, 8), wave),
        "graded_diagonal" => (diagonal(|i| 10f64.powi(-(i as i32 / 4))), ones),
        "hilbert" => (hilbert(N), ones),
        "tiny" => (with_values(&laplacian, |_, _, value| value * 1e-180), times(1e-180, &wave)),
        "huge" => (with_values(&laplacian, |_, _, value| value * 1e140), times(1e180, &wave)),
        "indefinite_laplacian" => (tridiagonal(-1.0, 0.5, -1.0), wave),
        "alternating_signs" => (diagonal(|i| (1.0 + i as f64) * (-1f64).powi(i as i32)), ones),
        "saddle_point" => (matrix(N, saddle), wave),
        "negative_definite" => (tridiagonal(1.0, -2.0, 1.0), wave),
        "skew_symmetric" => (tridiagonal(-1.0, 0.0, 1.0), wave),
        "cyclic_shift" => (matrix(N, |i, j| if j == (i + 1) % N { 1.0 } else { 0.0 }), wave),
        "nearly_jordan" => (tridiagonal(0.0, 1.0, 2.0), wave),
        "strong_convection" => (tridiagonal(-11.0, 2.0, 9.0), wave),
        "neumann_consistent" => (neumann(), product(&neumann(), &wave)),
        "neumann_inconsistent" => (neumann(), wave),
        "neumann_null_vector" => (neumann(), ones),
        "zero_rows_consistent" => {
            let b = product(&half_zero, &ones);
            (half_zero, b)
        }
        "zero_rows_inconsistent" => (half_zero, ones),
        "rank_one_consistent" => (rank_one, ones),
        "rank_one_inconsistent" => (rank_one, wave),
        "zero" => (Csr::zeros(N, N).unwrap(), ones),
        _ => unreachable!("{name} is not in the table"),
    }
}

/// An outcome's name in the tables.
fn name(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Converged => "converged",
        Outcome::IterationLimit => "limit",
        Outcome::Breakdown(Breakdown::RhoUnderflow) => "rho",
        Outcome::Breakdown(Breakdown::IndefiniteMatrix) => "indefinite",
        Outcome::Breakdown(Breakdown::Stagnation) => "stagnation",
        Outcome::Breakdown(Breakdown::StalledCycle) => "stalled cycle",
        Outcome::Breakdown(Breakdown::SingularMatrix) => "singular",
        Outcome::Breakdown(Breakdown::ZeroDivisor { .. }) => "zero divisor",
        Outcome::Breakdown(Breakdown::NotFinite { .. }) => "not finite",
        other => panic!("{other} is no way that these systems end"),
    }
}

/// Solves a system by every method; returns what is not as expected. [`solve`] computes b − A·x itself, and fails if a
/// claim is false.
fn compare((system, expected): &Row, a: &Csr<f64>, b: &[f64], options: &SolverOptions) -> Vec<String> {
    let [cg, bicgstab, gmres, minres] = expected;
    let compare = |(method, (expected, scipy)): (Method, &(&str, SciPy))| {
        let (solution, _) = solve(method, a, b, false, options).unwrap();
        let found = name(solution.outcome);
        let scipy_solves = scipy.claims && scipy.residual <= options.tolerance;
        let is_cg = matches!(method, Method::Cg | Method::EnqueuedCg);
        let as_good = solution.converged() || is_cg && found == "indefinite";
        let is_expected = found == *expected && (as_good || !scipy_solves);
        (!is_expected).then(|| format!("{system}, {method:?}: {solution}; SciPy solves: {scipy_solves}"))
    };
    Method::ALL.into_iter().zip([cg, cg, bicgstab, gmres, minres]).filter_map(compare).collect()
}

#[test]
fn no_claim_is_false_where_systems_are_hard() {
    let options = SolverOptions { tolerance: TOLERANCE, ..SolverOptions::default() };
    let compare = |row: &Row| {
        let (a, b) = system(row.0);
        compare(row, &a, &b, &options)
    };
    let others: Vec<String> = TABLE.iter().flat_map(compare).collect();
    assert!(others.is_empty(), "{}", others.join("\n"));
}

#[test]
fn scipy_makes_false_claims_on_the_same_systems() {
    let is_false = |scipy: &SciPy| scipy.claims && scipy.residual > 2.0 * TOLERANCE;
    let false_claims = |method: usize| {
        let rows = TABLE.iter().filter(|(_, outcomes)| is_false(&outcomes[method].1));
        rows.map(|row| row.0).collect::<Vec<_>>()
    };
    assert_eq!(false_claims(0), ["scaled_1e12", "scaled_1e32", "tiny", "rank_one_inconsistent"]);
    assert_eq!(false_claims(2), ["tiny", "huge"]);
}

/// Real matrices with b = A·1, if their files are present; otherwise the test checks nothing.
#[test]
fn no_claim_is_false_on_real_matrices() {
    let options = SolverOptions { tolerance: 1e-8, max_iterations: Some(500), ..SolverOptions::default() };
    let mut others = vec![];
    for row in &FILES {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data/matrices").join(row.0);
        if path.exists() {
            let a: Csr<f64> = sparse_io::matrix_market::read_csr(path).unwrap();
            others.extend(compare(row, &a, &product(&a, &vec![1.0; a.ncols()]), &options));
        }
    }
    assert!(others.is_empty(), "{}", others.join("\n"));
}

//! Systems, and a solver whose answer is checked on every call.

use sparse_core::reference::Reference;
use sparse_core::{Accumulator, Csr, Result, Scalar, c64};
use sparse_generate::stencil_5;
use sparse_solvers::{
    BiCgStab, Breakdown, Cg, EnqueuedCg, Gmres, Jacobi, Minres, Outcome, Solution, SolverOptions,
};
use std::ops::ControlFlow;

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Method {
    Cg,
    EnqueuedCg,
    BiCgStab,
    Gmres,
    Minres,
}

impl Method {
    pub(crate) const ALL: [Self; 5] = [Self::Cg, Self::EnqueuedCg, Self::BiCgStab, Self::Gmres, Self::Minres];
}

/// The matrix of order `n` with the elements that are not zero.
pub(crate) fn matrix<T: Scalar>(n: usize, element: impl Fn(usize, usize) -> T) -> Csr<T> {
    let (mut offsets, mut columns, mut values) = (vec![0], vec![], vec![]);
    for row in 0..n {
        for (col, value) in (0..n).map(|col| (col, element(row, col))).filter(|(_, value)| !value.is_zero()) {
            columns.push(col as i32);
            values.push(value);
        }
        offsets.push(columns.len() as i32);
    }
    Csr::new(n, n, offsets, columns, values).unwrap()
}

/// The Hilbert matrix, the textbook's ill-conditioned one.
pub(crate) fn hilbert<T: Scalar>(n: usize) -> Csr<T> {
    matrix(n, |i, j| T::from_c64(c64::from(1.0 / (i + j + 1) as f64)))
}

/// Convection and diffusion: a Laplacian with convection, and so not symmetric.
pub(crate) fn convection<T: Scalar>(nx: usize, ny: usize) -> Csr<T> {
    let a = stencil_5::<T>(nx, ny).unwrap();
    let wind = |i: usize, j: usize| {
        if j == i + 1 {
            0.4
        } else if i == j + 1 {
            -0.4
        } else {
            0.0
        }
    };
    let values = a.triplets().map(|(i, j, value)| T::from_c64(value.to_c64() + wind(i, j)));
    a.with_values(values.collect()).unwrap()
}

/// Values of either sign without a regular pattern.
pub(crate) fn right_hand_side<T: Scalar>(n: usize) -> Vec<T> {
    let part = |k: usize| (k * 37 % 101) as f64 / 50.0 - 1.0;
    (0..n).map(|k| T::from_c64(c64::new(part(k), part(k + 13)))).collect()
}

/// Solves A·x = b from x = 0 and checks that the reported residual is that of x.
pub(crate) fn solve<T: Accumulator>(
    method: Method,
    a: &Csr<T>,
    b: &[T],
    jacobi: bool,
    options: &SolverOptions,
) -> Result<(Solution, Vec<T>)> {
    let preconditioner = if jacobi { Some(Jacobi::new(&Reference, a)?) } else { None };
    let go_on = |_| ControlFlow::Continue(());
    let mut x = vec![T::ZERO; b.len()];
    let solution = match method {
        Method::Cg => Cg::new(&Reference, a, preconditioner, options)?.solve(a, b, &mut x, go_on),
        Method::EnqueuedCg => {
            EnqueuedCg::new(&Reference, a, preconditioner, options)?.solve(a, b, &mut x, go_on)
        }
        Method::BiCgStab => BiCgStab::new(&Reference, a, preconditioner, options)?.solve(a, b, &mut x, go_on),
        Method::Gmres => Gmres::new(&Reference, a, preconditioner, options)?.solve(a, b, &mut x, go_on),
        Method::Minres => Minres::new(&Reference, a, preconditioner, options)?.solve(a, b, &mut x, go_on),
    }?;
    check(a, b, &x, &solution, options.tolerance);
    Ok((solution, x))
}

/// Checks that the residual, in double precision, is the reported one, and within the tolerance if the solver says so.
pub(crate) fn check<T: Accumulator>(a: &Csr<T>, b: &[T], x: &[T], solution: &Solution, tolerance: f64) {
    if !solution.residual.is_finite() {
        assert!(matches!(solution.outcome, Outcome::Breakdown(Breakdown::NotFinite { .. })), "{solution}");
        return;
    }
    let mut residual: Vec<c64> = b.iter().map(|value| value.to_c64()).collect();
    let mut size: Vec<f64> = residual.iter().map(|value| value.norm()).collect();
    for (row, col, value) in a.triplets() {
        let product = value.to_c64() * x[col].to_c64();
        residual[row] -= product;
        size[row] += product.norm();
    }
    let norm = |parts: &[f64]| {
        let largest = parts.iter().copied().fold(f64::MIN_POSITIVE, f64::max);
        largest * parts.iter().map(|part| (part / largest).powi(2)).sum::<f64>().sqrt()
    };
    let residual = norm(&residual.iter().map(|value| value.norm()).collect::<Vec<_>>());
    let norm_b = norm(&b.iter().map(|value| value.to_c64().norm()).collect::<Vec<_>>());
    let longest = a.row_lengths().into_iter().max().unwrap_or(0);
    let rounding =
        2.0 * (longest + 4) as f64 * 0.5f64.powi(T::PRECISION as i32) * norm(&size) + 1e-3 * residual;
    assert!((solution.residual - residual).abs() <= rounding, "{solution}: the residual is {residual:e}");
    if solution.converged() {
        assert!(residual <= tolerance * norm_b + rounding, "{solution}: the residual is {residual:e}");
    }
}

//! Iterations that nobody waits for, beside those of the solver that stops by itself.

use crate::common::{matrix, right_hand_side};
use sparse_core::generate::stencil_5;
use sparse_core::reference::Reference;
use sparse_core::{Accumulator, Csr, Error, Matrix, PlanOptions, c64};
use sparse_solvers::{Cg, EnqueuedCg, Identity, Options};
use std::ops::ControlFlow;

/// `iterations` by the solver that stops by itself, but not sooner.
fn stopping<T: Accumulator>(a: &Csr<T>, b: &[T], mut x: Vec<T>, iterations: usize) -> Vec<T> {
    let options = Options { tolerance: 0.0, max_iterations: Some(iterations), ..Options::default() };
    let mut solver = Cg::new(&Reference, a, Identity, &options).unwrap();
    solver.solve(a, b, &mut x, |_| ControlFlow::Continue(())).unwrap();
    x
}

/// Runs of so many iterations each.
fn enqueued<T: Accumulator>(a: &Csr<T>, b: &[T], mut x: Vec<T>, runs: &[usize]) -> Vec<T> {
    let mut solver = EnqueuedCg::new(&Reference, a, &PlanOptions::default()).unwrap();
    solver.start(a, b, &x).unwrap();
    runs.iter().for_each(|&iterations| solver.run(a, iterations, &mut x).unwrap());
    x
}

fn agree<T: Accumulator>(a: &Csr<T>) {
    let b = right_hand_side::<T>(a.rows());
    let x: Vec<T> = b.iter().rev().copied().collect();
    for (iterations, runs) in [(0, [0, 0]), (1, [1, 0]), (7, [3, 4]), (20, [9, 11])] {
        let found = enqueued(a, &b, x.clone(), &runs);
        assert_eq!(found, enqueued(a, &b, x.clone(), &[iterations]), "{iterations} in two runs");
        for (found, expected) in found.iter().zip(stopping(a, &b, x.clone(), iterations)) {
            let off = (*found - expected).to_c64().norm();
            assert!(off <= 1e-9, "after {iterations}: {found:?}, not {expected:?}");
        }
    }
}

#[test]
fn iterates_are_those_of_the_solver_that_stops_by_itself() {
    agree::<f64>(&stencil_5(9, 8).unwrap());
    let hermitian = |i: usize, j: usize| match i.abs_diff(j) {
        0 => c64::new(4.0, 0.0),
        1 => c64::new(1.0, if i < j { 1.0 } else { -1.0 }),
        _ => c64::ZERO,
    };
    agree::<c64>(&matrix(40, hermitian));
}

#[test]
fn what_is_solved_stays_solved() {
    let a = matrix(3, |i, j| if i == j { [1.0, 2.0, 4.0][i] } else { 0.0 });
    let mut solver = EnqueuedCg::<_, Csr<f64>>::new(&Reference, &a, &PlanOptions::default()).unwrap();
    let mut x = vec![1.0; 3];
    solver.start(&a, &[3.0, 2.0, 4.0], &x).unwrap();
    assert_eq!(solver.residual_norm().unwrap(), 2.0);
    solver.run(&a, 9, &mut x).unwrap();
    assert_eq!((x, solver.residual_norm().unwrap()), (vec![3.0, 1.0, 1.0], 0.0));
}

#[test]
fn operands_that_do_not_fit_are_refused() {
    let wide = Csr::<f64>::new(1, 2, vec![0, 1], vec![1], vec![1.0]).unwrap();
    assert!(matches!(EnqueuedCg::new(&Reference, &wide, &PlanOptions::default()), Err(Error::Shape { .. })));
    let a = stencil_5::<f64>(3, 3).unwrap();
    let mut solver = EnqueuedCg::new(&Reference, &a, &PlanOptions::default()).unwrap();
    assert!(matches!(solver.start(&a, &[1.0; 8], &[0.0; 9]), Err(Error::Shape { .. })));
    assert!(matches!(solver.run(&a, 1, &mut [0.0; 10]), Err(Error::Shape { .. })));
}

//! Conjugate gradients on the 5-point Laplacian: a number of iterations, from x = 0, with b = 1.

use super::context::Context;
use crate::arguments::PeerName::Scipy;
use crate::measure::Contender;
use crate::peer::scipy;
use crate::report::{Case, Report};
use crate::value::Value;
use crate::{traffic, workload};
use anyhow::{Context as _, Result, ensure};
use backend_cpu::Cpu;
use sparse_core::{Csr, PlanOptions, c64};
use sparse_solvers::{Cg, Identity, Outcome, Solution, SolverOptions};
use std::ops::ControlFlow;

/// Too few to converge, so that all contenders do the same work.
pub(crate) const ITERATIONS: usize = 100;

/// The largest error of x by rounding, relative to its norm: it is up to 6e-5 on grids of 60² to 300², where the
/// iterate before is off by 3e-3 and more unless both are solutions.
const MAX_OFF: f64 = 1e-3;

pub(super) fn run<T: Value>(context: &Context<'_>, report: &mut Report) -> Result<()> {
    let sides: &[usize] = if context.arguments.smoke { &[200] } else { &[200, 500, 1200] };
    for &side in sides {
        if context.arguments.generates::<T>("stencil_5") {
            compare::<T>(context, report, side)?;
        }
    }
    Ok(())
}

fn compare<T: Value>(context: &Context<'_>, report: &mut Report, side: usize) -> Result<()> {
    let a: &Csr<T> = &workload::laplacian(side)?;
    let mut solver = Cg::new(&context.backend, a, Identity, &options())?;
    let (b, mut x) = (vec![T::ONE; a.nrows()], vec![T::ZERO; a.nrows()]);
    let mut solve = |x: &mut Vec<T>| {
        x.fill(T::ZERO);
        check(Some(solver.solve(a, &b, x, |_| ControlFlow::Continue(()))?))
    };
    solve(&mut x)?;
    Expected::new::<T::Double>(&context.backend, side)?.check(&x).context("ours")?;
    let mut contenders = vec![Contender::new("ours", || solve(&mut x))];
    contenders.extend(context.peer(Scipy, || scipy::contender("cg", a.into(), ITERATIONS)));
    report.compare(case(&T::name_of("cg"), &format!("stencil_5 {side}²"), a), contenders)
}

/// x after all iterations, in double precision.
pub(crate) struct Expected {
    x: Vec<c64>,
}

impl Expected {
    /// For a square grid of `side` points a side; `T` is the type in double precision.
    pub(crate) fn new<T: Value>(backend: &Cpu, side: usize) -> Result<Self> {
        let a: Csr<T> = workload::laplacian(side)?;
        let (b, mut x) = (vec![T::ONE; a.nrows()], vec![T::ZERO; a.nrows()]);
        let mut solver = Cg::new(backend, &a, Identity, &options())?;
        check(Some(solver.solve(&a, &b, &mut x, |_| ControlFlow::Continue(()))?))?;
        Ok(Self { x: x.into_iter().map(T::to_c64).collect() })
    }

    /// An error if x is farther off than rounding explains, or not a number.
    pub(crate) fn check<T: Value>(&self, x: &[T]) -> Result<()> {
        ensure!(x.len() == self.x.len(), "x has {} elements in place of {}", x.len(), self.x.len());
        let error: f64 = self.x.iter().zip(x).map(|(e, &x)| (x.to_c64() - e).norm_sqr()).sum();
        let off = (error / self.x.iter().map(c64::norm_sqr).sum::<f64>()).sqrt();
        ensure!(off <= MAX_OFF, "x is off by {off:e} of its norm, more than {MAX_OFF:e}");
        Ok(())
    }
}

/// The options for all iterations, and no more.
pub(crate) fn options() -> SolverOptions {
    let plan = PlanOptions::often();
    SolverOptions { tolerance: 0.0, max_iterations: Some(ITERATIONS), plan, ..SolverOptions::default() }
}

/// An error unless the solver took all iterations.
pub(crate) fn check(solution: Option<Solution>) -> Result<()> {
    let solution = solution.context("ours: there is no solution")?;
    ensure!(solution.outcome == Outcome::IterationLimit, "ours: {solution}");
    Ok(())
}

/// The case: a product, two scalar products, a norm and three updates per iteration, each on its own.
pub(crate) fn case<'a, T: Value>(op: &'a str, name: &'a str, a: &Csr<T>) -> Case<'a> {
    let n = a.nrows();
    let bytes =
        ITERATIONS * (traffic::entries::<T>(a.nnz()) + traffic::INDEX * (n + 1) + 14 * size_of::<T>() * n);
    let flops = ITERATIONS * (2 * a.nnz() + 12 * n);
    Case { flops, ..Case::streams(op, name, bytes, a.nnz()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn x_in_single_precision_is_right_and_the_iterate_before_is_not() {
        let (backend, side) = (Cpu::new().unwrap(), 200);
        let expected = Expected::new::<f64>(&backend, side).unwrap();
        let a: Csr<f32> = workload::laplacian(side).unwrap();
        let iterate = |iterations| {
            let options = SolverOptions { max_iterations: Some(iterations), ..options() };
            let (b, mut x) = (vec![1.0; a.nrows()], vec![0.0; a.nrows()]);
            let mut solver = Cg::new(&backend, &a, Identity, &options).unwrap();
            solver.solve(&a, &b, &mut x, |_| ControlFlow::Continue(())).unwrap();
            x
        };
        expected.check(&iterate(ITERATIONS)).unwrap();
        assert!(expected.check(&iterate(ITERATIONS - 1)).is_err());
        assert!(expected.check(&vec![f32::NAN; a.nrows()]).is_err());
    }
}

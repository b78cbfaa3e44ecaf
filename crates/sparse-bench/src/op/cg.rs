//! Conjugate gradients in f32 on the 5-point Laplacian: a number of iterations, from x = 0, with b = 1.

use crate::arguments::PeerName::Scipy;
use crate::measure::Contender;
use crate::peer::scipy;
use crate::report::Case;
use crate::{Context, Report};
use anyhow::{Context as _, Result, ensure};
use sparse_core::{Csr, Matrix, PlanOptions, generate};
use sparse_solvers::{Cg, Identity, Options, Outcome, Solution};
use std::ops::ControlFlow;

/// Too few to converge, so that all contenders do the same work.
const ITERATIONS: usize = 100;

pub(crate) fn run(context: &Context<'_>, report: &mut Report) -> Result<()> {
    let sides: &[usize] = if context.arguments.smoke { &[200] } else { &[200, 500, 1200] };
    for &side in sides {
        let name = format!("stencil_5 {side}²");
        if context.arguments.wants("stencil_5") {
            compare(context, report, &name, &generate::stencil_5(side, side)?)?;
        }
    }
    Ok(())
}

fn compare(context: &Context<'_>, report: &mut Report, name: &str, a: &Csr<f32>) -> Result<()> {
    let mut solver = Cg::new(&context.backend, a, Identity, &options())?;
    let (b, mut x) = (vec![1.0; a.rows()], vec![0.0; a.rows()]);
    let ours = Contender::new("ours", || {
        x.fill(0.0);
        check(Some(solver.solve(a, &b, &mut x, |_| ControlFlow::Continue(()))?))
    });
    let mut contenders = vec![ours];
    contenders.extend(context.peer(Scipy, || scipy::contender("cg", a.into(), ITERATIONS)));
    report.compare(case(name, a), contenders)
}

/// All iterations, and no more.
pub(crate) fn options() -> Options {
    let plan = PlanOptions { expected_calls: 1000, ..PlanOptions::default() };
    Options { tolerance: 0.0, max_iterations: Some(ITERATIONS), plan }
}

/// An error unless the solver took all iterations.
pub(crate) fn check(solution: Option<Solution>) -> Result<()> {
    let solution = solution.context("ours: there is no solution")?;
    ensure!(solution.outcome == Outcome::IterationLimit, "ours: {solution}");
    Ok(())
}

/// A product, two scalar products, a norm and three updates an iteration, each on its own.
pub(crate) fn case<'a>(name: &'a str, a: &Csr<f32>) -> Case<'a> {
    let n = a.rows();
    let bytes = ITERATIONS * (8 * a.nnz() + 4 * (n + 1) + 14 * 4 * n);
    let flops = ITERATIONS * (2 * a.nnz() + 12 * n);
    Case { flops, ..Case::streams("cg", name, bytes, a.nnz()) }
}

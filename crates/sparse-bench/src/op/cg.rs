//! Conjugate gradients in f32 on the 5-point Laplacian: a number of iterations, from x = 0, with b = 1.

use crate::arguments::PeerName::Scipy;
use crate::measure::Contender;
use crate::peer::scipy;
use crate::report::Case;
use crate::{Context, Report};
use anyhow::{Result, ensure};
use sparse_core::{Csr, Matrix, PlanOptions, generate};
use sparse_solvers::{Cg, Identity, Options, Outcome};
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
    let n = a.rows();
    let plan = PlanOptions { expected_calls: 1000, ..PlanOptions::default() };
    let options = Options { tolerance: 0.0, max_iterations: Some(ITERATIONS), plan };
    let mut solver = Cg::new(&context.backend, a, Identity, &options)?;
    let (b, mut x) = (vec![1.0; n], vec![0.0; n]);
    let ours = Contender::new("ours", || {
        x.fill(0.0);
        let solution = solver.solve(a, &b, &mut x, |_| ControlFlow::Continue(()))?;
        ensure!(solution.outcome == Outcome::IterationLimit, "ours: {solution}");
        Ok(())
    });
    let mut contenders = vec![ours];
    contenders.extend(context.peer(Scipy, || scipy::contender("cg", a.into(), ITERATIONS)));
    let bytes = ITERATIONS * (8 * a.nnz() + 4 * (n + 1) + 14 * 4 * n);
    let flops = ITERATIONS * (2 * a.nnz() + 10 * n);
    report.compare(Case { flops, ..Case::streams("cg", name, bytes, a.nnz()) }, contenders)
}

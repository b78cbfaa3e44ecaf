//! `C = A·B` in f32, B and C row-major.

use super::checked::{checked, of_library, planned};
use super::context::Context;
use crate::arguments::PeerName::{Faer, NalgebraSparse, Scipy, Sprs};
use crate::check::Expected;
use crate::peer::{faer, mkl, nalgebra, scipy, sprs};
use crate::product::Product;
use crate::report::{Case, Report};
use crate::workload;
use anyhow::Result;
use sparse_core::op::{Op, SpmmPlan};
use sparse_core::{Csr, DenseView, DenseViewMut, PlanOptions};

pub(super) fn run(context: &Context<'_>, report: &mut Report) -> Result<()> {
    for &columns in context.arguments.columns() {
        workload::for_each_sparse(context.arguments, |name, a| compare(context, report, name, a, columns))?;
    }
    Ok(())
}

/// The stand-ins of 13 graphs: some whole, the others in a sixteenth of their size.
pub(super) fn run_on_graphs(context: &Context<'_>, report: &mut Report) -> Result<()> {
    let divisor = |name: &str| if ["arxiv", "ddi", "yelp"].contains(&name) { 1 } else { 16 };
    for &columns in context.arguments.columns() {
        let on_graph = |name: &str, a: &Csr<f32>| compare(context, report, name, a, columns);
        workload::for_each_graph(context.arguments, divisor, on_graph)?;
    }
    Ok(())
}

fn compare(
    context: &Context<'_>,
    report: &mut Report,
    name: &str,
    a: &Csr<f32>,
    columns: usize,
) -> Result<()> {
    let b = context.pattern.filled(a.ncols() * columns);
    let b_view = DenseView::row_major(&b, a.ncols(), columns)?;
    let expected = Expected::new(a, &context.pattern, columns);

    let options = PlanOptions::often();
    let plan = || SpmmPlan::new(&context.backend, a, Op::None, columns, &options);
    let (mut plan, seconds) = planned(plan)?;
    let choice = plan.choice().clone();
    let ours = Product::on_host("ours", Some(seconds), move |c| {
        plan.run(1.0, a, b_view, 0.0, DenseViewMut::row_major(c, a.nrows(), columns)?)
    });
    let mut contenders = vec![checked(ours.chosen(choice), &expected)?];
    if let Some(library) = &context.mkl {
        contenders.extend(of_library(mkl::spmm(library, a, &b, columns), &expected));
    }
    contenders.extend(context.peer(Sprs, || Ok([sprs::spmm(a, &b, columns)?])));
    contenders.extend(context.peer(Faer, || Ok([faer::spmm(a, &b, columns)])));
    contenders.extend(context.peer(NalgebraSparse, || Ok([nalgebra::spmm(a, &b, columns)?])));
    contenders.extend(context.peer(Scipy, || scipy::contender("spmm", a.into(), columns)));

    let case = Case {
        op: &format!("spmm k={columns}"),
        workload: name,
        bytes: 8 * a.nnz() + 4 * a.nrows() + 4 * columns * (a.nrows() + a.ncols()),
        entries: a.nnz(),
        flops: 2 * a.nnz() * columns,
        gather: Some(context.machine.gathers(a.col_idx(), &b, columns)),
    };
    report.compare(case, contenders)
}

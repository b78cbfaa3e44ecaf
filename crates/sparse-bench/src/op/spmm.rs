//! `C = A·B`, B and C row-major.

use super::checked::{checked, of_library, planned};
use super::context::Context;
use crate::arguments::PeerName::{Faer, NalgebraSparse, Scipy, Sprs};
use crate::check::Expected;
use crate::peer::{faer, mkl, nalgebra, scipy, sprs};
use crate::product::Product;
use crate::report::{Case, Report};
use crate::traffic;
use crate::value::Value;
use crate::workload::{self, Pattern};
use anyhow::Result;
use sparse_core::op::{Op, SpmmPlan};
use sparse_core::{Csr, DenseView, DenseViewMut, PlanOptions};

pub(super) fn run<T: Value>(context: &Context<'_>, report: &mut Report) -> Result<()> {
    for &columns in context.arguments.columns() {
        workload::for_each_sparse::<T>(context.arguments, |name, a| {
            compare(context, report, name, a, columns)
        })?;
    }
    Ok(())
}

/// The stand-ins of 13 graphs: some whole, the others in a sixteenth of their size.
pub(super) fn run_on_graphs<T: Value>(context: &Context<'_>, report: &mut Report) -> Result<()> {
    let divisor = |name: &str| if ["arxiv", "ddi", "yelp"].contains(&name) { 1 } else { 16 };
    for &columns in context.arguments.columns() {
        let on_graph = |name: &str, a: &Csr<T>| compare(context, report, name, a, columns);
        workload::for_each_graph(context.arguments, divisor, on_graph)?;
    }
    Ok(())
}

fn compare<T: Value>(
    context: &Context<'_>,
    report: &mut Report,
    name: &str,
    a: &Csr<T>,
    columns: usize,
) -> Result<()> {
    let pattern = Pattern::new(columns);
    let b = pattern.filled(a.ncols() * columns);
    let b_view = DenseView::row_major(&b, a.ncols(), columns)?;
    let expected = Expected::new(a, &pattern, columns);

    let options = PlanOptions::often();
    let plan = || SpmmPlan::new(&context.backend, a, Op::None, columns, &options);
    let (mut plan, seconds) = planned(plan)?;
    let choice = plan.choice().clone();
    let ours = Product::on_host("ours", Some(seconds), move |c| {
        plan.run(T::ONE, a, b_view, T::ZERO, DenseViewMut::row_major(c, a.nrows(), columns)?)
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
        op: &T::name_of(&format!("spmm k={columns}")),
        workload: name,
        bytes: traffic::with_dense(a, columns),
        entries: a.nnz(),
        flops: 2 * a.nnz() * columns,
        gather: Some(context.machine.gathers(a.col_idx(), &b, columns)),
    };
    report.compare(case, contenders)
}

//! `C = A·B` in f32, B and C row-major.

use super::product;
use crate::peer::{faer, mkl, nalgebra, scipy, sprs};
use crate::report::Case;
use crate::{Context, Report, workload};
use anyhow::Result;
use sparse_core::op::{Op, Operations, SpmmPlan};
use sparse_core::reference::Reference;
use sparse_core::{Csr, DenseView, DenseViewMut, Matrix, PlanOptions};

pub(crate) fn run(context: &Context<'_>, report: &mut Report) -> Result<()> {
    for &columns in context.arguments.columns() {
        workload::for_each_sparse(context.arguments, |name, a| compare(context, report, name, a, columns))?;
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
    let b = workload::small_integers(a.cols() * columns);
    let b_view = DenseView::row_major(&b, a.cols(), columns)?;
    let mut expected = vec![f32::NAN; a.rows() * columns];
    let reference = DenseViewMut::row_major(&mut expected, a.rows(), columns)?;
    Reference.spmm(Op::None, 1.0, a, b_view, 0.0, reference)?;

    let options = PlanOptions { expected_calls: 1000, ..PlanOptions::default() };
    let mut plan = SpmmPlan::new(&context.backend, a, Op::None, columns, &options)?;
    let ours = product("ours", &expected, move |c| {
        Ok(plan.run(1.0, a, b_view, 0.0, DenseViewMut::row_major(c, a.rows(), columns)?)?)
    })?;
    let mut contenders = vec![ours];
    if let Some(library) = &context.mkl {
        contenders.extend(mkl::spmm(library, a, &b, columns, &expected));
    }
    contenders.push(sprs::spmm(a, &b, columns)?);
    contenders.push(faer::spmm(a, columns));
    contenders.push(nalgebra::spmm(a, columns)?);
    contenders.extend(scipy::contender("spmm", a.into(), columns)?);

    let bytes = 8 * a.nnz() + 4 * a.rows() + 4 * columns * (a.rows() + a.cols());
    let case = Case {
        op: &format!("spmm k={columns}"),
        workload: name,
        bytes,
        flops: 2 * a.nnz() * columns,
        gather: Some(context.machine.gathers(a.col_idx(), &b, columns)),
    };
    report.compare(case, contenders)
}

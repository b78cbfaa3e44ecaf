//! `C = A·B` in f32, B and C row-major.

use super::check_equal;
use crate::measure::Contender;
use crate::peer::{faer, nalgebra, scipy, sprs};
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
    let elements = a.rows() * columns;
    let b = workload::small_integers(a.cols() * columns);
    let b_view = DenseView::row_major(&b, a.cols(), columns)?;
    let mut expected = vec![f32::NAN; elements];
    let reference = DenseViewMut::row_major(&mut expected, a.rows(), columns)?;
    Reference.spmm(Op::None, 1.0, a, b_view, 0.0, reference)?;

    let options = PlanOptions { expected_calls: 1000, ..PlanOptions::default() };
    let mut plan = SpmmPlan::new(&context.backend, a, Op::None, columns, &options)?;
    let mut c = vec![f32::NAN; elements];
    let mut ours =
        || Ok(plan.run(1.0, a, b_view, 0.0, DenseViewMut::row_major(&mut c, a.rows(), columns)?)?);
    let mut contenders = vec![
        Contender::new("ours", &mut ours),
        sprs::spmm(a, &b, columns)?,
        faer::spmm(a, columns),
        nalgebra::spmm(a, columns)?,
    ];
    contenders.extend(scipy::contender("spmm", a.into(), columns)?);

    let bytes = 8 * a.nnz() + 4 * a.rows() + 4 * columns * (a.rows() + a.cols());
    report.compare(&format!("spmm k={columns}"), name, bytes, contenders)?;
    check_equal("ours", &c, &expected)
}

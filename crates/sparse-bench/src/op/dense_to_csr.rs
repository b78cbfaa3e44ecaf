//! Dense to CSR at 1, 10 and 50 % non-zeros.

use super::context::Context;
use crate::arguments::PeerName::{NalgebraSparse, Scipy, Sprs};
use crate::measure::Contender;
use crate::peer::{mkl, nalgebra, scipy, sprs};
use crate::report::{Case, Report};
use crate::value::Value;
use crate::{traffic, workload};
use anyhow::{Result, ensure};
use sparse_core::op::{DenseToCompressedPlan, Keep, Operations};
use sparse_core::reference::Reference;
use sparse_core::{Csr, DenseView, PlanOptions, Row};

pub(super) fn run<T: Value>(context: &Context<'_>, report: &mut Report) -> Result<()> {
    let n = if context.arguments.smoke { 64 } else { 4096 };
    for percent in [1, 10, 50] {
        let name = format!("dense_{percent}%");
        if context.arguments.generates::<T>(&name) {
            compare(context, report, &name, n, &workload::dense::<T>(n, n, percent, percent))?;
        }
    }
    Ok(())
}

fn compare<T: Value>(
    context: &Context<'_>,
    report: &mut Report,
    name: &str,
    n: usize,
    dense: &[T],
) -> Result<()> {
    let view = DenseView::row_major(dense, n, n)?;
    let expected: Csr<T> = Reference.dense_to_csr(view, Keep::NonZero)?;
    let mut plan = DenseToCompressedPlan::<_, Row, T, i32, i32>::new(
        &context.backend,
        view,
        Keep::NonZero,
        &PlanOptions::default(),
    )?;
    let mut found = None;
    let mut contenders = vec![Contender::new("ours", || {
        found = Some(plan.run(view)?);
        Ok(())
    })];
    contenders.extend(context.peer(Sprs, || Ok([sprs::dense_to_csr(dense, n)?])));
    contenders.extend(context.peer(NalgebraSparse, || Ok([nalgebra::dense_to_csr(dense, n)])));
    let input = scipy::Input::Dense { data: dense, n, count: 1 };
    if let Some(library) = &context.mkl {
        contenders.extend(mkl::dense_to_csr(library, dense, n, &expected));
    }
    contenders.extend(context.peer(Scipy, || scipy::contender("dense_to_csr", input, 1)));
    let bytes = traffic::compress::<T>(n * n, expected.nnz(), n);
    report.compare(Case::streams(&T::name_of("dense_to_csr"), name, bytes, expected.nnz()), contenders)?;
    ensure!(found.as_ref() == Some(&expected), "ours: the CSR differs from the reference");
    Ok(())
}

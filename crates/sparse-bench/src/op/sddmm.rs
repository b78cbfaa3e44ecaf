//! `U·Vᵀ` at the entries of a sparse matrix in f32, U and V row-major.

use super::checked::{checked, planned};
use super::context::Context;
use crate::arguments::PeerName::Scipy;
use crate::check::Exact;
use crate::measure::Contender;
use crate::peer::scipy;
use crate::product::Product;
use crate::report::{Case, Report};
use crate::workload;
use anyhow::Result;
use sparse_core::op::{Sampling, SddmmKernel, SddmmPlan};
use sparse_core::reference::Reference;
use sparse_core::{Csr, DenseView, PlanOptions};

pub(super) fn run(context: &Context<'_>, report: &mut Report) -> Result<()> {
    workload::for_each_sparse(context.arguments, |name, p| {
        context.arguments.columns().iter().try_for_each(|&inner| compare(context, report, (name, p), inner))
    })
}

fn compare(
    context: &Context<'_>,
    report: &mut Report,
    (name, p): (&str, &Csr<f32>),
    inner: usize,
) -> Result<()> {
    let (rows, cols) = (p.nrows(), p.ncols());
    let (u, v) = (workload::small_integers(rows * inner), workload::small_integers(cols * inner));
    let u = DenseView::<f32>::row_major(&u, rows, inner)?;
    let v = DenseView::<f32>::row_major(&v, cols, inner)?;
    let mut expected = Exact(vec![0.0; p.nnz()]);
    let mut plan = SddmmPlan::new(&Reference, p, Sampling::Pattern, inner, &PlanOptions::once())?;
    plan.run(1.0, p, u, v, 0.0, &mut expected.0)?;

    let ours = |name: String, options: &PlanOptions| -> Result<Contender<'_>> {
        let (mut plan, seconds) =
            planned(|| SddmmPlan::new(&context.backend, p, Sampling::Pattern, inner, options))?;
        let choice = plan.choice().clone();
        let run = move |c: &mut [f32]| plan.run(1.0, p, u, v, 0.0, c);
        checked(Product::on_host(name, Some(seconds), run).chosen(choice), &expected)
    };
    let automatic = PlanOptions::often();
    let mut contenders = vec![ours("ours".into(), &automatic)?];
    for algorithm in SddmmKernel::<Csr<f32>>::sddmm_algorithms(&context.backend) {
        contenders.push(ours(format!("ours:{}", algorithm.name), &PlanOptions::forced(algorithm.name))?);
    }
    contenders.extend(context.peer(Scipy, || scipy::contender("sddmm", p.into(), inner)));
    let op = format!("sddmm k={inner}");
    let case = Case {
        op: &op,
        workload: name,
        bytes: 8 * p.nnz() + 4 * rows + 4 * inner * (rows + cols),
        entries: p.nnz(),
        flops: 2 * p.nnz() * inner,
        gather: None,
    };
    report.compare(case, contenders)
}

//! `U·Vᵀ` at the entries of a sparse matrix, U and V row-major.

use super::checked::{checked, planned};
use super::context::Context;
use crate::arguments::PeerName::Scipy;
use crate::check::Exact;
use crate::peer::scipy;
use crate::product::{Product, by_each_algorithm};
use crate::report::{Case, Report};
use crate::value::Value;
use crate::{traffic, workload};
use anyhow::Result;
use sparse_core::op::{Sampling, SddmmKernel, SddmmPlan};
use sparse_core::reference::Reference;
use sparse_core::{Csr, DenseView, PlanOptions};

pub(super) fn run<T: Value>(context: &Context<'_>, report: &mut Report) -> Result<()> {
    workload::for_each_sparse::<T>(context.arguments, |name, p| {
        context.arguments.columns().iter().try_for_each(|&inner| compare(context, report, (name, p), inner))
    })
}

fn compare<T: Value>(
    context: &Context<'_>,
    report: &mut Report,
    (name, p): (&str, &Csr<T>),
    inner: usize,
) -> Result<()> {
    let (rows, cols) = (p.nrows(), p.ncols());
    let (u, v) = (workload::small_integers(rows * inner), workload::small_integers(cols * inner));
    let u = DenseView::<T>::row_major(&u, rows, inner)?;
    let v = DenseView::<T>::row_major(&v, cols, inner)?;
    let mut expected = Exact(vec![T::ZERO; p.nnz()]);
    let mut plan = SddmmPlan::new(&Reference, p, Sampling::Pattern, inner, &PlanOptions::once())?;
    plan.run(T::ONE, p, u, v, T::ZERO, &mut expected.0)?;

    let ours = |name: String, options: &PlanOptions| {
        let (mut plan, seconds) =
            planned(|| SddmmPlan::new(&context.backend, p, Sampling::Pattern, inner, options))?;
        let choice = plan.choice().clone();
        let run = move |c: &mut [T]| plan.run(T::ONE, p, u, v, T::ZERO, c);
        Ok(Product::on_host(name, Some(seconds), run).chosen(choice))
    };
    let mut contenders = vec![];
    for product in by_each_algorithm(SddmmKernel::<Csr<T>>::sddmm_algorithms(&context.backend), ours)? {
        contenders.push(checked(product, &expected)?);
    }
    contenders.extend(context.peer(Scipy, || scipy::contender("sddmm", p.into(), inner)));
    let op = T::name_of(&format!("sddmm k={inner}"));
    let case = Case {
        op: &op,
        workload: name,
        bytes: traffic::with_dense(p, inner),
        entries: p.nnz(),
        flops: 2 * p.nnz() * inner,
        gather: None,
    };
    report.compare(case, contenders)
}

//! R·A·P in f32, all in CSR: with the patterns of its products, and with other values in patterns that are known.

use super::checked::planned;
use super::context::Context;
use super::made;
use super::spgemm::peers;
use crate::arguments::PeerName::Scipy;
use crate::peer::scipy::{self, Input};
use crate::report::{Case, Report};
use crate::{multigrid, sparse_product};
use anyhow::Result;
use sparse_core::op::GalerkinPlan;
use sparse_core::reference::Reference;
use sparse_core::{Csr, PlanOptions};

pub(super) fn run(context: &Context<'_>, report: &mut Report) -> Result<()> {
    multigrid::for_each(context.arguments, |name, factors| compare(context, report, name, factors))
}

/// `ours` makes its plan in every run, `ours:run` has one; the others multiply twice.
fn compare(
    context: &Context<'_>,
    report: &mut Report,
    name: &str,
    factors @ [r, a, p]: [&Csr<f32>; 3],
) -> Result<()> {
    let (expected, bytes) = sparse_product::expected(&Reference, &factors)?;
    let plan = || GalerkinPlan::<_, Csr<f32>>::new(&context.backend, r, a, p, &PlanOptions::once());
    let (mut reused, seconds) = planned(plan)?;
    let mut contenders = vec![
        made("ours", || plan()?.run(r, a, p), &expected)?,
        made("ours:run", move || reused.run(r, a, p), &expected)?.planned(seconds),
    ];
    contenders.extend(peers(context, &factors, &expected));
    contenders
        .extend(context.peer(Scipy, || scipy::contender("galerkin", Input::Galerkin { a, p }, p.ncols())));
    report.compare(Case::streams("galerkin", name, bytes, expected.nnz()), contenders)
}

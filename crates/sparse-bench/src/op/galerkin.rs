//! R·A·P, all in CSR: with the patterns of its products, and with other values in patterns that are known.

use super::checked::planned;
use super::context::Context;
use super::made;
use super::spgemm::peers;
use crate::arguments::PeerName::Scipy;
use crate::peer::scipy::{self, Input};
use crate::report::{Case, Report};
use crate::value::Value;
use crate::{multigrid, sparse_product};
use anyhow::Result;
use backend_cpu::Cpu;
use sparse_core::op::{GalerkinPlan, Operations};
use sparse_core::reference::Reference;
use sparse_core::{Csr, PlanOptions};

pub(super) fn run<T: Value>(context: &Context<'_>, report: &mut Report) -> Result<()> {
    multigrid::for_each::<T>(context.arguments, |name, factors| compare(context, report, name, factors))
}

/// `ours` multiplies twice, as the others do, `ours:planned` makes its plan in every run, `ours:run` has one.
fn compare<T: Value>(
    context: &Context<'_>,
    report: &mut Report,
    name: &str,
    factors @ [r, a, p]: [&Csr<T>; 3],
) -> Result<()> {
    let (expected, bytes) = sparse_product::expected(&Reference, &factors)?;
    let plan = || GalerkinPlan::<_, Csr<T>>::new(&context.backend, r, a, p, &PlanOptions::once());
    let (mut reused, seconds) = planned(plan)?;
    let mut contenders = vec![
        made("ours", || twice(&context.backend, r, a, p), &expected)?,
        made("ours:planned", || plan()?.run(r, a, p), &expected)?,
        made("ours:run", move || reused.run(r, a, p), &expected)?.planned(seconds),
    ];
    contenders.extend(peers(context, &factors, &expected));
    contenders
        .extend(context.peer(Scipy, || scipy::contender("galerkin", Input::Galerkin { a, p }, p.ncols())));
    report.compare(Case::streams(&T::name_of("galerkin"), name, bytes, expected.nnz()), contenders)
}

/// R·(A·P) by two products.
fn twice<T: Value>(backend: &Cpu, r: &Csr<T>, a: &Csr<T>, p: &Csr<T>) -> sparse_core::Result<Csr<T>> {
    Operations::spgemm(backend, r, &Operations::spgemm(backend, a, p)?)
}

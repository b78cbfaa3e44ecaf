//! A·A, A in CSR: with its pattern, and with other values in a pattern that is known.

use super::checked::planned;
use super::context::Context;
use super::made;
use crate::arguments::PeerName::{Faer, Scipy, Sprs};
use crate::measure::Contender;
use crate::peer::{faer, mkl, scipy, sprs};
use crate::report::{Case, Report};
use crate::value::Value;
use crate::{sparse_product, workload};
use anyhow::Result;
use sparse_core::op::{Operations, SpgemmPlan};
use sparse_core::reference::Reference;
use sparse_core::{Csr, PlanOptions};

pub(super) fn run<T: Value>(context: &Context<'_>, report: &mut Report) -> Result<()> {
    workload::for_each_square::<T>(context.arguments, workload::SQUARED, |name, a| {
        compare(context, report, name, &workload::of_integers(a)?)
    })
}

/// `ours` has no plan, `ours:planned` makes one in every run, `ours:run` has one.
fn compare<T: Value>(context: &Context<'_>, report: &mut Report, name: &str, a: &Csr<T>) -> Result<()> {
    let (expected, bytes) = sparse_product::expected(&Reference, &[a, a])?;
    let plan = || SpgemmPlan::<_, Csr<T>>::new(&context.backend, a, a, &PlanOptions::once());
    let (mut reused, seconds) = planned(plan)?;
    let mut contenders = vec![
        made("ours", || Operations::spgemm(&context.backend, a, a), &expected)?,
        made("ours:planned", || plan()?.run(a, a), &expected)?,
        made("ours:run", move || reused.run(a, a), &expected)?.planned(seconds),
    ];
    contenders.extend(peers(context, &[a, a], &expected));
    contenders.extend(context.peer(Scipy, || scipy::contender("spgemm", a.into(), 1)));
    report.compare(Case::streams(&T::name_of("spgemm"), name, bytes, expected.nnz()), contenders)
}

/// The product of the factors, from the last two on, by the other libraries of this process.
pub(super) fn peers<'a, T: Value>(
    context: &'a Context<'_>,
    factors: &[&'a Csr<T>],
    expected: &Csr<T>,
) -> Vec<Contender<'a>> {
    let mut contenders = vec![];
    if let Some(library) = &context.mkl {
        contenders.extend(mkl::spgemm(library, factors, expected));
    }
    contenders.extend(context.peer(Sprs, || Ok([sprs::spgemm(factors)?])));
    contenders.extend(context.peer(Faer, || Ok([faer::spgemm(factors)])));
    contenders
}

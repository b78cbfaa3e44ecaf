//! A·A in f32, A in CSR: with its pattern, and with other values in a pattern that is known.

use super::checked::planned;
use super::context::Context;
use super::made;
use crate::arguments::PeerName::{Faer, Scipy, Sprs};
use crate::peer::{faer, mkl, scipy, sprs};
use crate::report::{Case, Report};
use crate::workload;
use anyhow::Result;
use sparse_core::op::{Operations, SpgemmPlan};
use sparse_core::reference::Reference;
use sparse_core::{Csr, PlanOptions};

pub(super) fn run(context: &Context<'_>, report: &mut Report) -> Result<()> {
    workload::for_each_square(context.arguments, workload::SQUARED, |name, a| {
        compare(context, report, name, &workload::of_integers(a)?)
    })
}

/// `ours` makes its plan in every run, `ours:run` has one.
fn compare(context: &Context<'_>, report: &mut Report, name: &str, a: &Csr<f32>) -> Result<()> {
    let backend = &context.backend;
    let products = SpgemmPlan::bound(backend, a, a)?.products as usize;
    let expected = Operations::spgemm(&Reference, a, a)?;
    let plan = || SpgemmPlan::<_, Csr<f32>>::new(backend, a, a, &PlanOptions::once());
    let (mut reused, seconds) = planned(plan)?;
    let mut contenders = vec![
        made("ours", || plan()?.run(a, a), &expected)?,
        made("ours:run", move || reused.run(a, a), &expected)?.planned(seconds),
    ];
    if let Some(library) = &context.mkl {
        contenders.extend(mkl::spgemm(library, a, &expected));
    }
    contenders.extend(context.peer(Sprs, || Ok([sprs::spgemm(a)?])));
    contenders.extend(context.peer(Faer, || Ok([faer::spgemm(a)])));
    contenders.extend(context.peer(Scipy, || scipy::contender("spgemm", a.into(), 1)));
    let bytes = 8 * (a.nnz() + products + expected.nnz());
    report.compare(Case::streams("spgemm", name, bytes, expected.nnz()), contenders)
}

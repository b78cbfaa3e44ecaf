//! `A + Aᵀ` in f32 and CSR: with its pattern, and with other values in a pattern that is known.

use super::checked::planned;
use super::context::Context;
use super::made;
use crate::arguments::PeerName::{Faer, Scipy, Sprs};
use crate::peer::{faer, mkl, scipy, sprs};
use crate::report::{Case, Report};
use crate::workload;
use anyhow::Result;
use sparse_core::op::{Elementwise, ElementwisePlan};
use sparse_core::reference::Reference;
use sparse_core::{Csr, PlanOptions};

pub(super) fn run(context: &Context<'_>, report: &mut Report) -> Result<()> {
    workload::for_each_sparse(context.arguments, |name, a| match a.nrows() == a.ncols() {
        true => compare(context, report, name, &workload::of_integers(a)?),
        false => Ok(()),
    })
}

/// `ours` makes its plan in every run, `ours:run` has one.
fn compare(context: &Context<'_>, report: &mut Report, name: &str, a: &Csr<f32>) -> Result<()> {
    let b = &workload::transposed(a)?;
    let options = PlanOptions::once();
    let expected = ElementwisePlan::new(&Reference, Elementwise::Add, a, b, &options)?.run(1.0, a, 1.0, b)?;
    let plan = || ElementwisePlan::<_, Csr<f32>>::new(&context.backend, Elementwise::Add, a, b, &options);
    let (mut reused, seconds) = planned(plan)?;
    let mut contenders = vec![
        made("ours", || plan()?.run(1.0, a, 1.0, b), &expected)?,
        made("ours:run", move || reused.run(1.0, a, 1.0, b), &expected)?.planned(seconds),
    ];
    if let Some(library) = &context.mkl {
        contenders.extend(mkl::add(library, a, b, &expected));
    }
    contenders.extend(context.peer(Sprs, || Ok([sprs::add(a, b)?])));
    contenders.extend(context.peer(Faer, || Ok([faer::add(a, b)])));
    contenders.extend(context.peer(Scipy, || scipy::contender("add", a.into(), 1)));
    let bytes = 8 * (2 * a.nnz() + expected.nnz()) + 12 * (a.nrows() + 1);
    report.compare(Case::streams("add", name, bytes, expected.nnz()), contenders)
}

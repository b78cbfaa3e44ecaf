//! `A + Aᵀ` in CSR: with its pattern, and with other values in a pattern that is known.

use super::checked::planned;
use super::context::Context;
use super::made;
use crate::arguments::PeerName::{Faer, Scipy, Sprs};
use crate::peer::{faer, mkl, scipy, sprs};
use crate::report::{Case, Report};
use crate::value::Value;
use crate::{traffic, workload};
use anyhow::Result;
use sparse_core::op::{Elementwise, ElementwisePlan};
use sparse_core::reference::Reference;
use sparse_core::{Csr, PlanOptions};

pub(super) fn run<T: Value>(context: &Context<'_>, report: &mut Report) -> Result<()> {
    workload::for_each_sparse::<T>(context.arguments, |name, a| match a.nrows() == a.ncols() {
        true => compare(context, report, name, &workload::of_integers(a)?),
        false => Ok(()),
    })
}

/// `ours` makes its plan in every run, `ours:run` has one.
fn compare<T: Value>(context: &Context<'_>, report: &mut Report, name: &str, a: &Csr<T>) -> Result<()> {
    let b = &workload::transposed(a)?;
    let options = PlanOptions::once();
    let expected =
        ElementwisePlan::new(&Reference, Elementwise::Add, a, b, &options)?.run(T::ONE, a, T::ONE, b)?;
    let plan = || ElementwisePlan::<_, Csr<T>>::new(&context.backend, Elementwise::Add, a, b, &options);
    let (mut reused, seconds) = planned(plan)?;
    let mut contenders = vec![
        made("ours", || plan()?.run(T::ONE, a, T::ONE, b), &expected)?,
        made("ours:run", move || reused.run(T::ONE, a, T::ONE, b), &expected)?.planned(seconds),
    ];
    if let Some(library) = &context.mkl {
        contenders.extend(mkl::add(library, a, b, &expected));
    }
    contenders.extend(context.peer(Sprs, || Ok([sprs::add(a, b)?])));
    contenders.extend(context.peer(Faer, || Ok([faer::add(a, b)])));
    contenders.extend(context.peer(Scipy, || scipy::contender("add", a.into(), 1)));
    let bytes = traffic::add(a, expected.nnz());
    report.compare(Case::streams(&T::name_of("add"), name, bytes, expected.nnz()), contenders)
}

//! COO in random order to CSR, duplicates added.

use super::context::Context;
use crate::arguments::PeerName::{Faer, NalgebraSparse, Scipy, Sprs};
use crate::measure::Contender;
use crate::peer::{faer, mkl, nalgebra, scipy, sprs};
use crate::report::{Case, Report};
use crate::value::Value;
use crate::{traffic, workload};
use anyhow::{Result, ensure};
use sparse_core::op::{ConvertPlan, Duplicates, Operations};
use sparse_core::reference::Reference;
use sparse_core::{Coo, Csr, PlanOptions};

pub(super) fn run<T: Value>(context: &Context<'_>, report: &mut Report) -> Result<()> {
    workload::for_each_sparse::<T>(context.arguments, |name, a| {
        compare(context, report, name, &workload::shuffled(a)?)
    })
}

/// A conversion finds the pattern, so ours makes its plan in every run.
fn compare<T: Value>(context: &Context<'_>, report: &mut Report, name: &str, coo: &Coo<T>) -> Result<()> {
    let expected: Csr<T> = Reference.convert(coo, &Duplicates::Sum)?;
    let convert = || -> sparse_core::Result<Csr<T>> {
        ConvertPlan::new(&context.backend, coo, &Duplicates::Sum, &PlanOptions::once())?.run(coo)
    };
    ensure!(convert()? == expected, "ours: the CSR differs from the reference");
    let mut contenders = vec![Contender::new("ours", || Ok(convert().map(drop)?))];
    contenders.extend(context.peer(Sprs, || Ok([sprs::coo_to_csr(coo)])));
    contenders.extend(context.peer(NalgebraSparse, || Ok([nalgebra::coo_to_csr(coo)?])));
    contenders.extend(context.peer(Faer, || Ok([faer::coo_to_csr(coo)])));
    if let Some(library) = &context.mkl {
        contenders.extend(mkl::coo_to_csr(library, coo, &expected));
    }
    contenders.extend(context.peer(Scipy, || scipy::contender("coo_to_csr", coo.into(), 1)));
    let bytes = traffic::coo_to_csr(coo.nnz(), &expected);
    report.compare(Case::streams(&T::name_of("coo_to_csr"), name, bytes, coo.nnz()), contenders)
}

//! COO in random order to CSR, duplicates added, in f32.

use super::context::Context;
use crate::arguments::PeerName::{Faer, NalgebraSparse, Scipy, Sprs};
use crate::measure::Contender;
use crate::peer::{faer, mkl, nalgebra, scipy, sprs};
use crate::report::{Case, Report};
use crate::workload;
use anyhow::{Result, ensure};
use sparse_core::op::{ConvertPlan, Duplicates, Operations};
use sparse_core::reference::Reference;
use sparse_core::{Coo, Csr, PlanOptions};

pub(super) fn run(context: &Context<'_>, report: &mut Report) -> Result<()> {
    workload::for_each_sparse(context.arguments, |name, a| {
        compare(context, report, name, &workload::shuffled(a)?)
    })
}

/// A conversion finds the pattern, so ours makes its plan in every run.
fn compare(context: &Context<'_>, report: &mut Report, name: &str, coo: &Coo<f32>) -> Result<()> {
    let expected: Csr<f32> = Reference.convert(coo, &Duplicates::Sum)?;
    let convert = || -> sparse_core::Result<Csr<f32>> {
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
    let bytes = 12 * coo.nnz() + 8 * expected.nnz() + 4 * coo.nrows();
    report.compare(Case::streams("coo_to_csr", name, bytes, coo.nnz()), contenders)
}

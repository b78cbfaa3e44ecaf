//! A Matrix Market file to CSR in double precision, beside SciPy's `mmread` and `tocsr`.

use super::context::Context;
use crate::arguments::PeerName::Scipy;
use crate::measure::Contender;
use crate::peer::scipy;
use crate::report::{Case, Report};
use crate::value::Value;
use crate::workload;
use anyhow::{Result, ensure};
use sparse_core::Csr;
use sparse_io::matrix_market;
use std::path::Path;

pub(super) fn run<T: Value>(context: &Context<'_>, report: &mut Report) -> Result<()> {
    let n = if context.arguments.smoke { 300 } else { 500_000 };
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("matrix.mtx");
    let a: Csr<T::Double> = workload::in_type::<f64, _>(&sparse_generate::uniform(n, n, 8, 1)?);
    if context.arguments.generates::<T>("by_rows") {
        matrix_market::write_csr(&path, &a)?;
        compare(context, report, "by_rows", &path, &a)?;
    }
    if context.arguments.generates::<T>("shuffled") {
        matrix_market::write_coo(&path, &workload::shuffled(&a)?)?;
        compare(context, report, "shuffled", &path, &a)?;
    }
    Ok(())
}

fn compare<T: Value>(
    context: &Context<'_>,
    report: &mut Report,
    name: &str,
    path: &Path,
    expected: &Csr<T>,
) -> Result<()> {
    let read = || -> sparse_core::Result<Csr<T>> { matrix_market::read_csr(path) };
    ensure!(&read()? == expected, "ours: what was read is not what was written");
    let mut contenders = vec![Contender::new("ours", || Ok(read().map(drop)?))];
    contenders.extend(context.peer(Scipy, || scipy::contender("io", scipy::Input::<T>::File(path), 1)));
    let bytes = usize::try_from(path.metadata()?.len())?;
    let op = if T::COMPLEX { "io c64" } else { "io" };
    report.compare(Case::streams(op, name, bytes, expected.nnz()), contenders)
}

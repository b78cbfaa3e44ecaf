//! One benchmark per operation.

pub(crate) mod cg;
mod coo_to_csr;
mod dense_batch;
mod dense_to_csr;
pub(crate) mod formats;
mod io;
mod spmm;
mod spmv;

use crate::check::Expected;
use crate::measure::Contender;
use crate::{Context, Report};
use anyhow::{Context as _, Result};
use std::time::Instant;

/// Times one operation on all of its workloads.
type Run = fn(&Context<'_>, &mut Report) -> Result<()>;

/// All operations by name.
pub(crate) const ALL: [(&str, Run); 9] = [
    ("dense_to_csr", dense_to_csr::run),
    ("coo_to_csr", coo_to_csr::run),
    ("spmv", spmv::run),
    ("spmm", spmm::run),
    ("cg", cg::run),
    ("io", io::run),
    ("seed-001", dense_batch::run),
    ("seed-003", formats::run),
    ("seed-004", spmm::run_on_graphs),
];

/// The plan, and the seconds of making it.
fn planned<P>(plan: impl FnOnce() -> sparse_core::Result<P>) -> sparse_core::Result<(P, f64)> {
    let start = Instant::now();
    let plan = plan()?;
    Ok((plan, start.elapsed().as_secs_f64()))
}

/// A product as a contender, once its result is checked.
pub(crate) fn product<'a>(
    name: impl Into<String>,
    expected: &Expected,
    mut run: impl FnMut(&mut [f32]) -> Result<()> + 'a,
) -> Result<Contender<'a>> {
    let name = name.into();
    let mut output = vec![f32::NAN; expected.elements()];
    run(&mut output)?;
    expected.check(&output).with_context(|| name.clone())?;
    Ok(Contender::new(name, move || run(&mut output)))
}

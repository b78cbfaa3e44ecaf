//! One benchmark per operation.

mod coo_to_csr;
mod dense_to_csr;
mod spmm;
mod spmv;

use crate::measure::Contender;
use crate::{Context, Report};
use anyhow::{Result, ensure};

/// Times one operation on all of its workloads.
type Run = fn(&Context<'_>, &mut Report) -> Result<()>;

/// All operations by name.
pub(crate) const ALL: [(&str, Run); 4] = [
    ("dense_to_csr", dense_to_csr::run),
    ("coo_to_csr", coo_to_csr::run),
    ("spmv", spmv::run),
    ("spmm", spmm::run),
];

/// A product as a contender, once it is what it should be. Outputs are sums of small integers (or of multiples of
/// 1/128), so they agree to the bit.
pub(crate) fn product<'a>(
    name: impl Into<String>,
    expected: &[f32],
    mut run: impl FnMut(&mut [f32]) -> Result<()> + 'a,
) -> Result<Contender<'a>> {
    let name = name.into();
    let mut output = vec![f32::NAN; expected.len()];
    run(&mut output)?;
    ensure!(output == expected, "{name}: the output differs from the reference");
    Ok(Contender::new(name, move || run(&mut output)))
}

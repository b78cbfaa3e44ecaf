//! One benchmark per operation.

mod coo_to_csr;
mod dense_to_csr;
mod spmm;
mod spmv;

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

/// Outputs of contenders are sums of small integers (or of multiples of 1/128), so they agree to the bit.
fn check_equal(name: &str, found: &[f32], expected: &[f32]) -> Result<()> {
    ensure!(found == expected, "{name}: the output differs from the reference");
    Ok(())
}

//! `nnz kron`: the Kronecker product.

use crate::claim;
use crate::common_type::read_alike;
use crate::context::Context;
use crate::file;
use crate::format::ReadOptions;
use anyhow::Result;
use clap::Args;
use std::path::PathBuf;

/// Computes the Kronecker product: C = A ⊗ B, with a_ij·B in place of each element of A
///
/// Without --dtype C has the type that represents the values of A and B exactly.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  nnz kron a.mtx b.mtx -o c.npz")]
pub(crate) struct Kron {
    /// Sparse matrix A; - is stdin
    a: PathBuf,
    /// Sparse matrix B; - is stdin
    b: PathBuf,
    /// File to write C to: .mtx, .mtx.gz, .npz or .npy (dense); - is stdout, as .mtx
    #[arg(short = 'o', long = "out", value_name = "C")]
    out: PathBuf,
}

impl Kron {
    pub(crate) fn run(self, context: &Context) -> Result<()> {
        file::check_output(&self.out)?;
        let device = context.device_or_host()?;
        let matrices = read_alike(context, &device, ReadOptions::default(), &[&self.a, &self.b])?;
        let (a, b) = (&matrices[0], &matrices[1]);
        let rows = a.nrows().max(1).saturating_mul(b.nrows().max(1));
        let data = a.nnz().saturating_mul(b.nnz()).saturating_mul(a.dtype().bytes());
        claim::check("a number for each row of C", rows.saturating_mul(size_of::<usize>()), data)?;
        file::write(&self.out, &a.kron(b)?)
    }
}

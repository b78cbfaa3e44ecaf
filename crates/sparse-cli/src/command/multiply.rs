//! `nnz multiply`: the element-wise product of two sparse matrices.

use crate::common_type::read_pair;
use crate::context::Context;
use crate::file;
use crate::format::ReadOptions;
use anyhow::Result;
use clap::Args;
use std::path::PathBuf;

/// Multiplies two sparse matrices element by element: C = A ∘ B
///
/// C has an entry where both A and B have one. Without --dtype C has the type that represents the values of A and B
/// exactly.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  nnz multiply a.mtx b.mtx -o c.mtx")]
pub(crate) struct Multiply {
    /// Sparse matrix A; - is stdin
    a: PathBuf,
    /// Sparse matrix B, of the same shape; - is stdin
    b: PathBuf,
    /// File to write C to: .mtx, .mtx.gz, .npz or .npy (dense); - is stdout, as .mtx
    #[arg(short = 'o', long = "out", value_name = "C")]
    out: PathBuf,
    #[command(flatten)]
    read: ReadOptions,
}

impl Multiply {
    pub(crate) fn run(self, context: &Context) -> Result<()> {
        file::check_output(&self.out)?;
        let [a, b] = read_pair(context, self.read, [&self.a, &self.b])?;
        file::write(&self.out, &a.multiply(&b)?)
    }
}

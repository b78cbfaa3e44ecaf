//! `nnz multiply`: the element-wise product of two sparse matrices.

use crate::context::Context;
use crate::file;
use crate::format::ReadOptions;
use crate::pair::read_pair;
use anyhow::Result;
use clap::Args;
use std::path::PathBuf;

/// Multiplies element by element: C = A ∘ B, both sparse
///
/// C has an entry where A and B have one. Without --dtype the product is computed in the type that holds the values of
/// both exactly.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  nnz multiply a.mtx b.mtx -o c.mtx")]
pub(crate) struct Multiply {
    /// The matrix A; - is standard input
    a: PathBuf,
    /// The matrix B, of the same shape; - is standard input
    b: PathBuf,
    /// The file to write C to: .mtx, .mtx.gz, .npz or .npy (dense); - is standard output, which gets .mtx
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

//! `nnz add`: the sum of two sparse matrices.

use crate::common_type::read_pair;
use crate::context::Context;
use crate::file;
use crate::format::ReadOptions;
use crate::option_values::{check_factor, parse_factor};
use anyhow::Result;
use clap::Args;
use nnz::c64;
use std::path::PathBuf;

/// Adds two sparse matrices: C = alpha·A + beta·B
///
/// C has an entry where A or B has one, even if the sum is zero. Without --dtype C has the type that represents the
/// values of A and B exactly.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  nnz add a.mtx b.mtx -o c.mtx --beta -1")]
pub(crate) struct Add {
    /// Sparse matrix A; - is stdin
    a: PathBuf,
    /// Sparse matrix B, of the same shape; - is stdin
    b: PathBuf,
    /// File to write C to: .mtx, .mtx.gz, .npz or .npy (dense); - is stdout, as .mtx
    #[arg(short = 'o', long = "out", value_name = "C")]
    out: PathBuf,
    /// Factor of A; complex as in 1+2i
    #[arg(long, default_value = "1", value_parser = parse_factor, allow_hyphen_values = true)]
    alpha: c64,
    /// Factor of B
    #[arg(long, default_value = "1", value_parser = parse_factor, allow_hyphen_values = true)]
    beta: c64,
    #[command(flatten)]
    read: ReadOptions,
}

impl Add {
    pub(crate) fn run(self, context: &Context) -> Result<()> {
        file::check_output(&self.out)?;
        let [a, b] = read_pair(context, self.read, [&self.a, &self.b])?;
        check_factor("--alpha", self.alpha, a.dtype())?;
        check_factor("--beta", self.beta, a.dtype())?;
        file::write(&self.out, &a.add(&b, self.alpha, self.beta)?)
    }
}

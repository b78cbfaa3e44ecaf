//! `nnz add`: the sum of two sparse matrices.

use crate::context::Context;
use crate::file;
use crate::format::ReadOptions;
use crate::pair::read_pair;
use crate::product::{check_factor, parse_factor};
use anyhow::Result;
use clap::Args;
use nnz::c64;
use std::path::PathBuf;

/// Adds: C = alpha·A + beta·B, both sparse
///
/// C has an entry where A or B has one, also where the sum is zero. Without --dtype the sum is computed in the type
/// that holds the values of both exactly.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  nnz add a.mtx b.mtx -o c.mtx --beta -1")]
pub(crate) struct Add {
    /// The matrix A; - is standard input
    a: PathBuf,
    /// The matrix B, of the same shape; - is standard input
    b: PathBuf,
    /// The file to write C to: .mtx, .mtx.gz, .npz or .npy (dense); - is standard output, which gets .mtx
    #[arg(short = 'o', long = "out", value_name = "C")]
    out: PathBuf,
    /// The factor of A; complex as in 1+2i
    #[arg(long, default_value = "1", value_parser = parse_factor, allow_hyphen_values = true)]
    alpha: c64,
    /// The factor of B
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

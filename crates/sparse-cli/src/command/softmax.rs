//! `nnz softmax`: the softmax of each row or column.

use super::reduce::parse_axis;
use crate::claim;
use crate::context::Context;
use crate::file;
use anyhow::Result;
use clap::Args;
use nnz::Each;
use std::path::PathBuf;

/// Computes the softmax of the entries of each row or column: exp(a − m) / Σ exp(a − m), m the largest
///
/// B has the pattern of A: elements that are not stored count as minus infinity.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  nnz softmax a.mtx -o c.mtx")]
pub(crate) struct Softmax {
    /// Matrix A; - is stdin
    matrix: PathBuf,
    /// As in NumPy: 1 for the softmax of each row, 0 for that of each column
    #[arg(long, default_value = "1", value_parser = parse_axis)]
    axis: Each,
    /// File to write B to: .mtx, .mtx.gz, .npz or .npy (dense); - is stdout, as .mtx
    #[arg(short = 'o', long = "out", value_name = "B")]
    out: PathBuf,
}

impl Softmax {
    pub(crate) fn run(self, context: &Context) -> Result<()> {
        file::check_output(&self.out)?;
        let input = file::open(&self.matrix)?;
        let a = file::read(&input, file::dtype_of(&input, context)?, &context.device()?)?;
        claim::check_lines(&a)?;
        file::write(&self.out, &a.softmax(self.axis)?)
    }
}

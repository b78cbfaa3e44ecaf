//! `nnz transpose`: rows become columns.

use crate::claim;
use crate::context::Context;
use crate::file;
use anyhow::Result;
use clap::Args;
use nnz::Format;
use std::path::PathBuf;

/// Transposes: B = Aᵀ
#[derive(Debug, Args)]
pub(crate) struct Transpose {
    /// The matrix A; - is standard input
    matrix: PathBuf,
    /// The file to write B to: .mtx, .mtx.gz, .npz or .npy (dense); - is standard output, which gets .mtx
    #[arg(short = 'o', long = "out", value_name = "B")]
    out: PathBuf,
}

impl Transpose {
    pub(crate) fn run(self, context: &Context) -> Result<()> {
        file::check_output(&self.out)?;
        let input = file::open(&self.matrix)?;
        let a = file::read(&input, file::dtype_of(&input, context)?, &context.device()?)?;
        claim::check_lines(&a)?;
        drop(input);
        file::write(&self.out, &a.transpose()?.to_format(Format::Csr)?)
    }
}

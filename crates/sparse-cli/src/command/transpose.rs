//! `nnz transpose`: rows become columns.

use crate::claim;
use crate::context::Context;
use crate::file;
use anyhow::Result;
use clap::Args;
use nnz::Format;
use std::path::PathBuf;

/// Transposes: B = Aᵀ
///
/// Of a batch that `nnz compress` wrote each member is transposed; B is then a batch, in a file that ends in .npz.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  nnz transpose a.mtx -o c.mtx")]
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
        let is_batch = input.batch_format()?.is_some();
        if is_batch {
            file::check_npz_output(&self.out)?;
        }
        let a = file::read_or_batch(&input, file::dtype_of(&input, context)?, &context.device()?)?;
        claim::check_lines(&a)?;
        drop(input);
        let format = if is_batch { Format::BatchCsr } else { Format::Csr };
        file::write(&self.out, &a.transpose()?.to_format(format)?)
    }
}

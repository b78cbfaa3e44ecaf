//! `nnz transpose`: rows become columns.

use crate::claim;
use crate::context::Context;
use crate::file;
use crate::format::{ReadOptions, StoredFormat};
use anyhow::Result;
use clap::Args;
use nnz::{Format, Matrix};
use std::path::PathBuf;

/// Transposes a matrix: B = Aᵀ
///
/// For a batch written by `nnz compress` each member is transposed, and B is a batch (.npz). With --format coo
/// duplicates are not summed.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  nnz transpose a.mtx -o c.mtx")]
pub(crate) struct Transpose {
    /// Matrix A; - is stdin
    matrix: PathBuf,
    /// File to write B to: .mtx, .mtx.gz, .npz or .npy (dense); - is stdout, as .mtx
    #[arg(short = 'o', long = "out", value_name = "B")]
    out: PathBuf,
    #[command(flatten)]
    read: ReadOptions,
}

impl Transpose {
    pub(crate) fn run(self, context: &Context) -> Result<()> {
        file::check_output(&self.out)?;
        let input = file::open(&self.matrix)?;
        let (dtype, device) = (file::dtype_of(&input, context)?, context.device()?);
        if input.batch_format()?.is_some() {
            file::check_npz_output(&self.out)?;
            let batch = Matrix::read_batch(&device, &input, dtype)?;
            claim::check_lines(&batch)?;
            return file::write(&self.out, &batch.transpose()?.to_format(Format::BatchCsr)?);
        }
        let format = self.read.format_of(&input)?;
        let a = format.read(&input, dtype, &device)?;
        drop(input);
        if format == StoredFormat::Coo {
            return file::write(&self.out, &a.transpose()?);
        }
        claim::check_lines(&a)?;
        file::write(&self.out, &a.transpose()?.to_format(Format::Csr)?)
    }
}

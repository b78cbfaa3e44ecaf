//! `nnz slice`: chosen rows and columns.

use crate::claim;
use crate::context::Context;
use crate::file;
use crate::format::ReadOptions;
use crate::selection::Selection;
use anyhow::Result;
use clap::Args;
use nnz::Format;
use std::path::PathBuf;

/// Takes rows and columns: one, a range as in NumPy, or those that a .npy file lists
///
/// A range is START:STOP or START:STOP:STEP; what is left out is the first, the end, or 1. Negative numbers count from
/// the end, also in a list, and a negative step goes backwards. Rows and columns of a list come in its order, and may
/// repeat; a list of booleans is a mask.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  nnz slice a.mtx --rows 10:20 --cols ::2 -o c.mtx")]
pub(crate) struct Slice {
    /// The matrix A; - is standard input
    matrix: PathBuf,
    /// The rows: a number, a range, or a .npy file of numbers; without it all
    #[arg(long, default_value = ":", allow_hyphen_values = true)]
    rows: Selection,
    /// The columns, likewise
    #[arg(long, default_value = ":", allow_hyphen_values = true)]
    cols: Selection,
    /// The file to write B to: .mtx, .mtx.gz, .npz or .npy (dense); - is standard output, which gets .mtx
    #[arg(short = 'o', long = "out", value_name = "B")]
    out: PathBuf,
    #[command(flatten)]
    read: ReadOptions,
}

impl Slice {
    pub(crate) fn run(self, context: &Context) -> Result<()> {
        file::check_output(&self.out)?;
        let input = file::open(&self.matrix)?;
        let a = self.read.read(&input, file::dtype_of(&input, context)?, &context.device()?)?;
        if a.format() != Format::Coo {
            claim::check_lines(&a)?;
        }
        drop(input);
        let rows = self.rows.of("row", a.nrows(), &a)?;
        let cols = self.cols.of("column", a.ncols(), &a)?;
        file::write(&self.out, &a.select(rows, cols)?)
    }
}

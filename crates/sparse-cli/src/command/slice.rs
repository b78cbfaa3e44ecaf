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

/// Selects rows and columns: a single one, a range as in NumPy, or a list in a .npy file
///
/// Ranges are START:STOP or START:STOP:STEP with NumPy's defaults; negative numbers count from the end, also in a
/// list. The result has the order of the list, which may repeat rows; a list of booleans is a mask.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  nnz slice a.mtx --rows 10:20 --cols ::2 -o c.mtx")]
pub(crate) struct Slice {
    /// Matrix A; - is stdin
    matrix: PathBuf,
    /// Rows: a number, a range, or a .npy file of numbers
    #[arg(long, default_value = ":", allow_hyphen_values = true)]
    rows: Selection,
    /// Columns, likewise
    #[arg(long, default_value = ":", allow_hyphen_values = true)]
    cols: Selection,
    /// File to write B to: .mtx, .mtx.gz, .npz or .npy (dense); - is stdout, as .mtx
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

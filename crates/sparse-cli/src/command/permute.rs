//! `nnz permute`: rows and columns in another order.

use crate::claim;
use crate::context::Context;
use crate::file;
use crate::selection::Selection;
use anyhow::Result;
use clap::Args;
use std::path::PathBuf;

/// Permutes rows and columns: row k of B is row p[k] of A, and column k is column q[k]
///
/// A list that omits or repeats a row or column is an error; `nnz slice` accepts such lists.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  nnz permute a.mtx --rows p.npy --cols p.npy -o c.mtx")]
pub(crate) struct Permute {
    /// Matrix A; - is stdin
    matrix: PathBuf,
    /// Permutation p of the rows, as `nnz order` writes it [default: the order of A]
    #[arg(long, value_name = "P.npy")]
    rows: Option<PathBuf>,
    /// Permutation q of the columns [default: the order of A]
    #[arg(long, value_name = "Q.npy")]
    cols: Option<PathBuf>,
    /// File to write B to: .mtx, .mtx.gz, .npz or .npy (dense); - is stdout, as .mtx
    #[arg(short = 'o', long = "out", value_name = "B")]
    out: PathBuf,
}

impl Permute {
    pub(crate) fn run(self, context: &Context) -> Result<()> {
        file::check_output(&self.out)?;
        file::check_inputs(
            [Some(&self.matrix), self.rows.as_ref(), self.cols.as_ref()]
                .into_iter()
                .flatten()
                .map(|path| &**path),
        )?;
        let input = file::open(&self.matrix)?;
        let a = file::read(&input, file::dtype_of(&input, context)?, &context.device()?)?;
        claim::check_lines(&a)?;
        drop(input);
        let (rows, cols) = (order("row", self.rows, a.nrows())?, order("column", self.cols, a.ncols())?);
        file::write(&self.out, &a.permute(&rows, &cols)?)
    }
}

/// The numbers of a file; without one those of `extent` rows or columns in their order; `what` is `row` or `column`.
fn order(what: &str, path: Option<PathBuf>, extent: usize) -> Result<Vec<usize>> {
    match path {
        Some(path) => Selection::File(path).indices(what, extent),
        None => Ok((0..extent).collect()),
    }
}

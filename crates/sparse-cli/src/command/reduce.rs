//! `nnz reduce`: one number for each row or column.

use crate::claim;
use crate::context::Context;
use crate::file;
use crate::format::ReadOptions;
use anyhow::Result;
use clap::Args;
use nnz::{Each, Format, Reduction};
use std::path::PathBuf;

/// Reduces each row or column to its sum, mean, variance, minimum, maximum or norm
///
/// Elements that are not stored count as zeros. NaN propagates.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  nnz reduce a.mtx --axis 1 --by norm2 -o y.npy")]
pub(crate) struct Reduce {
    /// Matrix; - is stdin
    matrix: PathBuf,
    /// As in NumPy: 1 for a number per row, 0 for one per column
    #[arg(long, value_parser = parse_axis)]
    axis: Each,
    /// Reduction: sum, mean, variance, min, max, norm1, norm2 or norminf
    #[arg(long, value_name = "NAME", default_value = "sum")]
    by: Reduction,
    /// File to write; - is stdout
    #[arg(short = 'o', long = "out", value_name = "Y.npy")]
    out: PathBuf,
    #[command(flatten)]
    read: ReadOptions,
}

impl Reduce {
    pub(crate) fn run(self, context: &Context) -> Result<()> {
        file::check_npy_output(&self.out)?;
        let input = file::open(&self.matrix)?;
        let a = self.read.read(&input, file::dtype_of(&input, context)?, &context.device()?)?;
        match (a.format(), self.axis) {
            (Format::Coo, Each::Row) => claim::check_each("row", a.nrows(), &a)?,
            (Format::Coo, Each::Column) => claim::check_each("column", a.ncols(), &a)?,
            _ => claim::check_lines(&a)?,
        }
        Ok(a.reduce(self.axis, self.by)?.write_npy(file::output(&self.out))?)
    }
}

/// Rows for 1, columns for 0.
pub(crate) fn parse_axis(axis: &str) -> Result<Each, String> {
    match axis {
        "0" => Ok(Each::Column),
        "1" => Ok(Each::Row),
        _ => Err("0 or 1 is needed".into()),
    }
}

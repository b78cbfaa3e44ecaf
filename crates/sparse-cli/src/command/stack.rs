//! `nnz stack`: matrices below each other, beside each other, or along a diagonal.

use crate::claim;
use crate::common_type::read_alike;
use crate::context::Context;
use crate::file;
use crate::format::ReadOptions;
use anyhow::Result;
use clap::{Args, ValueEnum};
use nnz::{Format, Matrix};
use std::path::{Path, PathBuf};

/// Stacks matrices below each other, beside each other, or along a diagonal
///
/// Without --dtype the result has the type that represents the values of all exactly.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  nnz stack a.mtx b.mtx -o c.mtx --along columns")]
pub(crate) struct Stack {
    /// Sparse matrices; - is stdin
    #[arg(required = true, value_name = "MATRIX")]
    matrices: Vec<PathBuf>,
    /// Where each matrix follows the one before
    #[arg(long, value_name = "WHERE", default_value = "rows")]
    along: Along,
    /// File to write to: .mtx, .mtx.gz, .npz or .npy (dense); - is stdout, as .mtx
    #[arg(short = 'o', long = "out", value_name = "C")]
    out: PathBuf,
}

/// The place of a matrix in the stack.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Along {
    /// Below the one before
    Rows,
    /// Beside the one before
    Columns,
    /// Below and beside it, with zeros elsewhere
    Diagonal,
}

impl Stack {
    pub(crate) fn run(self, context: &Context) -> Result<()> {
        file::check_output(&self.out)?;
        let paths: Vec<&Path> = self.matrices.iter().map(PathBuf::as_path).collect();
        let matrices = read_alike(context, &context.device_or_host()?, ReadOptions::default(), &paths)?;
        // Those in CSR have their row pointers already.
        let mut coordinates = matrices.iter().filter(|matrix| matrix.format() == Format::Coo);
        coordinates.try_for_each(|matrix| claim::check_each("row", matrix.nrows(), matrix))?;
        let matrices: Vec<&Matrix> = matrices.iter().collect();
        let stack = match self.along {
            Along::Rows => Matrix::vstack(&matrices),
            Along::Columns => Matrix::hstack(&matrices),
            Along::Diagonal => Matrix::block_diag(&matrices),
        };
        file::write(&self.out, &stack?)
    }
}

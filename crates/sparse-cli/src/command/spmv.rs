//! `nnz spmv`: sparse matrix times vector.

use crate::context::Context;
use crate::multiply::{Factor, multiply};
use crate::product::ProductOptions;
use anyhow::Result;
use clap::Args;
use std::path::PathBuf;

/// Multiplies: Y = alpha·op(A)·X + beta·Y₀, X a vector
///
/// X has shape (n,) or (n, 1), and Y has as many dimensions. Without --dtype the product is computed in the type that
/// holds the values of all operands exactly. A batch that `nnz compress` wrote is the block-diagonal matrix of its members.
#[derive(Debug, Args)]
pub(crate) struct Spmv {
    /// The matrix A, a file or a folder of parts; - is standard input
    matrix: PathBuf,
    /// The vector X; - is standard input
    #[arg(value_name = "X.npy")]
    x: PathBuf,
    /// The file to write Y to; - is standard output
    #[arg(short = 'o', long = "out", value_name = "Y.npy")]
    out: PathBuf,
    #[command(flatten)]
    options: ProductOptions,
}

impl Spmv {
    pub(crate) fn run(self, context: &Context) -> Result<()> {
        multiply(Factor::Vector, context, &self.options, [&self.matrix, &self.x, &self.out])
    }
}

//! `nnz spmm`: sparse matrix times dense matrix.

use crate::context::Context;
use crate::multiply::{Factor, multiply};
use crate::named_device::NamedDevices;
use crate::product::ProductOptions;
use anyhow::Result;
use clap::Args;
use std::path::PathBuf;

/// Multiplies: C = alpha·op(A)·B + beta·Y, B a dense matrix
///
/// C comes in the order of B: C or Fortran. A vector B of shape (n,) counts as one column and gives a vector. Without
/// --dtype the product is computed in the type that holds the values of all operands exactly.
#[derive(Debug, Args)]
pub(crate) struct Spmm {
    /// The matrix A; - is standard input
    matrix: PathBuf,
    /// The dense matrix B; - is standard input
    #[arg(value_name = "B.npy")]
    b: PathBuf,
    /// The file to write C to; - is standard output
    #[arg(short = 'o', long = "out", value_name = "C.npy")]
    out: PathBuf,
    #[command(flatten)]
    options: ProductOptions,
}

impl Spmm {
    pub(crate) fn run(self, context: &Context) -> Result<()> {
        multiply(
            Factor::Matrix,
            context,
            &self.options,
            NamedDevices::default(),
            [&self.matrix, &self.b, &self.out],
        )
    }
}

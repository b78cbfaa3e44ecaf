//! `nnz spmm`: sparse matrix times dense matrix.

use crate::context::Context;
use crate::multiply::{Multiplication, Product, multiply};
use crate::operand::Operand;
use crate::product::{ProductOptions, check_algorithm, tell_choice};
use anyhow::Result;
use clap::Args;
use nnz::op::{SpmmKernel, SpmmPlan, SpmvKernel, VectorKernel};
use nnz::{Accumulator, Dense, SpaceOf, SparseFormat};
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
        multiply::<Self>(context, &self.options, [&self.matrix, &self.b, &self.out])
    }
}

impl Multiplication for Spmm {
    fn dense<T: Accumulator>(operand: Operand) -> Result<Dense<T>> {
        operand.into_dense()
    }

    fn multiply<T, B, M>(product: &mut Product<'_, Self, T, B>, a: &M) -> Result<()>
    where
        T: Accumulator,
        M: SparseFormat<Scalar = T, Space = SpaceOf<B>>,
        B: SpmvKernel<M> + SpmmKernel<M> + VectorKernel<T>,
    {
        let (backend, options) = (product.backend, product.options);
        check_algorithm(options.algorithm.as_deref(), M::FORMAT, backend.spmm_algorithms(options.op))?;
        let mut plan = SpmmPlan::new(backend, a, options.op, product.x.cols(), &options.plan())?;
        tell_choice(product.context, "spmm", M::FORMAT, plan.choice());
        Ok(plan.run(product.alpha, a, product.x.as_view(), product.beta, product.y.as_view_mut())?)
    }
}

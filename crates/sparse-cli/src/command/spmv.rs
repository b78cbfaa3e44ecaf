//! `nnz spmv`: sparse matrix times vector.

use crate::context::Context;
use crate::multiply::{Multiplication, Product, multiply};
use crate::operand::{self, Operand};
use crate::product::{ProductOptions, check_algorithm, tell_choice};
use anyhow::Result;
use clap::Args;
use nnz::op::{SpmmKernel, SpmvKernel, SpmvPlan, VectorKernel};
use nnz::{Accumulator, Dense, SpaceOf, SparseFormat};
use std::path::PathBuf;

/// Multiplies: Y = alpha·op(A)·X + beta·Y₀, X a vector
///
/// X has shape (n,) or (n, 1), and Y has as many dimensions. Without --dtype the product is computed in the type that
/// holds the values of all operands exactly.
#[derive(Debug, Args)]
pub(crate) struct Spmv {
    /// The matrix A; - is standard input
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
        multiply::<Self>(context, &self.options, [&self.matrix, &self.x, &self.out])
    }
}

impl Multiplication for Spmv {
    fn dense<T: Accumulator>(operand: Operand) -> Result<Dense<T>> {
        operand::column(operand.into_vector()?)
    }

    fn multiply<T, B, M>(product: &mut Product<'_, Self, T, B>, a: &M) -> Result<()>
    where
        T: Accumulator,
        M: SparseFormat<Scalar = T, Space = SpaceOf<B>>,
        B: SpmvKernel<M> + SpmmKernel<M> + VectorKernel<T>,
    {
        let (backend, options) = (product.backend, product.options);
        check_algorithm(options.algorithm.as_deref(), M::FORMAT, backend.spmv_algorithms(options.op))?;
        let mut plan = SpmvPlan::new(backend, a, options.op, &options.plan())?;
        tell_choice(product.context, "spmv", M::FORMAT, plan.choice());
        let (x, y) = (product.x.as_view().data(), product.y.as_view_mut().into_data());
        Ok(plan.run(product.alpha, a, x, product.beta, y)?)
    }
}

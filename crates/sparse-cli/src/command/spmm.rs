//! `nnz spmm`: sparse matrix times dense matrix.

use crate::context::Context;
use crate::dispatch::{Compute, compute, upload};
use crate::format::{WithFormat, in_format};
use crate::operand::{self, Operand};
use crate::product::{self, ProductOptions, check_algorithm, factor, tell_choice};
use anyhow::Result;
use clap::Args;
use nnz::io::MatrixFile;
use nnz::op::{FullBackend, SpmmKernel, SpmmPlan, SpmvKernel, VectorKernel};
use nnz::{Accumulator, Backend, Csr, Dense, Host, Index, Matrix, SpaceOf};
use std::path::{Path, PathBuf};

/// Multiplies: C = alpha·op(A)·B + beta·Y, B a dense matrix
///
/// C comes in the order of B: C or Fortran. A vector B of shape (n,) counts as one column and gives a vector. Without
/// --dtype the product is computed in the type that holds the values of all operands exactly.
#[derive(Debug, Args)]
pub(crate) struct Spmm {
    /// The matrix A
    matrix: PathBuf,
    /// The dense matrix B
    #[arg(value_name = "B.npy")]
    b: PathBuf,
    /// Where C is written
    #[arg(short = 'o', long = "out", value_name = "C.npy")]
    out: PathBuf,
    #[command(flatten)]
    options: ProductOptions,
}

impl Spmm {
    pub(crate) fn run(self, context: &Context) -> Result<()> {
        self.options.check()?;
        let device = context.device()?;
        let b = Operand::read(&self.b)?;
        let added = self.options.added().map(|path| Operand::read(path)).transpose()?;
        let matrix = MatrixFile::open(&self.matrix)?;
        let dtype = product::dtype(context, &matrix, [&b].into_iter().chain(&added))?;
        let command = Multiply { b, added, out: &self.out, options: &self.options, context };
        compute(matrix, dtype, &device, command)
    }
}

struct Multiply<'a> {
    b: Operand,
    added: Option<Operand>,
    out: &'a Path,
    options: &'a ProductOptions,
    context: &'a Context,
}

impl Compute for Multiply<'_> {
    fn call<T, I, O, B>(self, a: Csr<T, Host, I, O>, backend: &B) -> Result<()>
    where
        T: Accumulator,
        I: Index,
        O: Index,
        B: FullBackend<T, I, O> + FullBackend<T, i32, i32>,
    {
        let (alpha, beta) = (factor("--alpha", self.options.alpha)?, factor("--beta", self.options.beta)?);
        let dimensions = self.b.dimensions();
        let b = self.b.into_dense::<T>()?;
        let c = match self.added {
            Some(added) => added.into_dense::<T>()?,
            None => Dense::zeros(self.options.op.shape(&a).0, b.cols(), b.order())?,
        };
        let (b, c) = (operand::upload(b, backend)?, operand::upload(c, backend)?);
        let a = upload(a, backend)?;
        let product = Product { backend, b, c, alpha, beta, options: self.options, context: self.context };
        let c = in_format(self.options.format, &a, backend, product)?;
        let c = Dense::new(backend.download(c.data())?, c.rows(), c.cols(), c.order())?;
        operand::write(self.out, &c, dimensions)
    }
}

/// The product in one format; gives C.
struct Product<'a, T: Accumulator, B: Backend> {
    backend: &'a B,
    alpha: T,
    b: Dense<T, SpaceOf<B>>,
    beta: T,
    c: Dense<T, SpaceOf<B>>,
    options: &'a ProductOptions,
    context: &'a Context,
}

impl<T: Accumulator, B: VectorKernel<T>> WithFormat<T, B> for Product<'_, T, B> {
    type Out = Dense<T, SpaceOf<B>>;

    fn call<M>(mut self, a: &M) -> Result<Self::Out>
    where
        M: Matrix<Scalar = T, Space = SpaceOf<B>>,
        B: SpmvKernel<M> + SpmmKernel<M>,
    {
        let (backend, options) = (self.backend, self.options);
        let named = options.algorithm.as_deref();
        check_algorithm(named, M::FORMAT, backend.spmm_algorithms(options.op))?;
        let mut plan = SpmmPlan::new(backend, a, options.op, self.b.cols(), &options.plan())?;
        tell_choice(self.context, "spmm", M::FORMAT, plan.choice());
        plan.run(self.alpha, a, self.b.as_view(), self.beta, self.c.as_view_mut())?;
        Ok(self.c)
    }
}

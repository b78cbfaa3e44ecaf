//! `nnz spmv`: sparse matrix times vector.

use crate::context::Context;
use crate::dispatch::{Compute, compute, upload};
use crate::format::{WithFormat, in_format};
use crate::operand::{self, Operand};
use crate::product::{self, ProductOptions, check_algorithm, factor, tell_choice};
use anyhow::Result;
use clap::Args;
use nnz::backend::Buf;
use nnz::io::MatrixFile;
use nnz::op::{FullBackend, SpmmKernel, SpmvKernel, SpmvPlan, VectorKernel};
use nnz::{Accumulator, Backend, Csr, Host, Index, Matrix, Space, SpaceOf};
use std::path::{Path, PathBuf};

/// Multiplies: Y = alpha·op(A)·X + beta·Y₀, X a vector
///
/// X has shape (n,) or (n, 1), and Y has as many dimensions. Without --dtype the product is computed in the type that
/// holds the values of all operands exactly.
#[derive(Debug, Args)]
pub(crate) struct Spmv {
    /// The matrix A
    matrix: PathBuf,
    /// The vector X
    #[arg(value_name = "X.npy")]
    x: PathBuf,
    /// Where Y is written
    #[arg(short = 'o', long = "out", value_name = "Y.npy")]
    out: PathBuf,
    #[command(flatten)]
    options: ProductOptions,
}

impl Spmv {
    pub(crate) fn run(self, context: &Context) -> Result<()> {
        self.options.check()?;
        let device = context.device()?;
        let x = Operand::read(&self.x)?;
        let added = self.options.added().map(|path| Operand::read(path)).transpose()?;
        let matrix = MatrixFile::open(&self.matrix)?;
        let dtype = product::dtype(context, &matrix, [&x].into_iter().chain(&added))?;
        let command = Multiply { x, added, out: &self.out, options: &self.options, context };
        compute(matrix, dtype, &device, command)
    }
}

struct Multiply<'a> {
    x: Operand,
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
        let dimensions = self.x.dimensions();
        let x = backend.upload(&self.x.into_vector::<T>()?)?;
        let y = match self.added {
            Some(added) => backend.upload(&added.into_vector::<T>()?)?,
            None => backend.zeros(self.options.op.shape(&a).0)?,
        };
        let a = upload(a, backend)?;
        let product = Product { backend, x, y, alpha, beta, options: self.options, context: self.context };
        let y = in_format(self.options.format, &a, backend, product)?;
        operand::write(self.out, &operand::column(backend.download(&y)?)?, dimensions)
    }
}

/// The product in one format; gives y.
struct Product<'a, T: Accumulator, B: Backend> {
    backend: &'a B,
    alpha: T,
    x: Buf<B, T>,
    beta: T,
    y: Buf<B, T>,
    options: &'a ProductOptions,
    context: &'a Context,
}

impl<T: Accumulator, B: VectorKernel<T>> WithFormat<T, B> for Product<'_, T, B> {
    type Out = Buf<B, T>;

    fn call<M>(mut self, a: &M) -> Result<Buf<B, T>>
    where
        M: Matrix<Scalar = T, Space = SpaceOf<B>>,
        B: SpmvKernel<M> + SpmmKernel<M>,
    {
        let (backend, options) = (self.backend, self.options);
        let named = options.algorithm.as_deref();
        check_algorithm(named, M::FORMAT, backend.spmv_algorithms(options.op))?;
        let mut plan = SpmvPlan::new(backend, a, options.op, &options.plan())?;
        tell_choice(self.context, "spmv", M::FORMAT, plan.choice());
        let (x, y) = (SpaceOf::<B>::view(&self.x), SpaceOf::<B>::view_mut(&mut self.y));
        plan.run(self.alpha, a, x, self.beta, y)?;
        Ok(self.y)
    }
}

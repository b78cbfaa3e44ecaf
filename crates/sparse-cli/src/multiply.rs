//! `nnz spmv` and `nnz spmm` run alike: read the factors, upload, multiply in one format, write.

use crate::context::Context;
use crate::dispatch::{Compute, compute, upload};
use crate::format::{WithFormat, in_format};
use crate::operand::{self, Operand};
use crate::product::{self, ProductOptions, factor};
use anyhow::Result;
use nnz::io::{MatrixFile, Output};
use nnz::op::{FullBackend, SpmmKernel, SpmvKernel, VectorKernel};
use nnz::{Accumulator, Backend, Csr, Dense, Host, Index, Matrix, SpaceOf};
use std::marker::PhantomData;
use std::path::Path;

/// What a matrix is multiplied with: a vector or a matrix.
pub(crate) trait Multiplication: Sized {
    /// An operand as a dense matrix; a vector is one column.
    fn dense<T: Accumulator>(operand: Operand) -> Result<Dense<T>>;

    /// Multiplies with the matrix.
    fn multiply<T, B, M>(product: &mut Product<'_, Self, T, B>, a: &M) -> Result<()>
    where
        T: Accumulator,
        M: Matrix<Scalar = T, Space = SpaceOf<B>>,
        B: SpmvKernel<M> + SpmmKernel<M> + VectorKernel<T>;
}

/// Multiplies the matrix in one file with what is in another, and writes the product.
pub(crate) fn multiply<K: Multiplication>(
    context: &Context,
    options: &ProductOptions,
    [matrix, x, out]: [&Path; 3],
) -> Result<()> {
    options.check()?;
    Output::from(out).check()?;
    let device = context.device()?;
    let x = Operand::read(x)?;
    let added = options.added().map(|path| Operand::read(path)).transpose()?;
    let matrix = MatrixFile::open(matrix)?;
    let dtype = product::dtype(context, &matrix, [&x].into_iter().chain(&added))?;
    compute(matrix, dtype, &device, Multiply::<K> { x, added, out, options, context, kind: PhantomData })
}

struct Multiply<'a, K> {
    x: Operand,
    added: Option<Operand>,
    out: &'a Path,
    options: &'a ProductOptions,
    context: &'a Context,
    kind: PhantomData<K>,
}

impl<K: Multiplication> Compute for Multiply<'_, K> {
    fn call<T, I, O, B>(self, a: Csr<T, Host, I, O>, backend: &B) -> Result<()>
    where
        T: Accumulator,
        I: Index,
        O: Index,
        B: FullBackend<T, I, O> + FullBackend<T, i32, i32>,
    {
        let Self { options, context, kind, .. } = self;
        let (alpha, beta) = (factor("--alpha", options.alpha)?, factor("--beta", options.beta)?);
        let dimensions = self.x.dimensions();
        let x = K::dense::<T>(self.x)?;
        let y = match self.added {
            Some(added) => K::dense::<T>(added)?,
            None => Dense::zeros(options.op.shape(&a).0, x.cols(), x.order())?,
        };
        let (x, y) = (operand::upload(x, backend)?, operand::upload(y, backend)?);
        let a = upload(a, backend)?;
        let product = Product { backend, x, y, alpha, beta, options, context, kind };
        let y = in_format(options.format, &a, backend, product)?;
        let y = Dense::new(backend.download(y.data())?, y.rows(), y.cols(), y.order())?;
        operand::write(self.out, &y, dimensions)
    }
}

/// `y <- alpha·op(A)·x + beta·y`, A still to come in one format; gives y.
pub(crate) struct Product<'a, K, T: Accumulator, B: Backend> {
    pub(crate) backend: &'a B,
    pub(crate) alpha: T,
    pub(crate) x: Dense<T, SpaceOf<B>>,
    pub(crate) beta: T,
    pub(crate) y: Dense<T, SpaceOf<B>>,
    pub(crate) options: &'a ProductOptions,
    pub(crate) context: &'a Context,
    kind: PhantomData<K>,
}

impl<K: Multiplication, T: Accumulator, B: VectorKernel<T>> WithFormat<T, B> for Product<'_, K, T, B> {
    type Out = Dense<T, SpaceOf<B>>;

    fn call<M>(mut self, a: &M) -> Result<Self::Out>
    where
        M: Matrix<Scalar = T, Space = SpaceOf<B>>,
        B: SpmvKernel<M> + SpmmKernel<M>,
    {
        K::multiply(&mut self, a)?;
        Ok(self.y)
    }
}

//! The common course of `nnz spmv` and `nnz spmm`: read the factors, upload, multiply in one format, write.

use crate::claim;
use crate::context::Context;
use crate::dispatch::{Compute, ComputeCoordinates, compute, compute_coordinates, upload};
use crate::file;
use crate::format::{Format, WithFormat, in_format};
use crate::operand::{self, Dimensions, Operand};
use crate::product::{self, ProductOptions, factor};
use anyhow::Result;
use nnz::op::{FullBackend, SpmmKernel, SpmvKernel, VectorKernel};
use nnz::{Accumulator, Backend, Coo, Csr, Dense, Host, Index, SpaceOf, SparseFormat};
use std::marker::PhantomData;
use std::path::{Path, PathBuf};

/// The right-hand factor of a product: a vector or a matrix.
pub(crate) trait Multiplication: Sized {
    /// An operand as a dense matrix; a vector is one column.
    fn dense<T: Accumulator>(operand: Operand) -> Result<Dense<T>>;

    /// Multiplies with the matrix.
    fn multiply<T, B, M>(product: &mut Product<'_, Self, T, B>, a: &M) -> Result<()>
    where
        T: Accumulator,
        M: SparseFormat<Scalar = T, Space = SpaceOf<B>>,
        B: SpmvKernel<M> + SpmmKernel<M> + VectorKernel<T>;
}

/// Multiplies the matrix in one file with the operand in another, and writes the product.
pub(crate) fn multiply<K: Multiplication>(
    context: &Context,
    options: &ProductOptions,
    [matrix, x, out]: [&Path; 3],
) -> Result<()> {
    options.check()?;
    file::check_inputs([matrix, x].into_iter().chain(options.added().map(PathBuf::as_path)))?;
    file::output(out).check()?;
    let device = context.device()?;
    let x = Operand::read(x)?;
    let added = options.added().map(|path| Operand::read(path)).transpose()?;
    let matrix = file::open(matrix)?;
    let dtype = product::dtype(context, &matrix, [&x].into_iter().chain(&added))?;
    let multiply = Multiply::<K> { x, added, out, options, context, kind: PhantomData };
    if options.format == Format::Coo && matrix.has_too_many_rows()? {
        return compute_coordinates(matrix, dtype, &device, multiply);
    }
    compute(matrix, dtype, &device, multiply)
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
        let (out, format, dimensions) = (self.out, self.options.format, self.x.dimensions());
        let product = self.product(&a, backend)?;
        let y = in_format(format, &upload(a, backend)?, backend, product)?;
        write(out, &y, backend, dimensions)
    }
}

impl<K: Multiplication> ComputeCoordinates for Multiply<'_, K> {
    fn call<T, B>(self, a: Coo<T, Host, i64>, backend: &B) -> Result<()>
    where
        T: Accumulator,
        B: FullBackend<T, i64, i64>,
    {
        let (out, dimensions) = (self.out, self.x.dimensions());
        let product = self.product(&a, backend)?;
        let y = product.call(&upload(a, backend)?)?;
        write(out, &y, backend, dimensions)
    }
}

impl<'a, K: Multiplication> Multiply<'a, K> {
    /// Uploads the operands of a product with `a`.
    fn product<'b, T, B>(self, a: &impl SparseFormat, backend: &'b B) -> Result<Product<'b, K, T, B>>
    where
        'a: 'b,
        T: Accumulator,
        B: VectorKernel<T>,
    {
        let Self { x, added, options, context, kind, .. } = self;
        let (alpha, beta) = (factor("--alpha", options.alpha)?, factor("--beta", options.beta)?);
        let x = K::dense::<T>(x)?;
        check_size(options.op.shape(a), a.nnz(), &x)?;
        let y = match added {
            Some(added) => operand::in_order(K::dense::<T>(added)?, x.order())?,
            None => Dense::zeros(options.op.shape(a).0, x.cols(), x.order())?,
        };
        let (x, y) = (operand::upload(x, backend)?, operand::upload(y, backend)?);
        Ok(Product { backend, x, y, alpha, beta, options, context, kind })
    }
}

/// Fails if the product of a matrix of this shape with `x` would be far larger than both.
fn check_size<T: Accumulator>((rows, inner): (usize, usize), nnz: usize, x: &Dense<T>) -> Result<()> {
    let row_bytes = x.cols().saturating_mul(size_of::<T>());
    claim::check("a row of the product", row_bytes, size_of_val(&x.data()[..]))?;
    // Shapes that do not fit are reported later; until then x justifies no memory.
    let entries = if x.rows() == inner { nnz.saturating_add(inner) } else { 0 };
    claim::check("the product", rows.saturating_mul(row_bytes), entries.saturating_mul(row_bytes))
}

fn write<T: Accumulator, B: Backend>(
    out: &Path,
    y: &Dense<T, SpaceOf<B>>,
    backend: &B,
    dimensions: Dimensions,
) -> Result<()> {
    let y = Dense::new(backend.download(y.data())?, y.rows(), y.cols(), y.order())?;
    operand::write(out, &y, dimensions)
}

/// `y <- alpha·op(A)·x + beta·y` before A is converted to its format; returns y.
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
        M: SparseFormat<Scalar = T, Space = SpaceOf<B>>,
        B: SpmvKernel<M> + SpmmKernel<M>,
    {
        K::multiply(&mut self, a)?;
        Ok(self.y)
    }
}

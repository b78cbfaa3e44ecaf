//! Matrices made of matrices: stacked, on the diagonal of a larger one, and Kronecker products.

use super::conversion::unify_index_types;
use crate::Device;
use crate::runtime::dispatch::operand_errors::mismatch;
use crate::runtime::entries::HostMatrix;
use crate::runtime::{Format, Matrix};
use sparse_core::{Axis, Compressed, Csc, Csr, Error, Host, Index, Result, Scalar};

/// Matrices made of matrices.
///
/// The result is CSC if all are CSC, else CSR. Entries keep their order within rows (CSR) or columns (CSC). The host
/// computes: matrices of an accelerator are copied to it, and the result back. Indices have 64 bits where those of one
/// matrix do, and where the result needs them; matrices of which indices become wider have their entries sorted, and
/// those of one coordinate added.
impl Matrix {
    /// The matrices below each other.
    ///
    /// ```
    /// # use nnz::prelude::*;
    /// let device = Device::host()?;
    /// let a = Matrix::from_typed(&device, Csr::<f64>::identity(2)?)?;
    /// let b = Matrix::from_typed(&device, Csr::<f64>::from_triplets(1, 2, [(0, 1, 5.0)])?)?;
    /// let c = Matrix::vstack(&[&a, &b])?;
    /// assert_eq!(c.to_dense()?.values().to_vec::<f64>()?, [1.0, 0.0, 0.0, 1.0, 0.0, 5.0]);
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Shape`](Error::Shape) for no matrix at all, or one with another number of columns than the first;
    /// [`Operands`](Error::Operands) if types or devices differ; [`Unsupported`](Error::Unsupported) for batches; those
    /// of [`to_format`](Self::to_format).
    #[doc(alias("bmat", "concatenate"))]
    pub fn vstack(blocks: &[&Self]) -> Result<Self> {
        Combination::Below.of(blocks)
    }

    /// The matrices beside each other.
    ///
    /// ```
    /// # use nnz::prelude::*;
    /// let a = Matrix::from_typed(&Device::host()?, Csr::<f64>::identity(2)?)?;
    /// let c = Matrix::hstack(&[&a, &a])?;
    /// assert_eq!(c.to_dense()?.values().to_vec::<f64>()?, [1.0, 0.0, 1.0, 0.0, 0.0, 1.0, 0.0, 1.0]);
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`vstack`](Self::vstack), for another number of rows.
    #[doc(alias("bmat", "concatenate"))]
    pub fn hstack(blocks: &[&Self]) -> Result<Self> {
        Combination::Beside.of(blocks)
    }

    /// The matrices along the diagonal of a larger one. [`to_block_diagonal`](Self::to_block_diagonal) is that of a
    /// batch.
    ///
    /// ```
    /// # use nnz::prelude::*;
    /// let device = Device::host()?;
    /// let a = Matrix::from_typed(&device, Csr::<f64>::identity(1)?)?;
    /// let b = Matrix::from_typed(&device, Csr::<f64>::from_triplets(1, 2, [(0, 1, 5.0)])?)?;
    /// let c = Matrix::block_diag(&[&a, &b])?;
    /// assert_eq!(c.to_dense()?.values().to_vec::<f64>()?, [1.0, 0.0, 0.0, 0.0, 0.0, 5.0]);
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`vstack`](Self::vstack), for any shapes.
    pub fn block_diag(blocks: &[&Self]) -> Result<Self> {
        Combination::Diagonal.of(blocks)
    }

    /// The Kronecker product: the block at (i, j) is `a[i, j]·B`.
    ///
    /// ```
    /// # use nnz::prelude::*;
    /// let device = Device::host()?;
    /// let a = Matrix::from_typed(&device, Csr::<f64>::from_triplets(1, 2, [(0, 0, 2.0), (0, 1, 3.0)])?)?;
    /// let b = Matrix::from_typed(&device, Csr::<f64>::identity(2)?)?;
    /// assert_eq!(a.kron(&b)?.to_dense()?.values().to_vec::<f64>()?, [2.0, 0.0, 3.0, 0.0, 0.0, 2.0, 0.0, 3.0]);
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`block_diag`](Self::block_diag).
    pub fn kron(&self, b: &Self) -> Result<Self> {
        Combination::Kronecker.of(&[self, b])
    }

    /// As [`kron`](Self::kron), and calls `check` every 65 536 steps or so; its error ends the product.
    ///
    /// ```
    /// # use nnz::prelude::*;
    /// # use std::time::{Duration, Instant};
    /// let device = Device::host()?;
    /// let row = Csr::<f64>::from_triplets(1, 1000, (0..1000).map(|col| (0, col, 1.0)))?;
    /// let row = Matrix::from_typed(&device, row)?;
    /// let deadline = Instant::now() + Duration::from_secs(60);
    /// let is_early = || if Instant::now() < deadline { Ok(()) } else { Err(Error::unsupported("kron", "too late")) };
    /// assert_eq!(row.kron_with(&row, is_early)?.nnz(), 1_000_000);
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`kron`](Self::kron), and those of `check`.
    pub fn kron_with<E: From<Error>>(
        &self,
        b: &Self,
        mut check: impl FnMut() -> Result<(), E>,
    ) -> Result<Self, E> {
        let mut failed = None;
        let product = Combination::Kronecker.of_checked(&[self, b], &mut || {
            check().map_err(|error| {
                failed = Some(error);
                Error::unsupported("kron", "it was stopped")
            })
        });
        match failed {
            Some(error) => Err(error),
            None => Ok(product?),
        }
    }
}

/// Called now and then by a combination that takes long.
type Check<'a> = dyn FnMut() -> Result<()> + 'a;

/// The places of matrices in the one that is made of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Combination {
    /// Below each other.
    Below,
    /// Beside each other.
    Beside,
    /// Along the diagonal.
    Diagonal,
    /// The second, times each element of the first, in that element's place.
    Kronecker,
}

impl Combination {
    fn name(self) -> &'static str {
        match self {
            Self::Below => "vstack",
            Self::Beside => "hstack",
            Self::Diagonal => "block_diag",
            Self::Kronecker => "kron",
        }
    }

    fn of(self, blocks: &[&Matrix]) -> Result<Matrix> {
        self.of_checked(blocks, &mut || Ok(()))
    }

    fn of_checked(self, blocks: &[&Matrix], check: &mut Check<'_>) -> Result<Matrix> {
        let Some((first, others)) = blocks.split_first() else {
            return Err(Error::shape(self.name(), "there are no matrices; at least one is needed"));
        };
        for other in others {
            if (other.dtype(), other.context()) != (first.dtype(), first.context()) {
                let other = [("another one", other.dtype(), other.device())];
                return Err(mismatch(self.name(), first.as_operand(), &other));
            }
        }
        let are_csc = blocks.iter().all(|block| block.format() == Format::Csc);
        let format = if are_csc { Format::Csc } else { Format::Csr };
        let mut blocks: Vec<_> =
            blocks.iter().map(|block| block.to_compressed(format)).collect::<Result<_>>()?;
        unify_index_types(&mut blocks)?;
        match self.on_host(first.device(), &blocks, check) {
            Err(Error::IndexOverflow { .. }) => {
                let widened: Vec<_> = blocks.iter().map(Matrix::widened).collect::<Result<_>>()?;
                self.on_host(first.device(), &widened, check)
            }
            result => result,
        }
    }

    /// The matrix of blocks that are all CSR or all CSC, of the same types.
    fn on_host(self, device: &Device, blocks: &[Matrix], check: &mut Check<'_>) -> Result<Matrix> {
        let hosts: Vec<_> = blocks.iter().map(Matrix::on_host).collect::<Result<_>>()?;
        macro_rules! combine_each {
            ($(($t:ty, $i:ty, $o:ty)),* $(,)?) => {
                $(
                    if let Some(blocks) = typed::<Csr<$t, Host, $i, $o>>(&hosts) {
                        return Matrix::from_typed(device, self.of_typed(&blocks, check)?);
                    }
                    if let Some(blocks) = typed::<Csc<$t, Host, $i, $o>>(&hosts) {
                        return Matrix::from_typed(device, self.of_typed(&blocks, check)?);
                    }
                )*
            };
        }
        sparse_core::for_all_types!(combine_each);
        Err(blocks[0].unknown_types(self.name()))
    }

    fn of_typed<A: Axis, T: Scalar, I: Index, O: Index>(
        self,
        blocks: &[&Compressed<A, T, Host, I, O>],
        check: &mut Check<'_>,
    ) -> Result<Compressed<A, T, Host, I, O>> {
        match self {
            Self::Below => sparse_core::vstack(blocks),
            Self::Beside => sparse_core::hstack(blocks),
            Self::Diagonal => sparse_core::block_diag(blocks),
            Self::Kronecker => sparse_core::kron_with(blocks[0], blocks[1], check),
        }
    }
}

/// The matrices, if all are of type `M`.
fn typed<'a, M: 'static>(hosts: &'a [HostMatrix<'_>]) -> Option<Vec<&'a M>> {
    hosts.iter().map(|host| host.typed().downcast_ref()).collect()
}

//! Sums and element-wise products.

use super::conversion::unify_index_types;
use crate::runtime::Matrix;
use crate::runtime::dispatch::operand_errors::mismatch;
use sparse_core::error::check_square;
use sparse_core::op::Elementwise;
use sparse_core::{Result, c64};

/// Sums and element-wise products.
impl Matrix {
    /// `alpha·A + beta·B`, on the union of the patterns.
    ///
    /// The sum is CSC if A is CSC; otherwise it is CSR, or COO where A and B are COO with far more rows than entries;
    /// its entries are sorted, and those of one coordinate are added. Elements that become zero stay stored, until
    /// [`prune`](Self::prune). A factor of 0 does not read its matrix. Indices have 64 bits where those of one operand
    /// do.
    ///
    /// ```
    /// # use nnz::prelude::*;
    /// let device = Device::host()?;
    /// let a = Matrix::from_typed(&device, Csr::<f64>::new(1, 3, vec![0, 2], vec![0, 1], vec![1.0, 2.0])?)?;
    /// let b = Matrix::from_typed(&device, Csr::<f64>::new(1, 3, vec![0, 2], vec![1, 2], vec![2.0, 4.0])?)?;
    /// assert_eq!(a.add(&b, 2.0, -1.0)?.to_dense()?.values().to_vec::<f64>()?, [2.0, 2.0, -4.0]);
    /// let difference = (&a - &b)?;
    /// assert_eq!((difference.nnz(), difference.prune(None)?.nnz()), (3, 2));
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Operands`](crate::Error::Operands) if types or devices differ, or for a factor that the type does not hold;
    /// [`Shape`](crate::Error::Shape) if the shapes differ; [`Unsupported`](crate::Error::Unsupported) for batches;
    /// those of [`to_format`](Self::to_format).
    pub fn add(&self, b: &Self, alpha: impl Into<c64>, beta: impl Into<c64>) -> Result<Self> {
        self.elementwise(Elementwise::Add, alpha.into(), b, beta.into())
    }

    /// The element-wise product `A ∘ B`, on the intersection of the patterns; formats and errors are as of
    /// [`add`](Self::add).
    ///
    /// ```
    /// # use nnz::prelude::*;
    /// let device = Device::host()?;
    /// let a = Matrix::from_typed(&device, Csr::<f64>::new(1, 3, vec![0, 2], vec![0, 1], vec![1.0, 2.0])?)?;
    /// let b = Matrix::from_typed(&device, Csr::<f64>::new(1, 3, vec![0, 2], vec![1, 2], vec![3.0, 4.0])?)?;
    /// assert_eq!(a.multiply(&b)?.to_dense()?.values().to_vec::<f64>()?, [0.0, 6.0, 0.0]);
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`add`](Self::add).
    #[doc(alias = "hadamard")]
    pub fn multiply(&self, b: &Self) -> Result<Self> {
        self.elementwise(Elementwise::Multiply, c64::ONE, b, c64::ONE)
    }

    /// `(A + Aᵀ)/2`, sorted, in the format that [`add`](Self::add) gives.
    ///
    /// ```
    /// # use nnz::prelude::*;
    /// let a = Csr::<f64>::from_triplets(2, 2, [(0, 0, 3.0), (0, 1, 4.0)])?;
    /// let a = Matrix::from_typed(&Device::host()?, a)?.symmetrize()?;
    /// assert_eq!(a.to_dense()?.values().to_vec::<f64>()?, [3.0, 2.0, 2.0, 0.0]);
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`add`](Self::add): [`Shape`](crate::Error::Shape) if the matrix is not square.
    pub fn symmetrize(&self) -> Result<Self> {
        check_square("symmetrize", self.shape())?;
        self.add(&self.transpose()?, 0.5, 0.5)
    }

    pub(in crate::runtime) fn elementwise(
        &self,
        op: Elementwise,
        alpha: c64,
        b: &Self,
        beta: c64,
    ) -> Result<Self> {
        if (self.dtype(), self.context()) != (b.dtype(), b.context()) {
            return Err(mismatch(op.name(), self.as_operand(), &[("B", b.dtype(), b.device())]));
        }
        if let Some(c) = self.hypersparse_elementwise(op, alpha, b, beta)? {
            return Ok(c);
        }
        let mut a = self.to_csr_or_csc()?;
        let mut b = b.to_compressed(a.format())?;
        unify_index_types([&mut a, &mut b])?;
        a.any().elementwise(op, alpha, &b, beta)
    }
}

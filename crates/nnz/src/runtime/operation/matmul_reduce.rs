//! SpMM with the sum, mean, minimum or maximum of products, as message passing in graph learning uses it.

use crate::runtime::{DenseMatrix, Format, Matrix};
use sparse_core::Result;
use sparse_core::op::Op;

pub use sparse_core::op::Aggregation;

/// Graph learning: message passing is [`matmul_reduce`](Self::matmul_reduce), attention [`sddmm`](Self::sddmm),
/// [`softmax`](Self::softmax) and [`matmul`](Self::matmul) on one pattern.
impl Matrix {
    /// `⊕ A·B` in the order of B: for each row of A and column of B the sum, mean, least or largest of the products of
    /// the row's entries, 0 of a row without entries. Other formats than CSR are converted first.
    ///
    /// ```
    /// use nnz::{Aggregation, prelude::*};
    /// let device = Device::host()?;
    /// let a = Matrix::from_typed(&device, Csr::<f64>::new(2, 2, vec![0, 2, 2], vec![0, 1], vec![1.0, -1.0])?)?;
    /// let b = DenseMatrix::from_vec(&device, vec![1.0, 2.0, 3.0, 8.0], 2, 2, Order::RowMajor)?;
    /// let of = |by| a.matmul_reduce(by, &b)?.values().to_vec::<f64>();
    /// assert_eq!(of(Aggregation::Max)?, [1.0, 2.0, 0.0, 0.0]);
    /// assert_eq!(of(Aggregation::Mean)?, [-1.0, -3.0, 0.0, 0.0]);
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Operands`](crate::Error::Operands) if types or devices differ; [`Shape`](crate::Error::Shape) unless B has as
    /// many rows as A has columns; [`Unsupported`](crate::Error::Unsupported) for the least and the largest of complex
    /// values.
    #[doc(alias("spmm_reduce", "aggregate", "message_passing"))]
    pub fn matmul_reduce(&self, by: Aggregation, b: &DenseMatrix) -> Result<DenseMatrix> {
        let mut c = DenseMatrix::zeros(self.device(), self.dtype(), self.nrows(), b.ncols(), b.order())?;
        match by {
            Aggregation::Sum => self.spmm(Op::None, 1.0, b, 0.0, &mut c)?,
            _ => {
                self.to_format(Format::Csr)?.any().spmm_reduce(by, b, &mut c, false)?;
            }
        }
        Ok(c)
    }

    /// As [`matmul_reduce`](Self::matmul_reduce), with the entry of A that gave each least or largest product.
    ///
    /// It is a position among the entries of A in CSR, and nnz for a row without entries; positions come row by row.
    ///
    /// ```
    /// use nnz::{Aggregation, prelude::*};
    /// let device = Device::host()?;
    /// let a = Matrix::from_typed(&device, Csr::<f64>::new(2, 2, vec![0, 2, 2], vec![0, 1], vec![1.0, -1.0])?)?;
    /// let b = DenseMatrix::from_vec(&device, vec![1.0, 2.0], 2, 1, Order::RowMajor)?;
    /// let (least, at) = a.matmul_reduce_arg(Aggregation::Min, &b)?;
    /// assert_eq!((least.values().to_vec::<f64>()?, at), (vec![-2.0, 0.0], vec![1, 2]));
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`matmul_reduce`](Self::matmul_reduce), and [`Unsupported`](crate::Error::Unsupported) for sums and means.
    pub fn matmul_reduce_arg(&self, by: Aggregation, b: &DenseMatrix) -> Result<(DenseMatrix, Vec<i64>)> {
        let mut c = DenseMatrix::zeros(self.device(), self.dtype(), self.nrows(), b.ncols(), b.order())?;
        let arguments = self.to_format(Format::Csr)?.any().spmm_reduce(by, b, &mut c, true)?;
        Ok((c, arguments))
    }
}

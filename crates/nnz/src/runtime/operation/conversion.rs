//! Matrices in other formats, types and memory, and their entries in order.

use crate::Device;
use crate::runtime::{DenseMatrix, Format, Layout, Matrix};
use sparse_core::op::RowStatistics;
use sparse_core::{DType, Error, Order, Result, c64};

/// Other formats, types and devices.
impl Matrix {
    /// The matrix in another format, in its default layout; a clone if it already has the format.
    ///
    /// From COO, duplicates are added. A format without offsets gets offsets of the type of its indices.
    ///
    /// ```
    /// # use nnz::prelude::*;
    /// let a = Matrix::from_typed(&Device::host()?, Csr::<f64>::identity(3)?)?;
    /// for format in [Format::Csc, Format::Coo, Format::Ell, Format::Sell] {
    ///     assert_eq!(a.to_format(format)?.to_format(Format::Csr)?.downcast_ref(), a.downcast_ref::<Csr<f64>>());
    /// }
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`ConvertPlan`](crate::op::ConvertPlan); padding that takes far more memory than the entries is
    /// refused, and so is one matrix as a batch, or a batch as one matrix, which [`to_batch`](Self::to_batch) and
    /// [`to_block_diagonal`](Self::to_block_diagonal) make.
    pub fn to_format(&self, format: Format) -> Result<Self> {
        if format == self.format() {
            return Ok(self.clone());
        }
        if self.members().is_some() && matches!(format, Format::BatchCsr | Format::BatchCsc) {
            return self.any().to_other_axis();
        }
        self.inner.to_layout(&format.try_into()?)
    }

    /// The matrix in a format with this layout. A padded format is always rebuilt; another format that the matrix
    /// already has is a clone.
    ///
    /// ```
    /// use nnz::{Ell, EllLayout, Layout, prelude::*};
    /// let a = Matrix::from_typed(&Device::host()?, Csr::<f64>::identity(3)?)?;
    /// let padded = a.to_layout(&Layout::Ell(EllLayout { width: Some(4), ..EllLayout::default() }))?;
    /// assert_eq!(padded.downcast_ref::<Ell<f64>>().map(Ell::width), Some(4));
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`to_format`](Self::to_format).
    pub fn to_layout(&self, layout: &Layout) -> Result<Self> {
        match layout {
            Layout::Csr | Layout::Csc | Layout::Coo => self.to_format(layout.format()),
            Layout::Ell(_) | Layout::Hyb(_) | Layout::Sell(_) => self.inner.to_layout(layout),
        }
    }

    /// The transpose.
    ///
    /// CSR becomes CSC and CSC becomes CSR, also for batches, and only the values are copied; the other formats stay.
    /// Without a copy, [`spmv`](Self::spmv) takes [`Op::Transpose`](crate::op::Op::Transpose).
    ///
    /// ```
    /// # use nnz::prelude::*;
    /// let a = Csr::<f64>::new(1, 2, vec![0, 1], vec![1], vec![5.0])?;
    /// let at = Matrix::from_typed(&Device::host()?, a)?.transpose()?;
    /// assert_eq!((at.format(), at.shape()), (Format::Csc, (2, 1)));
    /// assert_eq!(at.to_dense()?.values().to_vec::<f64>()?, [0.0, 5.0]);
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`to_format`](Self::to_format).
    pub fn transpose(&self) -> Result<Self> {
        self.inner.transpose()
    }

    /// Member `k` of a batch, in CSR or CSC.
    ///
    /// ```
    /// use nnz::{BatchCsc, prelude::*};
    /// let two = BatchCsc::<f64>::new((2, 1), vec![0, 1, 2], vec![0, 1, 0, 1], vec![1, 0], vec![1.0, 2.0])?;
    /// let two = Matrix::from_typed(&Device::host()?, two)?;
    /// assert_eq!(two.member(0)?.downcast_ref(), Some(&Csc::<f64>::new(2, 1, vec![0, 1], vec![1], vec![1.0])?));
    /// assert_eq!(two.member(2).unwrap_err().to_string(), "member: 2 is not below 2, the number of members");
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Shape`](Error::Shape) if there is no member `k`; [`Unsupported`](Error::Unsupported) for one matrix; what the
    /// device's runtime reports.
    pub fn member(&self, k: usize) -> Result<Self> {
        match self.members() {
            Some(count) if k >= count => {
                Err(Error::shape("member", format_args!("{k} is not below {count}, the number of members")))
            }
            _ => self.inner.member(k),
        }
    }

    /// The matrix in CSC if it is in CSC, in CSR otherwise, in arrays of its own.
    pub(in crate::runtime) fn to_csr_or_csc(&self) -> Result<Self> {
        self.to_compressed(if self.format() == Format::Csc { Format::Csc } else { Format::Csr })
    }

    /// True for CSR over borrowed arrays of the host.
    pub(in crate::runtime) fn borrows_arrays(&self) -> bool {
        matches!(self.device(), Device::Cpu(_)) && self.any().as_host_format().is_none()
    }

    /// The matrix in CSR or CSC, as `format` says, in arrays of its own.
    pub(in crate::runtime) fn to_compressed(&self, format: Format) -> Result<Self> {
        if self.borrows_arrays() && format == Format::Csr {
            return self.any().to_layout(&Layout::Csr);
        }
        self.to_format(format)
    }

    /// The matrix in the memory of `device`; a clone if it is already there. A CPU with another number of threads gets
    /// a copy, which computes with these threads.
    ///
    /// ```
    /// # use nnz::prelude::*;
    /// let device = Device::host()?;
    /// let a = Matrix::from_typed(&device, Csr::<f64>::identity(3)?)?;
    /// assert_eq!(a.to_device(&device)?.nnz(), 3);
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`SparseFormat::to_device`](crate::SparseFormat::to_device) and
    /// [`SparseFormat::to_host`](crate::SparseFormat::to_host).
    pub fn to_device(&self, device: &Device) -> Result<Self> {
        if device.context() == self.properties.context && device.caps() == self.device.caps() {
            return Ok(self.clone());
        }
        self.inner.to_device(device)
    }

    /// A copy on the same device with its own values, which a clone would share. The pattern is shared, so that plans
    /// for A fit the copy.
    ///
    /// ```
    /// # use nnz::prelude::*;
    /// let a = Matrix::from_typed(&Device::host()?, Csr::<f64>::identity(3)?)?;
    /// assert_eq!(a.copy()?.downcast_ref(), Some(&Csr::<f64>::identity(3)?));
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// [`OutOfMemory`](Error::OutOfMemory); an error of the device's runtime.
    pub fn copy(&self) -> Result<Self> {
        self.inner.copy()
    }

    /// The matrix with its values as another type, each rounded to nearest; converted on the host.
    ///
    /// ```
    /// # use nnz::prelude::*;
    /// let a = Matrix::from_typed(&Device::host()?, Csr::<f64>::identity(3)?)?.cast(DType::C32)?;
    /// assert_eq!(a.downcast_ref(), Some(&Csr::<c32>::identity(3)?));
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`cast_slice`](crate::cast_slice): complex to real, and finite values that would become infinite;
    /// [`Unsupported`](Error::Unsupported) for `f16` and `bf16` with 64-bit indices or offsets.
    pub fn cast(&self, dtype: DType) -> Result<Self> {
        if dtype == self.dtype() {
            return Ok(self.clone());
        }
        self.inner.cast(dtype)
    }

    /// `factor·A`, with the pattern of A, so that plans for A fit it.
    ///
    /// ```
    /// # use nnz::prelude::*;
    /// let a = Matrix::from_typed(&Device::host()?, Csr::<f64>::identity(1)?)?;
    /// assert_eq!((&a * 3.0)?.to_dense()?.values().to_vec::<f64>()?, [3.0]);
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Operands`](Error::Operands) for a factor that does not fit the type; an error of the device's runtime.
    pub fn scaled(&self, factor: impl Into<c64>) -> Result<Self> {
        self.inner.scaled(factor.into())
    }

    /// All elements, zeros included, row-major; duplicates are added.
    ///
    /// ```
    /// # use nnz::prelude::*;
    /// let a = Matrix::from_typed(&Device::host()?, Csr::<f64>::identity(2)?)?;
    /// assert_eq!(a.to_dense()?.values().to_vec::<f64>()?, [1.0, 0.0, 0.0, 1.0]);
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// [`IndexOverflow`](Error::IndexOverflow) if there are more than fit the host's memory,
    /// [`OutOfMemory`](Error::OutOfMemory) for that of another device.
    pub fn to_dense(&self) -> Result<DenseMatrix> {
        let (rows, cols) = self.shape();
        let mut dense = DenseMatrix::zeros(&self.device, self.dtype(), rows, cols, Order::RowMajor)?;
        self.inner.write_dense(&mut dense)?;
        Ok(dense)
    }

    /// Writes all elements, zeros included, to a dense matrix, whose padding stays.
    ///
    /// ```
    /// # use nnz::prelude::*;
    /// let device = Device::host()?;
    /// let a = Matrix::from_typed(&device, Csr::<f64>::identity(2)?)?;
    /// let mut dense = DenseMatrix::from_vec(&device, vec![7.0; 4], 2, 2, Order::ColMajor)?;
    /// a.to_dense_into(&mut dense)?;
    /// assert_eq!(dense.values().to_vec::<f64>()?, [1.0, 0.0, 0.0, 1.0]);
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Operands`](Error::Operands) if types or devices differ, [`Shape`](Error::Shape) if the shapes do; what the
    /// device's runtime reports.
    pub fn to_dense_into(&self, dense: &mut DenseMatrix) -> Result<()> {
        self.inner.write_dense(dense)
    }
}

/// Entries.
impl Matrix {
    /// A copy whose entries are in order: by rows, then columns, of CSR and COO; by columns, then rows, of CSC.
    ///
    /// ```
    /// # use nnz::prelude::*;
    /// let a = Coo::<f64>::from_triplets(2, 2, [(1, 0, 1.0), (0, 1, 2.0)])?;
    /// let a = Matrix::from_typed(&Device::host()?, a)?.sort()?;
    /// assert_eq!(a.downcast_ref::<Coo<f64>>().map(|a| a.values().clone()), Some(vec![2.0, 1.0]));
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Unsupported`](Error::Unsupported) for formats that pad rows; an error of the device's runtime.
    pub fn sort(&self) -> Result<Self> {
        self.inner.sort()
    }

    /// A copy without the entries that are zero, or whose magnitude is at most `tolerance`; NaN stays.
    ///
    /// ```
    /// # use nnz::prelude::*;
    /// let a = Coo::<f64>::from_triplets(1, 3, [(0, 0, 0.0), (0, 1, 1e-9), (0, 2, 1.0)])?;
    /// let a = Matrix::from_typed(&Device::host()?, a)?;
    /// assert_eq!((a.prune(None)?.nnz(), a.prune(Some(1e-6))?.nnz()), (2, 1));
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Operands`](Error::Operands) for a tolerance that is negative or not a number; else as [`sort`](Self::sort).
    pub fn prune(&self, tolerance: Option<f64>) -> Result<Self> {
        self.inner.prune(tolerance)
    }

    /// Statistics of the row lengths; formats other than CSR are converted to it first.
    ///
    /// ```
    /// # use nnz::prelude::*;
    /// let a = Csr::<f64>::new(2, 3, vec![0, 2, 3], vec![0, 2, 1], vec![1.0, 2.0, 3.0])?;
    /// let a = Matrix::from_typed(&Device::host()?, a)?;
    /// assert_eq!(a.row_statistics()?.longest, 2);
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// An error of the device's runtime.
    pub fn row_statistics(&self) -> Result<RowStatistics> {
        match self.hypersparse_row_statistics()? {
            Some(statistics) => Ok(statistics),
            None => self.inner.row_statistics(),
        }
    }
}

/// Gives matrices indices and offsets of 64 bits, unless they have those of one type.
///
/// A matrix that is widened is copied to the host and back, and its entries of one coordinate are added.
pub(in crate::runtime) fn unify_index_types<'a>(
    matrices: impl IntoIterator<Item = &'a mut Matrix>,
) -> Result<()> {
    let matrices: Vec<_> = matrices.into_iter().collect();
    let types = |matrix: &Matrix| (matrix.index_type(), matrix.offset_type());
    if matrices.iter().any(|matrix| types(matrix) != types(matrices[0])) {
        for matrix in matrices {
            *matrix = matrix.widened()?;
        }
    }
    Ok(())
}

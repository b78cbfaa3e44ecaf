//! Products of two sparse matrices.

use super::fit::mismatch;
use super::{Format, Matrix};
use sparse_core::{Error, Result};

const OP: &str = "spgemm";

/// Products of two sparse matrices.
impl Matrix {
    /// `A·B`, which `&a * &b` is too: CSR of two in CSR, CSC of two in CSC.
    ///
    /// The product is sorted, and has an entry wherever an entry of A meets one of B: sums of zero stay as explicit zeros,
    /// which [`prune`](Self::prune) removes. For several products of the same patterns make an
    /// [`SpgemmPlan`](crate::op::SpgemmPlan).
    ///
    /// # Errors
    /// [`Operands`](Error::Operands) if types, devices or formats differ; [`Unsupported`](Error::Unsupported) for other
    /// formats; [`Shape`](Error::Shape) if B has not as many rows as A has columns;
    /// [`IndexOverflow`](Error::IndexOverflow) if the product has more entries than its offsets can count.
    ///
    /// ```
    /// # use nnz::prelude::*;
    /// let device: Device = "cpu".parse()?;
    /// let a = Csr::<f64>::new(2, 2, vec![0, 2, 3], vec![0, 1, 1], vec![1.0, 2.0, 3.0])?;
    /// let a = Matrix::from_typed(&device, a)?;
    /// assert_eq!((&a * &a)?.to_dense()?.values().to_vec::<f64>()?, [1.0, 8.0, 0.0, 9.0]);
    /// let error = a.matmul_sparse(&a.to_format(Format::Csc)?).unwrap_err();
    /// assert_eq!(error.to_string(), "spgemm: A is csr, B is csc; B.to_format(Format::Csr)? would fit");
    /// # Ok::<(), Error>(())
    /// ```
    pub fn matmul_sparse(&self, b: &Self) -> Result<Self> {
        self.check_factors(b)?;
        let format = self.format();
        let product = self.to_compressed(format)?.any().spgemm(&b.to_compressed(format)?)?;
        product.ok_or_else(|| self.other_indices(b))
    }

    /// An error unless both factors have one type of values, one device, and one format that has the product.
    fn check_factors(&self, b: &Self) -> Result<()> {
        if b.dtype() != self.dtype() || b.context() != self.context() {
            return Err(mismatch(OP, self.as_operand(), &[("B", b.dtype(), &b.device)]));
        }
        let (format, other) = (self.format(), b.format());
        if !matches!(format, Format::Csr | Format::Csc) {
            let instead = "csr and csc have it: a.to_format(Format::Csr)?";
            return Err(Error::unsupported(format_args!("{OP} of {format}"), instead));
        }
        if other != format {
            let cure = format!("B.to_format(Format::{format:?})? would fit");
            return Err(Error::operands(OP, format_args!("A is {format}, B is {other}; {cure}")));
        }
        Ok(())
    }

    /// The error of factors whose types of indices or offsets differ.
    #[cold]
    fn other_indices(&self, b: &Self) -> Error {
        let say = |matrix: &Self| {
            let offsets = matrix.offset_type().unwrap_or(matrix.index_type());
            format!("{} indices and {offsets} offsets", matrix.index_type())
        };
        Error::operands(OP, format_args!("A has {}, B has {}, which must agree", say(self), say(b)))
    }
}

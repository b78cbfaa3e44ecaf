//! Chosen rows and columns: slices, gathers and permutations.

use super::{Format, Matrix};
use crate::Device;
use sparse_core::op::Operations;
use sparse_core::reference::Reference;
use sparse_core::{Axis, Compressed, Csc, Csr, Host, Index, Result, Scalar};

/// Rows and columns.
impl Matrix {
    /// The elements in `rows` and `cols`, in the order of these lists: row `k` of the result is row `rows[k]`. A list may
    /// leave out rows or columns and repeat them; a permutation of both permutes the matrix.
    ///
    /// The result has the format of the matrix where that is CSR or CSC, and is else CSR; it is sorted. The host selects.
    ///
    /// # Errors
    /// [`Shape`](crate::Error::Shape) for a row or a column that the matrix has not;
    /// [`IndexOverflow`](crate::Error::IndexOverflow) if the nnz of the result does not fit the type of offsets; those of
    /// [`to_format`](Self::to_format).
    ///
    /// ```
    /// # use nnz::prelude::*;
    /// let a = Csr::<f64>::new(2, 3, vec![0, 2, 3], vec![0, 2, 1], vec![1.0, 2.0, 3.0])?;
    /// let a = Matrix::from_typed(&"cpu".parse()?, a)?;
    /// let b = a.select(&[1, 0], &[2, 1])?;
    /// assert_eq!(b.to_dense()?.values().to_vec::<f64>()?, [0.0, 3.0, 2.0, 0.0]);
    /// # Ok::<(), Error>(())
    /// ```
    #[doc(alias("slice", "permute"))]
    pub fn select(&self, rows: &[usize], cols: &[usize]) -> Result<Self> {
        let a = if self.format() == Format::Csc { self.clone() } else { self.to_format(Format::Csr)? };
        let host = a.on_host()?;
        macro_rules! select_each {
            ($(($t:ty, $i:ty, $o:ty)),* $(,)?) => {
                $(
                    if let Some(a) = host.typed().downcast_ref::<Csr<$t, Host, $i, $o>>() {
                        return selection(self.device(), a, rows, cols);
                    }
                    if let Some(a) = host.typed().downcast_ref::<Csc<$t, Host, $i, $o>>() {
                        return selection(self.device(), a, rows, cols);
                    }
                )*
            };
        }
        sparse_core::for_all_types!(select_each);
        Err(self.unknown_types("rows and columns"))
    }
}

fn selection<A: Axis, T: Scalar, I: Index, O: Index>(
    device: &Device,
    a: &Compressed<A, T, Host, I, O>,
    rows: &[usize],
    cols: &[usize],
) -> Result<Matrix> {
    let selected = a.select(rows, cols)?;
    let sorted = if selected.order().sorted { selected } else { Reference.sort(&selected)? };
    Matrix::from_typed(device, sorted)
}

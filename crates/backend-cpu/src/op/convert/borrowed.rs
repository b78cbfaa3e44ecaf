//! Conversions of arrays in the caller's memory, which are checked by all threads and not copied.

use super::bucket::Coordinates;
use super::compress::{along_other_axis, compressed};
use super::radix::group;
use super::transpose::Lines;
use crate::Cpu;
use crate::op::compiled::{borrowed_table, find};
use crate::primitive::fill::Arrays;
use sparse_core::op::Duplicates;
use sparse_core::{Axis, Compressed, Coo, Csc, Error, Host, HostCsr, Index, Result, Scalar};

/// The functions for one triple of types, which are compiled in this crate.
pub(in crate::op) struct Functions<T: Scalar, I: Index, O: Index> {
    along_other_axis: AlongOtherAxis<T, I, O>,
    add_up: AddUp<T, I, O>,
}

type AlongOtherAxis<T, I, O> = fn(&Cpu, usize, Lines<'_, T, I, O>) -> Result<Option<Arrays<T, I, O>>>;
type AddUp<T, I, O> = fn(&Cpu, usize, Coordinates<'_, T, I>) -> Result<Arrays<T, I, O>>;

impl<T: Scalar, I: Index, O: Index> Functions<T, I, O> {
    pub(in crate::op) const ALL: Self = Self { along_other_axis, add_up };
}

/// Lines of entries in any order, with duplicates added.
fn add_up<T: Scalar, I: Index, O: Index>(
    cpu: &Cpu,
    major: usize,
    entries: Coordinates<'_, T, I>,
) -> Result<Arrays<T, I, O>> {
    group(cpu, major, entries, Duplicates::Sum, |major, minor| (major, minor))
}

impl Cpu {
    /// CSC of the arrays of a matrix in CSR.
    ///
    /// ```
    /// # use backend_cpu::Cpu;
    /// let csc = Cpu::new()?.csr_to_csc((2, 2), &[0, 1, 3], &[1, 0, 1], &[1.0, 2.0, 3.0])?;
    /// assert_eq!((&csc.offsets()[..], &csc.indices()[..]), (&[0, 1, 3][..], &[1, 0, 1][..]));
    /// # Ok::<(), sparse_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`Csr::new_unsorted`](sparse_core::Compressed::new_unsorted).
    pub fn csr_to_csc<T: Scalar, I: Index, O: Index>(
        &self,
        shape: (usize, usize),
        offsets: &[O],
        indices: &[I],
        values: &[T],
    ) -> Result<Csc<T, Host, I, O>> {
        let functions: &Functions<T, I, O> = find(borrowed_table(), "convert", "csr")?;
        if self.is_framed(shape, offsets, indices, values.len()) {
            let arrays = (functions.along_other_axis)(self, shape.1, (offsets, indices, values))?;
            if let Some(arrays) = arrays {
                return Ok(compressed(shape.0, shape.1, arrays, false));
            }
        }
        // It finds the same fault, and says where. SAFETY: the slices outlive the matrix, which is only checked.
        unsafe { HostCsr::borrow(shape.0, shape.1, offsets, indices, values)? };
        Err(Error::unsupported("arrays that change while they are converted", "nobody may write them"))
    }

    /// CSR (`A` is [`Row`](sparse_core::Row)) or CSC ([`Col`](sparse_core::Col)) of the arrays of coordinates in any
    /// order, with those of one coordinate added in their order.
    ///
    /// ```
    /// # use backend_cpu::Cpu;
    /// # use sparse_core::Row;
    /// let csr = Cpu::new()?.compress_coo::<Row, f64, i32>((2, 2), &[1, 0, 1], &[0, 1, 0], &[1.0, 2.0, 3.0])?;
    /// assert_eq!(csr.values()[..], [2.0, 4.0]);
    /// # Ok::<(), sparse_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`Coo::new`].
    pub fn compress_coo<A: Axis, T: Scalar, I: Index>(
        &self,
        (rows, cols): (usize, usize),
        row_idx: &[I],
        col_idx: &[I],
        values: &[T],
    ) -> Result<Compressed<A, T, Host, I, I>> {
        let alike = row_idx.len() == values.len() && col_idx.len() == values.len();
        let fits = rows <= I::MAX && cols <= I::MAX && values.len() <= I::MAX;
        if !(alike && fits && self.lie_below(row_idx, rows) && self.lie_below(col_idx, cols)) {
            // It finds the same fault, and says where.
            Coo::<T, Host, I>::new(rows, cols, row_idx.to_vec(), col_idx.to_vec(), values.to_vec())?;
        }
        let (major, minor) = if A::IS_ROW { (row_idx, col_idx) } else { (col_idx, row_idx) };
        let functions: &Functions<T, I, I> = find(borrowed_table(), "convert", "coo")?;
        let entries = Coordinates { major, minor, values };
        let arrays = (functions.add_up)(self, A::swap(rows, cols).0, entries)?;
        Ok(compressed(rows, cols, arrays, true))
    }
}

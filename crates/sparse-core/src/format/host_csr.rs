//! CSR on the host over borrowed arrays: a C program's, NumPy's.

use super::compressed::check_pattern;
use super::{CompressedRef, Csr, IndexOrder, PatternId, Row, SparseFormat, Transfer, check_length};
use crate::error::Result;
use crate::index::Index;
use crate::scalar::Scalar;
use crate::space::{ContextId, Host, Space};
use std::marker::PhantomData;
use std::ops::Deref;

/// A CSR matrix on the host that borrows its arrays, or owns those of a [`Csr`].
///
/// [`Csr`] owns its vectors. This type takes arrays in place, for SpMV and SpMM without a copy. Borrowed values may
/// change from one operation to the next; plans stay valid.
///
/// ```
/// use sparse_core::{HostCsr, SparseFormat};
/// let (offsets, indices, values) = ([0, 2, 3], [0, 2, 1], [1.0, 2.0, 3.0]);
/// // SAFETY: the arrays outlive the matrix, and nobody writes them.
/// let a = unsafe { HostCsr::<f64>::borrow(2, 3, &offsets, &indices, &values)? };
/// assert_eq!(a.nnz(), 3);
/// # Ok::<(), sparse_core::Error>(())
/// ```
#[derive(Debug)]
pub struct HostCsr<T: Scalar, I: Index = i32, O: Index = i32> {
    id: PatternId,
    rows: usize,
    cols: usize,
    offsets: Array<O>,
    indices: Array<I>,
    values: Array<T>,
    order: IndexOrder,
}

/// Elements on the host.
#[derive(Debug)]
enum Array<T> {
    Owned(Vec<T>),
    Borrowed(*const [T]),
}

// SAFETY: both variants give only shared slices.
unsafe impl<T: Send + Sync> Send for Array<T> {}
// SAFETY: as above.
unsafe impl<T: Sync> Sync for Array<T> {}

impl<T> Deref for Array<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        match self {
            Self::Owned(elements) => elements,
            // SAFETY: the lender promised that the elements exist, and that no code writes them meanwhile.
            Self::Borrowed(elements) => unsafe { &**elements },
        }
    }
}

impl<T: Scalar, I: Index, O: Index> HostCsr<T, I, O> {
    /// A matrix over borrowed arrays, whose indices may be in any order and may repeat.
    ///
    /// # Errors
    /// Those of [`Csr::new_unsorted`](super::Compressed::new_unsorted).
    ///
    /// # Safety
    /// Each pointer satisfies [`std::slice::from_raw_parts`] for the life of the matrix. Nobody writes `offsets` or
    /// `indices` in that time, and no code writes `values` during an operation on the matrix.
    pub unsafe fn borrow(
        rows: usize,
        cols: usize,
        offsets: *const [O],
        indices: *const [I],
        values: *const [T],
    ) -> Result<Self> {
        let (offsets, indices, values) =
            (Array::Borrowed(offsets), Array::Borrowed(indices), Array::Borrowed(values));
        check_length(Self::FORMAT, "values", values.len(), indices.len())?;
        let order = check_pattern::<Row, I, O>((rows, cols), &offsets, &indices)?;
        Ok(Self { id: PatternId::unique(), rows, cols, offsets, indices, values, order })
    }

    /// A matrix over borrowed arrays that are not checked again.
    ///
    /// # Safety
    /// [`borrow`](Self::borrow) would accept the arrays and find at least `order`, and its own conditions hold.
    pub unsafe fn borrow_unchecked(
        (rows, cols): (usize, usize),
        offsets: *const [O],
        indices: *const [I],
        values: *const [T],
        order: IndexOrder,
    ) -> Self {
        let (offsets, indices, values) =
            (Array::Borrowed(offsets), Array::Borrowed(indices), Array::Borrowed(values));
        Self { id: PatternId::unique(), rows, cols, offsets, indices, values, order }
    }

    /// The pattern of a CSR matrix with borrowed values. Plans are valid for all matrices that borrow one pattern.
    ///
    /// ```
    /// use sparse_core::{Csr, HostCsr, SparseFormat};
    /// let (a, values) = (Csr::<f64>::identity(2)?, [3.0, 4.0]);
    /// // SAFETY: `a` and the values outlive the matrix, and nobody writes them.
    /// let b = unsafe { HostCsr::borrow_pattern(&a, &values)? };
    /// assert_eq!((b.values(), b.pattern_id()), (&[3.0, 4.0][..], a.pattern_id()));
    /// # Ok::<(), sparse_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Format`](crate::Error::Format) if the number of values is not nnz.
    ///
    /// # Safety
    /// `pattern` outlives the matrix; so do the values, which no code writes during an operation on the matrix.
    pub unsafe fn borrow_pattern(pattern: &Csr<T, Host, I, O>, values: *const [T]) -> Result<Self> {
        check_length(Self::FORMAT, "values", values.len(), pattern.nnz())?;
        let (offsets, indices): (&[O], &[I]) = (pattern.offsets(), pattern.indices());
        // SAFETY: the pattern was checked when its matrix was made; the caller's promise.
        let matrix =
            unsafe { Self::borrow_unchecked(pattern.shape(), offsets, indices, values, pattern.order()) };
        Ok(Self { id: pattern.pattern_id(), ..matrix })
    }

    /// `rows + 1` positions.
    pub fn offsets(&self) -> &[O] {
        &self.offsets
    }

    /// One column per entry.
    pub fn indices(&self) -> &[I] {
        &self.indices
    }

    /// The stored values.
    pub fn values(&self) -> &[T] {
        &self.values
    }

    /// The known order of the indices: sorted, unique.
    pub fn order(&self) -> IndexOrder {
        self.order
    }

    /// A copy that owns its arrays.
    ///
    /// ```
    /// # use sparse_core::{Csr, HostCsr};
    /// let a = HostCsr::from(Csr::<f64>::identity(2)?);
    /// assert_eq!(a.to_csr(), Csr::identity(2)?);
    /// # Ok::<(), sparse_core::Error>(())
    /// ```
    pub fn to_csr(&self) -> Csr<T, Host, I, O> {
        let (offsets, indices, values) = (self.offsets.to_vec(), self.indices.to_vec(), self.values.to_vec());
        // SAFETY: the arrays were checked when the matrix was made, and no code has written the pattern since.
        unsafe { Csr::new_unchecked(self.rows, self.cols, offsets, indices, values, self.order) }
    }

    /// A borrowed view of the whole matrix.
    pub fn as_ref(&self) -> CompressedRef<'_, Row, T, Host, I, O> {
        CompressedRef {
            major: self.rows,
            minor: self.cols,
            offsets: &self.offsets,
            indices: &self.indices,
            values: &self.values,
            axis: PhantomData,
        }
    }
}

impl<T: Scalar, I: Index, O: Index> From<Csr<T, Host, I, O>> for HostCsr<T, I, O> {
    fn from(csr: Csr<T, Host, I, O>) -> Self {
        let (id, rows, cols, order) = (csr.pattern_id(), csr.nrows(), csr.ncols(), csr.order());
        let (offsets, indices, values) = csr.into_parts();
        let (offsets, indices, values) = (Array::Owned(offsets), Array::Owned(indices), Array::Owned(values));
        Self { id, rows, cols, offsets, indices, values, order }
    }
}

impl<T: Scalar, I: Index, O: Index> SparseFormat for HostCsr<T, I, O> {
    type Scalar = T;
    type Space = Host;
    type In<U: Space> = Csr<T, U, I, O>;
    const FORMAT: &'static str = Csr::<T>::FORMAT;

    fn nrows(&self) -> usize {
        self.rows
    }

    fn ncols(&self) -> usize {
        self.cols
    }

    fn nnz(&self) -> usize {
        self.indices.len()
    }

    fn pattern_id(&self) -> PatternId {
        self.id
    }

    fn context(&self) -> ContextId {
        ContextId::HOST
    }

    fn transfer<U: Space>(&self, transfer: &impl Transfer<Host, U>) -> Result<Csr<T, U, I, O>> {
        let (offsets, indices) = (transfer.copy(&self.offsets)?, transfer.copy(&self.indices)?);
        let values = transfer.copy(&self.values)?;
        // SAFETY: the arrays were checked when the matrix was made, and the pattern has not changed since.
        Ok(unsafe { Csr::new_unchecked(self.rows, self.cols, offsets, indices, values, self.order) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Element, Error};
    use std::cell::Cell;

    #[test]
    fn arrays_are_checked_and_left_where_they_are() -> Result<()> {
        let (offsets, indices, values) = ([0, 2, 3], [2, 0, 1], [1.0, 2.0, 3.0]);
        // SAFETY: the arrays outlive the matrix, and no code writes them.
        let a = unsafe { HostCsr::<f64>::borrow(2, 3, &offsets, &indices, &values)? };
        assert_eq!((a.values().as_ptr(), a.order().sorted), (values.as_ptr(), false));
        let triplets: Vec<_> = a.as_ref().triplets().collect();
        assert_eq!(triplets, [(0, 2, 1.0), (0, 0, 2.0), (1, 1, 3.0)]);

        // SAFETY: as above.
        let narrow = unsafe { HostCsr::<f64>::borrow(2, 2, &offsets, &indices, &values) };
        let reason = "csr: row 0: column 2 is not below 2";
        assert!(matches!(narrow, Err(error @ Error::Format { .. }) if error.to_string() == reason));
        // SAFETY: as above.
        let short = unsafe { HostCsr::<f64>::borrow(2, 3, &offsets, &indices, &values[..2]) };
        assert!(matches!(short, Err(Error::Format { .. })));
        Ok(())
    }

    #[test]
    fn arrays_of_a_csr_matrix_are_taken_over() -> Result<()> {
        let csr = Csr::<f32>::new(2, 2, vec![0, 1, 2], vec![1, 0], vec![5.0, 6.0])?;
        let (id, first) = (csr.pattern_id(), csr.values().as_ptr());
        let a = HostCsr::from(csr);
        assert_eq!((a.pattern_id(), a.values().as_ptr()), (id, first));
        Ok(())
    }

    /// Counts the arrays that are copied from the memory of `values`.
    struct Watch<'a> {
        values: &'a [f64],
        copies: Cell<usize>,
    }

    // SAFETY: a copy has the elements of its view, and lives on the host.
    unsafe impl Transfer<Host, Host> for Watch<'_> {
        fn copy<T: Element>(&self, view: &[T]) -> Result<Vec<T>> {
            let is_there = view.as_ptr().cast() == self.values.as_ptr();
            self.copies.set(self.copies.get() + usize::from(is_there));
            Ok(view.to_vec())
        }
    }

    #[test]
    fn arrays_are_transferred_from_where_they_are() -> Result<()> {
        let (offsets, indices, values) = ([0, 1], [0], [5.0]);
        // SAFETY: the arrays outlive the matrix, and no code writes them.
        let a = unsafe { HostCsr::<f64>::borrow(1, 1, &offsets, &indices, &values)? };
        let watch = Watch { values: &values, copies: Cell::new(0) };
        assert_eq!(a.transfer(&watch)?, a.to_csr());
        assert_eq!(watch.copies.get(), 1);
        Ok(())
    }
}

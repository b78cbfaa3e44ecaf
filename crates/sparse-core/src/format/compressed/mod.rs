//! CSR and CSC: one implementation, told apart by the axis that is compressed.

mod axis;
mod borrowed;
mod pattern;

pub use axis::{Axis, Col, Row};
pub use borrowed::CompressedRef;
pub use pattern::CompressedPattern;
pub(super) use pattern::{check_offsets, check_pattern};

use super::{IndexOrder, PatternId, SparseFormat, Transfer, check_extents, check_values};
use crate::error::Result;
use crate::index::Index;
use crate::scalar::Scalar;
use crate::space::{Buffer, ContextId, Host, Space};
use pattern::order_error;
use std::marker::PhantomData;
use std::sync::Arc;

/// A compressed sparse matrix: [`Csr`] by rows, [`Csc`] by columns.
pub struct Compressed<A: Axis, T: Scalar, S: Space = Host, I: Index = i32, O: Index = i32> {
    pub(super) pattern: Arc<CompressedPattern<S, I, O>>,
    pub(super) values: S::Buffer<T>,
    pub(super) axis: PhantomData<A>,
}

/// Compressed sparse rows: the entries of row `i` are at `row_ptr[i]..row_ptr[i + 1]` of `col_idx` and `values`.
///
/// ```
/// use sparse_core::{Csr, SparseFormat};
/// let a = Csr::<f64>::new(2, 3, vec![0, 2, 3], vec![0, 2, 1], vec![1.0, 2.0, 3.0])?;
/// assert_eq!(a.nnz(), 3);
/// # Ok::<(), sparse_core::Error>(())
/// ```
pub type Csr<T, S = Host, I = i32, O = i32> = Compressed<Row, T, S, I, O>;

/// Compressed sparse columns: the entries of column `j` are at `col_ptr[j]..col_ptr[j + 1]` of `row_idx` and `values`.
pub type Csc<T, S = Host, I = i32, O = i32> = Compressed<Col, T, S, I, O>;

impl<A: Axis, T: Scalar> Compressed<A, T, Host, i32, i32> {
    /// A matrix without entries, on the host, with 32-bit indices.
    ///
    /// ```
    /// # use sparse_core::Csr;
    /// assert_eq!(Csr::<f64>::zeros(2, 3)?.row_ptr(), &[0, 0, 0]);
    /// # Ok::<(), sparse_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::IndexOverflow`](crate::Error::IndexOverflow) from 2³¹ rows or columns on.
    pub fn zeros(rows: usize, cols: usize) -> Result<Self> {
        check_extents::<i32>(rows, cols)?;
        let (major, _) = A::swap(rows, cols);
        Self::new(rows, cols, vec![0; major + 1], vec![], vec![])
    }

    /// The identity of order `n`.
    ///
    /// ```
    /// # use sparse_core::Csc;
    /// assert!(Csc::<f64>::identity(2)?.triplets().eq([(0, 0, 1.0), (1, 1, 1.0)]));
    /// # Ok::<(), sparse_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::IndexOverflow`](crate::Error::IndexOverflow) from 2³¹ rows on.
    pub fn identity(n: usize) -> Result<Self> {
        let end = i32::try_new("n", n)?;
        let one = T::from_acc(num_traits::One::one());
        Self::new(n, n, (0..=end).collect(), (0..end).collect(), vec![one; n])
    }
}

impl<A: Axis, T: Scalar, I: Index, O: Index> Compressed<A, T, Host, I, O> {
    /// A matrix whose indices ascend strictly within each row (CSR) or column (CSC).
    ///
    /// ```
    /// # use sparse_core::Csr;
    /// let a = Csr::<f64>::new(2, 3, vec![0, 2, 3], vec![0, 2, 1], vec![1.0, 2.0, 3.0])?;
    /// assert!(a.triplets().eq([(0, 0, 1.0), (0, 2, 2.0), (1, 1, 3.0)]));
    /// let error = Csr::<f64>::new(2, 3, vec![0, 2, 3], vec![0, 3, 1], vec![1.0; 3]).unwrap_err();
    /// assert_eq!(error.to_string(), "csr: row 0: column 3 is not below 3");
    /// # Ok::<(), sparse_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Format`](crate::Error::Format) at the first violation, in the order: length, first offset, monotone,
    /// last offset, index range, sortedness, duplicates. [`Error::IndexOverflow`](crate::Error::IndexOverflow) if an
    /// extent does not fit `I` or nnz does not fit `O`.
    pub fn new(rows: usize, cols: usize, offsets: Vec<O>, indices: Vec<I>, values: Vec<T>) -> Result<Self> {
        let matrix = Self::new_unsorted(rows, cols, offsets, indices, values)?;
        match order_error::<A, I, O>(&matrix.pattern) {
            Some(error) => Err(error),
            None => Ok(matrix),
        }
    }

    /// A matrix whose indices may be in any order and may repeat.
    ///
    /// ```
    /// # use sparse_core::Csr;
    /// let a = Csr::<f64>::new_unsorted(1, 3, vec![0, 2], vec![2, 0], vec![1.0, 2.0])?;
    /// assert!(!a.order().sorted);
    /// # Ok::<(), sparse_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// As for [`new`](Self::new), sortedness and duplicates apart.
    pub fn new_unsorted(
        rows: usize,
        cols: usize,
        offsets: Vec<O>,
        indices: Vec<I>,
        values: Vec<T>,
    ) -> Result<Self> {
        check_values::<Host, T, I>(A::FORMAT, &values, &indices)?;
        let pattern = CompressedPattern::checked::<A>(A::swap(rows, cols), offsets, indices)?;
        Ok(Self { pattern: Arc::new(pattern), values, axis: PhantomData })
    }

    /// The arrays (offsets, indices, values).
    ///
    /// ```
    /// # use sparse_core::Csr;
    /// let (offsets, indices, values) = Csr::<f64>::identity(2)?.into_parts();
    /// assert_eq!((offsets, indices, values), (vec![0, 1, 2], vec![0, 1], vec![1.0, 1.0]));
    /// # Ok::<(), sparse_core::Error>(())
    /// ```
    pub fn into_parts(self) -> (Vec<O>, Vec<I>, Vec<T>) {
        let values = self.values;
        match Arc::try_unwrap(self.pattern) {
            Ok(pattern) => (pattern.offsets, pattern.indices, values),
            Err(shared) => (shared.offsets.clone(), shared.indices.clone(), values),
        }
    }

    /// The values, to be changed in place; the pattern stays.
    ///
    /// ```
    /// # use sparse_core::Csr;
    /// let mut a = Csr::<f64>::identity(2)?;
    /// a.values_mut()[1] = 5.0;
    /// assert_eq!(a.values(), &[1.0, 5.0]);
    /// # Ok::<(), sparse_core::Error>(())
    /// ```
    pub fn values_mut(&mut self) -> &mut [T] {
        &mut self.values
    }

    /// The entries of major index `k`: (minor index, value), as stored.
    ///
    /// ```
    /// # use sparse_core::Csr;
    /// let a = Csr::<f64>::new(2, 3, vec![0, 2, 3], vec![0, 2, 1], vec![1.0, 2.0, 3.0])?;
    /// assert!(a.major_entries(0).eq([(0, 1.0), (2, 2.0)])); // of CSC those of a column
    /// # Ok::<(), sparse_core::Error>(())
    /// ```
    #[inline(always)]
    pub fn major_entries(&self, k: usize) -> impl Iterator<Item = (usize, T)> + '_ {
        let range = self.pattern.range(k);
        self.pattern.indices[range.clone()]
            .iter()
            .map(|i| i.as_usize())
            .zip(self.values[range].iter().copied())
    }

    /// All entries as (row, column, value), in storage order.
    ///
    /// ```
    /// # use sparse_core::Csc;
    /// let a = Csc::<f64>::new(2, 2, vec![0, 2, 3], vec![0, 1, 1], vec![1.0, 2.0, 3.0])?;
    /// assert!(a.triplets().eq([(0, 0, 1.0), (1, 0, 2.0), (1, 1, 3.0)]));
    /// # Ok::<(), sparse_core::Error>(())
    /// ```
    pub fn triplets(&self) -> impl Iterator<Item = (usize, usize, T)> + '_ {
        self.as_ref().triplets()
    }

    /// A borrowed view of the whole matrix.
    ///
    /// ```
    /// # use sparse_core::Csr;
    /// let a = Csr::<f64>::identity(2)?;
    /// assert_eq!(a.as_ref().values.as_ptr(), a.values().as_ptr());
    /// # Ok::<(), sparse_core::Error>(())
    /// ```
    pub fn as_ref(&self) -> CompressedRef<'_, A, T, Host, I, O> {
        CompressedRef {
            major: self.pattern.major,
            minor: self.pattern.minor,
            offsets: &self.pattern.offsets,
            indices: &self.pattern.indices,
            values: &self.values,
            axis: PhantomData,
        }
    }
}

impl<A: Axis, T: Scalar, S: Space, I: Index, O: Index> Compressed<A, T, S, I, O> {
    /// A matrix of a pattern and values, one per entry.
    ///
    /// ```
    /// # use sparse_core::Csr;
    /// let a = Csr::<f64>::identity(2)?;
    /// let b = Csr::<f32>::from_pattern(a.pattern().clone(), vec![3.0, 4.0])?;
    /// assert_eq!(b.col_idx(), a.col_idx());
    /// # Ok::<(), sparse_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Format`](crate::Error::Format) if the number of values is not the pattern's nnz,
    /// [`Error::WrongContext`](crate::Error::WrongContext) if they are in another context.
    pub fn from_pattern(pattern: Arc<CompressedPattern<S, I, O>>, values: S::Buffer<T>) -> Result<Self> {
        check_values::<S, T, I>(A::FORMAT, &values, &pattern.indices)?;
        Ok(Self { pattern, values, axis: PhantomData })
    }

    /// The same pattern with other values, perhaps of another type. Plans stay valid.
    ///
    /// ```
    /// # use sparse_core::{Csr, SparseFormat};
    /// let a = Csr::<f64>::identity(2)?;
    /// let b = a.with_values(vec![3.0_f32, 4.0])?;
    /// assert_eq!(b.pattern_id(), a.pattern_id()); // a plan for one runs with the other
    /// # Ok::<(), sparse_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Format`](crate::Error::Format) if the number of values is not nnz,
    /// [`Error::WrongContext`](crate::Error::WrongContext) if they are in another context.
    pub fn with_values<U: Scalar>(&self, values: S::Buffer<U>) -> Result<Compressed<A, U, S, I, O>> {
        Compressed::from_pattern(self.pattern.clone(), values)
    }

    /// A matrix from its arrays, unchecked.
    ///
    /// # Safety
    /// As for [`CompressedPattern::new_unchecked`]; `values` is as long as `indices` and is in their context.
    pub unsafe fn new_unchecked(
        rows: usize,
        cols: usize,
        offsets: S::Buffer<O>,
        indices: S::Buffer<I>,
        values: S::Buffer<T>,
        order: IndexOrder,
    ) -> Self {
        // SAFETY: the caller promises the same.
        let pattern =
            unsafe { CompressedPattern::new_unchecked(A::swap(rows, cols), offsets, indices, order) };
        Self { pattern: Arc::new(pattern), values, axis: PhantomData }
    }

    /// The structure, shared.
    ///
    /// ```
    /// # use sparse_core::Csr;
    /// let a = Csr::<f64>::identity(2)?;
    /// assert_eq!((a.pattern().major(), a.pattern().range(1)), (2, 1..2));
    /// # Ok::<(), sparse_core::Error>(())
    /// ```
    pub fn pattern(&self) -> &Arc<CompressedPattern<S, I, O>> {
        &self.pattern
    }

    /// The stored values.
    pub fn values(&self) -> &S::Buffer<T> {
        &self.values
    }

    /// `row_ptr` of CSR, `col_ptr` of CSC.
    pub fn offsets(&self) -> &S::Buffer<O> {
        &self.pattern.offsets
    }

    /// `col_idx` of CSR, `row_idx` of CSC.
    pub fn indices(&self) -> &S::Buffer<I> {
        &self.pattern.indices
    }

    /// The known order of the indices: sorted, unique.
    pub fn order(&self) -> IndexOrder {
        self.pattern.order
    }

    /// The transpose, without a copy: CSR of A is CSC of Aᵀ.
    ///
    /// ```
    /// # use sparse_core::{Csc, Csr};
    /// let a = Csr::<f64>::new(1, 2, vec![0, 1], vec![1], vec![5.0])?;
    /// let transpose: Csc<f64> = a.into_transpose();
    /// assert!(transpose.triplets().eq([(1, 0, 5.0)]));
    /// # Ok::<(), sparse_core::Error>(())
    /// ```
    pub fn into_transpose(self) -> Compressed<A::Other, T, S, I, O> {
        Compressed { pattern: self.pattern, values: self.values, axis: PhantomData }
    }
}

impl<T: Scalar, I: Index, O: Index> Csr<T, Host, I, O> {
    /// The number of entries of each row.
    ///
    /// ```
    /// # use sparse_core::Csr;
    /// let a = Csr::<f64>::new(2, 3, vec![0, 2, 3], vec![0, 2, 1], vec![1.0, 2.0, 3.0])?;
    /// assert_eq!(a.row_lengths(), [2, 1]);
    /// # Ok::<(), sparse_core::Error>(())
    /// ```
    pub fn row_lengths(&self) -> Vec<usize> {
        self.offsets().windows(2).map(|w| w[1].as_usize() - w[0].as_usize()).collect()
    }
}

impl<T: Scalar, S: Space, I: Index, O: Index> Csr<T, S, I, O> {
    /// `rows + 1` positions.
    pub fn row_ptr(&self) -> &S::Buffer<O> {
        &self.pattern.offsets
    }

    /// One column per entry.
    pub fn col_idx(&self) -> &S::Buffer<I> {
        &self.pattern.indices
    }
}

impl<T: Scalar, S: Space, I: Index, O: Index> Csc<T, S, I, O> {
    /// `cols + 1` positions.
    pub fn col_ptr(&self) -> &S::Buffer<O> {
        &self.pattern.offsets
    }

    /// One row per entry.
    pub fn row_idx(&self) -> &S::Buffer<I> {
        &self.pattern.indices
    }
}

shares_pattern!(Compressed, axis [A], indices [I, O], pattern [major, minor, offsets, indices]);

impl<A: Axis, T: Scalar, S: Space, I: Index, O: Index> SparseFormat for Compressed<A, T, S, I, O> {
    type Scalar = T;
    type Space = S;
    type In<U: Space> = Compressed<A, T, U, I, O>;
    const FORMAT: &'static str = A::FORMAT;

    fn nrows(&self) -> usize {
        A::swap(self.pattern.major, self.pattern.minor).0
    }

    fn ncols(&self) -> usize {
        A::swap(self.pattern.major, self.pattern.minor).1
    }

    fn nnz(&self) -> usize {
        self.pattern.indices.len()
    }

    fn pattern_id(&self) -> PatternId {
        self.pattern.id
    }

    fn context(&self) -> ContextId {
        self.values.context()
    }

    fn transfer<U: Space>(&self, transfer: &impl Transfer<S, U>) -> Result<Self::In<U>> {
        let pattern = self.pattern.transfer(transfer)?;
        Ok(Compressed { pattern, values: transfer.copy(S::view(&self.values))?, axis: PhantomData })
    }
}

//! CSR and CSC: one implementation, told apart by the axis that is compressed.

use super::{IndexOrder, PatternId, SparseFormat, Transfer, check_extents, check_length, check_values};
use crate::error::{Error, Result};
use crate::index::Index;
use crate::scalar::Scalar;
use crate::space::{Buffer, ContextId, Host, Space};
use std::fmt::Debug;
use std::marker::PhantomData;
use std::ops::Range;
use std::sync::Arc;

mod sealed {
    pub trait Sealed {}
    impl Sealed for super::Row {}
    impl Sealed for super::Col {}
}

/// The axis that a compressed format is compressed along: [`Row`] for CSR, [`Col`] for CSC.
pub trait Axis: sealed::Sealed + Debug + Clone + Copy + Default + PartialEq + Send + Sync + 'static {
    /// The other axis.
    type Other: Axis<Other = Self>;
    /// `csr` or `csc`.
    const FORMAT: &'static str;
    /// `batch_csr` or `batch_csc`.
    const BATCH_FORMAT: &'static str;
    /// Name of the major index: `row` or `column`.
    const MAJOR: &'static str;
    /// Name of the minor index: `column` or `row`.
    const MINOR: &'static str;
    /// True for [`Row`].
    const IS_ROW: bool;

    /// (rows, columns) from (major, minor), or back: the map is its own inverse.
    fn swap(first: usize, second: usize) -> (usize, usize) {
        if Self::IS_ROW { (first, second) } else { (second, first) }
    }
}

/// Rows are compressed: CSR.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Row;

/// Columns are compressed: CSC.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Col;

impl Axis for Row {
    type Other = Col;
    const FORMAT: &'static str = "csr";
    const BATCH_FORMAT: &'static str = "batch_csr";
    const MAJOR: &'static str = "row";
    const MINOR: &'static str = "column";
    const IS_ROW: bool = true;
}

impl Axis for Col {
    type Other = Row;
    const FORMAT: &'static str = "csc";
    const BATCH_FORMAT: &'static str = "batch_csc";
    const MAJOR: &'static str = "column";
    const MINOR: &'static str = "row";
    const IS_ROW: bool = false;
}

/// The structure of a [`Compressed`] matrix: for major index `k`, the entries at positions
/// `offsets[k]..offsets[k + 1]` have the minor indices `indices[..]`.
#[derive(Debug)]
pub struct CompressedPattern<S: Space = Host, I: Index = i32, O: Index = i32> {
    pub(super) id: PatternId,
    pub(super) major: usize,
    pub(super) minor: usize,
    pub(super) offsets: S::Buffer<O>,
    pub(super) indices: S::Buffer<I>,
    pub(super) order: IndexOrder,
}

impl<S: Space, I: Index, O: Index> CompressedPattern<S, I, O> {
    /// Rows of CSR, columns of CSC.
    pub fn major(&self) -> usize {
        self.major
    }

    /// Columns of CSR, rows of CSC.
    pub fn minor(&self) -> usize {
        self.minor
    }

    /// `major + 1` positions.
    pub fn offsets(&self) -> &S::Buffer<O> {
        &self.offsets
    }

    /// One minor index per entry.
    pub fn indices(&self) -> &S::Buffer<I> {
        &self.indices
    }

    /// The known order of the indices: sorted, unique.
    pub fn order(&self) -> IndexOrder {
        self.order
    }

    /// The id that plans are bound to.
    pub fn id(&self) -> PatternId {
        self.id
    }

    /// A pattern from its arrays, unchecked.
    ///
    /// # Safety
    /// `offsets` has `major + 1` elements, starts at 0, never falls and ends at the length of `indices`; every index
    /// is in `0..minor`; `order` is true of the indices; `major` and `minor` fit `I`; the arrays live in one context.
    pub unsafe fn new_unchecked(
        (major, minor): (usize, usize),
        offsets: S::Buffer<O>,
        indices: S::Buffer<I>,
        order: IndexOrder,
    ) -> Self {
        Self { id: PatternId::unique(), major, minor, offsets, indices, order }
    }
}

impl<S: Space, I: Index, O: Index> CompressedPattern<S, I, O> {
    fn transfer<U: Space>(&self, transfer: &impl Transfer<S, U>) -> Result<Arc<CompressedPattern<U, I, O>>> {
        let Self { major, minor, ref offsets, ref indices, order, .. } = *self;
        let (offsets, indices) = (transfer.copy(offsets)?, transfer.copy(indices)?);
        Ok(Arc::new(CompressedPattern { id: PatternId::unique(), major, minor, offsets, indices, order }))
    }
}

impl<I: Index, O: Index> CompressedPattern<Host, I, O> {
    /// A pattern whose indices may be unsorted and may repeat; checks everything else.
    fn checked<A: Axis>((major, minor): (usize, usize), offsets: Vec<O>, indices: Vec<I>) -> Result<Self> {
        let order = check_pattern::<A, I, O>((major, minor), &offsets, &indices)?;
        Ok(Self { id: PatternId::unique(), major, minor, offsets, indices, order })
    }

    /// The positions of the entries of major index `k`.
    #[inline(always)]
    pub fn range(&self, k: usize) -> Range<usize> {
        self.offsets[k].as_usize()..self.offsets[k + 1].as_usize()
    }
}

/// Checks all of a pattern but the order of its indices, which it returns.
pub(super) fn check_pattern<A: Axis, I: Index, O: Index>(
    (major, minor): (usize, usize),
    offsets: &[O],
    indices: &[I],
) -> Result<IndexOrder> {
    let format = A::FORMAT;
    let (rows, cols) = A::swap(major, minor);
    check_extents::<I>(rows, cols)?;
    check_offsets::<A, O>(format, major, offsets, indices.len())?;
    let mut order = IndexOrder::CANONICAL;
    for k in 0..major {
        let row = &indices[offsets[k].as_usize()..offsets[k + 1].as_usize()];
        if ascends_below(row, minor) {
            continue;
        }
        if let Some(bad) = row.iter().find(|i| i.as_usize() >= minor) {
            return Err(Error::format(
                format,
                format_args!("{} {k}: {} {bad} is not below {minor}", A::MAJOR, A::MINOR),
            ));
        }
        order.sorted &= row.is_sorted();
        order.unique &= row.windows(2).all(|w| w[0] != w[1]);
    }
    order.unique &= order.sorted;
    Ok(order)
}

/// True if indices ascend strictly and lie in `0..extent`; an empty list does.
fn ascends_below<I: Index>(indices: &[I], extent: usize) -> bool {
    let in_range = |index: Option<&I>| index.is_none_or(|index| index.as_usize() < extent);
    in_range(indices.first()) && in_range(indices.last()) && indices.is_sorted_by(|a, b| a < b)
}

/// Length, first offset, monotone, last offset: in this order.
pub(super) fn check_offsets<A: Axis, O: Index>(
    format: &'static str,
    major: usize,
    offsets: &[O],
    nnz: usize,
) -> Result<()> {
    O::try_new("nnz", nnz)?;
    check_length(format, "offsets", offsets.len(), major + 1)?;
    if offsets[0].as_usize() != 0 {
        return Err(Error::format(format, format_args!("the first offset is {}, not 0", offsets[0])));
    }
    if let Some(k) = (0..major).find(|&k| offsets[k] > offsets[k + 1]) {
        return Err(Error::format(
            format,
            format_args!("{} {k}: the offset falls from {} to {}", A::MAJOR, offsets[k], offsets[k + 1]),
        ));
    }
    if offsets[major].as_usize() != nnz {
        return Err(Error::format(
            format,
            format_args!("the last offset is {}, the number of indices {nnz}", offsets[major]),
        ));
    }
    Ok(())
}

/// The first place where indices fall, else the first where one repeats, as an error.
fn order_error<A: Axis, I: Index, O: Index>(pattern: &CompressedPattern<Host, I, O>) -> Option<Error> {
    let falls = neighbours(pattern, |before, after| before > after).map(|(k, before, after)| {
        format!("{} {k}: {} {after} stands out of order after {before}", A::MAJOR, A::MINOR)
    });
    let repeats = || neighbours(pattern, |before, after| before == after);
    falls
        .or_else(|| repeats().map(|(k, j, _)| format!("{} {k}: {} {j} stands twice", A::MAJOR, A::MINOR)))
        .map(|reason| Error::format(A::FORMAT, reason))
}

/// The first neighbours within a row or column for which `bad` holds, after its number.
fn neighbours<I: Index, O: Index>(
    pattern: &CompressedPattern<Host, I, O>,
    bad: impl Fn(I, I) -> bool,
) -> Option<(usize, I, I)> {
    (0..pattern.major).find_map(|k| {
        let line = &pattern.indices[pattern.range(k)];
        line.windows(2).find(|w| bad(w[0], w[1])).map(|w| (k, w[0], w[1]))
    })
}

/// A compressed sparse matrix: [`Csr`] by rows, [`Csc`] by columns.
pub struct Compressed<A: Axis, T: Scalar, S: Space = Host, I: Index = i32, O: Index = i32> {
    pub(super) pattern: Arc<CompressedPattern<S, I, O>>,
    pub(super) values: S::Buffer<T>,
    pub(super) axis: PhantomData<A>,
}

/// Compressed sparse rows: the entries of row `i` stand at `row_ptr[i]..row_ptr[i + 1]` of `col_idx` and `values`.
///
/// ```
/// use sparse_core::{Csr, SparseFormat};
/// let a = Csr::<f64>::new(2, 3, vec![0, 2, 3], vec![0, 2, 1], vec![1.0, 2.0, 3.0])?;
/// assert_eq!(a.nnz(), 3);
/// # Ok::<(), sparse_core::Error>(())
/// ```
pub type Csr<T, S = Host, I = i32, O = i32> = Compressed<Row, T, S, I, O>;

/// Compressed sparse columns: the entries of column `j` stand at `col_ptr[j]..col_ptr[j + 1]` of `row_idx` and
/// `values`.
pub type Csc<T, S = Host, I = i32, O = i32> = Compressed<Col, T, S, I, O>;

impl<A: Axis, T: Scalar> Compressed<A, T, Host, i32, i32> {
    /// A matrix without entries, on the host, with 32-bit indices.
    pub fn zeros(rows: usize, cols: usize) -> Result<Self> {
        check_extents::<i32>(rows, cols)?;
        let (major, _) = A::swap(rows, cols);
        Self::new(rows, cols, vec![0; major + 1], vec![], vec![])
    }

    /// The identity of order `n`.
    pub fn identity(n: usize) -> Result<Self> {
        let end = i32::try_new("n", n)?;
        let one = T::from_acc(num_traits::One::one());
        Self::new(n, n, (0..=end).collect(), (0..end).collect(), vec![one; n])
    }
}

impl<A: Axis, T: Scalar, I: Index, O: Index> Compressed<A, T, Host, I, O> {
    /// A matrix whose indices ascend strictly within each row (CSR) or column (CSC).
    ///
    /// # Errors
    /// [`Error::Format`] at the first violation, in the order: length, first offset, monotone, last offset, index
    /// range, sortedness, duplicates. [`Error::IndexOverflow`] if an extent does not fit `I` or nnz does not fit `O`.
    pub fn new(rows: usize, cols: usize, offsets: Vec<O>, indices: Vec<I>, values: Vec<T>) -> Result<Self> {
        let matrix = Self::new_unsorted(rows, cols, offsets, indices, values)?;
        match order_error::<A, I, O>(&matrix.pattern) {
            Some(error) => Err(error),
            None => Ok(matrix),
        }
    }

    /// A matrix whose indices may stand in any order and may repeat.
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
    pub fn into_parts(self) -> (Vec<O>, Vec<I>, Vec<T>) {
        let values = self.values;
        match Arc::try_unwrap(self.pattern) {
            Ok(pattern) => (pattern.offsets, pattern.indices, values),
            Err(shared) => (shared.offsets.clone(), shared.indices.clone(), values),
        }
    }

    /// The values, to be changed in place; the pattern stays.
    pub fn values_mut(&mut self) -> &mut [T] {
        &mut self.values
    }

    /// The entries of major index `k`: (minor index, value), as stored.
    #[inline(always)]
    pub fn major_entries(&self, k: usize) -> impl Iterator<Item = (usize, T)> + '_ {
        let range = self.pattern.range(k);
        self.pattern.indices[range.clone()]
            .iter()
            .map(|i| i.as_usize())
            .zip(self.values[range].iter().copied())
    }

    /// All entries as (row, column, value), in storage order.
    pub fn triplets(&self) -> impl Iterator<Item = (usize, usize, T)> + '_ {
        self.as_ref().triplets()
    }

    /// A borrowed view of the whole matrix.
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
    /// # Errors
    /// [`Error::Format`] if the number of values is not the pattern's nnz, [`Error::WrongContext`] if they live
    /// elsewhere.
    pub fn from_pattern(pattern: Arc<CompressedPattern<S, I, O>>, values: S::Buffer<T>) -> Result<Self> {
        check_values::<S, T, I>(A::FORMAT, &values, &pattern.indices)?;
        Ok(Self { pattern, values, axis: PhantomData })
    }

    /// The same pattern with other values, perhaps of another type. Plans stay valid.
    ///
    /// # Errors
    /// [`Error::Format`] if the number of values is not nnz, [`Error::WrongContext`] if they live elsewhere.
    pub fn with_values<U: Scalar>(&self, values: S::Buffer<U>) -> Result<Compressed<A, U, S, I, O>> {
        Compressed::from_pattern(self.pattern.clone(), values)
    }

    /// A matrix from its arrays, unchecked.
    ///
    /// # Safety
    /// As for [`CompressedPattern::new_unchecked`]; `values` is as long as `indices` and lives in their context.
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
    pub fn into_transpose(self) -> Compressed<A::Other, T, S, I, O> {
        Compressed { pattern: self.pattern, values: self.values, axis: PhantomData }
    }
}

impl<T: Scalar, I: Index, O: Index> Csr<T, Host, I, O> {
    /// The number of entries of each row.
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

    fn rows(&self) -> usize {
        A::swap(self.pattern.major, self.pattern.minor).0
    }

    fn cols(&self) -> usize {
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
        Ok(Compressed { pattern, values: transfer.copy(&self.values)?, axis: PhantomData })
    }
}

/// A borrowed compressed matrix: a whole one, or a member of a batch.
#[derive(Debug, Clone, Copy)]
pub struct CompressedRef<'a, A: Axis, T: Scalar, S: Space = Host, I: Index = i32, O: Index = i32> {
    /// Rows of CSR, columns of CSC.
    pub major: usize,
    /// Columns of CSR, rows of CSC.
    pub minor: usize,
    /// `major + 1` positions within `indices` and `values`.
    pub offsets: S::View<'a, O>,
    /// One minor index per entry.
    pub indices: S::View<'a, I>,
    /// One value per entry.
    pub values: S::View<'a, T>,
    pub(super) axis: PhantomData<A>,
}

impl<'a, A: Axis, T: Scalar, I: Index, O: Index> CompressedRef<'a, A, T, Host, I, O> {
    /// All entries as (row, column, value), in storage order.
    pub fn triplets(self) -> impl Iterator<Item = (usize, usize, T)> + 'a {
        self.offsets.windows(2).enumerate().flat_map(move |(k, ends)| {
            let range = ends[0].as_usize()..ends[1].as_usize();
            self.indices[range.clone()].iter().zip(&self.values[range]).map(move |(j, &value)| {
                let (row, col) = A::swap(k, j.as_usize());
                (row, col, value)
            })
        })
    }

    /// A copy that owns its arrays; checked anew.
    ///
    /// # Errors
    /// [`Error::Format`] if an invariant is broken.
    pub fn to_owned(&self) -> Result<Compressed<A, T, Host, I, O>> {
        let (rows, cols) = A::swap(self.major, self.minor);
        Compressed::new_unsorted(
            rows,
            cols,
            self.offsets.to_vec(),
            self.indices.to_vec(),
            self.values.to_vec(),
        )
    }
}

//! Batches: many compressed matrices of one shape and unequal nnz in one allocation.

use super::{Axis, Col, CompressedRef, IndexOrder, PatternId, Row, SparseFormat, Transfer, check_values};
use super::{check_extents, check_length};
use crate::error::{Error, Result, checked_product};
use crate::index::{Index, out_of_range};
use crate::scalar::Scalar;
use crate::space::{Buffer, ContextId, Host, Space};
use std::marker::PhantomData;
use std::ops::Range;
use std::sync::Arc;

/// The structure of a [`BatchCompressed`].
#[derive(Debug)]
pub struct BatchPattern<S: Space = Host, I: Index = i32, O: Index = i32> {
    id: PatternId,
    major: usize,
    minor: usize,
    member_ptr: Vec<usize>,
    offsets: S::Buffer<O>,
    indices: S::Buffer<I>,
    order: IndexOrder,
}

impl<S: Space, I: Index, O: Index> BatchPattern<S, I, O> {
    fn transfer<U: Space>(&self, transfer: &impl Transfer<S, U>) -> Result<Arc<BatchPattern<U, I, O>>> {
        Ok(Arc::new(BatchPattern {
            id: PatternId::unique(),
            major: self.major,
            minor: self.minor,
            member_ptr: self.member_ptr.clone(),
            offsets: transfer.copy(S::view(&self.offsets))?,
            indices: transfer.copy(S::view(&self.indices))?,
            order: self.order,
        }))
    }
}

/// A batch of compressed matrices of one shape, back to back in one allocation.
///
/// Member `k` owns the entries `member_ptr[k]..member_ptr[k + 1]`, and its `major + 1` offsets, which start at 0, are
/// at `k·(major + 1)`. So each member is a matrix of its own, borrowed without a copy, and only a member's nnz must fit
/// `O`.
///
/// As a [`SparseFormat`] a batch is the block-diagonal matrix of its members: `y = A·x` multiplies member `k` with part
/// `k` of `x`.
pub struct BatchCompressed<A: Axis, T: Scalar, S: Space = Host, I: Index = i32, O: Index = i32> {
    pattern: Arc<BatchPattern<S, I, O>>,
    values: S::Buffer<T>,
    axis: PhantomData<A>,
}

/// A batch of CSR matrices.
pub type BatchCsr<T, S = Host, I = i32, O = i32> = BatchCompressed<Row, T, S, I, O>;
/// A batch of CSC matrices.
pub type BatchCsc<T, S = Host, I = i32, O = i32> = BatchCompressed<Col, T, S, I, O>;

impl<A: Axis, T: Scalar, I: Index, O: Index> BatchCompressed<A, T, Host, I, O> {
    /// A batch from its arrays; `member_ptr` has `count + 1` elements.
    ///
    /// ```
    /// # use sparse_core::{BatchCsr, SparseFormat};
    /// // (1.0) in column 0, and (2.0, 3.0): each member's offsets start at 0.
    /// let two = BatchCsr::<f64>::new((1, 2), vec![0, 1, 3], vec![0, 1, 0, 2], vec![0, 0, 1], vec![1.0, 2.0, 3.0])?;
    /// assert_eq!((two.count(), two.member_shape(), two.nrows()), (2, (1, 2), 2));
    /// # Ok::<(), sparse_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Format`] at the first violation: of `member_ptr`, then of a member, which is named, in the order of
    /// [`Compressed::new_unsorted`](super::Compressed::new_unsorted).
    pub fn new(
        (rows, cols): (usize, usize),
        member_ptr: Vec<usize>,
        offsets: Vec<O>,
        indices: Vec<I>,
        values: Vec<T>,
    ) -> Result<Self> {
        let format = A::BATCH_FORMAT;
        let (major, minor) = A::swap(rows, cols);
        check_extents::<I>(rows, cols)?;
        check_values::<Host, T, I>(format, &values, &indices)?;
        if member_ptr.first() != Some(&0)
            || member_ptr.last() != Some(&indices.len())
            || !member_ptr.is_sorted()
        {
            return Err(Error::format(
                format,
                format_args!("member_ptr does not rise from 0 to the number of indices, {}", indices.len()),
            ));
        }
        let count = member_ptr.len() - 1;
        check_length(
            format,
            "offsets",
            offsets.len(),
            checked_product("count x offsets", count, major + 1)?,
        )?;
        checked_product("count x minor extent", count, minor)?;
        let id = PatternId::unique();
        let order = IndexOrder::CANONICAL;
        let mut pattern = BatchPattern { id, major, minor, member_ptr, offsets, indices, order };
        for k in 0..count {
            pattern.check_member::<A>(k)?;
        }
        Ok(Self { pattern: Arc::new(pattern), values, axis: PhantomData })
    }
}

impl<I: Index, O: Index> BatchPattern<Host, I, O> {
    fn check_member<A: Axis>(&mut self, member: usize) -> Result<()> {
        let range = self.member_ptr[member]..self.member_ptr[member + 1];
        let offsets = &self.offsets[member * (self.major + 1)..][..self.major + 1];
        let indices = &self.indices[range];
        let named = |error: Error| Error::format(A::BATCH_FORMAT, format_args!("member {member}: {error}"));
        super::compressed::check_offsets::<A, O>(A::FORMAT, self.major, offsets, indices.len())
            .map_err(named)?;
        for k in 0..self.major {
            let line = &indices[offsets[k].as_usize()..offsets[k + 1].as_usize()];
            if let Some(bad) = line.iter().find(|i| i.as_usize() >= self.minor) {
                let reason = out_of_range(*bad, self.minor);
                return Err(named(Error::format(
                    A::FORMAT,
                    format_args!("{} {k}: {} {reason}", A::MAJOR, A::MINOR),
                )));
            }
            self.order.sorted &= line.is_sorted();
            self.order.unique &= line.is_sorted_by(|a, b| a < b);
        }
        Ok(())
    }
}

impl<A: Axis, T: Scalar, S: Space, I: Index, O: Index> BatchCompressed<A, T, S, I, O> {
    /// A batch from its arrays, unchecked.
    ///
    /// # Safety
    /// `member_ptr` rises from 0 to the number of indices; the arrays of every member satisfy what
    /// [`CompressedPattern::new_unchecked`](super::CompressedPattern::new_unchecked) demands; `order` is true of all.
    pub unsafe fn new_unchecked(
        (rows, cols): (usize, usize),
        member_ptr: Vec<usize>,
        offsets: S::Buffer<O>,
        indices: S::Buffer<I>,
        values: S::Buffer<T>,
        order: IndexOrder,
    ) -> Self {
        let (major, minor) = A::swap(rows, cols);
        let id = PatternId::unique();
        let pattern = BatchPattern { id, major, minor, member_ptr, offsets, indices, order };
        Self { pattern: Arc::new(pattern), values, axis: PhantomData }
    }

    /// The same patterns with other values, perhaps of another type. Plans stay valid.
    ///
    /// ```
    /// # use sparse_core::BatchCsr;
    /// let one = BatchCsr::<f64>::new((1, 2), vec![0, 1], vec![0, 1], vec![1], vec![1.0])?;
    /// assert!(one.with_values(vec![5.0_f32])?.member(0).triplets().eq([(0, 1, 5.0)]));
    /// # Ok::<(), sparse_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Format`] if the number of values is not nnz, [`Error::WrongContext`] if they are in another context.
    pub fn with_values<U: Scalar>(&self, values: S::Buffer<U>) -> Result<BatchCompressed<A, U, S, I, O>> {
        check_values::<S, U, I>(A::BATCH_FORMAT, &values, &self.pattern.indices)?;
        Ok(BatchCompressed { pattern: self.pattern.clone(), values, axis: PhantomData })
    }

    /// The number of members.
    pub fn count(&self) -> usize {
        self.pattern.member_ptr.len() - 1
    }

    /// (rows, columns) of each member.
    pub fn member_shape(&self) -> (usize, usize) {
        A::swap(self.pattern.major, self.pattern.minor)
    }

    /// The positions of the entries of member `k`.
    pub fn member_range(&self, k: usize) -> Range<usize> {
        self.pattern.member_ptr[k]..self.pattern.member_ptr[k + 1]
    }

    /// Member `k`, borrowed without a copy.
    ///
    /// ```
    /// # use sparse_core::BatchCsr;
    /// let two = BatchCsr::<f64>::new((1, 2), vec![0, 1, 3], vec![0, 1, 0, 2], vec![0, 0, 1], vec![1.0, 2.0, 3.0])?;
    /// assert!(two.member(1).triplets().eq([(0, 0, 2.0), (0, 1, 3.0)]));
    /// # Ok::<(), sparse_core::Error>(())
    /// ```
    pub fn member(&self, k: usize) -> CompressedRef<'_, A, T, S, I, O> {
        let p = &self.pattern;
        let start = k * (p.major + 1);
        CompressedRef {
            major: p.major,
            minor: p.minor,
            offsets: S::slice(S::view(&p.offsets), start..start + p.major + 1),
            indices: S::slice(S::view(&p.indices), self.member_range(k)),
            values: S::slice(S::view(&self.values), self.member_range(k)),
            axis: PhantomData,
        }
    }

    /// The first entry of each member, and nnz.
    pub fn member_ptr(&self) -> &[usize] {
        &self.pattern.member_ptr
    }

    /// The offsets of all members, each starting at 0.
    pub fn offsets(&self) -> &S::Buffer<O> {
        &self.pattern.offsets
    }

    /// The minor indices of all members.
    pub fn indices(&self) -> &S::Buffer<I> {
        &self.pattern.indices
    }

    /// The values of all members.
    pub fn values(&self) -> &S::Buffer<T> {
        &self.values
    }

    /// The known order of the indices of every member: sorted, unique.
    pub fn order(&self) -> IndexOrder {
        self.pattern.order
    }

    /// The transposes, without a copy.
    ///
    /// ```
    /// # use sparse_core::{BatchCsc, BatchCsr};
    /// let one = BatchCsr::<f64>::new((1, 2), vec![0, 1], vec![0, 1], vec![1], vec![1.0])?;
    /// let transpose: BatchCsc<f64> = one.into_transpose();
    /// assert!(transpose.member(0).triplets().eq([(1, 0, 1.0)]));
    /// # Ok::<(), sparse_core::Error>(())
    /// ```
    pub fn into_transpose(self) -> BatchCompressed<A::Other, T, S, I, O> {
        BatchCompressed { pattern: self.pattern, values: self.values, axis: PhantomData }
    }
}

shares_pattern!(BatchCompressed, axis [A], indices [I, O], pattern [major, minor, member_ptr, offsets, indices]);

impl<A: Axis, T: Scalar, S: Space, I: Index, O: Index> SparseFormat for BatchCompressed<A, T, S, I, O> {
    type Scalar = T;
    type Space = S;
    type In<U: Space> = BatchCompressed<A, T, U, I, O>;
    const FORMAT: &'static str = A::BATCH_FORMAT;

    fn nrows(&self) -> usize {
        self.count() * self.member_shape().0
    }

    fn ncols(&self) -> usize {
        self.count() * self.member_shape().1
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
        Ok(BatchCompressed { pattern, values: transfer.copy(S::view(&self.values))?, axis: PhantomData })
    }
}

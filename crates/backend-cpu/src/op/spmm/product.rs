//! The rows and segments of one product: what is summed by a task, and where the sums go.

use super::block::{AccOf, RowMajor, Sink, Streamed, sums};
use super::part::Part;
use super::rows::{OneRow, Rows};
use super::thresholds::SpmmThresholds;
use crate::primitive::update::{Disjoint, Update};
use crate::simd::{Isa, LINE, Vectorize};
use sparse_core::op::Op;
use sparse_core::{DenseViewMut, Order, Scalar};
use std::ops::Range;

/// `C ← alpha·op(A)·B + beta·C` for the columns of C from `first` on.
#[derive(Clone, Copy)]
pub(super) struct Product<'a, R: Rows> {
    pub(super) rows: R,
    pub(super) b: RowMajor<'a, R::Scalar>,
    pub(super) op: Op,
    pub(super) output: Output<R::Scalar>,
    pub(super) first: usize,
}

/// C and its update.
#[derive(Clone, Copy)]
pub(super) struct Output<T: Scalar> {
    c: Disjoint<T>,
    /// The strides between neighbours of a column and of a row.
    strides: (usize, usize),
    /// True if C has as many bytes as [`SpmmThresholds::streamed_bytes`].
    is_large: bool,
    update: Update<T::Acc>,
}

impl<T: Scalar> Output<T> {
    pub(super) fn new(c: &mut DenseViewMut<'_, T>, update: Update<T::Acc>) -> Self {
        let strides = match c.order() {
            Order::RowMajor => (c.leading_dimension(), 1),
            Order::ColMajor => (1, c.leading_dimension()),
        };
        let bytes = c.nrows() * c.ncols() * size_of::<T>();
        let is_large = bytes >= SpmmThresholds::CPU.streamed_bytes;
        Self { c: Disjoint::new(c.data_mut()), strides, is_large, update }
    }

    /// The output of these columns of C past the caches: if C is large and not read, and the columns fill whole cache
    /// lines, because rows follow each other without a gap or all begin with a cache line.
    fn streamed(&self, first: usize, len: usize) -> Option<Streamed<T>> {
        let Self { c, strides: (stride, column_stride), is_large, update } = *self;
        let start = c.start().wrapping_add(first);
        let whole = stride == len
            || [start.addr(), stride * size_of::<T>()].iter().all(|bytes| bytes.is_multiple_of(LINE));
        let streams = is_large && update.beta.is_zero() && column_stride == 1 && whole;
        streams.then_some(Streamed { start, stride, alpha: update.alpha })
    }
}

impl<R: Rows> Product<'_, R> {
    /// `len` elements of C in `row` from `column` on, if they are contiguous.
    ///
    /// # Safety
    /// C outlives the reference; nothing else accesses these elements meanwhile.
    #[inline(always)]
    unsafe fn place<'a>(&self, row: usize, column: usize, len: usize) -> Option<&'a mut [R::Scalar]> {
        let Output { c, strides: (row_stride, column_stride), .. } = self.output;
        // SAFETY: the caller's promise.
        (column_stride == 1).then(|| unsafe { c.slice(row * row_stride + self.first + column, len) })
    }

    /// Writes sums of zero to the columns of some rows of C, if they are contiguous and C is neither read nor written
    /// past the caches; else does nothing and returns false.
    #[inline(always)]
    fn fill(&self, rows: Range<usize>) -> bool {
        let Output { c, strides: (row_stride, column_stride), is_large, update } = self.output;
        let columns = self.b.columns;
        let is_streamed = is_large && columns * size_of::<R::Scalar>() > LINE;
        if column_stride != 1 || !update.beta.is_zero() || is_streamed {
            return false;
        }
        let zero = R::Scalar::from_acc(update.alpha * AccOf::<R>::ZERO);
        let (start, len) = match row_stride == columns {
            true => (rows.start..rows.start + 1, rows.len() * columns),
            false => (rows, columns),
        };
        for row in start {
            // SAFETY: each row belongs to one part, and is written by one task.
            unsafe { c.slice(row * row_stride + self.first, len) }.fill(zero);
        }
        true
    }

    /// Writes the elements of C in `row` from `column` on.
    ///
    /// # Safety
    /// C outlives the call; nothing else accesses these elements meanwhile.
    #[inline(always)]
    pub(super) unsafe fn write(&self, row: usize, column: usize, sums: &[AccOf<R>]) {
        let Output { c, strides: (row_stride, column_stride), update, .. } = self.output;
        // SAFETY: the caller's promise.
        if let Some(c) = unsafe { self.place(row, column, sums.len()) } {
            return c.iter_mut().zip(sums).for_each(|(c, &sum)| update.write(c, sum));
        }
        let start = row * row_stride + (self.first + column) * column_stride;
        for (k, &sum) in sums.iter().enumerate() {
            // SAFETY: the caller's promise.
            update.write(unsafe { c.at(start + k * column_stride) }, sum);
        }
    }
}

/// The rows of one part.
pub(super) struct PartSums<'a, R: Rows> {
    pub(super) product: Product<'a, R>,
    pub(super) part: &'a Part,
}

impl<R: Rows> Vectorize for PartSums<'_, R> {
    type Out = ();

    #[inline(always)]
    fn run<S: Isa>(self) {
        let Self { product, part } = self;
        let Product { rows, b, op, .. } = product;
        // Longer rows of C take longer to be written twice than to be passed.
        let is_short = b.columns * size_of::<R::Scalar>() <= LINE;
        let skips = part.skips_empty_rows() && (is_short || part.is_nearly_empty());
        let all_rows;
        let part = if part.skips_empty_rows() && !(skips && product.fill(part.rows.clone())) {
            all_rows = part.with_empty_rows();
            &all_rows
        } else {
            part
        };
        // SAFETY: the columns of op(A) are below the rows of B, as the plan checked.
        unsafe { sums::<S, R>(&rows, part, b, op, &product) };
    }
}

// SAFETY: `streamed` names rows of C, each of which belongs to one part, whose task alone writes it.
unsafe impl<R: Rows> Sink<R::Scalar> for &Product<'_, R> {
    #[inline(always)]
    fn write(&mut self, row: usize, first: usize, sums: &[AccOf<R>]) {
        // SAFETY: each row belongs to one part, and is written by one task.
        unsafe { Product::write(self, row, first, sums) };
    }

    #[inline(always)]
    fn place(
        &mut self,
        row: usize,
        first: usize,
        len: usize,
    ) -> Option<(&mut [R::Scalar], Update<AccOf<R>>)> {
        // SAFETY: as above.
        let c = unsafe { Product::place(self, row, first, len) };
        c.map(|c| (c, self.output.update))
    }

    fn streamed(&self, first: usize, len: usize) -> Option<Streamed<R::Scalar>> {
        self.output.streamed(self.first + first, len)
    }
}

/// The sums of one segment of a row.
pub(super) struct SegmentSums<'a, R: Rows> {
    pub(super) product: Product<'a, R>,
    pub(super) entries: Range<usize>,
    pub(super) sums: &'a mut [AccOf<R>],
}

impl<R: Rows> Vectorize for SegmentSums<'_, R> {
    type Out = ();

    #[inline(always)]
    fn run<S: Isa>(self) {
        let Product { rows, b, op, .. } = self.product;
        let (row, part) = (OneRow::new(rows, &self.entries), Part::of_one_row());
        // SAFETY: the columns of op(A) are below the rows of B, as the plan checked.
        unsafe { sums::<S, OneRow<R>>(&row, &part, b, op, self.sums) };
    }
}

// SAFETY: nothing is streamed.
unsafe impl<T: Scalar> Sink<T> for &mut [T::Acc] {
    #[inline(always)]
    fn write(&mut self, _: usize, first: usize, sums: &[T::Acc]) {
        self[first..][..sums.len()].copy_from_slice(sums);
    }
}

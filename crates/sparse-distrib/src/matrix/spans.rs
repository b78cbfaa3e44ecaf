//! Matrices with many empty rows, stored as spans of the rows that have entries.
//!
//! The off-diagonal block of a stencil has entries in the first and last rows of a rank alone. A product with all rows
//! would read and write all of y: 20 bytes a row, beside the 80 of the diagonal block of a Laplacian in `f64`. On 4
//! ranks, which shared 2 busy cores, a product with the Laplacian of 2000 x 2000 points took 28 to 36 ms by spans and
//! 44 to 46 ms with all rows.

use super::{BlockOn, RowBlock};
use crate::partition::Part;
use sparse_core::backend::{SpaceOf, ViewMutOf, ViewOf};
use sparse_core::format::Transfer;
use sparse_core::op::{SpmmKernel, SpmmPlan, SpmvKernel, SpmvPlan, VectorKernel};
use sparse_core::{Accumulator, Csr, DenseView, DenseViewMut, Host, Index, Result, Space, SparseFormat};
use std::ops::Range;

/// Empty rows that separate two spans: fewer cost less than the plan of another span.
const GAP: usize = 1024;
/// The most spans. If there were more, a single span has all rows from the first to the last with entries.
const MAX_SPANS: usize = 8;

/// The spans of rows that have entries: at least one, which may be empty.
#[derive(Debug)]
pub(super) struct RowSpans<T: Accumulator, S: Space, O: Index> {
    pub(super) spans: Vec<RowSpan<T, S, O>>,
}

/// Consecutive rows.
#[derive(Debug)]
pub(super) struct RowSpan<T: Accumulator, S: Space, O: Index> {
    pub(super) rows: Range<usize>,
    pub(super) block: RowBlock<T, S, O>,
}

impl<T: Accumulator, O: Index> RowSpans<T, Host, O> {
    pub(super) fn new(matrix: &RowBlock<T, Host, O>) -> Result<Self> {
        let span = |rows: Range<usize>| Ok(RowSpan { rows: rows.clone(), block: slice_rows(matrix, rows)? });
        Ok(Self { spans: spans(matrix.row_ptr()).into_iter().map(span).collect::<Result<_>>()? })
    }

    pub(super) fn to_device<B: sparse_core::Backend>(
        &self,
        backend: &B,
    ) -> Result<RowSpans<T, SpaceOf<B>, O>> {
        self.map(|block| block.to_device(backend))
    }
}

impl<T: Accumulator, S: Space, O: Index> RowSpans<T, S, O> {
    pub(super) fn transfer<U: Space>(&self, transfer: &impl Transfer<S, U>) -> Result<RowSpans<T, U, O>> {
        self.map(|block| block.transfer(transfer))
    }

    fn map<U: Space>(
        &self,
        copy: impl Fn(&RowBlock<T, S, O>) -> Result<RowBlock<T, U, O>>,
    ) -> Result<RowSpans<T, U, O>> {
        let span =
            |span: &RowSpan<T, S, O>| Ok(RowSpan { rows: span.rows.clone(), block: copy(&span.block)? });
        Ok(RowSpans { spans: self.spans.iter().map(span).collect::<Result<_>>()? })
    }
}

/// The rows with entries, and shorter gaps between them.
fn spans<O: Index>(row_ptr: &[O]) -> Vec<Range<usize>> {
    let mut spans: Vec<Range<usize>> = vec![];
    for (row, _) in row_ptr.windows(2).enumerate().filter(|(_, ends)| ends[0] < ends[1]) {
        match spans.last_mut() {
            Some(last) if row - last.end < GAP => last.end = row + 1,
            _ => spans.push(row..row + 1),
        }
    }
    match (spans.first(), spans.last()) {
        (Some(first), Some(last)) if spans.len() <= MAX_SPANS || first == last => spans,
        (Some(first), Some(last)) => std::iter::once(first.start..last.end).collect(),
        _ => std::iter::once(0..0).collect(),
    }
}

/// Some rows of a matrix.
pub(super) fn slice_rows<T: Accumulator, I: Index, O: Index>(
    matrix: &Csr<T, Host, I, O>,
    rows: Range<usize>,
) -> Result<Csr<T, Host, I, O>> {
    let ends = &matrix.row_ptr()[rows.start..=rows.end];
    let (first, last) = (ends[0].as_usize(), ends[rows.len()].as_usize());
    let offsets = ends.iter().map(|end| O::cast(end.as_usize() - first)).collect();
    let (indices, values) = (matrix.col_idx()[first..last].to_vec(), matrix.values()[first..last].to_vec());
    Csr::new_unsorted(rows.len(), matrix.ncols(), offsets, indices, values)
}

/// A plan for each span of a matrix: `P` is an [`SpmvPlan`] or an [`SpmmPlan`].
#[derive(Debug)]
pub(super) struct SpanPlans<P> {
    plans: Vec<P>,
}

/// The plans of the spans' products with a vector.
pub(super) type SpansSpmv<B, T, O> = SpanPlans<SpmvPlan<B, BlockOn<B, T, O>>>;

/// The plans of the spans' products with a dense matrix.
pub(super) type SpansSpmm<B, T, O> = SpanPlans<SpmmPlan<B, BlockOn<B, T, O>>>;

impl<P> SpanPlans<P> {
    pub(super) fn new<T: Accumulator, S: Space, O: Index>(
        a: &RowSpans<T, S, O>,
        plan: impl Fn(&RowBlock<T, S, O>) -> Result<P>,
    ) -> Result<Self> {
        Ok(Self { plans: a.spans.iter().map(|span| plan(&span.block)).collect::<Result<_>>()? })
    }

    /// Each plan with its span of `a` and its beta: `first` for the first plan, one for the others.
    fn with_beta<'a, T: Accumulator, S: Space, O: Index>(
        &'a mut self,
        a: &'a RowSpans<T, S, O>,
        first: T,
    ) -> impl Iterator<Item = (&'a mut P, &'a RowSpan<T, S, O>, T)> {
        let betas = std::iter::once(first).chain(std::iter::repeat(T::one()));
        self.plans.iter_mut().zip(&a.spans).zip(betas).map(|((plan, span), beta)| (plan, span, beta))
    }
}

impl<B, T, O> SpansSpmv<B, T, O>
where
    B: SpmvKernel<BlockOn<B, T, O>> + VectorKernel<T>,
    T: Accumulator,
    O: Index,
{
    /// `y ← alpha·A·x + y`.
    pub(super) fn add(
        &mut self,
        alpha: T,
        a: &RowSpans<T, SpaceOf<B>, O>,
        x: ViewOf<'_, B, T>,
        mut y: ViewMutOf<'_, B, T>,
    ) -> Result<()> {
        for (plan, span, beta) in self.with_beta(a, T::one()) {
            let y = SpaceOf::<B>::slice_mut(SpaceOf::<B>::reborrow::<T>(&mut y), span.rows.clone());
            plan.run(alpha, &span.block, x, beta, y)?;
        }
        Ok(())
    }

    /// `y ← alpha·op(A)·x` for a transposed A, one span after the other.
    pub(super) fn transposed(
        &mut self,
        alpha: T,
        a: &RowSpans<T, SpaceOf<B>, O>,
        x: ViewOf<'_, B, T>,
        mut y: ViewMutOf<'_, B, T>,
    ) -> Result<()> {
        for (plan, span, beta) in self.with_beta(a, T::zero()) {
            let x = SpaceOf::<B>::slice(x, span.rows.clone());
            plan.run(alpha, &span.block, x, beta, SpaceOf::<B>::reborrow::<T>(&mut y))?;
        }
        Ok(())
    }

    pub(super) fn workspace_bytes(&self) -> usize {
        self.plans.iter().map(SpmvPlan::workspace_bytes).sum()
    }
}

impl<B, T, O> SpansSpmm<B, T, O>
where
    B: SpmmKernel<BlockOn<B, T, O>> + VectorKernel<T>,
    T: Accumulator,
    O: Index,
{
    /// `C ← alpha·A·B + C`.
    pub(super) fn add(
        &mut self,
        alpha: T,
        a: &RowSpans<T, SpaceOf<B>, O>,
        b: DenseView<'_, T, SpaceOf<B>>,
        mut c: DenseViewMut<'_, T, SpaceOf<B>>,
    ) -> Result<()> {
        for (plan, span, beta) in self.with_beta(a, T::one()) {
            plan.run(alpha, &span.block, b, beta, rows_mut(c.reborrow(), &span.rows)?)?;
        }
        Ok(())
    }

    /// `C ← alpha·op(A)·B` for a transposed A, one span after the other.
    pub(super) fn transposed(
        &mut self,
        alpha: T,
        a: &RowSpans<T, SpaceOf<B>, O>,
        b: DenseView<'_, T, SpaceOf<B>>,
        mut c: DenseViewMut<'_, T, SpaceOf<B>>,
    ) -> Result<()> {
        for (plan, span, beta) in self.with_beta(a, T::zero()) {
            let b = Part { rows: span.rows.clone(), cols: 0..b.ncols() }.view(b)?;
            plan.run(alpha, &span.block, b, beta, c.reborrow())?;
        }
        Ok(())
    }

    pub(super) fn workspace_bytes(&self) -> usize {
        self.plans.iter().map(SpmmPlan::workspace_bytes).sum()
    }
}

/// The rows of C in a range, which is inside C.
fn rows_mut<'a, T: Accumulator, S: Space>(
    c: DenseViewMut<'a, T, S>,
    rows: &Range<usize>,
) -> Result<DenseViewMut<'a, T, S>> {
    let (columns, ld, order) = (c.ncols(), c.leading_dimension(), c.order());
    let start = if rows.is_empty() { 0 } else { c.position(rows.start, 0) };
    let data = c.into_data();
    let end = sparse_core::space::ViewMut::len(&data);
    DenseViewMut::new(S::slice_mut(data, start..end), rows.len(), columns, ld, order)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wide_gaps_are_left_out_and_narrow_ones_are_not() {
        let found = |filled: &[usize], rows: usize| -> Vec<(usize, usize)> {
            let before = |row| filled.iter().filter(|&&filled| filled < row).count() as i32;
            let row_ptr: Vec<_> = (0..=rows).map(before).collect();
            spans(&row_ptr).into_iter().map(|rows| (rows.start, rows.end)).collect()
        };
        assert_eq!(found(&[], 5), [(0, 0)]);
        assert_eq!(found(&[2, 4], 6), [(2, 5)]);
        assert_eq!(found(&[0, 1, GAP + 2, GAP + 3], GAP + 4), [(0, 2), (GAP + 2, GAP + 4)]);
        let many: Vec<_> = (0..=MAX_SPANS).map(|k| 1 + k * (GAP + 1)).collect();
        assert_eq!(found(&many, many[MAX_SPANS] + 9), [(1, many[MAX_SPANS] + 1)]);
    }
}

//! The structure of compressed matrices, and its checks.

use super::Axis;
use crate::error::{Error, Result};
use crate::format::{IndexOrder, PatternId, Transfer, check_extents, check_length};
use crate::index::{Index, out_of_range};
use crate::space::{Host, Space};
use std::ops::Range;
use std::sync::Arc;

/// The structure of a [`Compressed`](super::Compressed) matrix: for major index `k`, the entries at positions
/// `offsets[k]..offsets[k + 1]` have the minor indices `indices[..]`.
#[derive(Debug)]
pub struct CompressedPattern<S: Space = Host, I: Index = i32, O: Index = i32> {
    pub(in crate::format) id: PatternId,
    pub(in crate::format) major: usize,
    pub(in crate::format) minor: usize,
    pub(in crate::format) offsets: S::Buffer<O>,
    pub(in crate::format) indices: S::Buffer<I>,
    pub(in crate::format) order: IndexOrder,
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
    /// `offsets` has `major + 1` elements, starts at 0, never falls and ends at the length of `indices`; every index is
    /// in `0..minor`; `order` is true of the indices; `major` and `minor` fit `I`; the arrays are in one context.
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
    pub(super) fn transfer<U: Space>(
        &self,
        transfer: &impl Transfer<S, U>,
    ) -> Result<Arc<CompressedPattern<U, I, O>>> {
        let Self { major, minor, ref offsets, ref indices, order, .. } = *self;
        let (offsets, indices) = (transfer.copy(S::view(offsets))?, transfer.copy(S::view(indices))?);
        Ok(Arc::new(CompressedPattern { id: PatternId::unique(), major, minor, offsets, indices, order }))
    }
}

impl<I: Index, O: Index> CompressedPattern<Host, I, O> {
    /// A pattern whose indices may be unsorted and may repeat; checks everything else.
    pub(super) fn checked<A: Axis>(
        (major, minor): (usize, usize),
        offsets: Vec<O>,
        indices: Vec<I>,
    ) -> Result<Self> {
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
pub(in crate::format) fn check_pattern<A: Axis, I: Index, O: Index>(
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
            let reason = out_of_range(*bad, minor);
            return Err(Error::format(format, format_args!("{} {k}: {} {reason}", A::MAJOR, A::MINOR)));
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
pub(in crate::format) fn check_offsets<A: Axis, O: Index>(
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
pub(super) fn order_error<A: Axis, I: Index, O: Index>(
    pattern: &CompressedPattern<Host, I, O>,
) -> Option<Error> {
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

//! Rows of B that later entries multiply, which are prefetched.

use super::block::RowMajor;
use crate::simd::{LINE, fetch, fetch_line};
use sparse_core::{Index, Scalar};
use std::ops::Range;

/// Bytes that the second-level TLB maps: 2048 pages of 4 KiB.
const TLB_BYTES: usize = 8 << 20;

/// The position in B, from the column `first` on, of a row.
#[inline(always)]
pub(super) fn start<I: Index, T>(row: I, b: RowMajor<'_, T>, first: usize) -> usize {
    row.as_usize() * b.stride + first
}

/// The column of each entry, and those of the entries `ahead` and twice as far ahead of it, if there are such.
#[inline(always)]
pub(super) fn with_ahead<'a, I: Index>(
    columns: &'a [I],
    entries: &Range<usize>,
    ahead: usize,
) -> impl Iterator<Item = (I, [I; 2])> + 'a {
    let own = &columns[entries.clone()];
    let later = |ahead| columns.get(entries.start + ahead..entries.end + ahead).unwrap_or(own);
    own.iter().zip(later(ahead)).zip(later(2 * ahead)).map(|((&own, &next), &far)| (own, [next, far]))
}

/// Prefetches `len` elements of the next row, and one of the row that is far ahead: the processor translates the
/// address of its page meanwhile, which may take as long as the elements themselves. Of rows as short as a cache line
/// one line of the next is fetched alone, as there are more of them a microsecond and the instructions count, unless B
/// has more pages than the TLB.
#[inline(always)]
pub(super) fn fetch_rows<I: Index, T: Scalar>(
    b: RowMajor<'_, T>,
    [next, far]: [I; 2],
    first: usize,
    len: usize,
) {
    if b.ahead == 0 {
        return;
    }
    if len * size_of::<T>() <= LINE && size_of_val(b.data) <= TLB_BYTES {
        return fetch_line(b.data, start(next, b, first));
    }
    fetch(b.data, start(next, b, first), len);
    fetch_line(b.data, start(far, b, first));
}

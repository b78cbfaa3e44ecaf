//! Products of one call with CSR whose columns nobody has checked: the pass that multiplies compares them, too.
//!
//! A check before it would read the columns once more, a third of the bytes of a product of f64, and a plan reads the
//! rows again. Along the rows, parts and sums are those of plans. Across them there is no time for a pattern of the
//! transpose: chunks of entries add to sums of their own, whatever these take.

use super::Product;
use super::compressed::{multiply_across, multiply_stored};
use super::scatter::{Chunks, Scatter, chunk_size};
use super::thresholds::SpmvThresholds;
use crate::Cpu;
use crate::borrow::Extremes;
use crate::op::compiled::{find, spmv_once_table};
use crate::op::spmv::members::Members;
use crate::primitive::lines::Lines;
use crate::primitive::partition::{Cut, PART_SIZE, Part, Partition, cut_merge_path};
use crate::primitive::update::Update;
use sparse_core::op::Op;
use sparse_core::{HostCsr, Index, Result, Scalar};
use std::ops::Range;

impl Cpu {
    /// `y ← op(A)·x` without a plan; false if a column of A is out of range, which nobody has looked at.
    ///
    /// # Errors
    /// [`Error::Unsupported`](sparse_core::Error::Unsupported) if the types are none of the catalogue's;
    /// [`Error::OutOfMemory`](sparse_core::Error::OutOfMemory).
    pub(crate) fn multiply_once<T: Scalar, I: Index, O: Index>(
        &self,
        a: &HostCsr<T, I, O>,
        op: Op,
        x: &[T],
        y: &mut [T],
    ) -> Result<bool> {
        let functions: &Functions<T, I, O> = find(spmv_once_table(), "spmv", "csr")?;
        (functions.multiply)(self, a, op, x, y)
    }
}

/// The functions for one triple of types, which are compiled in this crate.
pub(in crate::op) struct Functions<T: Scalar, I: Index, O: Index> {
    multiply: Multiply<T, I, O>,
}

/// `y ← op(A)·x`; false if a column of A is out of range, after which `y` has no meaning.
type Multiply<T, I, O> = fn(&Cpu, &HostCsr<T, I, O>, Op, &[T], &mut [T]) -> Result<bool>;

impl<T: Scalar, I: Index, O: Index> Functions<T, I, O> {
    pub(in crate::op) const ALL: Self = Self { multiply };
}

fn multiply<T: Scalar, I: Index, O: Index>(
    cpu: &Cpu,
    a: &HostCsr<T, I, O>,
    op: Op,
    x: &[T],
    y: &mut [T],
) -> Result<bool> {
    let update = Update { alpha: num_traits::One::one(), beta: T::Acc::ZERO };
    let product = Product { x, y, update, op };
    if op.transposes() { across(cpu, a, product) } else { Ok(along(cpu, a, product)) }
}

fn along<T: Scalar, I: Index, O: Index>(cpu: &Cpu, a: &HostCsr<T, I, O>, product: Product<'_, T>) -> bool {
    let cut = |cut| Partition::cut(cut, [a.offsets()].into_iter());
    let mut parts = cut(Cut::Rows);
    if parts.longest() > PART_SIZE {
        parts = cut(Cut::MergePath);
    }
    multiply_stored(a, cpu, &mut parts, product)
}

fn across<T: Scalar, I: Index, O: Index>(
    cpu: &Cpu,
    a: &HostCsr<T, I, O>,
    product: Product<'_, T>,
) -> Result<bool> {
    let (Lines { offsets, indices, .. }, cols) = (a.lines(0), a.ncols());
    let mut chunks = vec![];
    cut_merge_path(0, offsets, chunk_size(a.nnz() + a.nrows().max(cols)), &mut chunks);
    let extremes = cpu.map(a.nnz(), chunks.iter().collect(), |chunk: &Part| {
        cpu.simd().run(Extremes(&indices[chunk.entries.clone()]))
    });
    if !extremes.iter().flatten().all(|(least, greatest)| least.as_i64() >= 0 && greatest.as_usize() < cols) {
        return Ok(false);
    }
    let range = |extremes: Option<(I, I)>| {
        extremes.map_or(0..0, |(least, greatest)| least.as_usize()..greatest.as_usize() + 1)
    };
    let mut rows: Vec<_> = extremes.into_iter().map(range).collect();
    // Fewer chunks where their sums would take more time than the entries.
    let limit = a.nnz() / SpmvThresholds::CPU.entries_per_sum;
    while chunks.len() > 2 && rows.iter().map(Range::len).sum::<usize>() > limit {
        chunks = chunks.chunks(2).map(join).collect();
        rows = rows.chunks(2).map(hull).collect();
    }
    let mut scatter = Scatter::new(Chunks::new(chunks, rows))?;
    multiply_across(a, cpu, &mut scatter, product);
    Ok(true)
}

/// One or two neighbouring parts as one.
fn join(parts: &[Part]) -> Part {
    let (first, last) = (&parts[0], &parts[parts.len() - 1]);
    Part {
        member: first.member,
        rows: first.rows.start..last.rows.end,
        entries: first.entries.start..last.entries.end,
    }
}

/// The range that has all of one or two ranges.
fn hull(ranges: &[Range<usize>]) -> Range<usize> {
    let ranges = || ranges.iter().filter(|range| !range.is_empty());
    let start = ranges().map(|range| range.start).min().unwrap_or_default();
    start..ranges().map(|range| range.end).max().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn joined_parts_cover_both() {
        let part = |rows, entries| Part { member: 0, rows, entries };
        let joined = join(&[part(0..2, 0..5), part(2..3, 5..9)]);
        assert_eq!((joined.rows, joined.entries), (0..3, 0..9));
        assert_eq!(hull(&[4..6, 0..0]), 4..6);
        assert_eq!(hull(&[4..6, 1..2]), 1..6);
        assert_eq!(hull(&[0..0, 0..0]), 0..0);
    }
}

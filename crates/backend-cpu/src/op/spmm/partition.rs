//! The partition of SpMM: parts of whole rows, and segments of long ones.

use super::block::{RowMajor, WIDE};
use super::groups::find_groups;
use super::part::Part;
use super::product::{Output, PartSums, Product, SegmentSums};
use super::rows::Rows;
use super::slices::{
    entries_ahead, entries_of_part, is_copy_cheap, pack, pays_to_slice, rows_straddle_lines,
};
use super::thresholds::SpmmThresholds;
use crate::Cpu;
use crate::parallel::chunks;
use crate::primitive::fill::zeroed;
use crate::primitive::update::Update;
use crate::simd::{CacheLine, LINE};
use bytemuck::cast_slice_mut;
use sparse_core::error::checked_product;
use sparse_core::op::Op;
use sparse_core::{Accumulator, DenseView, DenseViewMut, Order, Result, Scalar};
use std::ops::Range;

/// The operands of one product.
pub(super) struct Operands<'b, 'c, T: Scalar> {
    pub(super) b: DenseView<'b, T>,
    pub(super) c: DenseViewMut<'c, T>,
    pub(super) update: Update<T::Acc>,
    pub(super) op: Op,
}

/// A part of a long row.
#[derive(Debug, Clone)]
struct Segment {
    row: usize,
    entries: Range<usize>,
}

/// The partition of a pattern's work, and its workspace.
pub(super) struct SpmmPartition<T: Scalar> {
    split: WorkSplit<T::Acc>,
    /// Some columns of B, or all, row by row; allocated at their first use. Rows of eight doubles are cache lines:
    /// where each lay in two lines, 8 columns of 20 000 rows with 200 entries took 6 to 11 ms in place of 2.1.
    panel: Vec<CacheLine>,
}

/// The parts and segments, and the sums of the segments.
struct WorkSplit<Acc> {
    /// [`RowMajor::ahead`] of B.
    ahead: usize,
    /// True if a row-major B is multiplied some columns at a time, too.
    sliced: bool,
    /// True if rows of B are used so often that a copy is cheap.
    copied: bool,
    /// The parts, without the rows that are cut into segments.
    parts: Vec<Part>,
    /// The segments of all rows longer than a segment; none where the algorithm does not split rows.
    segments: Vec<Segment>,
    /// The sums of each segment, `columns` apart.
    sums: Vec<Acc>,
    columns: usize,
    /// Elements by whose number threads get work.
    elements: usize,
}

impl<T: Scalar> SpmmPartition<T> {
    /// The work of a product with a matrix B of this shape, which is computed about `calls` times.
    pub(super) fn new<R: Rows<Scalar = T>>(
        cpu: &Cpu,
        rows: &R,
        split: bool,
        b: (usize, usize),
        calls: usize,
    ) -> Result<Self> {
        let columns = b.1;
        let longest = SpmmThresholds::CPU.segment;
        let segments = if split { segments(rows, longest) } else { vec![] };
        let sums = checked_product("segments x columns", segments.len(), columns)?;
        let sliced = pays_to_slice(rows, b);
        let at_once = if sliced { WIDE } else { columns };
        let parts = rows.parts(entries_of_part(rows, at_once));
        let parts = if segments.is_empty() { parts } else { without_long_rows(rows, parts, longest) };
        // As for one call (`short_rows`): with two columns a row takes as long as an entry or longer.
        let work = rows.columns().len() + rows.len();
        let split = WorkSplit {
            ahead: entries_ahead(rows, b.0, at_once, sliced),
            sliced,
            copied: is_copy_cheap(rows, b.0),
            parts: find_groups(cpu, rows, parts, calls),
            sums: vec![T::Acc::ZERO; sums],
            segments,
            columns,
            elements: work.saturating_mul(columns) / SpmmThresholds::CPU.products_per_element,
        };
        Ok(Self { split, panel: vec![] })
    }

    /// True if a row-major B is multiplied some columns at a time.
    pub(super) fn is_sliced(&self) -> bool {
        self.split.sliced
    }

    pub(super) fn bytes(&self) -> usize {
        let WorkSplit { parts, segments, sums, .. } = &self.split;
        parts.iter().map(Part::bytes).sum::<usize>()
            + size_of_val(segments.as_slice())
            + size_of_val(sums.as_slice())
            + size_of_val(self.panel.as_slice())
    }

    pub(super) fn run<R: Rows<Scalar = T>>(&mut self, cpu: &Cpu, rows: R, operands: Operands<'_, '_, T>) {
        let Operands { b, mut c, update, op } = operands;
        let output = Output::new(&mut c, update);
        let (stride, columns) = (b.leading_dimension(), b.ncols());
        let is_whole = b.order() == Order::RowMajor && !self.split.sliced;
        if is_whole && !(self.split.copied && rows_straddle_lines(&b)) {
            let b = RowMajor { data: b.data(), stride, columns, ahead: self.split.ahead };
            return self.split.run(cpu, Product { rows, b, op, output, first: 0 });
        }
        let width = if is_whole { columns } else { WIDE };
        let lines = (b.nrows() * columns.min(width) * size_of::<T>()).div_ceil(LINE);
        if self.panel.len() < lines {
            self.panel = zeroed(lines);
        }
        for columns in chunks(columns, width) {
            let first = columns.start;
            let b = pack(cpu, cast_slice_mut(&mut self.panel), b, columns, self.split.ahead);
            self.split.run(cpu, Product { rows, b, op, output, first });
        }
    }
}

/// The segments of the rows that are longer than `longest`, each with as many entries or the rest.
fn segments(rows: &impl Rows, longest: usize) -> Vec<Segment> {
    let long = (0..rows.len()).map(|row| (row, rows.entries(row))).filter(|(_, all)| all.len() > longest);
    let cut = |(row, all): (usize, Range<usize>)| {
        let parts = chunks(all.len(), longest).into_iter();
        parts.map(move |part| Segment { row, entries: all.start + part.start..all.start + part.end })
    };
    long.flat_map(cut).collect()
}

/// These parts without the rows that are longer than `longest`, each cut there.
fn without_long_rows(rows: &impl Rows, parts: Vec<Range<usize>>, longest: usize) -> Vec<Range<usize>> {
    let mut between = vec![];
    for part in parts {
        let mut start = part.start;
        for long in part.clone().filter(|&row| rows.entries(row).len() > longest) {
            between.push(start..long);
            start = long + 1;
        }
        between.push(start..part.end);
    }
    between.retain(|part| !part.is_empty());
    between
}

impl<Acc: Scalar<Acc = Acc> + Accumulator> WorkSplit<Acc> {
    fn run<R: Rows<Scalar: Scalar<Acc = Acc>>>(&mut self, cpu: &Cpu, product: Product<'_, R>) {
        cpu.for_each_in_runs(self.elements, self.parts.iter().collect(), |part| {
            cpu.simd().run(PartSums { product, part });
        });
        if self.segments.is_empty() {
            return;
        }
        let segments = self.segments.iter().zip(self.sums.chunks_mut(self.columns)).collect();
        cpu.for_each_in_runs(self.elements, segments, |(segment, sums)| {
            cpu.simd().run(SegmentSums { product, entries: segment.entries.clone(), sums });
        });
        self.join(product);
    }

    /// Adds the segments of each long row in order and writes it.
    fn join<R: Rows<Scalar: Scalar<Acc = Acc>>>(&mut self, product: Product<'_, R>) {
        let (columns, mut first) = (self.columns, 0);
        for row in self.segments.chunk_by(|a, b| a.row == b.row) {
            let sums = &self.sums[first * columns..][..row.len() * columns];
            let total = |k| (0..row.len()).fold(Acc::ZERO, |total, s| total + sums[s * columns + k]);
            let totals: Vec<_> = (0..product.b.columns).map(total).collect();
            // SAFETY: the parallel work is done; this is the only access to C.
            unsafe { product.write(row[0].row, 0, &totals) };
            first += row.len();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::primitive::lines::Lines;

    #[test]
    fn parts_end_before_long_rows_and_begin_behind_them() {
        let offsets = [0, 9, 10, 12, 21, 30, 31, 40];
        let (indices, values) = ([0_i32; 40], [0.0_f32; 40]);
        let rows = Lines { offsets: &offsets, indices: &indices, values: &values };
        let parts = vec![0..3, 3..7];
        assert_eq!(without_long_rows(&rows, parts.clone(), 8), [1..3, 5..6]);
        assert_eq!(without_long_rows(&rows, parts.clone(), 1), [1..2, 5..6]);
        assert_eq!(without_long_rows(&rows, parts.clone(), 9), parts);
    }
}

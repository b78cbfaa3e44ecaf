//! The partition of SpMM: parts of whole rows, and segments of long ones.

use super::block::{AccOf, RowMajor, Sink, Streamed, WIDE, sums};
use super::source::Rows;
use crate::Cpu;
use crate::op::update::{Disjoint, Update};
use crate::parallel::{CHUNK, chunks};
use crate::simd::{Isa, LINE, Vectorize};
use sparse_core::error::checked_product;
use sparse_core::op::Op;
use sparse_core::{DenseView, DenseViewMut, Order, Result, Scalar};
use std::ops::Range;

/// Entries of a segment; a longer row is split where the algorithm splits rows.
pub(super) const SEGMENT: usize = 4096;

/// Products of one part.
const PART: usize = 256 * 1024;

/// Bytes of B that stay in the cache of a core while neighbouring rows of op(A) use them.
const CACHE: usize = 3 << 19;

/// Bytes from which on the elements of B that neighbouring rows use do not stay in the cache.
const BEYOND_CACHE: usize = 4 << 20;

/// Average uses of a row of B from which on slices are copied.
const USES: usize = 64;

/// Bytes of B to prefetch.
const AHEAD: usize = 8 << 10;

/// The most rows to prefetch.
const MOST_AHEAD: usize = 32;

/// Bytes from which on C is written past the caches, which it would fill.
const STREAMED: usize = 64 << 20;

/// Parts sampled for the distance that neighbouring rows span.
const SOME_PARTS: usize = 64;

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
pub(super) struct Work<T: Scalar> {
    split: WorkSplit<T::Acc>,
    /// Some columns of B, row by row; allocated at their first use.
    panel: Vec<T>,
}

struct WorkSplit<Acc> {
    /// [`RowMajor::ahead`] of B.
    ahead: usize,
    /// True if a row-major B is multiplied some columns at a time, too.
    sliced: bool,
    parts: Vec<Range<usize>>,
    split: bool,
    segments: Vec<Segment>,
    /// The sums of each segment, `columns` apart.
    sums: Vec<Acc>,
    columns: usize,
    products: usize,
}

impl<T: Scalar> Work<T> {
    /// The work of a product with a matrix B of this shape.
    pub(super) fn new<R: Rows<Scalar = T>>(rows: &R, split: bool, b: (usize, usize)) -> Result<Self> {
        let columns = b.1;
        let long = (0..rows.len()).filter(|&row| split && rows.entries(row).len() > SEGMENT);
        let segments: Vec<_> = long
            .flat_map(|row| {
                let entries = rows.entries(row);
                let split = chunks(entries.len(), SEGMENT).into_iter();
                split.map(move |s| Segment { row, entries: entries.start + s.start..entries.start + s.end })
            })
            .collect();
        let sums = checked_product("segments x columns", segments.len(), columns)?;
        let sliced = pays_to_slice(rows, b);
        let at_once = if sliced { WIDE } else { columns };
        let split = WorkSplit {
            ahead: entries_ahead(rows, at_once, sliced),
            sliced,
            parts: rows.parts(entries_of_part(at_once)),
            split,
            sums: vec![T::Acc::ZERO; sums],
            segments,
            columns,
            products: rows.columns().len().saturating_mul(columns),
        };
        Ok(Self { split, panel: vec![] })
    }

    /// True if a row-major B is multiplied some columns at a time.
    pub(super) fn is_sliced(&self) -> bool {
        self.split.sliced
    }

    pub(super) fn bytes(&self) -> usize {
        let WorkSplit { parts, segments, sums, .. } = &self.split;
        size_of_val(parts.as_slice())
            + size_of_val(segments.as_slice())
            + size_of_val(sums.as_slice())
            + size_of_val(self.panel.as_slice())
    }

    pub(super) fn run<R: Rows<Scalar = T>>(&mut self, cpu: &Cpu, rows: R, operands: Operands<'_, '_, T>) {
        let Operands { b, mut c, update, op } = operands;
        let strides = strides(c.order(), c.leading_dimension());
        let is_large = c.rows() * c.cols() * size_of::<T>() >= STREAMED;
        let output = Output { c: Disjoint::new(c.data_mut()), strides, is_large, update };
        let (stride, columns) = (b.leading_dimension(), b.cols());
        if b.order() == Order::RowMajor && !self.split.sliced {
            let b = RowMajor { data: b.data(), stride, columns, ahead: self.split.ahead };
            return self.split.run(cpu, Product { rows, b, op, output, first: 0 });
        }
        self.panel.resize(b.rows() * columns.min(WIDE), T::ZERO);
        for columns in chunks(columns, WIDE) {
            let first = columns.start;
            let b = pack(cpu, &mut self.panel, b, columns, self.split.ahead);
            self.split.run(cpu, Product { rows, b, op, output, first });
        }
    }
}

fn entries_of_part(columns: usize) -> usize {
    (PART / columns.max(1)).max(64)
}

/// True if [`WIDE`] columns of a wider B, copied so that they are contiguous, are better than all at once: neighbouring
/// rows of op(A) have so much of B in common that this much of it stays in the cache and all of it would not, and every
/// row of B is used so often that the copy is cheap.
fn pays_to_slice<R: Rows>(rows: &R, (b_rows, columns): (usize, usize)) -> bool {
    if columns <= WIDE {
        return false;
    }
    let bytes = reach(rows).saturating_mul(size_of::<R::Scalar>());
    bytes.saturating_mul(WIDE) <= CACHE
        && bytes.saturating_mul(columns) > BEYOND_CACHE
        && rows.columns().len() >= b_rows.saturating_mul(USES)
}

/// [`RowMajor::ahead`] for `columns` columns of B: rows of neighbouring entries are prefetched unless they stay in the
/// cache. Slices, which all rows of op(A) use, are prefetched too: by their place in memory, some may not stay.
fn entries_ahead<R: Rows>(rows: &R, columns: usize, sliced: bool) -> usize {
    let bytes = columns.saturating_mul(size_of::<R::Scalar>());
    let stay = !sliced && reach(rows).saturating_mul(bytes) <= CACHE;
    if stay { 0 } else { (AHEAD / bytes.max(1)).clamp(1, MOST_AHEAD) }
}

/// The number of rows of B from the first to the last that a part uses, on average over some parts.
fn reach<R: Rows>(rows: &R) -> usize {
    let parts = rows.parts(entries_of_part(WIDE));
    let some = parts.iter().step_by(parts.len().div_ceil(SOME_PARTS).max(1));
    let reach = some.clone().map(|part| rows.columns_of(part.clone()).len());
    reach.fold(0, usize::saturating_add) / some.len().max(1)
}

/// The strides between neighbours of a column and of a row.
fn strides(order: Order, leading_dimension: usize) -> (usize, usize) {
    match order {
        Order::RowMajor => (leading_dimension, 1),
        Order::ColMajor => (1, leading_dimension),
    }
}

/// Copies columns of a matrix row by row.
fn pack<'a, T: Scalar>(
    cpu: &Cpu,
    panel: &'a mut [T],
    b: DenseView<'_, T>,
    columns: Range<usize>,
    ahead: usize,
) -> RowMajor<'a, T> {
    let width = columns.len();
    let panel = &mut panel[..b.rows() * width];
    let rows_per_task = CHUNK / width;
    let tasks = panel.chunks_mut(rows_per_task * width).enumerate().collect();
    cpu.for_each(b.rows() * width, tasks, |(k, part): (usize, &mut [T])| {
        for (i, row) in part.chunks_mut(width).enumerate() {
            for (to, column) in row.iter_mut().zip(columns.clone()) {
                *to = b.at(k * rows_per_task + i, column);
            }
        }
    });
    RowMajor { data: panel, stride: width, columns: width, ahead }
}

/// `C ← alpha·op(A)·B + beta·C` for the columns of C from `first` on.
#[derive(Clone, Copy)]
struct Product<'a, R: Rows> {
    rows: R,
    b: RowMajor<'a, R::Scalar>,
    op: Op,
    output: Output<R::Scalar>,
    first: usize,
}

/// C and its update.
#[derive(Clone, Copy)]
struct Output<T: Scalar> {
    c: Disjoint<T>,
    strides: (usize, usize),
    /// True if C has [`STREAMED`] bytes.
    is_large: bool,
    update: Update<T::Acc>,
}

impl<T: Scalar> Output<T> {
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

    /// Writes the elements of C in `row` from `column` on.
    ///
    /// # Safety
    /// C outlives the call; nothing else accesses these elements meanwhile.
    #[inline(always)]
    unsafe fn write(&self, row: usize, column: usize, sums: &[AccOf<R>]) {
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

impl<Acc: Scalar<Acc = Acc> + sparse_core::Accumulator> WorkSplit<Acc> {
    fn run<R: Rows<Scalar: Scalar<Acc = Acc>>>(&mut self, cpu: &Cpu, product: Product<'_, R>) {
        let longest = if self.split { SEGMENT } else { usize::MAX };
        cpu.for_each(self.products, self.parts.iter().collect(), |part| {
            cpu.simd().run(PartSums { product, part: part.clone(), longest });
        });
        if self.segments.is_empty() {
            return;
        }
        let segments = self.segments.iter().zip(self.sums.chunks_mut(self.columns)).collect();
        cpu.for_each(self.products, segments, |(segment, sums)| {
            cpu.simd().run(SegmentSums { product, segment, sums });
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

/// The rows of one part, those longer than `longest` excepted.
struct PartSums<'a, R: Rows> {
    product: Product<'a, R>,
    part: Range<usize>,
    longest: usize,
}

impl<R: Rows> Vectorize for PartSums<'_, R> {
    type Out = ();

    #[inline(always)]
    fn run<S: Isa>(self) {
        let Self { product, part, longest } = self;
        let Product { rows, b, op, .. } = product;
        let lines = part.map(|row| (row, rows.entries(row))).filter(|(_, entries)| entries.len() <= longest);
        // SAFETY: the columns of op(A) are below the rows of B, as the plan checked.
        unsafe { sums::<S, R>(&rows, lines, b, op, &product) };
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

/// The sums of one segment.
struct SegmentSums<'a, R: Rows> {
    product: Product<'a, R>,
    segment: &'a Segment,
    sums: &'a mut [AccOf<R>],
}

impl<R: Rows> Vectorize for SegmentSums<'_, R> {
    type Out = ();

    #[inline(always)]
    fn run<S: Isa>(self) {
        let Product { rows, b, op, .. } = self.product;
        // SAFETY: the columns of op(A) are below the rows of B, as the plan checked.
        unsafe { sums::<S, R>(&rows, std::iter::once((0, self.segment.entries.clone())), b, op, self.sums) };
    }
}

// SAFETY: nothing is streamed.
unsafe impl<T: Scalar> Sink<T> for &mut [T::Acc] {
    #[inline(always)]
    fn write(&mut self, _: usize, first: usize, sums: &[T::Acc]) {
        self[first..][..sums.len()].copy_from_slice(sums);
    }
}

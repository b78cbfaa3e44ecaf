//! Operands in a backend's memory, with guard words around them.

use sparse_core::backend::{Buf, ViewMutOf, ViewOf};
use sparse_core::{
    Backend, DenseBatchView, DenseView, DenseViewMut, Element, Order, Result, Scalar, Space, SpaceOf, bf16,
    c32, c64, f16,
};
use std::iter;
use std::ops::Range;

/// An element that the table can write to a backend's memory and read back; both conversions are exact.
pub trait Cell: Element {
    /// The element as a complex number.
    fn to_c64(self) -> c64;
    /// The element of a complex number.
    fn from_c64(value: c64) -> Self;
}

macro_rules! scalar_cells {
    ($($t:ty),*) => {$(
        impl Cell for $t {
            fn to_c64(self) -> c64 {
                Scalar::to_c64(self)
            }

            fn from_c64(value: c64) -> Self {
                <$t as Scalar>::from_c64(value)
            }
        }
    )*};
}

macro_rules! integer_cells {
    ($($t:ty),*) => {$(
        impl Cell for $t {
            fn to_c64(self) -> c64 {
                c64::new(self as f64, 0.0)
            }

            fn from_c64(value: c64) -> Self {
                value.re as $t
            }
        }
    )*};
}

scalar_cells!(f16, bf16, f32, f64, c32, c64);
integer_cells!(i32, i64);

/// The position of a dense operand inside a longer buffer.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Frame {
    /// The number of rows; the length of a vector.
    pub rows: usize,
    /// The number of columns; 1 for a vector.
    pub cols: usize,
    /// Elements between the ends of neighbouring lines.
    pub padding: usize,
    /// The memory order.
    pub order: Order,
}

/// Guard words before and after an operand. Three, so that operands are not aligned by accident.
const GUARD: usize = 3;

impl Frame {
    /// A vector.
    pub fn vector(len: usize) -> Self {
        Self { rows: len, cols: 1, padding: 0, order: Order::ColMajor }
    }

    /// `count` vectors side by side, each with guard words of its own.
    pub fn vectors(len: usize, count: usize) -> Self {
        Self { rows: len, cols: count, padding: 2 * GUARD, order: Order::ColMajor }
    }

    fn lines(&self) -> (usize, usize) {
        match self.order {
            Order::RowMajor => (self.rows, self.cols),
            Order::ColMajor => (self.cols, self.rows),
        }
    }

    fn leading_dimension(&self) -> usize {
        self.lines().1 + self.padding
    }

    /// The elements of the operand, its padding included, within the buffer.
    fn range(&self) -> Range<usize> {
        GUARD..GUARD + self.lines().0 * self.leading_dimension()
    }

    /// The ranges of the rows (row-major) or columns (column-major) in the buffer, without their padding.
    fn line_ranges(&self) -> impl Iterator<Item = Range<usize>> {
        let ((lines, len), ld) = (self.lines(), self.leading_dimension());
        (0..lines).map(move |line| GUARD + line * ld..GUARD + line * ld + len)
    }

    /// The position of element (row, col) in the buffer.
    pub fn position(&self, row: usize, col: usize) -> usize {
        let (major, minor) = if self.order == Order::RowMajor { (row, col) } else { (col, row) };
        GUARD + major * self.leading_dimension() + minor
    }
}

/// A dense operand with its guard words, as the host writes and reads it.
#[derive(Debug, Clone, PartialEq)]
pub struct GuardedOperand {
    /// The position of the operand.
    pub frame: Frame,
    /// The whole buffer.
    pub cells: Vec<c64>,
}

/// The guard words of inputs: reading one shows in the result.
pub(crate) const POISON: c64 = c64::new(f64::NAN, 0.0);
/// The guard words of outputs; exact in every type.
const GUARD_WORD: c64 = c64::new(-113.0, 0.0);

impl GuardedOperand {
    fn surrounded(frame: Frame, guard: c64, element: impl Fn(usize, usize) -> c64) -> Self {
        let mut cells = vec![guard; frame.range().end + GUARD];
        for (major, line) in frame.line_ranges().enumerate() {
            for (minor, cell) in cells[line].iter_mut().enumerate() {
                *cell = match frame.order {
                    Order::RowMajor => element(major, minor),
                    Order::ColMajor => element(minor, major),
                };
            }
        }
        Self { frame, cells }
    }

    /// An input operand, surrounded by NaN.
    pub fn input(frame: Frame, element: impl Fn(usize, usize) -> c64) -> Self {
        Self::surrounded(frame, POISON, element)
    }

    /// An output operand, surrounded by guard words.
    pub fn output(frame: Frame, element: impl Fn(usize, usize) -> c64) -> Self {
        Self::surrounded(frame, GUARD_WORD, element)
    }

    /// An empty operand.
    pub fn none() -> Self {
        Self::output(Frame::vector(0), |_, _| POISON)
    }

    /// Element (row, col).
    pub fn at(&self, row: usize, col: usize) -> c64 {
        self.cells[self.frame.position(row, col)]
    }

    /// Column `col`.
    pub fn column(&self, col: usize) -> impl Fn(usize) -> c64 + '_ {
        move |row| self.at(row, col)
    }

    /// Vector `col` of [`Frame::vectors`] with its guard words.
    pub(crate) fn vector(&self, col: usize) -> Self {
        Self { frame: Frame::vector(self.frame.rows), cells: self.cells[self.vector_range(col)].to_vec() }
    }

    /// Copies a vector, as made by [`vector`](Self::vector), back with its guard words.
    pub(crate) fn set_vector(&mut self, col: usize, vector: &Self) {
        let range = self.vector_range(col);
        self.cells[range].copy_from_slice(&vector.cells);
    }

    fn vector_range(&self, col: usize) -> Range<usize> {
        let start = self.frame.position(0, col) - GUARD;
        start..start + self.frame.rows + 2 * GUARD
    }

    /// All elements, column by column, without guards and padding.
    pub fn elements(&self) -> impl Iterator<Item = c64> + '_ {
        let Frame { rows, cols, order, .. } = self.frame;
        let step = if order == Order::RowMajor { self.frame.leading_dimension() } else { 1 };
        let column = move |col| self.cells.iter().skip(self.frame.position(0, col)).step_by(step).take(rows);
        (0..cols).flat_map(column).copied()
    }

    /// The position of a guard or padding word that differs from that of `before`.
    pub(crate) fn broken_guard(&self, before: &Self) -> Option<usize> {
        let starts = iter::once(0).chain(self.frame.line_ranges().map(|line| line.end));
        let ends = self.frame.line_ranges().map(|line| line.start).chain([self.cells.len()]);
        let differs = |&k: &usize| !same_bits(self.cells[k], before.cells[k]);
        starts.zip(ends).find_map(|(start, end)| (start..end).find(differs))
    }

    /// True if every word has the same bits.
    pub(crate) fn same_bits(&self, other: &Self) -> bool {
        bytemuck::cast_slice::<_, u8>(&self.cells) == bytemuck::cast_slice::<_, u8>(&other.cells)
    }

    /// The position of the first word whose bits differ from those of `other`.
    pub(crate) fn first_difference(&self, other: &Self) -> Option<usize> {
        if self.same_bits(other) {
            return None;
        }
        let differs = |(a, b): (&c64, &c64)| !same_bits(*a, *b);
        let position = self.cells.iter().zip(&other.cells).position(differs);
        Some(position.unwrap_or(self.cells.len().min(other.cells.len())))
    }
}

/// True if two values have the same bits.
pub(crate) fn same_bits(a: c64, b: c64) -> bool {
    (a.re.to_bits(), a.im.to_bits()) == (b.re.to_bits(), b.im.to_bits())
}

/// An operand in the memory of a backend.
#[derive(Debug)]
pub(crate) struct DeviceOperand<B: Backend, E: Cell> {
    buffer: Buf<B, E>,
    uploaded: Vec<E>,
    frame: Frame,
}

impl<B: Backend, E: Cell> DeviceOperand<B, E> {
    pub(crate) fn new(backend: &B, memory: &GuardedOperand) -> Result<Self> {
        let uploaded: Vec<E> = memory.cells.iter().map(|&value| E::from_c64(value)).collect();
        Ok(Self { buffer: backend.upload(&uploaded)?, uploaded, frame: memory.frame })
    }

    pub(crate) fn vector(&self) -> ViewOf<'_, B, E> {
        SpaceOf::<B>::slice(SpaceOf::<B>::view(&self.buffer), self.frame.range())
    }

    pub(crate) fn vector_mut(&mut self) -> ViewMutOf<'_, B, E> {
        SpaceOf::<B>::slice_mut(SpaceOf::<B>::view_mut(&mut self.buffer), self.frame.range())
    }

    pub(crate) fn dense(&self) -> Result<DenseView<'_, E, SpaceOf<B>>> {
        let Frame { rows, cols, order, .. } = self.frame;
        DenseView::new(self.vector(), rows, cols, self.frame.leading_dimension(), order)
    }

    /// `members` members one below the other (row-major) or side by side (column-major).
    pub(crate) fn batch(&self, members: usize) -> Result<DenseBatchView<'_, E, SpaceOf<B>>> {
        let Frame { rows, cols, order, .. } = self.frame;
        let shape = if order == Order::RowMajor { (rows / members, cols) } else { (rows, cols / members) };
        let lines = if order == Order::RowMajor { shape.0 } else { shape.1 };
        let ld = self.frame.leading_dimension();
        DenseBatchView::new(self.vector(), members, lines * ld, shape, ld, order)
    }

    pub(crate) fn dense_mut(&mut self) -> Result<DenseViewMut<'_, E, SpaceOf<B>>> {
        let (frame, ld) = (self.frame, self.frame.leading_dimension());
        DenseViewMut::new(self.vector_mut(), frame.rows, frame.cols, ld, frame.order)
    }

    pub(crate) fn read(&self, backend: &B) -> Result<GuardedOperand> {
        let cells = backend.download(&self.buffer)?;
        Ok(GuardedOperand { frame: self.frame, cells: cells.into_iter().map(E::to_c64).collect() })
    }

    /// True if the buffer no longer has the bits that were uploaded.
    pub(crate) fn is_changed(&self, backend: &B) -> Result<bool> {
        let bytes = bytemuck::cast_slice::<E, u8>;
        Ok(bytes(&self.uploaded) != bytes(&backend.download(&self.buffer)?))
    }
}

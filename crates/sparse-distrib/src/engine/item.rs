//! The items of a run: matrices, or the parts of those that are cut.

use super::source::{DeviceMatrices, Source};
use super::worker::peak_bytes;
use crate::partition::{Part, Partition};
use sparse_core::backend::vec_with_capacity;
use sparse_core::error::checked_product;
use sparse_core::{ContextId, Error, Index, Order, Result, Scalar};
use std::ops::Range;

/// A matrix and the parts that it is cut into. A whole matrix is one part.
#[derive(Debug, Clone)]
pub(super) struct MatrixItems {
    pub(super) shape: (usize, usize),
    pub(super) partition: Partition,
    /// The position of the first part among the items.
    pub(super) first: usize,
}

impl MatrixItems {
    /// The positions of the parts among the items.
    pub(super) fn items(&self) -> Range<usize> {
        self.first..self.first + self.partition.parts()
    }

    pub(super) fn is_cut(&self) -> bool {
        self.partition.parts() > 1
    }
}

/// A part of a matrix that is compressed as a unit.
#[derive(Debug, Clone)]
pub(super) struct Item {
    /// The position of the matrix in the source.
    pub(super) matrix: usize,
    pub(super) part: Part,
    pub(super) order: Order,
    pub(super) elements: usize,
    /// Bytes of the elements.
    pub(super) bytes: u64,
    /// The device in whose memory the elements are.
    pub(super) device: Option<usize>,
}

impl Item {
    pub(super) fn shape(&self) -> (usize, usize) {
        self.part.shape()
    }

    /// Bytes that decide the size of a chunk: matrices without elements take memory too.
    pub(super) fn weight(&self) -> u64 {
        let (rows, cols) = self.shape();
        let lines = (rows.max(cols) as u64).saturating_add(1);
        self.bytes.saturating_add(lines.saturating_mul(size_of::<u64>() as u64))
    }

    /// The elements, if they are in the memory of a device.
    pub(super) fn on_device<'a, T: Scalar>(&self, source: &'a dyn Source<T>) -> Option<DeviceMatrices<'a>> {
        Some(source.on_device(self.matrix..self.matrix + 1)?.part(&self.part))
    }
}

/// The elements of items that are compressed together, if they are at equal distances in the memory of one device.
pub(super) fn on_device<'a, 'i, T: Scalar>(
    source: &'a dyn Source<T>,
    mut items: impl Iterator<Item = &'i Item>,
) -> Option<DeviceMatrices<'a>> {
    let first = items.next()?.on_device(source)?;
    items.try_fold(first, |all, item| all.joined(item.on_device(source)?))
}

/// The layouts of all matrices: by `partition`; without one, matrices are whole, except those that may need more than
/// `budget` bytes, which are cut into blocks of rows (CSR) or columns (CSC).
pub(super) fn layouts<T: Scalar, I: Index, O: Index>(
    source: &dyn Source<T>,
    partition: Option<Partition>,
    budget: u64,
    is_by_rows: bool,
) -> Result<Vec<MatrixItems>> {
    let mut first = 0_usize;
    let mut layout = |matrix| {
        let shape = source.shape(matrix);
        checked_product("rows x columns", shape.0, shape.1)?;
        let partition = match partition {
            Some(partition) => partition,
            None if is_by_rows => Partition::rows(blocks_within::<T, I, O>(budget, shape.0, shape.1))?,
            None => Partition::cols(blocks_within::<T, I, O>(budget, shape.1, shape.0))?,
        };
        let layout = MatrixItems { shape, partition, first };
        first = first.checked_add(partition.parts()).ok_or_else(|| Error::IndexOverflow {
            what: "the number of parts of all matrices".into(),
            value: first as u128 + partition.parts() as u128,
            target: "usize",
        })?;
        Ok(layout)
    };
    let mut layouts = vec_with_capacity(source.len())?;
    for matrix in 0..source.len() {
        layouts.push(layout(matrix)?);
    }
    Ok(layouts)
}

/// The number of blocks that `lines` rows of `length` elements are cut into, so that a device with `budget` bytes can
/// compress each even if all elements are entries. It is 1 if the whole matrix fits, and if not even one line does.
fn blocks_within<T: Scalar, I: Index, O: Index>(budget: u64, lines: usize, length: usize) -> usize {
    let peak = |lines: usize| {
        let elements = lines.saturating_mul(length);
        peak_bytes::<T, I, O>(lines.saturating_add(1), elements, elements)
    };
    if peak(lines) <= budget || peak(1) > budget {
        return 1;
    }
    // Half of the memory is for the results of earlier parts.
    let per_line = peak(1) - peak(0);
    let lines_of_block = ((budget / 2).saturating_sub(peak(0)) / per_line).max(1);
    (lines as u64).div_ceil(lines_of_block) as usize
}

/// The items of matrices with these layouts, for devices with these contexts.
///
/// # Errors
/// [`Error::OutOfMemory`] if the host cannot allocate the list of parts.
pub(super) fn items<T: Scalar>(
    source: &dyn Source<T>,
    layouts: &[MatrixItems],
    contexts: &[Option<ContextId>],
) -> Result<Vec<Item>> {
    let device = |matrix: usize| {
        let context = source.on_device(matrix..matrix + 1)?.context();
        contexts.iter().position(|&of_device| of_device == Some(context))
    };
    let item = |matrix: usize, part: Part| {
        let (rows, cols) = part.shape();
        let elements = rows * cols;
        let bytes = (elements as u64).saturating_mul(size_of::<T>() as u64);
        Item { matrix, part, order: source.order(matrix), elements, bytes, device: device(matrix) }
    };
    let mut items = vec_with_capacity(layouts.last().map_or(0, |last| last.items().end))?;
    for (matrix, layout) in layouts.iter().enumerate() {
        items.extend(layout.partition.iter(layout.shape).map(|part| item(matrix, part)));
    }
    Ok(items)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_fit_is_cut_into_blocks_that_do() {
        let blocks = |budget, lines, length| blocks_within::<f32, i32, i32>(budget, lines, length);
        // 4 x 6 elements: 96 bytes, and twice 5 offsets and 24 entries.
        let all = 96 + 2 * (5 * 4 + 24 * 8);
        assert_eq!((blocks(all, 4, 6), blocks(all - 1, 4, 6)), (1, 4));
        // A row alone: 24 bytes, and twice 2 offsets and 6 entries.
        let row = 24 + 2 * (2 * 4 + 6 * 8);
        assert_eq!((blocks(row, 4, 6), blocks(row - 1, 4, 6)), (4, 1));
        assert_eq!((blocks(u64::MAX, usize::MAX, 1), blocks(0, 0, 0), blocks(100, 0, usize::MAX)), (1, 1, 1));
    }
}

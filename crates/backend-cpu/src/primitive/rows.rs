//! Formats whose entries can be visited by rows.

use crate::parallel::{CHUNK, partition_point};
use sparse_core::{Axis, Compressed, Coo, Ell, Host, HostCsr, Hyb, Index, Order, Scalar, Sell};
use std::ops::Range;

/// A matrix whose rows can be visited one range at a time.
pub(crate) trait Rows<T>: Sync {
    /// Calls `visit` with (row, column, value) of the entries of a range of rows, those of each row in storage order.
    fn visit(&self, rows: Range<usize>, visit: impl FnMut(usize, usize, T));
}

/// Rows of CSR; of CSC its columns, that is the rows of the transpose.
impl<A: Axis, T: Scalar, I: Index, O: Index> Rows<T> for Compressed<A, T, Host, I, O> {
    #[inline]
    fn visit(&self, rows: Range<usize>, mut visit: impl FnMut(usize, usize, T)) {
        for i in rows {
            self.major_entries(i).for_each(|(j, value)| visit(i, j, value));
        }
    }
}

impl<T: Scalar, I: Index, O: Index> Rows<T> for HostCsr<T, I, O> {
    #[inline]
    fn visit(&self, rows: Range<usize>, mut visit: impl FnMut(usize, usize, T)) {
        let (offsets, indices, values) = (self.offsets(), self.indices(), self.values());
        for i in rows {
            for k in offsets[i].as_usize()..offsets[i + 1].as_usize() {
                visit(i, indices[k].as_usize(), values[k]);
            }
        }
    }
}

/// Requires rows in order.
impl<T: Scalar, I: Index> Rows<T> for Coo<T, Host, I> {
    #[inline]
    fn visit(&self, rows: Range<usize>, mut visit: impl FnMut(usize, usize, T)) {
        let (row_idx, col_idx, values) = (self.row_idx(), self.col_idx(), self.values());
        let first_of = |row| partition_point(0..self.nnz(), |k| row_idx[k].as_usize() < row);
        for k in first_of(rows.start)..first_of(rows.end) {
            visit(row_idx[k].as_usize(), col_idx[k].as_usize(), values[k]);
        }
    }
}

impl<T: Scalar, I: Index> Rows<T> for Ell<T, Host, I> {
    #[inline]
    fn visit(&self, rows: Range<usize>, mut visit: impl FnMut(usize, usize, T)) {
        for i in rows {
            self.row_entries(i).for_each(|(j, value)| visit(i, j, value));
        }
    }
}

/// The ELL part of all rows of the range, then the COO part.
impl<T: Scalar, I: Index> Rows<T> for Hyb<T, Host, I> {
    #[inline]
    fn visit(&self, rows: Range<usize>, mut visit: impl FnMut(usize, usize, T)) {
        self.ell().visit(rows.clone(), &mut visit);
        self.coo().visit(rows, visit);
    }
}

/// SELL with the stored position of every row.
pub(crate) struct SellRows<'a, T: Scalar, I: Index, O: Index> {
    sell: &'a Sell<T, Host, I, O>,
    position_of: Vec<usize>,
}

impl<'a, T: Scalar, I: Index, O: Index> SellRows<'a, T, I, O> {
    pub(crate) fn new(sell: &'a Sell<T, Host, I, O>) -> Self {
        let mut position_of = vec![0; sell.nrows()];
        for (position, row) in sell.row_order().iter().enumerate() {
            position_of[row.as_usize()] = position;
        }
        Self { sell, position_of }
    }
}

impl<T: Scalar, I: Index, O: Index> Rows<T> for SellRows<'_, T, I, O> {
    #[inline]
    fn visit(&self, rows: Range<usize>, mut visit: impl FnMut(usize, usize, T)) {
        for i in rows {
            self.sell.stored_row_entries(self.position_of[i]).for_each(|(j, value)| visit(i, j, value));
        }
    }
}

/// Rows of a block of a dense matrix: about [`CHUNK`] elements. Of one by columns at least 16, since each block has a
/// slice of each column, whose address and length take as much memory as a few elements.
pub(crate) fn rows_of_block(columns: usize, order: Order) -> usize {
    let rows = CHUNK.div_ceil(columns);
    if order == Order::ColMajor { rows.max(16) } else { rows }
}

/// Cuts lines of `line` elements, `stride` apart, into blocks of `block` elements: all parts of a block together,
/// in the order of the lines.
pub(crate) fn tiles_mut<T>(data: &mut [T], stride: usize, line: usize, block: usize) -> Vec<Vec<&mut [T]>> {
    let lines = data.len().div_ceil(stride.max(1));
    let mut tiles: Vec<Vec<&mut [T]>> =
        (0..line.div_ceil(block)).map(|_| Vec::with_capacity(lines)).collect();
    for whole in data.chunks_mut(stride.max(1)) {
        for (tile, part) in tiles.iter_mut().zip(whole[..line].chunks_mut(block)) {
            tile.push(part);
        }
    }
    tiles
}

/// Lines of `line` elements, `stride` apart, in groups of `block`.
pub(crate) fn lines_mut<T>(data: &mut [T], stride: usize, line: usize, block: usize) -> Vec<Vec<&mut [T]>> {
    in_groups(data.chunks_mut(stride).map(|whole| &mut whole[..line]), block)
}

/// Consecutive items in groups of `size`.
pub(crate) fn in_groups<T>(items: impl Iterator<Item = T>, size: usize) -> Vec<Vec<T>> {
    let mut items = items.peekable();
    let mut groups = vec![];
    while items.peek().is_some() {
        groups.push(items.by_ref().take(size).collect());
    }
    groups
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tiles_hold_a_block_of_every_line_and_no_padding() {
        let mut data = [0, 1, 2, 9, 10, 11, 12, 9, 20, 21, 22];
        let tiles = tiles_mut(&mut data, 4, 3, 2);
        assert_eq!(tiles[0], [[0, 1], [10, 11], [20, 21]]);
        assert_eq!(tiles[1], [[2], [12], [22]]);
    }
}

//! The stored entries of every format, with the slots that their values stand in.

use sparse_core::op::Op;
use sparse_core::{
    Axis, BatchCompressed, Compressed, CompressedRef, Coo, Ell, Host, HostCsr, Hyb, Index, Scalar, Sell,
    SparseFormat,
};

/// A matrix whose entries can be walked: as many block-diagonal members as a batch has, else one.
pub trait Entries: SparseFormat<Space = Host> {
    /// The type of row and column indices.
    type Index: Index;

    /// (rows, columns) of a member.
    fn member_shape(&self) -> (usize, usize) {
        (self.rows(), self.cols())
    }

    /// Calls `visit(member, row, column, slot)` for every entry, in storage order.
    fn for_each_entry(&self, visit: impl FnMut(usize, usize, usize, usize));

    /// The values by slot.
    fn slots(&self) -> Slots<'_, Self::Scalar>;
}

/// Values by slot; HYB has two arrays of them, the other formats one.
#[derive(Debug, Clone, Copy)]
pub struct Slots<'a, T> {
    first: &'a [T],
    second: &'a [T],
}

impl<'a, T: Copy> Slots<'a, T> {
    fn of(first: &'a [T]) -> Self {
        Self { first, second: &[] }
    }

    /// The value in `slot`.
    #[inline(always)]
    pub(crate) fn at(&self, slot: usize) -> T {
        match self.first.get(slot) {
            Some(&value) => value,
            None => self.second[slot - self.first.len()],
        }
    }
}

impl<A: Axis, T: Scalar, I: Index, O: Index> Entries for Compressed<A, T, Host, I, O> {
    type Index = I;

    fn for_each_entry(&self, mut visit: impl FnMut(usize, usize, usize, usize)) {
        for_each_stored(self.as_ref(), |row, col, slot| visit(0, row, col, slot));
    }

    fn slots(&self) -> Slots<'_, T> {
        Slots::of(self.values())
    }
}

impl<T: Scalar, I: Index, O: Index> Entries for HostCsr<T, I, O> {
    type Index = I;

    fn for_each_entry(&self, mut visit: impl FnMut(usize, usize, usize, usize)) {
        for_each_stored(self.as_ref(), |row, col, slot| visit(0, row, col, slot));
    }

    fn slots(&self) -> Slots<'_, T> {
        Slots::of(self.values())
    }
}

/// Calls `visit(row, column, slot)` for every entry of a compressed matrix.
fn for_each_stored<A: Axis, T: Scalar, I: Index, O: Index>(
    a: CompressedRef<'_, A, T, Host, I, O>,
    mut visit: impl FnMut(usize, usize, usize),
) {
    for major in 0..a.major {
        for slot in a.offsets[major].as_usize()..a.offsets[major + 1].as_usize() {
            let (row, col) = A::swap(major, a.indices[slot].as_usize());
            visit(row, col, slot);
        }
    }
}

impl<A: Axis, T: Scalar, I: Index, O: Index> Entries for BatchCompressed<A, T, Host, I, O> {
    type Index = I;

    fn member_shape(&self) -> (usize, usize) {
        self.member_shape()
    }

    fn for_each_entry(&self, mut visit: impl FnMut(usize, usize, usize, usize)) {
        for k in 0..self.count() {
            let first = self.member_range(k).start;
            for_each_stored(self.member(k), |row, col, slot| visit(k, row, col, first + slot));
        }
    }

    fn slots(&self) -> Slots<'_, T> {
        Slots::of(self.values())
    }
}

impl<T: Scalar, I: Index> Entries for Coo<T, Host, I> {
    type Index = I;

    fn for_each_entry(&self, mut visit: impl FnMut(usize, usize, usize, usize)) {
        for (slot, (row, col)) in self.row_idx().iter().zip(self.col_idx()).enumerate() {
            visit(0, row.as_usize(), col.as_usize(), slot);
        }
    }

    fn slots(&self) -> Slots<'_, T> {
        Slots::of(self.values())
    }
}

impl<T: Scalar, I: Index> Entries for Ell<T, Host, I> {
    type Index = I;

    fn for_each_entry(&self, mut visit: impl FnMut(usize, usize, usize, usize)) {
        for row in 0..self.rows() {
            for slot in (0..self.width()).map(|k| k * self.rows() + row) {
                match self.col_idx()[slot] {
                    col if col == I::PADDING => break,
                    col => visit(0, row, col.as_usize(), slot),
                }
            }
        }
    }

    fn slots(&self) -> Slots<'_, T> {
        Slots::of(self.values())
    }
}

impl<T: Scalar, I: Index, O: Index> Entries for Sell<T, Host, I, O> {
    type Index = I;

    fn for_each_entry(&self, mut visit: impl FnMut(usize, usize, usize, usize)) {
        for (position, row) in self.row_order().iter().enumerate() {
            for slot in self.pattern().slots(position) {
                match self.col_idx()[slot] {
                    col if col == I::PADDING => break,
                    col => visit(0, row.as_usize(), col.as_usize(), slot),
                }
            }
        }
    }

    fn slots(&self) -> Slots<'_, T> {
        Slots::of(self.values())
    }
}

impl<T: Scalar, I: Index> Entries for Hyb<T, Host, I> {
    type Index = I;

    fn for_each_entry(&self, mut visit: impl FnMut(usize, usize, usize, usize)) {
        let overflow = self.ell().values().len();
        self.ell().for_each_entry(&mut visit);
        self.coo().for_each_entry(|member, row, col, slot| visit(member, row, col, overflow + slot));
    }

    fn slots(&self) -> Slots<'_, T> {
        Slots { first: self.ell().values(), second: self.coo().values() }
    }
}

/// The entries of op(A) row by row: what CSR of op(A) would hold, with the slot of each value in place of the value,
/// so that values may change under it.
pub(crate) struct RowPattern<I> {
    pub(crate) offsets: Vec<i64>,
    pub(crate) columns: Vec<I>,
    pub(crate) slots: Vec<usize>,
}

impl<I: Index> RowPattern<I> {
    /// No rows.
    pub(crate) fn empty() -> Self {
        Self { offsets: vec![], columns: vec![], slots: vec![] }
    }

    /// By a counting sort, so that the entries of a row keep their order. Columns are those of the member.
    pub(crate) fn new<M: Entries<Index = I>>(a: &M, op: Op) -> Self {
        let (rows, _) = op.shape(a);
        let (member_rows, member_cols) = a.member_shape();
        let place = |member, row, col| {
            if op.transposes() {
                (member * member_cols + col, row)
            } else {
                (member * member_rows + row, col)
            }
        };
        let mut next = vec![0; rows + 1];
        a.for_each_entry(|member, row, col, _| next[place(member, row, col).0 + 1] += 1);
        for row in 0..rows {
            next[row + 1] += next[row];
        }
        let offsets = next.iter().map(|&offset| i64::cast(offset)).collect();
        let mut columns = vec![I::default(); a.nnz()];
        let mut slots = vec![0; a.nnz()];
        a.for_each_entry(|member, row, col, slot| {
            let (row, col) = place(member, row, col);
            columns[next[row]] = I::cast(col);
            slots[next[row]] = slot;
            next[row] += 1;
        });
        Self { offsets, columns, slots }
    }

    /// Bytes of the three arrays.
    pub(crate) fn bytes(&self) -> usize {
        size_of_val(self.offsets.as_slice())
            + size_of_val(self.columns.as_slice())
            + size_of_val(self.slots.as_slice())
    }
}

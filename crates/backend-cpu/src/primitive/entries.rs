//! The stored entries of every format, with the positions of their values.

use sparse_core::backend::{vec_with_capacity, zeroed_vec};
use sparse_core::op::Op;
use sparse_core::{
    Axis, BatchCompressed, Compressed, CompressedRef, Coo, Ell, Host, HostCsr, Hyb, Index, Result, Scalar,
    Sell, SparseFormat,
};

/// A matrix whose entries can be enumerated: one member, or the block-diagonal members of a batch.
pub trait Entries: SparseFormat<Space = Host> {
    /// The type of row and column indices.
    type Index: Index;

    /// (rows, columns) of a member.
    fn member_shape(&self) -> (usize, usize) {
        (self.nrows(), self.ncols())
    }

    /// Calls `visit(member, row, column, position)` for every entry, in storage order.
    fn for_each_entry(&self, visit: impl FnMut(usize, usize, usize, usize));

    /// The value arrays.
    fn value_arrays(&self) -> ValueArrays<'_, Self::Scalar>;
}

/// The value arrays of a matrix; HYB has two, the other formats one.
#[derive(Debug, Clone, Copy)]
pub struct ValueArrays<'a, T> {
    first: &'a [T],
    second: &'a [T],
}

impl<'a, T: Copy> ValueArrays<'a, T> {
    fn of(first: &'a [T]) -> Self {
        Self { first, second: &[] }
    }

    /// The value at `position`.
    #[inline(always)]
    pub(crate) fn at(&self, position: usize) -> T {
        match self.first.get(position) {
            Some(&value) => value,
            None => self.second[position - self.first.len()],
        }
    }
}

impl<A: Axis, T: Scalar, I: Index, O: Index> Entries for Compressed<A, T, Host, I, O> {
    type Index = I;

    fn for_each_entry(&self, mut visit: impl FnMut(usize, usize, usize, usize)) {
        for_each_stored(self.as_ref(), |row, col, position| visit(0, row, col, position));
    }

    fn value_arrays(&self) -> ValueArrays<'_, T> {
        ValueArrays::of(self.values())
    }
}

impl<T: Scalar, I: Index, O: Index> Entries for HostCsr<T, I, O> {
    type Index = I;

    fn for_each_entry(&self, mut visit: impl FnMut(usize, usize, usize, usize)) {
        for_each_stored(self.as_ref(), |row, col, position| visit(0, row, col, position));
    }

    fn value_arrays(&self) -> ValueArrays<'_, T> {
        ValueArrays::of(self.values())
    }
}

/// Calls `visit(row, column, position)` for every entry of a compressed matrix.
fn for_each_stored<A: Axis, T: Scalar, I: Index, O: Index>(
    a: CompressedRef<'_, A, T, Host, I, O>,
    mut visit: impl FnMut(usize, usize, usize),
) {
    for major in 0..a.major {
        for position in a.offsets[major].as_usize()..a.offsets[major + 1].as_usize() {
            let (row, col) = A::swap(major, a.indices[position].as_usize());
            visit(row, col, position);
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
            for_each_stored(self.member(k), |row, col, position| visit(k, row, col, first + position));
        }
    }

    fn value_arrays(&self) -> ValueArrays<'_, T> {
        ValueArrays::of(self.values())
    }
}

impl<T: Scalar, I: Index> Entries for Coo<T, Host, I> {
    type Index = I;

    fn for_each_entry(&self, mut visit: impl FnMut(usize, usize, usize, usize)) {
        for (position, (row, col)) in self.row_idx().iter().zip(self.col_idx()).enumerate() {
            visit(0, row.as_usize(), col.as_usize(), position);
        }
    }

    fn value_arrays(&self) -> ValueArrays<'_, T> {
        ValueArrays::of(self.values())
    }
}

impl<T: Scalar, I: Index> Entries for Ell<T, Host, I> {
    type Index = I;

    fn for_each_entry(&self, mut visit: impl FnMut(usize, usize, usize, usize)) {
        for row in 0..self.nrows() {
            for position in (0..self.width()).map(|k| k * self.nrows() + row) {
                match self.col_idx()[position] {
                    col if col == I::PADDING => break,
                    col => visit(0, row, col.as_usize(), position),
                }
            }
        }
    }

    fn value_arrays(&self) -> ValueArrays<'_, T> {
        ValueArrays::of(self.values())
    }
}

impl<T: Scalar, I: Index, O: Index> Entries for Sell<T, Host, I, O> {
    type Index = I;

    fn for_each_entry(&self, mut visit: impl FnMut(usize, usize, usize, usize)) {
        for (lane, row) in self.row_order().iter().enumerate() {
            for position in self.pattern().slots(lane) {
                match self.col_idx()[position] {
                    col if col == I::PADDING => break,
                    col => visit(0, row.as_usize(), col.as_usize(), position),
                }
            }
        }
    }

    fn value_arrays(&self) -> ValueArrays<'_, T> {
        ValueArrays::of(self.values())
    }
}

impl<T: Scalar, I: Index> Entries for Hyb<T, Host, I> {
    type Index = I;

    fn for_each_entry(&self, mut visit: impl FnMut(usize, usize, usize, usize)) {
        let overflow = self.ell().values().len();
        self.ell().for_each_entry(&mut visit);
        self.coo().for_each_entry(|member, row, col, position| visit(member, row, col, overflow + position));
    }

    fn value_arrays(&self) -> ValueArrays<'_, T> {
        ValueArrays { first: self.ell().values(), second: self.coo().values() }
    }
}

/// CSR of op(A) with the position of each value in place of the value, so that values may change.
pub(crate) struct RowPattern<I> {
    pub(crate) offsets: Vec<i64>,
    pub(crate) columns: Vec<I>,
    pub(crate) positions: Vec<usize>,
}

impl<I: Index> RowPattern<I> {
    /// A pattern without rows.
    pub(crate) fn empty() -> Self {
        Self { offsets: vec![], columns: vec![], positions: vec![] }
    }

    /// Builds the pattern. Columns are those of the member.
    ///
    /// # Errors
    /// [`OutOfMemory`](sparse_core::Error::OutOfMemory) for more rows than memory has offsets for.
    pub(crate) fn new<M: Entries<Index = I>>(a: &M, op: Op) -> Result<Self> {
        Self::with_columns(a, op, 0)
    }

    /// Builds the pattern of the block-diagonal matrix of the members.
    ///
    /// # Errors
    /// As for [`new`](Self::new).
    pub(crate) fn block_diagonal<M: Entries>(a: &M, op: Op) -> Result<Self> {
        let (member_rows, member_cols) = a.member_shape();
        let extent = if op.transposes() { member_rows } else { member_cols };
        Self::with_columns(a, op, extent)
    }

    /// Builds the pattern by a counting sort, so that the entries of a row stay in order; the columns of each member
    /// begin `step` behind those of the one before.
    fn with_columns<M: Entries>(a: &M, op: Op, step: usize) -> Result<Self> {
        let (rows, _) = op.shape(a);
        let (member_rows, member_cols) = a.member_shape();
        let place = |member, row, col| {
            if op.transposes() {
                (member * member_cols + col, row)
            } else {
                (member * member_rows + row, col)
            }
        };
        let mut next: Vec<usize> = zeroed_vec(rows.saturating_add(1))?;
        a.for_each_entry(|member, row, col, _| next[place(member, row, col).0 + 1] += 1);
        for row in 0..rows {
            next[row + 1] += next[row];
        }
        let mut offsets = vec_with_capacity(next.len())?;
        offsets.extend(next.iter().map(|&offset| i64::cast(offset)));
        let mut columns = vec![I::default(); a.nnz()];
        let mut positions = vec![0; a.nnz()];
        a.for_each_entry(|member, row, col, position| {
            let (row, col) = place(member, row, col);
            columns[next[row]] = I::cast(member * step + col);
            positions[next[row]] = position;
            next[row] += 1;
        });
        Ok(Self { offsets, columns, positions })
    }

    /// Bytes of the three arrays.
    pub(crate) fn bytes(&self) -> usize {
        size_of_val(self.offsets.as_slice())
            + size_of_val(self.columns.as_slice())
            + size_of_val(self.positions.as_slice())
    }
}

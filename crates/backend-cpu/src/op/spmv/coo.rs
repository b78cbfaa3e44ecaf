//! COO: entries in chunks where rows are in order, else sorted by rows in the plan.

use super::{Product, SEQUENTIAL, SpmvFormat, TRANSPOSED};
use crate::Cpu;
use crate::op::dot::dot;
use crate::op::pieces::{PIECE, Piece, Pieces, RowEnds};
use crate::parallel::chunks;
use crate::simd::Portable;
use sparse_core::op::Op;
use sparse_core::{Accumulator, Algorithm, Coo, Error, Host, Index, Matrix, Result, Scalar};

const STORED: &[Algorithm] = &[
    Algorithm::new("segmented", "rows are in order").preprocessing("chunks of entries"),
    Algorithm::new("sorted_rows", "rows are not in order")
        .preprocessing("the pattern by rows, with the slots of the values"),
    SEQUENTIAL,
];

impl<T: Scalar, I: Index> SpmvFormat for Coo<T, Host, I> {
    type Native = Pieces<T::Acc>;

    fn algorithms(op: Op) -> &'static [Algorithm] {
        if op.transposes() { TRANSPOSED } else { STORED }
    }

    fn automatic(&self, op: Op) -> (&'static str, String) {
        if op.transposes() {
            ("transposed_pattern", "entries are not in order of op(A)'s rows".into())
        } else if self.order().major_sorted {
            ("segmented", "rows are in order".into())
        } else {
            ("sorted_rows", "rows are not in order".into())
        }
    }

    fn prepare(&self, algorithm: &'static str) -> Result<Self::Native> {
        if !self.order().major_sorted {
            return Err(Error::unsupported(
                format!("spmv algorithm `{algorithm}` for coo"),
                "it needs rows in order; sort the matrix or take `sorted_rows`",
            ));
        }
        Ok(segments(self.rows(), self.row_idx()))
    }

    fn native_bytes(pieces: &Self::Native) -> usize {
        pieces.bytes()
    }

    unsafe fn multiply(&self, cpu: &Cpu, pieces: &mut Self::Native, product: Product<'_, T>) {
        let Product { x, y, update, conjugate } = product;
        pieces.run(
            cpu,
            y,
            |y, sum| update.write(y, sum),
            |piece, y| {
                let sum = |range: std::ops::Range<usize>| {
                    dot::<Portable, T, I>(&self.col_idx()[range.clone()], &self.values()[range], x, conjugate)
                };
                let ends = Segments(self.row_idx());
                piece.sums(ends, sum, |row, sum| update.write(&mut y[row], sum))
            },
        );
    }
}

/// Chunks of the entries of a matrix with rows in order; the rows before a chunk's first entry belong to the chunk
/// before it.
fn segments<I: Index, Acc: Accumulator>(rows: usize, row_idx: &[I]) -> Pieces<Acc> {
    let mut first_row = 0;
    let pieces = chunks(row_idx.len(), PIECE).into_iter().map(|entries| {
        let end_row = row_idx.get(entries.end).map_or(rows, |row| row.as_usize());
        let rows = first_row..end_row;
        first_row = end_row;
        Piece { member: 0, rows, entries }
    });
    Pieces::of(pieces.collect())
}

/// Rows in order, told by the row of each entry.
struct Segments<'a, I>(&'a [I]);

impl<I: Index> RowEnds for Segments<'_, I> {
    #[inline(always)]
    fn begins(&self, row: usize, entry: usize) -> bool {
        entry == 0 || self.0[entry - 1].as_usize() < row
    }

    #[inline(always)]
    fn end(&self, row: usize, entry: usize) -> usize {
        let same = self.0[entry..].iter().take_while(|r| r.as_usize() == row);
        entry + same.count()
    }
}

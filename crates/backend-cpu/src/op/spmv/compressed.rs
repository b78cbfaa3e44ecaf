//! CSR, CSC and batches of them in the direction that they are stored in.

use super::{Product, SEQUENTIAL, SpmvFormat, TRANSPOSED};
use crate::Cpu;
use crate::op::dot::dot;
use crate::op::entries::Entries;
use crate::op::lines::Lines;
use crate::op::pieces::{Carry, Cut, PIECE, Piece, Pieces};
use crate::op::update::Update;
use crate::simd::{Isa, Vectorize};
use sparse_core::op::{AccOf, Op};
use sparse_core::{Algorithm, Axis, BatchCompressed, Compressed, Host, Index, Result, Scalar};

const STORED: &[Algorithm] = &[
    Algorithm::new("row_per_thread", "no row is longer than a piece")
        .preprocessing("pieces of whole rows with equal entries"),
    Algorithm::new("merge_path", "a row is longer than a piece")
        .preprocessing("pieces with equal rows and entries"),
    SEQUENTIAL,
];

/// Compressed matrices of one shape: one matrix, or the members of a batch.
pub trait Members: Entries {
    /// The type of the offsets.
    type Offset: Index;
    /// Whether rows are compressed.
    const BY_ROWS: bool;

    /// The number of members.
    fn members(&self) -> usize;

    /// Member `k`.
    fn lines(&self, k: usize) -> Lines<'_, Self::Scalar, Self::Index, Self::Offset>;
}

impl<A: Axis, T: Scalar, I: Index, O: Index> Members for Compressed<A, T, Host, I, O> {
    type Offset = O;
    const BY_ROWS: bool = A::IS_ROW;

    fn members(&self) -> usize {
        1
    }

    fn lines(&self, _: usize) -> Lines<'_, T, I, O> {
        Lines::of(self.as_ref())
    }
}

impl<A: Axis, T: Scalar, I: Index, O: Index> Members for BatchCompressed<A, T, Host, I, O> {
    type Offset = O;
    const BY_ROWS: bool = A::IS_ROW;

    fn members(&self) -> usize {
        self.count()
    }

    fn lines(&self, k: usize) -> Lines<'_, T, I, O> {
        Lines::of(self.member(k))
    }
}

impl<M: Members> SpmvFormat for M {
    type Native = Pieces<AccOf<M>>;

    fn algorithms(op: Op) -> &'static [Algorithm] {
        if op.transposes() == M::BY_ROWS { TRANSPOSED } else { STORED }
    }

    fn automatic(&self, op: Op) -> (&'static str, String) {
        if op.transposes() == M::BY_ROWS {
            return ("transposed_pattern", "the entries of a row of op(A) do not stand together".into());
        }
        let lines = (0..self.members()).flat_map(|k| self.lines(k).offsets.windows(2));
        let longest = lines.map(|w| w[1].as_usize() - w[0].as_usize()).max().unwrap_or(0);
        let name = if longest > PIECE { "merge_path" } else { "row_per_thread" };
        (name, format!("the longest row has {longest} entries, a piece {PIECE}"))
    }

    fn prepare(&self, algorithm: &'static str) -> Result<Self::Native> {
        let cut = if algorithm == "merge_path" { Cut::MergePath } else { Cut::Rows };
        Ok(Pieces::cut(cut, (0..self.members()).map(|k| self.lines(k).offsets)))
    }

    fn native_bytes(pieces: &Self::Native) -> usize {
        pieces.bytes()
    }

    unsafe fn multiply(&self, cpu: &Cpu, pieces: &mut Self::Native, product: Product<'_, Self::Scalar>) {
        let Product { x, y, update, conjugate } = product;
        let cols = x.len() / self.members();
        pieces.run(
            cpu,
            y,
            |y, sum| update.write(y, sum),
            |piece, y| {
                let lines = self.lines(piece.member);
                let x = &x[piece.member * cols..][..cols];
                cpu.simd().run(PieceSums { piece, lines, x, y, update, conjugate })
            },
        );
    }
}

/// The rows of one piece.
struct PieceSums<'a, T: Scalar, I, O> {
    piece: &'a Piece,
    lines: Lines<'a, T, I, O>,
    x: &'a [T],
    y: &'a mut [T],
    update: Update<T::Acc>,
    conjugate: bool,
}

impl<T: Scalar, I: Index, O: Index> Vectorize for PieceSums<'_, T, I, O> {
    type Out = Carry<T::Acc>;

    #[inline(always)]
    fn run<S: Isa>(self) -> Carry<T::Acc> {
        let Self { piece, lines, x, y, update, conjugate } = self;
        let sum = |range: std::ops::Range<usize>| {
            dot::<S, T, I>(&lines.indices[range.clone()], &lines.values[range], x, conjugate)
        };
        piece.sums(lines.offsets, sum, |row, sum| update.write(&mut y[row], sum))
    }
}

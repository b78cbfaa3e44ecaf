//! The structures of all families under one name.

use super::bipartite::{Bipartite, Clauses, Program};
use super::mesh::{Circuit, Mesh};
use super::rows::{SEED, by_rows};
use crate::random::Seed;
use crate::uniform::distinct;
use crate::{band, power_law, rmat, uniform};
use sparse_core::error::{Result, checked_product};
use sparse_core::format::Csr;
use sparse_core::scalar::Scalar;

/// The structure of a matrix.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Structure {
    /// A mesh.
    Mesh(Mesh),
    /// A circuit.
    Circuit(Circuit),
    /// The constraints of a linear program.
    Program(Program),
    /// Clauses of variables.
    Clauses(Clauses),
    /// Two sides with power laws.
    Bipartite(Bipartite),
    /// An R-MAT graph: see [`rmat`].
    Rmat {
        /// The logarithm of the number of vertices, to base 2.
        scale: u32,
        /// Edges of each vertex.
        edges: usize,
        /// The probabilities of the quadrants.
        quadrants: [f64; 4],
    },
    /// A Chung-Lu graph: see [`power_law`].
    PowerLaw {
        /// Rows and columns.
        n: usize,
        /// Entries of a row, on average.
        average: usize,
        /// The exponent of the density of row lengths.
        exponent: f64,
        /// The length of the longest row.
        longest: usize,
    },
    /// Rows of one length in random columns: see [`uniform`].
    Uniform {
        /// Rows.
        rows: usize,
        /// Columns.
        cols: usize,
        /// Entries of a row.
        per_row: usize,
    },
    /// A full band: see [`band`].
    Band {
        /// Rows and columns.
        n: usize,
        /// Diagonals on either side of the main one.
        width: usize,
    },
    /// Full diagonals.
    Diagonals {
        /// Rows and columns.
        n: usize,
        /// Column minus row of each diagonal, ascending; those outside the matrix are left out.
        offsets: &'static [i32],
    },
    /// Dense diagonal blocks, and random entries.
    Blocks {
        /// Rows and columns.
        n: usize,
        /// The fewest and the most rows of a block.
        size: (usize, usize),
        /// Entries of a row in random columns.
        coupling: usize,
    },
    /// Empty rows, and others of 1 to `2·per_row − 1` entries in random columns.
    Scattered {
        /// Rows.
        rows: usize,
        /// Columns.
        cols: usize,
        /// The probability that a row is not empty.
        filled: f64,
        /// Entries of a row that is not empty, on average.
        per_row: usize,
    },
}

impl Structure {
    /// The matrix, with rows and columns divided by `divisor`; rows of dense structures get no shorter.
    pub(super) fn generate<T: Scalar>(&self, divisor: usize) -> Result<Csr<T>> {
        let part = |n: usize| n.div_ceil(divisor.max(1)).max(2);
        match *self {
            Self::Mesh(mesh) => mesh.generate(divisor),
            Self::Circuit(circuit) => circuit.generate(divisor),
            Self::Program(program) => program.generate(divisor),
            Self::Clauses(clauses) => clauses.generate(divisor),
            Self::Bipartite(sides) => sides.generate(divisor),
            Self::Rmat { scale, edges, quadrants } => {
                rmat(scale.saturating_sub(divisor.max(1).ilog2()).max(1), edges, quadrants, SEED)
            }
            Self::PowerLaw { n, average, exponent, longest } => {
                let n = part(n);
                power_law(n, average.min(n / 2), exponent, longest.min(n / 2), SEED)
            }
            Self::Uniform { rows, cols, per_row } => {
                uniform(part(rows), part(cols), per_row.min(part(cols)), SEED)
            }
            Self::Band { n, width } => band(part(n), width, width, SEED),
            Self::Diagonals { n, offsets } => diagonals(part(n), offsets),
            Self::Blocks { n, size, coupling } => blocks(part(n), size, coupling),
            Self::Scattered { rows, cols, filled, per_row } => {
                scattered(part(rows), part(cols), filled, per_row)
            }
        }
    }
}

fn diagonals<T: Scalar>(n: usize, offsets: &[i32]) -> Result<Csr<T>> {
    by_rows((n, n), checked_product("rows x diagonals", n, offsets.len())?, |row, _, out| {
        let columns = offsets.iter().filter_map(|&offset| row.checked_add_signed(offset as isize));
        out.extend(columns.filter(|&col| col < n).map(|col| col as u32));
    })
}

fn blocks<T: Scalar>(n: usize, (least, most): (usize, usize), coupling: usize) -> Result<Csr<T>> {
    let mut sizes = Seed::new(SEED).purpose(0);
    let (mut start, mut end) = (0, 0);
    by_rows((n, n), checked_product("rows x entries", n, most.min(n) + coupling)?, |row, stream, out| {
        if row == end {
            (start, end) = (row, n.min(row + least + sizes.below(most - least + 1)));
        }
        out.extend(start as u32..end as u32);
        out.extend((0..coupling).map(|_| stream.below(n) as u32));
    })
}

fn scattered<T: Scalar>(rows: usize, cols: usize, filled: f64, per_row: usize) -> Result<Csr<T>> {
    let most = checked_product("rows x entries", rows, per_row)?;
    by_rows((rows, cols), (most as f64 * filled) as usize, |_, stream, out| {
        if stream.chance(filled) {
            let length = 1 + stream.below(2 * per_row - 1);
            distinct(length.min(cols), cols, out, stream);
        }
    })
}

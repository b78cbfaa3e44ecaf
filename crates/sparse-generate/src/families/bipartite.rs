//! Matrices whose rows and columns are different things: constraints, clauses, ratings, nets, documents.

use super::rows::{by_rows, near};
use crate::random::Stream;
use crate::uniform::{distinct, fill_distinct};
use sparse_core::error::{Result, checked_product};
use sparse_core::format::Csr;
use sparse_core::scalar::Scalar;

fn divided(n: usize, divisor: usize) -> usize {
    n.div_ceil(divisor.max(1)).max(2)
}

/// The column of a row on the diagonal of a rectangular matrix.
fn center(row: usize, (rows, cols): (usize, usize)) -> usize {
    (row as u64 * cols as u64 / rows as u64) as usize
}

/// The constraints of a linear program: short rows in a staircase, and links with columns everywhere.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Program {
    /// Constraints.
    pub rows: usize,
    /// Variables.
    pub cols: usize,
    /// The fewest and the most entries of a constraint that is not a link.
    pub length: (usize, usize),
    /// Links, which are the first rows.
    pub links: usize,
    /// Entries of a link.
    pub link_length: usize,
}

impl Program {
    /// Fraction of entries that are far from the others of their row.
    const FAR: f64 = 1.0 / 16.0;

    pub(super) fn generate<T: Scalar>(&self, divisor: usize) -> Result<Csr<T>> {
        let shape @ (rows, cols) = (divided(self.rows, divisor), divided(self.cols, divisor));
        let links = self.links.min(rows / 2);
        let link_length = self.link_length.div_ceil(divisor.max(1)).min(cols);
        let (least, most) = self.length;
        let entries = checked_product("rows x entries", rows, (least + most) / 2 + 1)? + links * link_length;
        by_rows(shape, entries, |row, stream, out| {
            if row < links {
                return distinct(link_length, cols, out, stream);
            }
            let at = center(row, shape);
            let count = least + stream.below(most - least + 1);
            out.extend((0..count).map(|_| match stream.chance(Self::FAR) {
                true => stream.below(cols) as u32,
                false => near(at, 8 * most, cols, stream),
            }));
        })
    }
}

/// Clauses of a formula: 2 or 3 variables, one clause in ten has more; variables are near each other, or popular.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Clauses {
    /// Clauses.
    pub clauses: usize,
    /// Variables.
    pub variables: usize,
    /// The most variables of a clause.
    pub longest: usize,
}

impl Clauses {
    /// Number of variables that the near variables of a clause are drawn from.
    const WINDOW: usize = 256;

    pub(super) fn generate<T: Scalar>(&self, divisor: usize) -> Result<Csr<T>> {
        let shape @ (rows, cols) = (divided(self.clauses, divisor), divided(self.variables, divisor));
        by_rows(shape, checked_product("clauses x variables", rows, 3)?, |row, stream, out| {
            let at = center(row, shape);
            let count = match stream.below(20) {
                0..11 => 2,
                11..18 => 3,
                _ => 4 + stream.below(self.longest - 3),
            };
            out.extend((0..count).map(|_| match stream.below(10) {
                0..7 => near(at, Self::WINDOW, cols, stream),
                _ => popular(cols, 3.0, stream),
            }));
        })
    }
}

/// Rows and columns whose lengths follow power laws.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bipartite {
    /// Rows.
    pub rows: usize,
    /// Columns.
    pub cols: usize,
    /// The length of the shortest row, and of the longest; no row has more than half of the columns.
    pub length: (usize, usize),
    /// The exponent of the density of row lengths, above 1.
    pub exponent: f64,
    /// The exponent p of popularity: for a uniform u, column `floor(cols·uᵖ)` in order of popularity; 1 makes all
    /// equally likely.
    /// popular.
    pub popularity: f64,
    /// Number of columns that those of a row are drawn from, as a multiple of its length; 0 for all of them.
    pub window: usize,
}

impl Bipartite {
    /// Rounds of draws by popularity before missing columns are drawn uniformly.
    const ROUNDS: usize = 4;

    pub(super) fn generate<T: Scalar>(&self, divisor: usize) -> Result<Csr<T>> {
        let shape @ (rows, cols) = (divided(self.rows, divisor), divided(self.cols, divisor));
        let longest = self.length.1.min(cols / 2);
        by_rows(shape, checked_product("rows x entries", rows, 2 * self.length.0)?, |row, stream, out| {
            let length = self.length.0 as f64 * libm::pow(stream.unit(), -1.0 / (self.exponent - 1.0));
            let length = (length as usize).min(longest);
            let (at, width) = (center(row, shape), self.window * length);
            fill_distinct(length, out, |round| match round {
                Self::ROUNDS.. => stream.below(cols) as u32,
                _ if self.window > 0 => near(at, width, cols, stream),
                _ => popular(cols, self.popularity, stream),
            });
        })
    }
}

/// A column by popularity: the `floor(cols·u^power)`-th most popular one. Popular columns are far from each other.
fn popular(cols: usize, power: f64, stream: &mut Stream) -> u32 {
    /// A prime above every number of columns.
    const STRIDE: u64 = 2_654_435_761;
    let rank = (cols as f64 * libm::pow(stream.unit(), power)) as u64;
    (rank * STRIDE % cols as u64) as u32
}

//! The rows of a triangle by levels.

use super::Triangular;

/// The rows of a triangle by levels: those of one level need only rows of levels before it.
///
/// ```
/// use sparse_core::op::{Levels, Triangular};
///
/// let levels = Levels::new(Triangular::upper(), &[1, 0, 2, 0]);
/// assert_eq!((levels.rows(), levels.starts()), (&[3, 1, 0, 2][..], &[0, 2, 3, 4][..]));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Levels {
    rows: Vec<usize>,
    starts: Vec<usize>,
}

impl Levels {
    /// Orders the rows by `levels`, the level of each.
    pub fn new(system: Triangular, levels: &[usize]) -> Self {
        let count = levels.iter().max().map_or(0, |highest| highest + 1);
        let mut starts = vec![0; count + 1];
        levels.iter().for_each(|&level| starts[level + 1] += 1);
        (0..count).for_each(|level| starts[level + 1] += starts[level]);
        let (mut next, mut rows) = (starts.clone(), vec![0; levels.len()]);
        for row in system.rows(levels.len()) {
            let place = &mut next[levels[row]];
            rows[*place] = row;
            *place += 1;
        }
        Self { rows, starts }
    }

    /// All rows, level by level, those of one level in the order of substitution.
    pub fn rows(&self) -> &[usize] {
        &self.rows
    }

    /// The first position of each level among [`rows`](Self::rows), and the number of rows.
    pub fn starts(&self) -> &[usize] {
        &self.starts
    }

    /// The number of levels.
    pub fn count(&self) -> usize {
        self.starts.len() - 1
    }
}

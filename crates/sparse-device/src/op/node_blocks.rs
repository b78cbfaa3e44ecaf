//! The search for square blocks: the rows of a node with several unknowns have the same columns, in runs of as many.

use crate::Device;
use crate::lanes::LANES;
use crate::primitive::raw::RawCompressed;
use sparse_core::{Backend, Result};

/// The file of the kernels.
pub(super) const FILE: &str = "node_blocks";

/// Lanes of a node, at least: `LANES` of the kernels.
pub(super) const LANES_OF_NODE: usize = 8;

/// Entries of a row for each lane that looks for blocks, where rows are long.
const ENTRIES_OF_LANE: usize = 8;

/// The most unknowns of a node: `MOST_UNKNOWNS` of the kernels.
const MOST_UNKNOWNS: usize = 6;

/// A set of numbers of unknowns per node, from 2 to [`MOST_UNKNOWNS`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Unknowns {
    bits: u32,
}

impl Unknowns {
    /// The numbers whose blocks a matrix of this shape and number of entries may have.
    pub(super) fn possible(a: RawCompressed<'_>) -> Self {
        Self::dividing(a.rows, a.cols, a.nnz())
    }

    fn dividing(rows: usize, cols: usize, nnz: usize) -> Self {
        let is_divided =
            |&n: &usize| rows.is_multiple_of(n) && cols.is_multiple_of(n) && nnz.is_multiple_of(n * n);
        let numbers = (2..=MOST_UNKNOWNS).filter(|n| nnz > 0 && is_divided(n));
        Self { bits: numbers.map(|n| 1 << n).sum() }
    }

    /// The numbers that are in both sets.
    pub(super) fn and(self, other: Self) -> Self {
        Self { bits: self.bits & other.bits }
    }

    /// The largest, or 1 if there is none, which makes each entry a block.
    pub(super) fn largest(self) -> usize {
        self.bits.checked_ilog2().map_or(1, |bit| bit as usize)
    }
}

impl Device {
    /// The most unknowns of a node for which all entries are in square blocks, or 1.
    pub(super) fn most_unknowns(&self, a: RawCompressed<'_>) -> Result<usize> {
        self.unknowns_of_nodes(a, Unknowns::possible(a)).map(Unknowns::largest)
    }

    /// The numbers among `unknowns` for which all entries are in square blocks. Reads the columns, unless there are
    /// none.
    pub(super) fn unknowns_of_nodes(&self, a: RawCompressed<'_>, unknowns: Unknowns) -> Result<Unknowns> {
        if unknowns.bits == 0 {
            return Ok(unknowns);
        }
        let find = self.kernel(FILE, "node_blocks_find", a.defines())?;
        let found = self.zeros::<u32>(1)?;
        let lanes = a.mean_length().next_power_of_two() / ENTRIES_OF_LANE;
        let lanes = lanes.clamp(LANES_OF_NODE, LANES);
        let launch = self.launch(&find).size(a.rows).size(lanes).value(unknowns.bits).buffer(a.offsets);
        launch.buffer(a.indices).buffer(&found).warps_at_once(a.rows)?;
        Ok(Unknowns { bits: unknowns.bits & !self.download(&found)?[0] })
    }
}

#[cfg(test)]
mod tests {
    use super::Unknowns;

    #[test]
    fn blocks_may_be_of_what_divides_rows_columns_and_entries() {
        let bits = |rows, cols, nnz| Unknowns::dividing(rows, cols, nnz).bits;
        assert_eq!(bits(12, 12, 144), 1 << 2 | 1 << 3 | 1 << 4 | 1 << 6);
        assert_eq!(bits(12, 12, 36), 1 << 2 | 1 << 3 | 1 << 6);
        assert_eq!(bits(12, 9, 36), 1 << 3);
        assert_eq!(bits(7, 7, 49), 0);
        assert_eq!(bits(4, 4, 0), 0);
    }

    #[test]
    fn the_largest_number_is_chosen() {
        let of = |rows, nnz| Unknowns::dividing(rows, rows, nnz);
        assert_eq!(of(12, 144).largest(), 6);
        assert_eq!(of(12, 144).and(of(4, 16)).largest(), 4);
        assert_eq!(of(7, 49).largest(), 1);
    }
}

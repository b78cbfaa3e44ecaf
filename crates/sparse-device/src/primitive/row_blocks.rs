//! Row blocks: consecutive rows, with about the same number of rows plus entries in each block. A row that spans
//! several blocks has a partial sum in each.

use super::partial_sums::{PartialSums, SplitRows};
use super::planned_rows::PlannedRows;
use super::prefix_sum::PrefixSum;
use crate::Buffer;
use crate::launch::Launch;
use sparse_core::Result;

/// The file of the kernels.
const FILE: &str = "csr_row_blocks";

/// The blocks of a matrix's rows, and partial sums of rows that have several.
#[derive(Debug)]
pub(crate) struct RowBlocks {
    /// Number of blocks.
    pub(crate) count: usize,
    /// First row and first entry of each block, in turn.
    starts: Buffer<i64>,
    /// For each block, the index of its partial sum, if it has one.
    slots: Buffer<i64>,
    pub(crate) sums: PartialSums,
}

impl RowBlocks {
    /// Blocks of `size` rows and entries, for a product with `columns` columns.
    pub(crate) fn new(rows: &PlannedRows<'_>, size: usize, columns: usize) -> Result<Self> {
        let &PlannedRows { backend, a, ref lengths, .. } = rows;
        let kernel = |entry| backend.kernel(FILE, entry, a.defines());
        let count = (a.rows + a.nnz()) / size + 1;
        let numbers = || backend.allocate::<i64>(count + 1);
        let starts = backend.allocate::<i64>(2 * (count + 1))?;
        let search = kernel("csr_row_blocks_search")?;
        let launch = backend.launch(&search).size(count).size(size).size(a.rows).buffer(a.offsets);
        launch.buffer(&starts).items(count + 1)?;

        let (slots, split_numbers) = (numbers()?, numbers()?);
        let counts = kernel("csr_row_blocks_count")?;
        let launch = backend.launch(&counts).size(count).size(size).buffer(&starts);
        launch.buffer(&slots).buffer(&split_numbers).items(count + 1)?;
        let sum = PrefixSum::series(backend, count + 1)?;
        let partials = sum.starts_and_sum(backend, &slots)?;
        let splits = sum.starts_and_sum(backend, &split_numbers)?;

        let split = SplitRows::allocate(backend, splits)?;
        let fill = kernel("csr_row_blocks_fill")?;
        let launch = backend.launch(&fill).size(count).buffer(&starts).buffer(&slots).buffer(&split_numbers);
        launch.buffer(&split.rows).buffer(&split.starts).items(count + 1)?;

        let longest = if splits > 0 { lengths.longest()? } else { 0 };
        let sums = PartialSums::new(backend, a.dtype, split, (partials, longest / size), columns)?;
        Ok(Self { count, starts, slots, sums })
    }

    /// Adds the blocks to the arguments of a launch.
    pub(crate) fn arguments<'a>(&'a self, launch: Launch<'a>) -> Launch<'a> {
        launch.buffer(&self.starts).buffer(&self.slots)
    }

    /// Bytes on the device.
    pub(crate) fn bytes(&self) -> usize {
        self.starts.bytes() + self.slots.bytes() + self.sums.bytes()
    }
}

//! Row blocks: neighbouring rows that together have about as many rows and entries as any other block. A row that has
//! entries in several blocks leaves a partial sum in each, and a second kernel adds these in order.

use super::prefix_sum::PrefixSum;
use super::raw::RawCompressed;
use crate::buffer::RawBuffer;
use crate::driver::Value;
use crate::lanes::LANES;
use crate::launch::Launch;
use crate::operand::DenseOperand;
use crate::{Buffer, Device, Kernel};
use sparse_core::Result;
use sparse_core::error::checked_product;

/// The file of the kernels.
const FILE: &str = "csr_row_blocks";

/// The largest work-group that adds partial sums: `MAX_THREADS` of the kernels.
const MAX_THREADS: usize = 1024;

/// Partial sums of a row that a work-item adds in turn, where there are work-items enough.
const PIECES_IN_TURN: usize = 4;

/// The blocks of a matrix's rows, and partial sums of rows that have several.
#[derive(Debug)]
pub(crate) struct RowBlocks {
    /// Number of blocks.
    pub(crate) count: usize,
    /// Columns of a partial sum.
    columns: usize,
    /// First row and first entry of each block, in turn.
    starts: Buffer<i64>,
    /// For each block, the index of its partial sum, if it has one.
    slots: Buffer<i64>,
    partial: RawBuffer,
    /// Rows with partial sums.
    splits: usize,
    split_rows: Buffer<i64>,
    /// First partial sum of each of these rows.
    split_starts: Buffer<i64>,
    /// Work-items that add the partial sums of a row.
    threads: usize,
    sums: Kernel,
}

impl RowBlocks {
    /// Blocks of `size` rows and entries, for a product with `columns` columns.
    pub(crate) fn new(backend: &Device, a: RawCompressed<'_>, size: usize, columns: usize) -> Result<Self> {
        let kernel = |entry| backend.kernel_of(a.dtype, FILE, entry, a.defines());
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
        let pieces = sum.starts_and_sum(backend, &slots)?;
        let splits = sum.starts_and_sum(backend, &split_numbers)?;

        let (split_rows, split_starts) = (backend.allocate(splits)?, backend.allocate(splits + 1)?);
        let fill = kernel("csr_row_blocks_fill")?;
        let launch = backend.launch(&fill).size(count).buffer(&starts).buffer(&slots).buffer(&split_numbers);
        launch.buffer(&split_rows).buffer(&split_starts).items(count + 1)?;

        let longest = if splits > 0 { backend.longest_row(a.offsets)? } else { 0 };
        let largest = backend.properties().largest_group.min(MAX_THREADS);
        let side_by_side = (longest / size / PIECES_IN_TURN).max(1) * columns.clamp(1, LANES);
        let partial = checked_product("partial sums x columns", pieces, columns)?;
        Ok(Self {
            count,
            columns,
            starts,
            slots,
            partial: backend.allocate_raw(partial, a.dtype.accumulator().bytes())?,
            splits,
            split_rows,
            split_starts,
            threads: side_by_side.next_power_of_two().clamp(LANES, 1 << largest.ilog2()),
            sums: kernel("csr_row_blocks_sums")?,
        })
    }

    /// Adds the blocks to the arguments of a launch.
    pub(crate) fn arguments<'a>(&'a self, launch: Launch<'a>) -> Launch<'a> {
        launch.buffer(&self.starts).buffer(&self.slots)
    }

    /// The partial sums, the last argument of a product's kernel.
    pub(crate) fn partial(&self) -> &RawBuffer {
        &self.partial
    }

    /// Adds the partial sums to `c`, which has at most the plan's columns.
    pub(crate) fn add_pieces(
        &self,
        backend: &Device,
        alpha: Value,
        beta: Value,
        c: DenseOperand<'_>,
    ) -> Result<()> {
        if self.splits == 0 {
            return Ok(());
        }
        let launch = backend.launch(&self.sums).size(self.splits).size(self.columns);
        let launch = launch.buffer(&self.split_rows).buffer(&self.split_starts);
        let launch = launch.factor(alpha).factor(beta).dense(c).buffer(&self.partial);
        launch.early().group_per_row(self.splits * self.columns.div_ceil(LANES), self.threads)
    }

    /// Bytes on the device.
    pub(crate) fn bytes(&self) -> usize {
        let arrays = [&self.starts, &self.slots, &self.split_rows, &self.split_starts];
        self.partial.bytes() + arrays.iter().map(|array| array.bytes()).sum::<usize>()
    }
}

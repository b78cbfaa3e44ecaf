//! Rows cut into chunks, so that long ones are shared by many warps.

use super::radix_sort::{Pairs, radix_sort};
use super::scan::Scan;
use crate::program::Defines;
use crate::{Buffer, Device, Driver};
use sparse_core::{Index, Result};

/// The file of the kernels.
pub(super) const FILE: &str = "csr_chunks";

/// Entries of a chunk, at most: `CHUNK` of the kernels.
pub(super) const CHUNK: usize = 256;

/// Bits of a key: of a number up to [`CHUNK`].
const KEY_BITS: u32 = CHUNK.ilog2() + 1;

/// The chunks of the rows of a matrix, and in which order they are taken: the longest first.
#[derive(Debug)]
pub(super) struct Chunks<D: Driver> {
    /// How many there are.
    pub(super) count: usize,
    /// How many of them are of rows with several.
    pub(super) splits: usize,
    pub(super) order: Buffer<D, i64>,
    pub(super) rows: Buffer<D, i64>,
    pub(super) starts: Buffer<D, i64>,
    pub(super) split_starts: Buffer<D, i64>,
    pub(super) split_rows: Buffer<D, i64>,
}

impl<D: Driver> Chunks<D> {
    /// The chunks of the `rows` rows between these offsets.
    pub(super) fn new<I: Index, O: Index>(
        backend: &Device<D>,
        rows: usize,
        offsets: &Buffer<D, O>,
    ) -> Result<Self> {
        let kernel = |entry| backend.kernel(FILE, entry, Defines::default().index::<I>().offset::<O>());
        let (mut starts, mut split_starts) = (backend.allocate(rows + 1)?, backend.allocate(rows + 1)?);
        let count = kernel("csr_chunks_count")?;
        let launch = backend.launch(&count).size(rows).buffer(offsets);
        launch.buffer(&starts).buffer(&split_starts).items(rows + 1)?;
        let scan = Scan::series(backend, rows + 1)?;
        let count = scan.starts_and_sum(backend, &mut starts)?;
        let splits = scan.starts_and_sum(backend, &mut split_starts)?;

        let (chunk_rows, split_rows) = (backend.allocate(count)?, backend.allocate(splits)?);
        let pairs: Pairs<D, i32> = Pairs::new(backend, count)?;
        let fill = kernel("csr_chunks_fill")?;
        let launch = backend.launch(&fill).size(rows).buffer(offsets).buffer(&starts).buffer(&split_starts);
        let launch = launch.buffer(&chunk_rows).buffer(&split_rows);
        launch.buffer(&pairs.keys).buffer(&pairs.positions).items(rows)?;
        let order = radix_sort(backend, pairs, KEY_BITS)?.positions;
        Ok(Self { count, splits, order, rows: chunk_rows, starts, split_starts, split_rows })
    }

    /// Bytes of the plan.
    pub(super) fn bytes(&self) -> usize {
        let arrays = [&self.order, &self.rows, &self.starts, &self.split_starts, &self.split_rows];
        arrays.iter().map(|array| array.bytes()).sum()
    }
}

//! Rows cut into chunks, so that many warps can work on a long row; or whole rows, the longest first.

use super::partial_sums::SplitRows;
use super::prefix_sum::PrefixSum;
use super::radix_sort::radix_sort;
use super::raw::RawCompressed;
use crate::index_type::IndexType;
use crate::{Buffer, Device};
use sparse_core::{Backend, Result};

/// The file of the kernels.
const FILE: &str = "csr_chunks";

/// Entries that a chunk has at least, where there are few entries.
pub(crate) const SMALLEST: usize = 32;

/// Chunks per compute unit from which on smaller ones gain nothing.
const CHUNKS_PER_UNIT: usize = 64;

/// Class bits that make every length a class of its own.
const EXACT: u32 = i32::BITS - 1;

/// The most partial sums of a row, where each of its chunks has one.
const ONE_PER_CHUNK: usize = i64::MAX as usize;

/// The class of `entries` in the kernels' numbering: lengths of one class have the same highest `bits` + 1 bits.
fn length_class(entries: usize, bits: u32) -> usize {
    let low = (usize::BITS - entries.leading_zeros()).saturating_sub(bits + 1);
    ((low as usize) << bits) + (entries >> low)
}

/// The chunks of a matrix's rows in processing order: the longest first, by classes of lengths, and within a class in
/// the order of the matrix. The constructors also return the rows that have several chunks.
#[derive(Debug)]
pub(crate) struct Chunks {
    /// Number of chunks.
    pub(crate) count: usize,
    pub(crate) begins: Buffer<i64>,
    pub(crate) lengths: Buffer<i32>,
    pub(crate) rows: Buffer<i64>,
    /// Index of a chunk's partial sums; −1 for a whole row.
    pub(crate) sum_index: Buffer<i64>,
    /// The entries of a chunk, at most.
    pub(crate) most: usize,
    /// Number of partial sums.
    pub(crate) partials: usize,
    /// True if the chunks of a row add to one partial sum.
    pub(crate) share_sums: bool,
}

impl Chunks {
    /// The chunks of a matrix's rows, of at most `largest` entries, about `more` · [`CHUNKS_PER_UNIT`] per compute
    /// unit, or half as many if they are processed several `times`. Lengths whose highest `class_bits` + 1 bits agree
    /// are one class: with few bits, neighbouring rows that read the same memory stay together.
    pub(crate) fn new(
        backend: &Device,
        a: RawCompressed<'_>,
        (times, more, largest): (usize, usize, usize),
        class_bits: u32,
    ) -> Result<(Self, SplitRows)> {
        let wanted = backend.caps().compute_units * CHUNKS_PER_UNIT * more / times.clamp(1, 2);
        let most = (1 << (a.nnz() / wanted).max(1).ilog2()).clamp(SMALLEST, largest);
        Self::of(backend, a, most, class_bits, ONE_PER_CHUNK)
    }

    /// Chunks of at most `most` entries; those of a row share one partial sum.
    pub(crate) fn with_shared_sums(
        backend: &Device,
        a: RawCompressed<'_>,
        most: usize,
    ) -> Result<(Self, SplitRows)> {
        Self::of(backend, a, most, 0, 1)
    }

    /// Chunks of at most `most` entries.
    pub(crate) fn tiles(backend: &Device, a: RawCompressed<'_>, most: usize) -> Result<(Self, SplitRows)> {
        Self::of(backend, a, most, 0, ONE_PER_CHUNK)
    }

    /// Whole rows; the longest has `longest` entries, at most [`i32::MAX`].
    pub(crate) fn whole_rows(
        backend: &Device,
        a: RawCompressed<'_>,
        longest: usize,
    ) -> Result<(Self, SplitRows)> {
        Self::of(backend, a, longest.max(1), EXACT, ONE_PER_CHUNK)
    }

    /// Chunks of at most `most` entries, in the order of their classes; a row has at most `most_sums` partial sums.
    fn of(
        backend: &Device,
        a: RawCompressed<'_>,
        most: usize,
        class_bits: u32,
        most_sums: usize,
    ) -> Result<(Self, SplitRows)> {
        let (rows, offsets) = (a.rows, a.offsets);
        let key_bits = length_class(most, class_bits).max(1).ilog2() + 1;
        let kernel = |entry| backend.kernel(FILE, entry, a.defines());
        let counts = || backend.allocate::<i64>(rows + 1);
        let (starts, numbers, partial_starts) = (counts()?, counts()?, counts()?);
        let count = kernel("csr_chunks_count")?;
        let launch = backend.launch(&count).size(rows).size(most).size(most_sums).buffer(offsets);
        launch.buffer(&starts).buffer(&numbers).buffer(&partial_starts).items(rows + 1)?;
        let sum = PrefixSum::series(backend, rows + 1)?;
        let count = sum.starts_and_sum(backend, &starts)?;
        let splits = sum.starts_and_sum(backend, &numbers)?;
        let partials = sum.starts_and_sum(backend, &partial_starts)?;

        let chunk_rows: Buffer<i64> = backend.allocate(count)?;
        let split = SplitRows::allocate(backend, splits)?;
        let keys: Buffer<i32> = backend.allocate(count)?;
        let fill = kernel("csr_chunks_fill")?;
        let launch = backend.launch(&fill).size(rows).size(most).size(class_bits as usize).buffer(offsets);
        let launch = launch.buffer(&starts).buffer(&numbers).buffer(&partial_starts).buffer(&chunk_rows);
        launch.buffer(&split.rows).buffer(&split.starts).buffer(&keys).items(rows + 1)?;
        let order = radix_sort(backend, keys.raw, None, IndexType::I64, 0..key_bits)?.positions;

        let (begins, lengths) = (backend.allocate(count)?, backend.allocate(count)?);
        let (rows, sum_index) = (backend.allocate(count)?, backend.allocate(count)?);
        let describe = kernel("csr_chunks_order")?;
        let launch = backend.launch(&describe).size(count).size(most).buffer(offsets).positions(&order);
        let launch = launch.buffer(&chunk_rows).buffer(&starts).buffer(&partial_starts);
        launch.buffer(&begins).buffer(&lengths).buffer(&rows).buffer(&sum_index).items(count)?;
        let share_sums = most_sums == 1;
        Ok((Self { count, begins, lengths, rows, sum_index, most, partials, share_sums }, split))
    }

    /// Bytes of the chunks themselves.
    pub(crate) fn bytes(&self) -> usize {
        let arrays = [&self.begins, &self.rows, &self.sum_index];
        self.lengths.bytes() + arrays.iter().map(|array| array.bytes()).sum::<usize>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn longer_rows_have_no_smaller_class() {
        for bits in [0, 1, 3, EXACT] {
            let classes: Vec<usize> = (0..2000).map(|entries| length_class(entries, bits)).collect();
            assert!(classes.is_sorted_by(|a, b| a == b || a + 1 == *b), "{bits} bits leave no gaps");
        }
        assert_eq!([0, 1, 2, 3, 4, 7, 8].map(|entries| length_class(entries, 0)), [0, 1, 2, 2, 3, 3, 4]);
        assert_eq!([4, 5, 6, 7, 8, 11, 12].map(|entries| length_class(entries, 1)), [4, 4, 5, 5, 6, 6, 7]);
        assert_eq!(length_class(i32::MAX as usize, EXACT), i32::MAX as usize);
    }
}

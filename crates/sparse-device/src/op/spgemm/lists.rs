//! The products of long rows of C in lists, which plans of many runs keep.

use super::places::Places;
use super::row_bins::{Bin, RowBins};
use super::values::KnownRows;
use super::{FILE, Factors};
use crate::buffer::RawBuffer;
use crate::index_type::IndexType;
use crate::lanes::LANES;
use crate::primitive::prefix_sum::PrefixSum;
use crate::primitive::radix_sort::radix_sort;
use crate::primitive::raw::RawCompressed;
use crate::{Buffer, Device, Kernel};
use sparse_core::{Backend, Error, Result};

/// Bytes for each product while lists are made: keys and positions twice, and pairs twice.
const BYTES_PER_PRODUCT: usize = 2 * (4 + 4) + 2 * 8;

/// The products of the rows of a bin, those of an entry of C as neighbours, in the order of A's entries.
#[derive(Debug)]
pub(super) struct Lists {
    /// The number of entries of C before each row.
    entries_before: Buffer<i64>,
    entries: usize,
    /// The row of each entry whose number is a multiple of [`LANES`].
    rows: Buffer<i32>,
    /// The number of pairs before each entry, and of all.
    starts: Buffer<i64>,
    /// The positions in A and in B of the factors of each product.
    pairs: RawBuffer,
    kernel: Kernel,
}

impl Lists {
    /// Lists the products of a bin's rows, unless they take much memory or have too many for 32 bits.
    pub(super) fn new(
        backend: &Device,
        factors: Factors<'_>,
        places: &Places,
        (bins, bin): (&RowBins, &Bin),
        rows: KnownRows<'_>,
    ) -> Result<Option<Self>> {
        let kernel = |entry| places.kernel(backend, factors, entry);
        let products_before = backend.zeros::<i64>(bin.rows.len() + 1)?;
        let entries_before = backend.zeros::<i64>(bin.rows.len() + 1)?;
        let count = kernel("spgemm_places_count")?;
        let launch = backend.launch(&count).range(&bin.rows).order(bins).buffer(rows.offsets);
        let launch = launch.buffer(&places.starts).buffer(&products_before).buffer(&entries_before);
        launch.items(bin.rows.len())?;
        let sums = PrefixSum::series(backend, bin.rows.len() + 1)?;
        let products = sums.starts_and_sum(backend, &products_before)?;
        let entries = sums.starts_and_sum(backend, &entries_before)?;
        let bytes = products.saturating_mul(BYTES_PER_PRODUCT);
        let positions = [products, entries, factors.left.indices.len, factors.right.indices.len];
        if bytes as u64 > backend.scratch_limit() || positions.iter().any(|&n| i32::try_from(n + 1).is_err())
        {
            return Ok(None);
        }
        let (keys, pairs) = match (backend.allocate::<i32>(products), backend.allocate::<u64>(products)) {
            (Err(Error::OutOfMemory { .. }), _) | (_, Err(Error::OutOfMemory { .. })) => return Ok(None),
            (keys, pairs) => (keys?, pairs?),
        };
        let find = kernel("spgemm_places_pairs")?;
        let launch = backend.launch(&find).range(&bin.rows).size(LANES).size(entries).order(bins);
        let launch = launch.buffer(factors.left.offsets).buffer(&places.parts).buffer(factors.right.indices);
        let launch = launch.buffer(rows.offsets).buffer(rows.columns);
        let launch = launch.buffer(&products_before).buffer(&entries_before).buffer(&keys).buffer(&pairs);
        let rows_of_entries = backend.allocate::<i32>(entries.div_ceil(LANES))?;
        launch.buffer(&rows_of_entries).teams(bin.rows.len(), LANES)?;
        let bits = usize::BITS - entries.leading_zeros();
        let sorted = radix_sort(backend, keys.raw, None, IndexType::I32, 0..bits)?;
        let pairs = backend.gathered(&sorted.positions, &pairs)?;
        let starts = backend.allocate::<i64>(entries + 1)?;
        let search = backend.kernel(FILE, "spgemm_pattern_bin_starts", factors.defines(backend))?;
        let launch = backend.launch(&search).size(products).size(starts.len).buffer(&sorted.keys);
        launch.buffer(&starts).items(starts.len)?;
        Ok(Some(Self {
            entries_before,
            entries,
            rows: rows_of_entries,
            starts,
            pairs,
            kernel: kernel("spgemm_places_sum_pairs")?,
        }))
    }

    /// Writes the values of a bin's rows.
    pub(super) fn run(
        &self,
        backend: &Device,
        factors: Factors<'_>,
        (bins, bin): (&RowBins, &Bin),
        c: RawCompressed<'_>,
    ) -> Result<()> {
        let launch = backend.launch(&self.kernel).size(bin.rows.start).size(self.entries).order(bins);
        let launch = launch.buffer(&self.entries_before).buffer(&self.rows).buffer(&self.starts);
        let launch = launch.buffer(&self.pairs).buffer(factors.left.values).buffer(factors.right.values);
        launch.buffer(c.offsets).buffer(c.values).items(self.entries)
    }

    /// Bytes on the device.
    pub(super) fn bytes(&self) -> usize {
        self.entries_before.bytes() + self.rows.bytes() + self.starts.bytes() + self.pairs.bytes()
    }
}

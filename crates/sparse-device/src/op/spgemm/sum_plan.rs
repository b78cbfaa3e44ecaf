//! The plan of the sums of C: what it stores of the products, and by which bins it sums the others.

use super::chunks;
use super::node_blocks::{self, FactorBlocks, NodeBlocks};
use super::pattern::{CountedRows, FoundPattern, PatternSearch};
use super::places::Places;
use super::row_sizes::{ProductCounts, row_sizes_of};
use super::strips::{self, FoundStrips};
use super::values::{KnownRows, RowCounts, SumBins, ValueSums};
use super::{Factors, SpgemmAlgorithm, Values};
use crate::Buffer;
use crate::index_type::IndexType;
use crate::primitive::raw::RawCompressed;
use sparse_core::Result;

/// The products whose places a plan stores, where there is memory for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StoredProducts {
    None,
    /// The products of all rows in chunks.
    Chunks,
    /// The places of the products of short rows, and long rows in chunks.
    Places,
    /// The programs of strips, and for other rows what `Places` stores.
    Strips,
    /// The pairs of blocks that are multiplied.
    Blocks,
    /// The fastest method for this number of calls.
    Fastest {
        calls: usize,
    },
}

impl StoredProducts {
    /// The products that a plan by this algorithm stores; with `calls`, those of a plan that may choose.
    pub(super) fn new(factors: Factors<'_>, algorithm: SpgemmAlgorithm, calls: Option<usize>) -> Self {
        match (algorithm, calls) {
            _ if !factors.right.order.unique => Self::None,
            (_, Some(calls)) => Self::Fastest { calls },
            (SpgemmAlgorithm::Places, None) => Self::Places,
            (SpgemmAlgorithm::Chunks, None) => Self::Chunks,
            (SpgemmAlgorithm::Strips, None) => Self::Strips,
            (SpgemmAlgorithm::NodeBlocks, None) => Self::Blocks,
            _ => Self::None,
        }
    }
}

/// The search for the pattern of C and the plan of its sums.
pub(super) struct SumSearch<'a> {
    factors: Factors<'a>,
    stored: StoredProducts,
    pattern: PatternSearch<'a>,
}

impl<'a> SumSearch<'a> {
    /// Counts the products of each row of C.
    pub(super) fn new(
        factors: Factors<'a>,
        algorithm: SpgemmAlgorithm,
        stored: StoredProducts,
    ) -> Result<Self> {
        let pattern = PatternSearch::new(factors, algorithm)?;
        Ok(Self { factors, stored, pattern })
    }

    /// Finds the pattern, with offsets of this type, and plans the sums of its entries.
    pub(super) fn find(mut self, offset: IndexType) -> Result<(FoundPattern, Values)> {
        if self.stored == StoredProducts::None && self.pattern.sorts_all() {
            self.pattern.places = Places::sorted(self.factors, &self.pattern.products)?;
        }
        let counted = self.pattern.count()?;
        if self.pattern.places.is_some() {
            return self.with_sorted_places(counted, offset);
        }
        let Self { factors, stored, pattern, .. } = &self;
        let strips = self.find_strips(&counted.starts)?;
        let nnz = match stored {
            StoredProducts::Fastest { .. } => Some(factors.backend.last(&counted.starts)? as usize),
            _ => None,
        };
        if strips.is_none()
            && let Some(blocks) = self.blocks()?
        {
            return self.in_blocks(counted, nnz, offset, blocks);
        }
        let are_all_in_chunks = match (*stored, nnz) {
            (StoredProducts::Fastest { calls }, Some(nnz)) if strips.is_none() => {
                chunks::take_all_rows(*factors, &pattern.products, nnz, calls)
            }
            (stored, _) => stored == StoredProducts::Chunks,
        };
        let (found, sums) = match are_all_in_chunks {
            true => self.in_chunks(counted, nnz, offset)?,
            false => self.in_bins(counted, nnz, offset, strips)?,
        };
        Ok((found, Values::Sums(Box::new(sums))))
    }

    /// The blocks of A and B, if the pairs of these are wanted and there is memory for their lists.
    fn blocks(&self) -> Result<Option<FactorBlocks<'a>>> {
        let is_there = || self.factors.backend.lacks(node_blocks::FILE).is_none();
        let blocks = match self.stored {
            StoredProducts::Blocks => node_blocks::any_blocks(self.factors)?,
            StoredProducts::Fastest { calls } if is_there() => {
                let products = self.pattern.products.counts.total;
                node_blocks::blocks_that_pay(self.factors, products, calls)?
            }
            _ => None,
        };
        Ok(blocks.filter(FactorBlocks::can_be_listed))
    }

    /// Lists the pairs of these blocks, if there is memory for them.
    fn in_blocks(
        &self,
        counted: CountedRows,
        nnz: Option<usize>,
        offset: IndexType,
        blocks: FactorBlocks<'_>,
    ) -> Result<(FoundPattern, Values)> {
        let factors = self.factors;
        let starts = counted.starts.clone();
        let found = self.pattern.find(counted, nnz, offset)?;
        let c = found.rows();
        let values = match NodeBlocks::new(factors, &blocks, c)? {
            Some(blocks) => Values::Blocks(blocks),
            None => {
                drop(blocks);
                let sums = known_sums(factors, &starts, Some(&self.pattern.products), c)?;
                Values::Sums(Box::new(sums))
            }
        };
        Ok((found, values))
    }

    /// Adds the products at the places that the sort of columns has found.
    fn with_sorted_places(
        mut self,
        counted: CountedRows,
        offset: IndexType,
    ) -> Result<(FoundPattern, Values)> {
        let found = self.pattern.find(counted, None, offset)?;
        let sums = ValueSums::of_sorted_places(self.factors, self.pattern.places.take());
        Ok((found, Values::Sums(Box::new(sums))))
    }

    /// Finds strips in a C whose rows begin at these entries, if they are wanted.
    fn find_strips(&self, starts: &Buffer<i64>) -> Result<Option<FoundStrips>> {
        let (factors, products) = (self.factors, &self.pattern.products);
        let may_choose = match self.stored {
            StoredProducts::Strips => false,
            StoredProducts::Fastest { .. } if strips::pay(factors, products) => true,
            _ => return Ok(None),
        };
        let found = FoundStrips::find(factors, products, starts)?;
        Ok(found.filter(|strips| !may_choose || strips.have_most(products)))
    }

    /// Divides all rows into chunks, if there is memory for these.
    fn in_chunks(
        &self,
        counted: CountedRows,
        nnz: Option<usize>,
        offset: IndexType,
    ) -> Result<(FoundPattern, ValueSums)> {
        let factors = self.factors;
        let starts = counted.starts.clone();
        let found = self.pattern.find(counted, nnz, offset)?;
        let c = found.rows();
        let sums = match ValueSums::of_chunks(factors, c)? {
            Some(sums) => sums,
            None => known_sums(factors, &starts, Some(&self.pattern.products), c)?,
        };
        Ok((found, sums))
    }

    /// Divides rows into bins, but for those of strips.
    fn in_bins(
        &self,
        counted: CountedRows,
        nnz: Option<usize>,
        offset: IndexType,
        strips: Option<FoundStrips>,
    ) -> Result<(FoundPattern, ValueSums)> {
        let (factors, products) = (self.factors, &self.pattern.products);
        let starts = counted.starts.clone();
        let (longest, places) = match self.stored {
            StoredProducts::None => (products.most.min(factors.right.cols), None),
            _ => {
                let longest = factors.backend.longest_row(&starts)?;
                let rest = strips.as_ref().map_or(&products.counts, FoundStrips::rest);
                (longest, Places::new(factors, rest, products.most, longest)?)
            }
        };
        let counts = RowCounts {
            entries: &starts,
            products: &products.counts.starts,
            longest,
            most_products: products.most,
        };
        // Before the pattern, so that nothing waits for the device between its last kernels and those of values.
        let bins = SumBins::new(factors, counts, places.is_some(), strips.as_ref())?;
        let found = self.pattern.find(counted, nnz.or(bins.entries), offset)?;
        let sums = ValueSums::new(factors, bins, found.rows(), (places, strips))?;
        Ok((found, sums))
    }
}

/// Plans the sums of a C that has the pattern of a mask.
pub(super) fn masked_sums(
    factors: Factors<'_>,
    mask: RawCompressed<'_>,
    has_places: bool,
) -> Result<ValueSums> {
    let lengths = row_sizes_of(factors.backend, mask)?;
    let products = has_places.then(|| ProductCounts::new(factors, None)).transpose()?;
    let c = KnownRows { offsets: mask.offsets, columns: mask.indices, count: lengths.total, is_mask: true };
    known_sums(factors, &lengths.starts, products.as_ref(), c)
}

/// Plans the sums of C by the number of `entries` before each row, with places if its `products` are known.
fn known_sums(
    factors: Factors<'_>,
    entries: &Buffer<i64>,
    products: Option<&ProductCounts>,
    c: KnownRows<'_>,
) -> Result<ValueSums> {
    let longest = factors.backend.longest_row(entries)?;
    let places = match products {
        Some(products) => Places::new(factors, &products.counts, products.most, longest)?,
        None => None,
    };
    let starts = products.map_or(entries, |products| &products.counts.starts);
    let most_products = products.map_or(longest, |products| products.most);
    let counts = RowCounts { entries, products: starts, longest, most_products };
    let bins = SumBins::new(factors, counts, places.is_some(), None)?;
    ValueSums::new(factors, bins, c, (places, None))
}

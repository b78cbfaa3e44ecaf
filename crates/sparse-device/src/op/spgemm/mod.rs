//! `C ← A·B` of sparse matrices. The plan finds the pattern of C, a run computes its values.
//!
//! # The pattern
//!
//! A team of lanes takes a row of C, and teams fit their rows: rows are in bins by their numbers of products. Each bin
//! finds columns by one of these methods:
//!
//! | method | columns of a row | memory |
//! |---|---|---|
//! | sort | the columns of all products, sorted | registers, or a list in local memory |
//! | window | a bitmap from the least to the greatest column, window after window | local |
//! | hash | a hash table, sorted at the end | local |
//! | bitmap | a bitmap of one window of columns after the other | global |
//! | split | a bitmap of all columns, by a work-group for each 1024 entries of A | global |
//!
//! Columns are found once, into memory for as many as there are products, and moved together. Where there is no memory
//! for so many, they are counted first and found again. A mask replaces this search: it is the pattern of C.
//!
//! Where all rows of A have few entries and are like their neighbours, a plan of few calls has no bins: a work-item
//! merges the rows of B that a row of A names ([`merge`]).
//!
//! # The values
//!
//! A run searches the column of each product in its row of C. A plan of many runs stores where products belong:
//!
//! | module | where it is used | what the plan stores |
//! |---|---|---|
//! | [`strips`] | rows that repeat | a program for each strip of rows |
//! | [`node_blocks`] | all entries in blocks of the unknowns of two nodes | pairs of blocks |
//! | [`chunks`] | short rows of B, and long rows of C | chunks of C, and which of their products each entry adds |
//! | [`places`] | other rows | the position of each product in its row of C, in 8 or 16 bits |
//!
//! The method `sort` finds these positions on its way, so that plans of few runs have them, too, if all rows are
//! sorted.
//!
//! Products are added in the order of A's entries, whatever the method. Only where a chunk divides the products of one
//! entry among work-items are partial sums added.

mod chunks;
mod factors;
mod merge;
mod node_blocks;
mod pattern;
mod places;
mod row_bins;
mod row_sizes;
mod strips;
mod sum_plan;
mod teams;
mod values;

use super::available_algorithms::Needs;
use crate::Device;
use crate::buffer::RawBuffer;
use crate::index_type::IndexType;
use crate::primitive::raw::RawCompressed;
use factors::{Factors, defines};
use merge::{MergedRows, Rows};
use node_blocks::NodeBlocks;
use row_sizes::ProductCounts;
use sparse_core::format::IndexOrder;
use sparse_core::format::estimate::Sizes;
use sparse_core::op::{SpgemmBound, SpgemmKernel, mask_pattern};
use sparse_core::{
    Algorithm, AlgorithmSet as _, Axis, Backend, Choice, Compressed, CompressedPattern, Index, KernelPlan,
    PatternId, PlanOptions, Result, Scalar, algorithms,
};
use std::sync::Arc;
use sum_plan::{StoredProducts, SumSearch, masked_sums};
use teams::{Teams, largest_team};
use values::ValueSums;

algorithms! {
    /// The algorithms of CSR and CSC.
    enum SpgemmAlgorithm needs Needs {
        ByRow = Algorithm::new("by_row", "always: each row by one of the next five")
            .preprocessing("the pattern of C, and its rows in bins of their lengths"),
        Needs::Nothing;

        Sort = Algorithm::new("sort", "by by_row, for up to 8 products for each lane of a warp")
            .preprocessing("the pattern of C, and its rows in bins of their lengths"),
        Needs::Nothing;

        Window = Algorithm::new(
            "window",
            "by by_row, for more products, with columns in a range of up to 8 windows of a work-group, where rows of B are sorted",
        )
        .preprocessing("the pattern of C, and its rows in bins of their lengths"),
        Needs::Nothing;

        Hash = Algorithm::new("hash", "by by_row, for up to 8 products for each work-item of a work-group, with other columns")
            .preprocessing("the pattern of C, and its rows in bins of their lengths"),
        Needs::Nothing;

        Bitmap = Algorithm::new("bitmap", "by by_row, for more products")
            .preprocessing("the pattern of C, and its rows in bins of their lengths"),
        Needs::Nothing;

        Split = Algorithm::new("split", "by by_row, for rows of A with more than 1024 entries")
            .preprocessing("the pattern of C, and its rows in bins of their lengths"),
        Needs::Nothing;

        Places = Algorithm::new(
            "places",
            "plans of 16 calls or more, where rows of B have no column twice and places take up to a sixteenth of the memory",
        )
        .preprocessing("as by_row, and the place of each product in its row of C"),
        Needs::Nothing;

        Chunks = Algorithm::new(
            "chunks",
            "in place of places, without a mask: rows of C with many products; of 100 calls or more on a GPU, few products, rows of B with up to 4 entries, or up to 24 where entries of C have several products",
        )
        .preprocessing("as by_row, and the products of all rows of C in chunks"),
        Needs::Nothing;

        Strips = Algorithm::new(
            "strips",
            "CUDA, in place of places, without a mask: most products are of rows that repeat, with the columns of one of the 8 rows before, each plus up to 8, and so do the rows of B that they name",
        )
        .preprocessing("as places, and the products of the first of up to 128 rows in place of those of all"),
        Needs::SharedMemory(strips::SUM_FILE);

        NodeBlocks = Algorithm::new(
            "node_blocks",
            "CUDA, in place of places and chunks, without a mask and where rows do not repeat: all entries of A and B \
             are in square blocks of 2 to 6 rows, those of the unknowns of two nodes; of 100 calls or more, also if \
             some nodes have fewer unknowns",
        )
        .preprocessing("as by_row, and the pairs of blocks of A and B whose products are added to each block of C"),
        Needs::File(node_blocks::FILE);

        Merge = Algorithm::new(
            "merge",
            "CUDA, plans of fewer than 16 calls, without a mask: rows of A have up to 32 entries, which name rows of B near those of the row before, and rows of B are in order without repetitions",
        )
        .preprocessing("the pattern of C"),
        Needs::File(merge::FILE);
    }
}

/// The file of the kernels that count and sort rows before their columns are known.
const ROWS_FILE: &str = "spgemm_rows";

/// A limit of products or entries that no row exceeds.
const NO_ROW: usize = i64::MAX as usize;

/// The plan of SpGEMM for two patterns: the pattern of C, and the bins of its rows.
#[derive(Debug)]
pub struct SpgemmPlan<I: Index, O: Index> {
    choice: Choice,
    pattern: Arc<CompressedPattern<Device, I, O>>,
    values: Values,
}

/// The method that finds the values of C.
#[derive(Debug)]
enum Values {
    Sums(Box<ValueSums>),
    Blocks(NodeBlocks),
    Merged(MergedRows),
}

impl Values {
    /// Writes the values of C.
    fn run(&self, factors: Factors<'_>, c: RawCompressed<'_>) -> Result<()> {
        match self {
            Self::Sums(sums) => sums.run(factors, c),
            Self::Blocks(blocks) => blocks.run(factors, c),
            Self::Merged(rows) => rows.run(factors, c),
        }
    }

    /// The algorithm, where it is another than `by_row`.
    fn algorithm(&self) -> Option<SpgemmAlgorithm> {
        match self {
            Self::Sums(sums) => sums.stored_algorithm(),
            Self::Blocks(_) => Some(SpgemmAlgorithm::NodeBlocks),
            Self::Merged(_) => Some(SpgemmAlgorithm::Merge),
        }
    }

    /// Bytes on the device.
    fn bytes(&self) -> usize {
        match self {
            Self::Sums(sums) => sums.bytes(),
            Self::Blocks(blocks) => blocks.bytes(),
            Self::Merged(_) => 0,
        }
    }
}

impl<I: Index, O: Index> KernelPlan for SpgemmPlan<I, O> {
    fn choice(&self) -> &Choice {
        &self.choice
    }

    fn workspace_bytes(&self) -> usize {
        self.pattern.offsets().bytes() + self.pattern.indices().bytes() + self.values.bytes()
    }
}

impl<A: Axis, T: Scalar, I: Index, O: Index> SpgemmKernel<Compressed<A, T, Device, I, O>> for Device {
    type Plan = SpgemmPlan<I, O>;

    fn spgemm_algorithms(&self) -> &'static [Algorithm] {
        self.offered::<SpgemmAlgorithm>()
    }

    unsafe fn spgemm_bound(
        &self,
        a: &Compressed<A, T, Device, I, O>,
        b: &Compressed<A, T, Device, I, O>,
    ) -> Result<SpgemmBound> {
        bound(Factors::new(self, a, b), Sizes::of::<T, I, O>())
    }

    unsafe fn plan_spgemm(
        &self,
        a: &Compressed<A, T, Device, I, O>,
        b: &Compressed<A, T, Device, I, O>,
        mask: Option<&Compressed<A, T, Device, I, O>>,
        options: &PlanOptions,
    ) -> Result<Self::Plan> {
        let automatic = (SpgemmAlgorithm::ByRow, "each row by its products");
        let (algorithm, choice) =
            self.choose("spgemm", options, self.offered::<SpgemmAlgorithm>(), automatic)?;
        let factors = Factors::new(self, a, b);
        let stored = StoredProducts::new(factors, algorithm, repeated_calls(options));
        let (pattern, values) = match mask {
            Some(mask) => {
                let has_places = stored != StoredProducts::None;
                let sums = masked_sums(factors, mask.into(), has_places)?;
                (mask_pattern(mask)?.clone(), Values::Sums(Box::new(sums)))
            }
            None => {
                let merge = rows_to_merge(algorithm, options);
                let (offsets, indices, values) =
                    find(factors, (algorithm, stored), merge, IndexType::of::<O>())?;
                let shape = (factors.left.rows, factors.right.cols);
                // SAFETY: the offsets are sums of the lengths of rows, and the kernels wrote so many columns of the
                // right factor to each row, in order and each once. Extents are those of factors, which have the same
                // type of indices.
                let pattern = unsafe {
                    CompressedPattern::new_unchecked(shape, offsets.of(), indices.of(), IndexOrder::CANONICAL)
                };
                (Arc::new(pattern), values)
            }
        };
        let chosen = (algorithm, choice);
        let choice = final_choice(factors, chosen, values.algorithm(), options, mask.is_some())?;
        Ok(SpgemmPlan { choice, pattern, values })
    }

    fn spgemm_pattern(&self, plan: &Self::Plan) -> (PatternId, usize) {
        (plan.pattern.id(), plan.pattern.indices().len)
    }

    fn spgemm_output(&self, plan: &Self::Plan) -> Result<Compressed<A, T, Device, I, O>> {
        Compressed::from_pattern(plan.pattern.clone(), self.zeros(plan.pattern.indices().len)?)
    }

    unsafe fn run_spgemm(
        &self,
        plan: &mut Self::Plan,
        a: &Compressed<A, T, Device, I, O>,
        b: &Compressed<A, T, Device, I, O>,
        c: &mut Compressed<A, T, Device, I, O>,
    ) -> Result<()> {
        plan.values.run(Factors::new(self, a, b), (&*c).into())
    }

    unsafe fn run_spgemm_new(
        &self,
        plan: &mut Self::Plan,
        a: &Compressed<A, T, Device, I, O>,
        b: &Compressed<A, T, Device, I, O>,
    ) -> Result<Compressed<A, T, Device, I, O>> {
        // The kernels write the values of all rows with entries.
        let values = self.allocate(plan.pattern.indices().len)?;
        let c = Compressed::from_pattern(plan.pattern.clone(), values)?;
        plan.values.run(Factors::new(self, a, b), (&c).into())?;
        Ok(c)
    }
}

/// The calls of a plan that may store products for them; none if they are few, or an algorithm is forced.
fn repeated_calls(options: &PlanOptions) -> Option<usize> {
    let calls = options.expected_calls;
    (options.algorithm.is_none() && calls >= places::CALLS).then_some(calls)
}

/// The rows of A that a plan merges, if they fit.
fn rows_to_merge(algorithm: SpgemmAlgorithm, options: &PlanOptions) -> Option<Rows> {
    match (&options.algorithm, algorithm) {
        (Some(_), SpgemmAlgorithm::Merge) => Some(Rows::All),
        (None, _) if repeated_calls(options).is_none() => Some(Rows::Alike),
        _ => None,
    }
}

/// The offsets and columns of C, and the method that finds its values: that of these rows, if they can merge, else by
/// bins.
fn find(
    factors: Factors<'_>,
    (algorithm, stored): (SpgemmAlgorithm, StoredProducts),
    merge: Option<Rows>,
    offset: IndexType,
) -> Result<(RawBuffer, RawBuffer, Values)> {
    if let Some(rows) = merge
        && let Some(found) = MergedRows::find(factors, offset, rows)?
    {
        return Ok((found.offsets, found.indices, Values::Merged(found.rows)));
    }
    let (found, values) = SumSearch::new(factors, algorithm, stored)?.find(offset)?;
    Ok((found.offsets, found.indices, values))
}

/// The choice of a plan for `algorithm` whose values are `found` by another one than `by_row`, if by any.
fn final_choice(
    factors: Factors<'_>,
    (algorithm, choice): (SpgemmAlgorithm, Choice),
    found: Option<SpgemmAlgorithm>,
    options: &PlanOptions,
    is_masked: bool,
) -> Result<Choice> {
    let backend = factors.backend;
    let choose = |found, reason| {
        let offered = backend.offered::<SpgemmAlgorithm>();
        backend.choose("spgemm", options, offered, (found, reason)).map(|(_, choice)| choice)
    };
    match (found, algorithm) {
        (Some(found), _) if repeated_calls(options).is_some() => choose(found, "a plan of many calls"),
        (Some(SpgemmAlgorithm::Merge), SpgemmAlgorithm::ByRow) => {
            choose(SpgemmAlgorithm::Merge, "rows of A are short enough to merge")
        }
        (
            found,
            SpgemmAlgorithm::Places
            | SpgemmAlgorithm::Chunks
            | SpgemmAlgorithm::Strips
            | SpgemmAlgorithm::NodeBlocks
            | SpgemmAlgorithm::Merge,
        ) if found != Some(algorithm) => {
            Ok(in_place_of(algorithm, found.unwrap_or(SpgemmAlgorithm::ByRow), factors, is_masked))
        }
        _ => Ok(choice),
    }
}

/// The choice of a plan that runs another algorithm than the one that was forced, with the reason.
fn in_place_of(
    forced: SpgemmAlgorithm,
    runs: SpgemmAlgorithm,
    factors: Factors<'_>,
    is_masked: bool,
) -> Choice {
    let reason = if !factors.right.order.unique {
        "takes no B whose rows may have a column twice"
    } else if is_masked && forced != SpgemmAlgorithm::Places {
        "takes no mask"
    } else if forced == SpgemmAlgorithm::Merge {
        "takes rows of A of up to 32 entries and 512 products, and rows of B in order"
    } else if forced == SpgemmAlgorithm::Strips {
        "finds no rows that repeat, or no memory for their products"
    } else if forced == SpgemmAlgorithm::NodeBlocks {
        "finds no products, no memory for their pairs, or rows that are too long for them"
    } else {
        "finds no products to keep, or no memory for them"
    };
    let reason = format!("in place of {}, which {reason}", forced.row().name);
    Choice { algorithm: runs.row().name, reason }
}

fn bound(factors: Factors<'_>, sizes: Sizes) -> Result<SpgemmBound> {
    let products = ProductCounts::new(factors, None)?;
    let nnz = products.bound(factors.backend)? as u64;
    let of_entries = nnz.saturating_mul((sizes.scalar + sizes.index) as u64);
    let of_offsets = ((factors.left.rows + 1) * sizes.offset) as u64;
    let bytes = of_entries.saturating_add(of_offsets);
    Ok(SpgemmBound { products: products.counts.total as u64, nnz, bytes })
}

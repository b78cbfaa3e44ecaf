//! Products of blocks, for matrices whose nodes have several unknowns each.
//!
//! Where all entries of A and B are in the blocks of the unknowns of two nodes, so are those of C, and each block of C
//! is a sum of products of two blocks. The plan lists the pairs for each block of C. A work-item takes a block of C,
//! reads both blocks of each pair, and adds their product in registers. So a pair of 8 bytes stands for 8 to 216
//! products, and a run writes C alone. Nodes have 2 to 6 unknowns each; they may differ in size.
//!
//! Measured on an H200, kernels alone, f32:
//!
//! | | products | blocks | chunks and places |
//! |---|--:|--:|--:|
//! | tetrahedra, three unknowns a point | 68 million | 66 us | 179 us |
//! | triangles, two unknowns a point | 16 million | 25 us | 45 us |
//! | tetrahedra without the unknowns that boundary conditions give | 58 million | 58 us | 165 us |
//! | triangles without them | 14 million | 22 us | 41 us |

mod factor_blocks;
mod nodes;

use super::super::node_blocks::Unknowns;
use super::Factors;
use super::values::KnownRows;
use crate::buffer::RawBuffer;
use crate::defines::Defines;
use crate::primitive::raw::RawCompressed;
use crate::{Buffer, Device, Kernel};
pub(super) use factor_blocks::FactorBlocks;
use nodes::ProductNodes;
use sparse_core::{Error, Result};

/// The file of the kernel of a run.
pub(super) const FILE: &str = "spgemm_node_blocks_sum";

/// The file of the kernels of the plan.
const PLAN_FILE: &str = "spgemm_node_blocks";

/// Work-items of a work-group of a run. Measured on an H200, 2 to 6 unknowns: 0.89 to 1.0 of the time of 256.
const WORK_ITEMS: usize = 128;

/// Bytes of a pair of blocks.
const PAIR_BYTES: usize = 8;

/// Bytes of scratch memory per product of blocks while lists are made: two pairs, and keys and positions, each twice.
const BYTES_PER_PRODUCT: usize = 2 * PAIR_BYTES + 4 * 4;

/// The largest block of sums in bytes that one work-item takes whole: `LARGEST` of the kernel.
const LARGEST: usize = 288;

/// Calls from which on a plan looks for nodes that differ in size.
const CALLS: usize = 100;

/// The least part, in quarters, of the products of full blocks that nodes that differ in size have: of 2 unknowns, and
/// of more. Measured on an H200, kernels alone: 61 us in place of 145 with 3 unknowns and 0.74 of the products. By the
/// times above pairs take as long as chunks with 0.6 of them for 2 unknowns, and 0.3 for 3.
const LEAST_QUARTERS: [usize; 2] = [3, 2];

/// The pairs of blocks of A and B for each block of C.
#[derive(Debug)]
pub(super) struct NodeBlocks {
    kernel: Kernel,
    /// The blocks of C.
    count: usize,
    /// The work-items that have a block.
    parts: usize,
    /// The pairs before each block of C, and of all.
    starts: Buffer<i32>,
    heads: RawBuffer,
    pairs: RawBuffer,
}

/// The blocks of A and B, of the most unknowns of a node for which all are squares, or of nodes that differ in size if
/// there are some, or of one entry each; none if rows are too long, or without memory.
pub(super) fn any_blocks<'a>(factors: Factors<'a>) -> Result<Option<FactorBlocks<'a>>> {
    unless_out_of_memory(|| {
        let nodes = match unknowns(factors)? {
            1 => ProductNodes::uneven(factors, 1)?.unwrap_or_else(|| ProductNodes::even(1)),
            unknowns => ProductNodes::even(unknowns),
        };
        FactorBlocks::find(factors, nodes)
    })
}

/// The blocks of A and B, whose entries have so many `products`, if their pairs pay in a plan of `calls` calls.
pub(super) fn blocks_that_pay<'a>(
    factors: Factors<'a>,
    products: usize,
    calls: usize,
) -> Result<Option<FactorBlocks<'a>>> {
    unless_out_of_memory(|| {
        let unknowns = unknowns(factors)?;
        if unknowns > 1 {
            return FactorBlocks::find(factors, ProductNodes::even(unknowns));
        }
        if calls < CALLS {
            return Ok(None);
        }
        let Some(nodes) = ProductNodes::uneven(factors, factors.right.rows / 2)? else {
            return Ok(None);
        };
        let [of_two, of_more] = LEAST_QUARTERS;
        let quarters = if nodes.unknowns == 2 { of_two } else { of_more };
        let least = nodes.unknowns.pow(3) * quarters;
        let found = FactorBlocks::find(factors, nodes)?;
        Ok(found.filter(|blocks| blocks.products.saturating_mul(least) <= products.saturating_mul(4)))
    })
}

/// The most unknowns of a node for which all entries of A and B are in square blocks, or 1.
fn unknowns(Factors { backend, left, right }: Factors<'_>) -> Result<usize> {
    let possible = Unknowns::possible(left).and(Unknowns::possible(right));
    let of_left = backend.unknowns_of_nodes(left, possible)?;
    let are_same = std::ptr::eq(left.indices, right.indices);
    let of_both = if are_same { of_left } else { backend.unknowns_of_nodes(right, of_left)? };
    Ok(of_both.largest())
}

/// The result of a search, or none if it runs out of memory.
fn unless_out_of_memory<T>(find: impl FnOnce() -> Result<Option<T>>) -> Result<Option<T>> {
    match find() {
        Err(Error::OutOfMemory { .. }) => Ok(None),
        found => found,
    }
}

impl NodeBlocks {
    /// Lists the pairs of these blocks; none if they exceed the limit of scratch memory, do not fit in memory, or are
    /// too many for 32 bits.
    pub(super) fn new(
        factors: Factors<'_>,
        blocks: &FactorBlocks<'_>,
        c: KnownRows<'_>,
    ) -> Result<Option<Self>> {
        unless_out_of_memory(|| build(factors, blocks, c))
    }

    /// Writes the values of C.
    pub(super) fn run(&self, factors: Factors<'_>, c: RawCompressed<'_>) -> Result<()> {
        let launch = factors.backend.launch(&self.kernel).size(self.count).buffer(&self.starts);
        let launch = launch.buffer(&self.heads).buffer(&self.pairs);
        let launch = launch.buffer(factors.left.values).buffer(factors.right.values).buffer(c.values);
        let groups = (self.count * self.parts).div_ceil(WORK_ITEMS).min(factors.backend.most_groups());
        launch.groups(groups, WORK_ITEMS)
    }

    /// Bytes on the device.
    pub(super) fn bytes(&self) -> usize {
        self.starts.bytes() + self.heads.bytes() + self.pairs.bytes()
    }
}

/// Lists the pairs.
fn build(factors: Factors<'_>, blocks: &FactorBlocks<'_>, c: KnownRows<'_>) -> Result<Option<NodeBlocks>> {
    let Factors { backend, left, right } = factors;
    let unknowns = blocks.nodes.unknowns;
    let is_counted = |n: usize| i32::try_from(n + 1).is_ok();
    let counted = [left.rows, left.nnz(), right.nnz(), c.count];
    if c.count == 0 || !blocks.can_be_listed() || !counted.into_iter().all(is_counted) {
        return Ok(None);
    }
    let of_c = blocks.of_product(c)?;
    let (pairs, starts) = of_c.pairs()?;
    let heads = of_c.heads(c.offsets)?;
    let is_whole = unknowns.pow(2) * left.dtype.accumulator().bytes() <= LARGEST;
    let entry = if blocks.nodes.are_even() { FILE } else { "spgemm_node_blocks_sum_sized" };
    let kernel = backend.kernel_of(left.dtype, FILE, entry, Defines::default().set("UNKNOWNS", unknowns))?;
    let parts = if is_whole { 1 } else { unknowns };
    Ok(Some(NodeBlocks { kernel, count: of_c.count(), parts, starts, heads, pairs }))
}

fn kernel(backend: &Device, a: RawCompressed<'_>, entry: &'static str) -> Result<Kernel> {
    backend.kernel(PLAN_FILE, entry, a.defines())
}

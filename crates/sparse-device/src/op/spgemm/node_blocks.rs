//! Products of blocks, for matrices whose nodes have several unknowns each, which plans of many runs list.
//!
//! Where all entries of A and B are in square blocks of 2 to 6 rows, so are those of C, and each of its blocks is a sum
//! of products of two blocks. A work-item has a block of C: for each pair in its list it reads both blocks and adds
//! their product in registers, so that a pair of 8 bytes stands for 8 to 216 products, and nothing is written but C.
//!
//! Measured on an H200, kernels alone, f32: tetrahedra with three unknowns a point, 68 million products, 66 us in place
//! of 179 with chunks and places; triangles with two, 16 million, 25 in place of 45.

use super::super::node_blocks::Unknowns;
use super::values::KnownRows;
use super::{Factors, Teams};
use crate::buffer::RawBuffer;
use crate::defines::Defines;
use crate::index_type::IndexType;
use crate::lanes::LANES;
use crate::primitive::prefix_sum::PrefixSum;
use crate::primitive::radix_sort::radix_sort;
use crate::primitive::raw::RawCompressed;
use crate::{Buffer, Device, Kernel};
use sparse_core::op::ScanKind;
use sparse_core::{Backend, Error, Result, Space};

/// The file of the kernel of a run.
pub(super) const FILE: &str = "spgemm_node_blocks_sum";

/// The file of the kernels of the plan.
const PLAN_FILE: &str = "spgemm_node_blocks";

/// Lanes of a node in the kernels of the plan: `LANES` there.
const LANES_OF_PLAN: usize = 8;

/// Work-items of a work-group of a run. Measured on an H200, 2 to 6 unknowns: 0.89 to 1.0 of the time of 256.
const WORK_ITEMS: usize = 128;

/// Bytes of a pair of blocks.
const PAIR_BYTES: usize = 8;

/// Bytes of the head of a block of C.
const HEAD_BYTES: usize = 16;

/// Bytes of a product of blocks while lists are made: two pairs, and keys and positions, each twice.
const BYTES_PER_PRODUCT: usize = 2 * PAIR_BYTES + 4 * 4;

/// The longest rows that a pair's 16 bits count.
const LONGEST: usize = u16::MAX as usize;

/// The largest block of sums that a work-item has whole, in bytes: `LARGEST` of the kernel.
const LARGEST: usize = 288;

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

/// The most unknowns of a node for which all entries of A and B are in square blocks, or 1.
pub(super) fn unknowns(backend: &Device, Factors { left, right }: Factors<'_>) -> Result<usize> {
    let possible = Unknowns::possible(left).and(Unknowns::possible(right));
    let of_left = backend.unknowns_of_nodes(left, possible)?;
    let are_same = std::ptr::eq(left.indices, right.indices);
    let of_both = if are_same { of_left } else { backend.unknowns_of_nodes(right, of_left)? };
    Ok(of_both.largest())
}

impl NodeBlocks {
    /// Lists the pairs of blocks of `unknowns` rows each; none if they exceed the limit of scratch memory, do not fit
    /// in memory, or are too many for 32 bits.
    pub(super) fn new(
        backend: &Device,
        factors: Factors<'_>,
        unknowns: usize,
        c: KnownRows<'_>,
    ) -> Result<Option<Self>> {
        match build(backend, factors, unknowns, c) {
            Err(Error::OutOfMemory { .. }) => Ok(None),
            blocks => blocks,
        }
    }

    /// Writes the values of C.
    pub(super) fn run(&self, backend: &Device, factors: Factors<'_>, c: RawCompressed<'_>) -> Result<()> {
        let launch = backend.launch(&self.kernel).size(self.count).buffer(&self.starts);
        let launch = launch.buffer(&self.heads).buffer(&self.pairs);
        let launch = launch.buffer(factors.left.values).buffer(factors.right.values).buffer(c.values);
        let groups = (self.count * self.parts).div_ceil(WORK_ITEMS).min(backend.most_groups());
        launch.groups(groups, WORK_ITEMS)
    }

    /// Bytes on the device.
    pub(super) fn bytes(&self) -> usize {
        self.starts.bytes() + self.heads.bytes() + self.pairs.bytes()
    }
}

/// Lists the pairs.
fn build(
    backend: &Device,
    factors: Factors<'_>,
    unknowns: usize,
    c: KnownRows<'_>,
) -> Result<Option<NodeBlocks>> {
    let Factors { left, right } = factors;
    let is_counted = |n: usize| i32::try_from(n + 1).is_ok();
    let count = c.count / unknowns.pow(2);
    if count == 0 || ![left.rows, left.nnz(), right.nnz(), c.count].into_iter().all(is_counted) {
        return Ok(None);
    }
    let Some(blocks) = LeftBlocks::count(backend, factors, unknowns)? else { return Ok(None) };
    let bytes = blocks.products.saturating_mul(BYTES_PER_PRODUCT).saturating_add(count * HEAD_BYTES);
    if bytes as u64 > backend.scratch_limit() || !is_counted(blocks.products) {
        return Ok(None);
    }
    let starts = backend.allocate::<i32>(count + 1)?;
    let pairs = blocks.lists(backend, factors, unknowns, c, &starts)?;
    let heads = backend.allocate_raw(count, HEAD_BYTES)?;
    let kernel = kernel(backend, left, "spgemm_node_blocks_heads")?;
    let nodes = left.rows / unknowns;
    let launch = backend.launch(&kernel).size(nodes).size(unknowns).buffer(left.offsets);
    launch.buffer(c.offsets).buffer(&heads).warps(nodes.div_ceil(LANES / LANES_OF_PLAN))?;
    let is_whole = unknowns.pow(2) * left.dtype.accumulator().bytes() <= LARGEST;
    let defines = Defines::default().set("UNKNOWNS", unknowns);
    let kernel = backend.kernel_of(left.dtype, FILE, FILE, defines)?;
    let parts = if is_whole { 1 } else { unknowns };
    Ok(Some(NodeBlocks { kernel, count, parts, starts, heads, pairs }))
}

/// The blocks of A.
struct LeftBlocks {
    count: usize,
    /// The products of blocks before each, and of all.
    starts: Buffer<i64>,
    /// The node of each.
    nodes: Buffer<i32>,
    /// The products of all.
    products: usize,
}

impl LeftBlocks {
    /// Counts the products of each, unless rows are too long. Waits for the device.
    fn count(backend: &Device, factors: Factors<'_>, unknowns: usize) -> Result<Option<Self>> {
        let Factors { left, right } = factors;
        let count = left.nnz() / unknowns.pow(2);
        // The products of each block, their sum and the longest row.
        let starts = backend.zeros::<i64>(count + 2)?;
        let nodes = backend.allocate::<i32>(count)?;
        let a_nodes = left.rows / unknowns;
        let kernel = kernel(backend, left, "spgemm_node_blocks_count")?;
        let launch = backend.launch(&kernel).size(a_nodes).size(count).size(unknowns);
        let launch = launch.buffer(left.offsets).buffer(left.indices).buffer(right.offsets);
        let launch = launch.buffer(&starts).buffer(&nodes);
        launch.warps(a_nodes.div_ceil(LANES / LANES_OF_PLAN))?;
        let counts = Device::slice(Device::view(&starts), 0..count + 1);
        PrefixSum::series(backend, count + 1)?.run(backend, ScanKind::Exclusive, counts, counts)?;
        let mut total_and_longest = [0; 2];
        backend
            .download_into(Device::slice(Device::view(&starts), count..count + 2), &mut total_and_longest)?;
        let [products, longest] = total_and_longest.map(|count| count as usize);
        Ok((longest <= LONGEST).then_some(Self { count, starts, nodes, products }))
    }

    /// The pairs of all products in the order of C's blocks, which begin at `starts`.
    fn lists(
        &self,
        backend: &Device,
        factors: Factors<'_>,
        unknowns: usize,
        c: KnownRows<'_>,
        starts: &Buffer<i32>,
    ) -> Result<RawBuffer> {
        let Factors { left, right } = factors;
        let blocks = starts.len - 1;
        let pairs = backend.allocate_raw(self.products, PAIR_BYTES)?;
        let keys = backend.allocate::<i32>(self.products)?;
        let lanes = Teams::new(backend, self.products.div_ceil(self.count.max(1))).smallest;
        let find = kernel(backend, left, "spgemm_node_blocks_pairs")?;
        let launch = backend.launch(&find).size(self.count).size(lanes).size(unknowns);
        let launch = launch.buffer(left.offsets).buffer(left.indices);
        let launch = launch.buffer(right.offsets).buffer(right.indices);
        let launch = launch.buffer(c.offsets).buffer(c.columns).buffer(&self.starts).buffer(&self.nodes);
        launch.buffer(&pairs).buffer(&keys).teams(self.count, lanes)?;
        let bits = usize::BITS - blocks.leading_zeros();
        let sorted = radix_sort(backend, keys.raw, None, IndexType::I32, 0..bits)?;
        let lists = backend.allocate_raw(self.products, PAIR_BYTES)?;
        let list = kernel(backend, left, "spgemm_node_blocks_lists")?;
        let launch = backend.launch(&list).size(self.products).size(blocks).buffer(&sorted.keys);
        let launch = launch.positions(&sorted.positions).buffer(&pairs).buffer(&lists).buffer(starts);
        launch.items(self.products)?;
        Ok(lists)
    }
}

fn kernel(backend: &Device, a: RawCompressed<'_>, entry: &'static str) -> Result<Kernel> {
    backend.kernel(PLAN_FILE, entry, a.defines())
}

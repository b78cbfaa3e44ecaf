//! The blocks of A, B and C, and the products of each block of A.

use super::super::values::KnownRows;
use super::super::{Factors, Teams};
use super::nodes::{Nodes, ProductNodes};
use super::{BYTES_PER_PRODUCT, PAIR_BYTES, kernel};
use crate::buffer::RawBuffer;
use crate::index_type::IndexType;
use crate::primitive::prefix_sum::PrefixSum;
use crate::primitive::radix_sort::radix_sort;
use crate::primitive::raw::RawCompressed;
use crate::{Buffer, Device};
use sparse_core::op::ScanKind;
use sparse_core::{Backend, Result, Space};

/// Bytes of a block.
const BLOCK_BYTES: usize = 16;

/// Bytes of the head of a block of C.
const HEAD_BYTES: usize = 16;

/// The longest rows that a pair counts, in 16 bits or in those that sizes of blocks leave.
const LONGEST: usize = u16::MAX as usize;
const LONGEST_OF_UNEVEN: usize = (1 << 13) - 1;

/// The pattern of a matrix.
struct Pattern<'a> {
    rows: usize,
    nnz: usize,
    offsets: &'a RawBuffer,
    indices: &'a RawBuffer,
}

impl<'a> From<RawCompressed<'a>> for Pattern<'a> {
    fn from(a: RawCompressed<'a>) -> Self {
        Self { rows: a.rows, nnz: a.nnz(), offsets: a.offsets, indices: a.indices }
    }
}

/// The blocks of a matrix, node by node.
struct Blocks {
    /// The blocks before each node, and of all.
    starts: Buffer<i64>,
    blocks: RawBuffer,
}

/// The blocks of A and B, and the products of those of A.
pub(in crate::op::spgemm) struct FactorBlocks<'a> {
    factors: Factors<'a>,
    pub(super) nodes: ProductNodes,
    left: Blocks,
    right: Blocks,
    /// The products of blocks before each block of A, and of all.
    starts: Buffer<i64>,
    /// The products of all.
    pub(super) products: usize,
}

impl<'a> FactorBlocks<'a> {
    /// Finds the blocks of these nodes and counts their products, unless rows are too many for 32 bits, or too long.
    /// Waits for the device.
    pub(super) fn find(factors: Factors<'a>, nodes: ProductNodes) -> Result<Option<Self>> {
        let Factors { backend, left, right } = factors;
        if [left.rows, right.rows].into_iter().any(|rows| i32::try_from(rows + 1).is_err()) {
            return Ok(None);
        }
        let left_blocks = find_blocks(backend, left, &nodes, left.into(), (&nodes.rows, &nodes.inner))?;
        let right_blocks = find_blocks(backend, left, &nodes, right.into(), (&nodes.inner, &nodes.columns))?;
        let count = left_blocks.blocks.len;
        // The products of each block, their sum and the longest row.
        let starts = backend.zeros::<i64>(count + 2)?;
        let kernel = kernel(backend, left, "spgemm_node_blocks_count")?;
        let launch =
            backend.launch(&kernel).size(count).size(nodes.unknowns).buffer_or_null(nodes.rows.firsts());
        let launch = launch.buffer_or_null(nodes.inner.starts()).buffer_or_null(nodes.inner.firsts());
        let launch = launch.buffer(left.offsets).buffer(&left_blocks.blocks).buffer(right.offsets);
        launch.buffer(&right_blocks.starts).buffer(&starts).items(count)?;
        let counts = Device::slice(Device::view(&starts), 0..count + 1);
        PrefixSum::series(backend, count + 1)?.run(backend, ScanKind::Exclusive, counts, counts)?;
        let mut total_and_longest = [0; 2];
        backend
            .download_into(Device::slice(Device::view(&starts), count..count + 2), &mut total_and_longest)?;
        let [products, longest] = total_and_longest.map(|count| count as usize);
        let most = if nodes.are_even() { LONGEST } else { LONGEST_OF_UNEVEN };
        let found = Self { factors, nodes, left: left_blocks, right: right_blocks, starts, products };
        Ok((longest <= most).then_some(found))
    }

    /// True if lists of the products fit the limit of scratch memory, and their positions 32 bits.
    pub(in crate::op::spgemm) fn can_be_listed(&self) -> bool {
        let blocks = [&self.left, &self.right].map(|blocks| blocks.starts.bytes() + blocks.blocks.bytes());
        let own = blocks.iter().sum::<usize>() + self.starts.bytes();
        let bytes = self.products.saturating_mul(BYTES_PER_PRODUCT).saturating_add(own);
        bytes as u64 <= self.factors.backend.scratch_limit() && i32::try_from(self.products + 1).is_ok()
    }

    /// The blocks of C.
    pub(super) fn of_product(&self, c: KnownRows<'_>) -> Result<ProductBlocks<'_>> {
        let Self { factors: Factors { backend, left, .. }, ref nodes, .. } = *self;
        let pattern = Pattern { rows: left.rows, nnz: c.count, offsets: c.offsets, indices: c.columns };
        let blocks = find_blocks(backend, left, nodes, pattern, (&nodes.rows, &nodes.columns))?;
        Ok(ProductBlocks { factors: self, blocks })
    }
}

/// The blocks of C, and those of A and B.
pub(super) struct ProductBlocks<'a> {
    factors: &'a FactorBlocks<'a>,
    blocks: Blocks,
}

impl ProductBlocks<'_> {
    pub(super) fn count(&self) -> usize {
        self.blocks.blocks.len
    }

    /// The pairs of all products in the order of C's blocks, and those before each block.
    pub(super) fn pairs(&self) -> Result<(RawBuffer, Buffer<i32>)> {
        let FactorBlocks { factors, nodes, left, right, starts, products } = self.factors;
        let (backend, a) = (factors.backend, factors.left);
        let count = self.count();
        let pairs = backend.allocate_raw(*products, PAIR_BYTES)?;
        let keys = backend.allocate::<i32>(*products)?;
        let lanes = Teams::new(backend, products.div_ceil(left.blocks.len.max(1))).smallest;
        let find = kernel(backend, a, "spgemm_node_blocks_pairs")?;
        let launch = backend.launch(&find).size(left.blocks.len).size(lanes).size(nodes.unknowns);
        let launch = launch
            .buffer_or_null(nodes.inner.starts())
            .buffer_or_null(nodes.inner.firsts())
            .buffer(&left.blocks);
        let launch = launch.buffer(factors.right.offsets).buffer(&right.starts).buffer(&right.blocks);
        let launch = launch.buffer(&self.blocks.starts).buffer(&self.blocks.blocks).buffer(starts);
        launch.buffer(&pairs).buffer(&keys).teams(left.blocks.len, lanes)?;
        let bits = usize::BITS - count.leading_zeros();
        let sorted = radix_sort(backend, keys.raw, None, IndexType::I32, 0..bits)?;
        let lists = backend.allocate_raw(*products, PAIR_BYTES)?;
        let starts = backend.allocate::<i32>(count + 1)?;
        let list = kernel(backend, a, "spgemm_node_blocks_lists")?;
        let launch = backend.launch(&list).size(*products).size(count).buffer(&sorted.keys);
        let launch = launch.positions(&sorted.positions).buffer(&pairs).buffer(&lists).buffer(&starts);
        launch.items(*products)?;
        Ok((lists, starts))
    }

    /// The position and the stride of each block in C, whose rows begin at `offsets`.
    pub(super) fn heads(&self, offsets: &RawBuffer) -> Result<RawBuffer> {
        let FactorBlocks { factors: Factors { backend, left, .. }, ref nodes, .. } = *self.factors;
        let heads = backend.allocate_raw(self.count(), HEAD_BYTES)?;
        let kernel = kernel(backend, left, "spgemm_node_blocks_heads")?;
        let launch = backend.launch(&kernel).size(self.count()).size(nodes.unknowns);
        let launch = launch.buffer_or_null(nodes.rows.firsts()).buffer_or_null(nodes.columns.starts());
        let launch = launch.buffer_or_null(nodes.columns.firsts()).buffer(left.offsets).buffer(offsets);
        launch.buffer(&self.blocks.blocks).buffer(&heads).items(self.count())?;
        Ok(heads)
    }
}

/// Finds the blocks of a matrix with the types of A's pattern, node by node. Waits for the device if nodes are uneven.
fn find_blocks(
    backend: &Device,
    left: RawCompressed<'_>,
    nodes: &ProductNodes,
    matrix: Pattern<'_>,
    (of_rows, of_columns): (&Nodes, &Nodes),
) -> Result<Blocks> {
    let is_even = nodes.are_even();
    let most_nodes = if is_even { matrix.rows / nodes.unknowns } else { matrix.rows };
    let starts = backend.zeros::<i64>(most_nodes + 1)?;
    let find = |blocks: Option<&RawBuffer>| {
        let kernel = kernel(backend, left, "spgemm_node_blocks_blocks")?;
        let launch = backend.launch(&kernel).size(matrix.rows).size(nodes.unknowns);
        let launch = launch
            .buffer_or_null(of_rows.starts())
            .buffer_or_null(of_rows.firsts())
            .buffer_or_null(of_columns.starts());
        let launch = launch.buffer(matrix.offsets).buffer(matrix.indices).buffer(&starts);
        launch.buffer_or_null(blocks).warps(most_nodes)
    };
    find(None)?;
    let sums = PrefixSum::series(backend, starts.len)?;
    let count = match is_even {
        true => sums.starts(backend, &starts).map(|()| matrix.nnz / nodes.unknowns.pow(2))?,
        false => sums.starts_and_sum(backend, &starts)?,
    };
    let blocks = backend.allocate_raw(count, BLOCK_BYTES)?;
    find(Some(&blocks))?;
    Ok(Blocks { starts, blocks })
}

//! `node_blocks`: matrices whose entries are in square blocks, as of meshes with several unknowns per node.
//!
//! The plan copies one column for each block, and a lane loads one run of x for it. So an entry takes little more than
//! its value, 4.4 bytes in f32 with three unknowns, where 16-bit columns make it 6; and a third of the loads of x.
//! Values stay in the order of the matrix, since they may change between runs.

use super::super::node_blocks;
use super::row_deltas::{EVICTED_CACHES, pays_to_evict_first};
use super::row_strategy::RowProduct;
use crate::buffer::RawBuffer;
use crate::lanes::LANES;
use crate::primitive::planned_rows::PlannedRows;
use crate::primitive::raw::{RawCompressed, VectorOperands};
use crate::{Device, Kernel};
use sparse_core::Result;

/// The file of the kernels of the product.
const FILE: &str = "csr_spmv_node_blocks";

/// Average blocks per row from which on the algorithm is chosen. Measured on an H200 with one block a row, over a
/// thread a row with 16-bit columns: 0.8 to 0.9 in f32, 0.8 to 1.5 in f64.
const FEWEST_BLOCKS: usize = 2;

/// Bytes of the largest block that a lane takes whole: `LARGE` of the kernels.
const LARGE: usize = 144;

/// The columns of the blocks.
#[derive(Debug)]
pub(super) struct NodeBlocks {
    kernel: Kernel,
    /// Lanes for each node, or for each row of large blocks.
    lanes: usize,
    /// Nodes, or rows of large blocks.
    groups: usize,
    columns: RawBuffer,
}

impl NodeBlocks {
    /// Copies the first column of each block; 1 unknown makes each entry a block.
    pub(super) fn new(rows: &PlannedRows<'_>, unknowns: usize) -> Result<Self> {
        let &PlannedRows { backend, a, op, .. } = rows;
        let value_bytes = a.values.element_bytes;
        let (nodes, blocks) = (a.rows / unknowns, a.nnz() / unknowns.pow(2));
        let columns = backend.allocate_raw(blocks, a.indices.element_bytes)?;
        let copy = backend.kernel(node_blocks::FILE, "node_blocks_columns", a.defines())?;
        let launch = backend.launch(&copy).size(nodes).size(unknowns).buffer(a.offsets).buffer(a.indices);
        launch.buffer(&columns).warps(nodes.div_ceil(LANES / node_blocks::LANES_OF_NODE))?;
        let entry = match evicts_first(backend.properties().cache_bytes, a, unknowns) {
            true => "csr_spmv_node_blocks_evict_first",
            false => FILE,
        };
        let defines = a.product_defines(op).set("UNKNOWNS", unknowns);
        let kernel = backend.kernel_of(a.dtype, FILE, entry, defines)?;
        let (lanes, rows_of_lane) = lanes_for(a.mean_length() / unknowns, unknowns, value_bytes);
        Ok(Self { kernel, lanes, groups: a.rows / rows_of_lane, columns })
    }
}

impl RowProduct for NodeBlocks {
    fn bytes(&self) -> usize {
        self.columns.bytes()
    }

    fn run(&self, backend: &Device, a: RawCompressed<'_>, operands: VectorOperands<'_>) -> Result<()> {
        let launch = backend.launch(&self.kernel).size(a.rows).size(self.lanes).buffer(a.offsets);
        let launch = launch.buffer(&self.columns).buffer(a.values).vectors(operands);
        launch.resident_warps(self.groups.div_ceil(LANES / self.lanes))
    }
}

impl PlannedRows<'_> {
    /// The unknowns of a node whose blocks a plan that runs often takes; 1 if entries are not in blocks.
    pub(super) fn unknowns_worth_blocks(&self) -> Result<usize> {
        let &Self { backend, a, options, .. } = self;
        let is_often = options.expected_calls >= backend.thresholds().spmv.deltas.calls;
        if options.algorithm.is_some() || !is_often || backend.has_barriers() {
            return Ok(1);
        }
        let is_busy = self.are_busy_with_lanes();
        if !is_busy && !backend.is_half_filled_by(a.rows * LANES) {
            return Ok(1);
        }
        let unknowns = backend.most_unknowns(a)?;
        let blocks = a.mean_length() / unknowns;
        let (lanes, _) = lanes_for(blocks, unknowns, a.values.element_bytes);
        let are_worth_it = blocks >= FEWEST_BLOCKS && (is_busy || backend.is_half_filled_by(a.rows * lanes));
        Ok(if are_worth_it { unknowns } else { 1 })
    }
}

/// True if entries should be evicted from the cache first. Measured on an H200, over plain loads: 0.77 to 0.95 at 58 to
/// 178 MB in f64, 0.84 to 1.1 at 57 to 97 MB in f32.
fn evicts_first(cache_bytes: usize, a: RawCompressed<'_>, unknowns: usize) -> bool {
    let value_bytes = a.values.element_bytes;
    let entries = a.nnz() * value_bytes + a.nnz() / unknowns.pow(2) * a.indices.element_bytes;
    let bytes = entries + a.rows * (a.offsets.element_bytes + 2 * value_bytes);
    pays_to_evict_first(cache_bytes, bytes, true, 2 * EVICTED_CACHES)
}

/// The lanes that share the blocks of a row, and the rows that they take: all of a node, or one if blocks are large.
///
/// At most as many lanes as blocks, and at least five of eight lanes have a block in each step. Found on an H200 on 18
/// meshes of two to six unknowns, and on 28 more: half or twice the lanes take 0.8 to 2 of the time. Rows of five to
/// nine blocks of three unknowns and more have eight lanes: over four, 0.77 to 1.07 on eleven meshes, cold 0.71 to
/// 1.01.
fn lanes_for(blocks: usize, unknowns: usize, value_bytes: usize) -> (usize, usize) {
    let takes_node = unknowns.pow(2) * value_bytes <= LARGE;
    let most = if takes_node { LANES } else { 8 };
    let fills = |&lanes: &usize| lanes <= blocks && blocks.next_multiple_of(lanes) * 5 <= blocks * 8;
    let lanes = match blocks {
        5..=9 if unknowns > 2 => 8,
        _ => (0..=most.ilog2()).rev().map(|bits| 1 << bits).find(fills).unwrap_or(1),
    };
    (lanes, if takes_node { unknowns } else { 1 })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn five_of_eight_lanes_have_a_block() {
        let lanes =
            |value_bytes| [1, 3, 5, 7, 9, 14, 25, 200].map(|blocks| lanes_for(blocks, 3, value_bytes).0);
        assert_eq!(lanes(8), [1, 2, 8, 8, 8, 8, 16, 32]);
        assert_eq!(
            [lanes_for(25, 3, 16), lanes_for(25, 5, 8), lanes_for(7, 1, 4)],
            [(16, 3), (8, 1), (4, 1)]
        );
    }
}

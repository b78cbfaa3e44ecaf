//! Nodes of several unknowns: neighbouring rows with the same columns, or columns that are neighbours in all rows.
//!
//! Where a matrix lacks some unknowns, as those that boundary conditions give, nodes differ in size.

use super::super::Factors;
use crate::buffer::RawBuffer;
use crate::defines::Defines;
use crate::lanes::LANES;
use crate::primitive::prefix_sum::PrefixSum;
use crate::primitive::raw::RawCompressed;
use crate::{Buffer, Device, Kernel};
use sparse_core::{Backend, Result};

/// The file of the kernels.
const FILE: &str = "spgemm_nodes";

/// Lanes of a row: `LANES` of the kernels.
const LANES_OF_ROW: usize = 8;

/// The most unknowns of a node: `MOST_UNKNOWNS` of the kernels.
const MOST_UNKNOWNS: usize = 6;

/// The most columns of B for each of its entries, so that nodes of columns take no more memory than B.
const COLUMNS_PER_ENTRY: usize = 4;

/// The nodes that the rows of A and C, the columns of A and rows of B, and the columns of B and C belong to.
pub(super) struct ProductNodes {
    /// The unknowns of all nodes or, where these differ, of the largest.
    pub(super) unknowns: usize,
    pub(super) rows: Nodes,
    pub(super) inner: Nodes,
    pub(super) columns: Nodes,
}

impl ProductNodes {
    /// Nodes of as many unknowns each.
    pub(super) fn even(unknowns: usize) -> Self {
        Self { unknowns, rows: Nodes(None), inner: Nodes(None), columns: Nodes(None) }
    }

    /// Nodes that differ in size, up to the size that has most rows of B; none if fewer than `least` of these rows are
    /// in nodes of several, or if matrices are too large. Waits for the device.
    pub(super) fn uneven(factors: Factors<'_>, least: usize) -> Result<Option<Self>> {
        let Factors { backend, left, right } = factors;
        let is_counted = |n: usize| i32::try_from(n + 1).is_ok();
        let is_small = right.cols / COLUMNS_PER_ENTRY <= right.nnz();
        let sizes = [left.rows, right.rows, right.cols];
        if left.nnz() == 0 || right.nnz() == 0 || !is_small || !sizes.into_iter().all(is_counted) {
            return Ok(None);
        }
        let search = NodeSearch { backend, defines: left.defines() };
        let inner = search.nodes(right.rows, Some(right), Some(left))?;
        let counts = search.sizes(&inner)?;
        let in_several: i64 = counts[2..].iter().sum();
        let Some(unknowns) = (2..=MOST_UNKNOWNS).max_by_key(|&size| counts[size]) else { return Ok(None) };
        if in_several < least as i64 {
            return Ok(None);
        }
        let rows = search.nodes(left.rows, Some(left), None)?;
        let columns = search.nodes(right.cols, None, Some(right))?;
        let split = |nodes| search.split(nodes, unknowns).map(|nodes| Nodes(Some(nodes)));
        Ok(Some(Self { unknowns, rows: split(rows)?, inner: split(inner)?, columns: split(columns)? }))
    }

    /// True if all nodes have as many unknowns.
    pub(super) fn are_even(&self) -> bool {
        self.rows.0.is_none()
    }
}

/// The nodes of rows or columns, in a list if they differ in size.
pub(super) struct Nodes(Option<NodeList>);

impl Nodes {
    /// The nodes before each row or column, and of all.
    pub(super) fn starts(&self) -> Option<&RawBuffer> {
        self.0.as_ref().map(|list| &*list.starts)
    }

    /// The first row or column of each node, and the end of the last.
    pub(super) fn firsts(&self) -> Option<&RawBuffer> {
        self.0.as_ref().map(|list| &*list.firsts)
    }
}

struct NodeList {
    starts: Buffer<i32>,
    firsts: Buffer<i32>,
}

struct NodeSearch<'a> {
    backend: &'a Device,
    defines: Defines,
}

impl NodeSearch<'_> {
    fn kernel(&self, entry: &'static str) -> Result<Kernel> {
        self.backend.kernel(FILE, entry, self.defines.clone())
    }

    /// The nodes of `n` rows of a matrix and, or columns of another.
    fn nodes(
        &self,
        n: usize,
        rows_of: Option<RawCompressed<'_>>,
        columns_of: Option<RawCompressed<'_>>,
    ) -> Result<NodeList> {
        let breaks = self.backend.zeros::<i32>(n + 1)?;
        let matrices = [(rows_of, "spgemm_nodes_row_breaks"), (columns_of, "spgemm_nodes_column_breaks")];
        for (matrix, entry) in matrices {
            let Some(matrix) = matrix else { continue };
            let kernel = self.kernel(entry)?;
            let launch = self.backend.launch(&kernel).size(matrix.rows).buffer(matrix.offsets);
            let launch = launch.buffer(matrix.indices).buffer(&breaks);
            launch.warps(matrix.rows.div_ceil(LANES / LANES_OF_ROW))?;
        }
        self.list(breaks)
    }

    /// The nodes between breaks, which are ones among zeros.
    fn list(&self, breaks: Buffer<i32>) -> Result<NodeList> {
        let n = breaks.len - 1;
        PrefixSum::series(self.backend, breaks.len)?.starts(self.backend, &breaks)?;
        let firsts = self.backend.allocate::<i32>(n + 1)?;
        let kernel = self.kernel("spgemm_nodes_firsts")?;
        self.backend.launch(&kernel).size(n).buffer(&breaks).buffer(&firsts).items(n + 1)?;
        Ok(NodeList { starts: breaks, firsts })
    }

    /// The rows or columns in nodes of each size, the last with those in larger ones. Waits for the device.
    fn sizes(&self, nodes: &NodeList) -> Result<Vec<i64>> {
        let n = nodes.starts.len - 1;
        let counts = self.backend.zeros::<i64>(MOST_UNKNOWNS + 1)?;
        let kernel = self.kernel("spgemm_nodes_sizes")?;
        let launch = self.backend.launch(&kernel).size(n).buffer(&nodes.starts);
        launch.buffer(&nodes.firsts).buffer(&counts).items(n)?;
        self.backend.download(&counts)
    }

    /// These nodes in parts of up to `unknowns`.
    fn split(&self, nodes: NodeList, unknowns: usize) -> Result<NodeList> {
        let n = nodes.starts.len - 1;
        let breaks = self.backend.zeros::<i32>(n + 1)?;
        let kernel = self.kernel("spgemm_nodes_split")?;
        let launch = self.backend.launch(&kernel).size(n).size(unknowns).buffer(&nodes.starts);
        launch.buffer(&nodes.firsts).buffer(&breaks).items(n)?;
        self.list(breaks)
    }
}

//! `row_per_block`: one work-group per row, in the order of the matrix; where rows are few, the longest first.

use super::row_strategy::RowProduct;
use crate::lanes::LANES;
use crate::primitive::chunks::Chunks;
use crate::primitive::planned_rows::PlannedRows;
use crate::primitive::raw::{RawCompressed, VectorOperands};
use crate::{Device, Kernel};
use sparse_core::{Backend, Result};

/// Lanes per row in the matrix's order of rows.
const LANES_PER_ROW: usize = 2 * LANES;

/// Lanes per row with the longest rows first.
const LANES_PER_ORDERED_ROW: usize = 4 * LANES;

/// Rows per compute unit up to which all run at once. The product then ends with the row that ends last, so the longest
/// begin first.
const ROWS_AT_ONCE: usize = 64;

/// The kernel, and the order of the rows if the longest go first.
#[derive(Debug)]
pub(super) struct RowPerBlock {
    kernel: Kernel,
    order: Option<Chunks>,
}

impl RowPerBlock {
    /// Sorts the rows if they are few.
    pub(super) fn new(rows: &PlannedRows<'_>) -> Result<Self> {
        let &PlannedRows { backend, a, op, .. } = rows;
        let defines = a.product_defines(op);
        let kernel = backend.kernel_of(a.dtype, "csr_spmv_block", "csr_spmv_row_per_block", defines)?;
        Ok(Self { kernel, order: longest_first(rows)? })
    }
}

impl RowProduct for RowPerBlock {
    fn bytes(&self) -> usize {
        self.order.as_ref().map_or(0, Chunks::bytes)
    }

    fn run(&self, backend: &Device, a: RawCompressed<'_>, operands: VectorOperands<'_>) -> Result<()> {
        let order = self.order.as_ref();
        let launch = backend.launch(&self.kernel).size(a.rows);
        let launch = launch.buffer_or_null(order.map(|order| &order.begins.raw));
        let launch = launch.buffer_or_null(order.map(|order| &order.lengths.raw));
        let launch = launch.buffer_or_null(order.map(|order| &order.rows.raw));
        let lanes = if order.is_some() { LANES_PER_ORDERED_ROW } else { LANES_PER_ROW };
        launch.product(a, operands).group_per_row(a.rows, lanes.min(backend.inner.block))
    }
}

/// The rows with the longest first, if they are few.
fn longest_first(rows: &PlannedRows<'_>) -> Result<Option<Chunks>> {
    let &PlannedRows { backend, a, ref lengths, .. } = rows;
    if a.rows > backend.caps().compute_units * ROWS_AT_ONCE {
        return Ok(None);
    }
    let longest = lengths.longest()?;
    let order = (longest <= i32::MAX as usize).then(|| Chunks::whole_rows(backend, a, longest));
    Ok(order.transpose()?.map(|(rows, _)| rows))
}

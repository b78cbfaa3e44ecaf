//! Sizes of the rows of C before their columns are known: their products, and the most entries that they can have.

use super::{Factors, NO_ROW, ROWS_FILE, Teams, defines};
use crate::primitive::prefix_sum::PrefixSum;
use crate::primitive::raw::RawCompressed;
use crate::{Buffer, Device};
use sparse_core::op::ScanKind;
use sparse_core::{Backend, Result, Space};
use std::sync::Arc;

/// Sizes of rows as their prefix sums, and the sum of all.
#[derive(Debug)]
pub(super) struct RowSizes {
    pub(super) starts: Arc<Buffer<i64>>,
    pub(super) total: usize,
}

/// The products of each row of C, and what they say about its columns.
pub(super) struct ProductCounts {
    pub(super) counts: RowSizes,
    /// The products of the row that has most, or 2³¹ − 1 if those are more.
    pub(super) most: usize,
    /// The prefix sums of the most entries that each row can have, where these are not its products.
    bounds: Option<Arc<Buffer<i64>>>,
    /// The first column of each row's products; `spans` has the number of columns from there to the last.
    pub(super) origins: Buffer<i64>,
    pub(super) spans: Buffer<i64>,
}

impl ProductCounts {
    /// Counts the products. Looks for the columns of rows with more products than these; others have all columns.
    pub(super) fn new(factors: Factors<'_>, spans_above: Option<usize>) -> Result<Self> {
        let Factors { backend, left, right } = factors;
        // The products of each row, their sum and the most.
        let counts = backend.zeros::<i64>(left.rows + 2)?;
        let (origins, spans) = (backend.allocate::<i64>(left.rows)?, backend.allocate::<i64>(left.rows)?);
        let lanes = Teams::new(backend, left.mean_length()).smallest;
        let count = factors.pattern_kernel(ROWS_FILE, "spgemm_rows_products")?;
        let launch = backend.launch(&count).size(left.rows).size(right.cols).size(lanes);
        let launch = launch.size(usize::from(right.order.sorted)).size(spans_above.unwrap_or(NO_ROW));
        let launch = launch.buffer(left.offsets).buffer(left.indices);
        let launch = launch.buffer(right.offsets).buffer(right.indices).buffer(&counts);
        launch.buffer(&origins).buffer(&spans).teams(left.rows, lanes)?;
        let starts = Device::slice(Device::view(&counts), 0..left.rows + 1);
        PrefixSum::series(backend, left.rows + 1)?.run(backend, ScanKind::Exclusive, starts, starts)?;
        let mut total_and_most = [0; 2];
        let last = Device::slice(Device::view(&counts), left.rows..left.rows + 2);
        backend.download_into(last, &mut total_and_most)?;
        let [total, most] = total_and_most.map(|count| count as usize);
        let counts = RowSizes { starts: counts.into(), total };
        let bounds = (most > right.cols).then(|| row_bounds(factors, &counts)).transpose()?;
        Ok(Self { counts, most, bounds, origins, spans })
    }

    /// The prefix sums of the most entries that each row can have.
    pub(super) fn bound_starts(&self) -> &Arc<Buffer<i64>> {
        self.bounds.as_ref().unwrap_or(&self.counts.starts)
    }

    /// The most entries that all rows can have. Waits for the device, unless these are the products.
    pub(super) fn bound(&self, backend: &Device) -> Result<usize> {
        match &self.bounds {
            Some(starts) => Ok(backend.last(starts)? as usize),
            None => Ok(self.counts.total),
        }
    }
}

/// The prefix sums of the most entries of each row: its products, or all columns.
fn row_bounds(factors: Factors<'_>, products: &RowSizes) -> Result<Arc<Buffer<i64>>> {
    let backend = factors.backend;
    let rows = factors.left.rows;
    let bounds = backend.zeros::<i64>(rows + 1)?;
    let kernel = factors.pattern_kernel(ROWS_FILE, "spgemm_rows_bounds")?;
    let launch = backend.launch(&kernel).size(rows).size(factors.right.cols).buffer(&products.starts);
    launch.buffer(&bounds).items(rows)?;
    PrefixSum::series(backend, rows + 1)?.starts(backend, &bounds)?;
    Ok(bounds.into())
}

/// The sizes of the rows of a matrix.
pub(super) fn row_sizes_of(backend: &Device, matrix: RawCompressed<'_>) -> Result<RowSizes> {
    let starts = backend.allocate::<i64>(matrix.rows + 1)?;
    let widen = backend.kernel(ROWS_FILE, "spgemm_rows_starts", defines(backend, matrix))?;
    let launch = backend.launch(&widen).size(starts.len).buffer(matrix.offsets);
    launch.buffer(&starts).items(starts.len)?;
    Ok(RowSizes { starts: starts.into(), total: matrix.indices.len })
}

//! Strips of rows whose patterns are shifted copies of each other, which plans of many runs add by one program.
//!
//! In the matrices of stencils and bands, a row often has the columns of the row before, each plus one. Neighbours among
//! such rows, whose rows of B are alike in the same way, are a strip: a work-group copies their values to shared memory, a
//! work-item has a row, and all rows add the same products. A run reads A, C and the rows of B of each strip once, and
//! 4 bytes for each product of a strip's first row.

use super::chunks;
use super::row_sizes::ProductCounts;
use super::values::KnownRows;
use super::{Factors, largest_team};
use crate::buffer::RawBuffer;
use crate::lanes::LANES;
use crate::primitive::prefix_sum::PrefixSum;
use crate::primitive::raw::RawCompressed;
use crate::{Buffer, Device, Kernel};
use sparse_core::{Backend, Error, Result};

/// The file of the kernels.
pub(super) const FILE: &str = "spgemm_strips";

/// The fewest rows of a strip. A strip takes as long as one of a warp's rows, and places about as long as these (H200).
const MIN_ROWS: usize = 8;

/// The most shared memory of a strip: two work-groups have a compute unit.
const MAX_BYTES: usize = 100 << 10;

/// The most rows of a strip, for up to so many products of a row on average. Measured on an H200, runs of squares: rows of
/// 25 products take 83 us with 256 rows and 90 with 128, rows of 81 149 and 106, rows of 729 252 with 32 and 314 with 64.
const MAX_ROWS: [(usize, usize); 3] = [(32, 256), (128, 128), (512, 64)];

/// Bytes of a strip's description.
const STRIP_BYTES: usize = 64;

/// The strips of a product, whose programs are not known yet.
#[derive(Debug)]
pub(super) struct FoundStrips {
    count: usize,
    strips: RawBuffer,
    /// The integers of programs before each strip, and of all.
    starts: Buffer<i64>,
    size: usize,
    /// The products of all strips.
    products: usize,
    /// Bytes of shared memory for the largest strip.
    shared: usize,
}

impl FoundStrips {
    /// Finds the strips, if there are any, and memory for them. `entries` are those of C before each row.
    pub(super) fn find(
        backend: &Device,
        factors: Factors<'_>,
        products: &ProductCounts,
        entries: &Buffer<i64>,
    ) -> Result<Option<Self>> {
        let Factors { left, right } = factors;
        let is_counted = |n: usize| i32::try_from(n + 1).is_ok();
        let are_counted = is_counted(left.rows) && is_counted(right.indices.len);
        if !backend.can_share(FILE) || !are_counted || !right.order.unique {
            return Ok(None);
        }
        match Self::within_memory(backend, factors, products, entries) {
            Err(Error::OutOfMemory { .. }) => Ok(None),
            strips => strips,
        }
    }

    fn within_memory(
        backend: &Device,
        factors: Factors<'_>,
        products: &ProductCounts,
        entries: &Buffer<i64>,
    ) -> Result<Option<Self>> {
        let Factors { left, right } = factors;
        let rows = left.rows;
        let runs = Runs::find(backend, factors)?;
        let flags = backend.zeros::<i64>(rows + 1)?;
        let products_of_strips = backend.zeros::<i64>(rows + 1)?;
        let most = backend.zeros::<i32>(1)?;
        let most_rows = most_rows(backend, products.counts.total / rows.max(1));
        let limit = MAX_BYTES.min(backend.properties().shared_bytes);
        let kernel = kernel(backend, factors, "spgemm_strips_find")?;
        let launch = backend.launch(&kernel).size(rows).size(most_rows).size(MIN_ROWS).size(limit);
        let launch = launch.buffer(&runs.before).buffer(&runs.begins);
        let launch = launch.buffer(left.offsets).buffer(left.indices).buffer(right.offsets);
        let launch = launch.buffer(entries).buffer(&products.counts.starts);
        launch.buffer(&flags).buffer(&products_of_strips).buffer(&most).items(rows)?;
        let sums = PrefixSum::series(backend, rows + 1)?;
        let products_of_strips = sums.starts_and_sum(backend, &products_of_strips)?;
        let count = sums.starts_and_sum(backend, &flags)?;
        if count == 0 {
            return Ok(None);
        }
        let strips = backend.allocate_raw(count, STRIP_BYTES)?;
        let starts = backend.zeros::<i64>(count + 1)?;
        let kernel = self::kernel(backend, factors, "spgemm_strips_make")?;
        let launch = backend.launch(&kernel).size(rows).size(most_rows).buffer(&flags);
        let launch = launch.buffer(&runs.before).buffer(&runs.begins);
        let launch = launch.buffer(left.offsets).buffer(left.indices).buffer(right.offsets);
        let launch = launch.buffer(entries).buffer(&products.counts.starts);
        launch.buffer(&strips).buffer(&starts).items(rows)?;
        let size = PrefixSum::series(backend, count + 1)?.starts_and_sum(backend, &starts)?;
        let shared = backend.download(&most)?[0] as usize;
        Ok(Some(Self { count, strips, starts, size, products: products_of_strips, shared }))
    }

    /// True if they have most of these products.
    pub(super) fn have_most(&self, products: &ProductCounts) -> bool {
        self.products >= products.counts.total / 4 * 3
    }

    /// Leaves the rows of strips out of all bins.
    pub(super) fn leave(&self, backend: &Device, factors: Factors<'_>, bins: &Buffer<i32>) -> Result<()> {
        let kernel = kernel(backend, factors, "spgemm_strips_leave")?;
        backend.launch(&kernel).size(self.count).buffer(&self.strips).buffer(bins).warps(self.count)
    }

    /// The strips with their programs.
    pub(super) fn with_programs(
        self,
        backend: &Device,
        factors: Factors<'_>,
        rows: KnownRows<'_>,
    ) -> Result<Strips> {
        let Factors { left, right } = factors;
        let Self { count, strips, starts, size, shared, .. } = self;
        let programs = backend.allocate_raw(size, size_of::<i32>())?;
        let kernel = kernel(backend, factors, "spgemm_strips_programs")?;
        let launch = backend.launch(&kernel).size(count).buffer(&strips).buffer(&starts);
        let launch = launch.buffer(left.offsets).buffer(left.indices);
        let launch = launch.buffer(right.offsets).buffer(right.indices);
        launch.buffer(rows.offsets).buffer(rows.columns).buffer(&programs).warps(count)?;
        let kernel = self::kernel(backend, factors, "spgemm_strips_sum")?;
        Ok(Strips { count, strips, programs, shared, lanes: largest_team(backend), kernel })
    }
}

/// Strips with their programs.
#[derive(Debug)]
pub(super) struct Strips {
    count: usize,
    strips: RawBuffer,
    programs: RawBuffer,
    /// Bytes of shared memory for the largest strip.
    shared: usize,
    /// The work-items that have a strip.
    lanes: usize,
    kernel: Kernel,
}

impl Strips {
    /// Writes the values of their rows.
    pub(super) fn run(&self, backend: &Device, factors: Factors<'_>, c: RawCompressed<'_>) -> Result<()> {
        let launch =
            backend.launch(&self.kernel).size(self.count).buffer(&self.strips).buffer(&self.programs);
        let launch = launch.buffer(factors.left.values).buffer(factors.right.values).buffer(c.values);
        launch.groups_that_share(self.count.min(backend.most_groups()), self.lanes, self.shared)
    }

    /// Bytes on the device.
    pub(super) fn bytes(&self) -> usize {
        self.strips.bytes() + self.programs.bytes()
    }
}

/// Neighbouring rows, each of which follows the one before.
struct Runs {
    /// The runs that begin before each row, and all.
    before: Buffer<i64>,
    /// The first row of each run, and the number of rows.
    begins: Buffer<i32>,
}

impl Runs {
    fn find(backend: &Device, factors: Factors<'_>) -> Result<Self> {
        let Factors { left, right } = factors;
        let follows = backend.allocate::<i32>(right.rows)?;
        let kernel = kernel(backend, factors, "spgemm_strips_follows")?;
        let launch = backend.launch(&kernel).size(right.rows).buffer(right.offsets).buffer(right.indices);
        launch.buffer(&follows).items(right.rows)?;
        let before = backend.zeros::<i64>(left.rows + 1)?;
        let kernel = self::kernel(backend, factors, "spgemm_strips_begins")?;
        let launch = backend.launch(&kernel).size(left.rows).buffer(left.offsets).buffer(left.indices);
        launch.buffer(&follows).buffer(&before).items(left.rows)?;
        let count = PrefixSum::series(backend, left.rows + 1)?.starts_and_sum(backend, &before)?;
        let begins = backend.allocate::<i32>(count + 1)?;
        let kernel = self::kernel(backend, factors, "spgemm_strips_runs")?;
        let launch = backend.launch(&kernel).size(left.rows).buffer(&before).buffer(&begins);
        launch.items(left.rows + 1)?;
        Ok(Self { before, begins })
    }
}

/// True if strips can pay: a product that runs all at once in chunks is bound by latency.
pub(super) fn pay(backend: &Device, factors: Factors<'_>, products: &ProductCounts) -> bool {
    !chunks::run_at_once(backend, factors, products)
}

/// The most rows of a strip, for rows of so many products.
fn most_rows(backend: &Device, products: usize) -> usize {
    let fitting = MAX_ROWS.iter().find(|(most, _)| products <= *most);
    fitting.map_or(LANES, |(_, rows)| *rows).min(largest_team(backend))
}

fn kernel(backend: &Device, factors: Factors<'_>, entry: &'static str) -> Result<Kernel> {
    backend.kernel_of(factors.left.dtype, FILE, entry, factors.defines(backend))
}

//! Compressed rows with columns of 16 bits: a base for each 32 neighbouring rows, and a delta for each entry. A lane
//! takes a short row, several lanes a longer one.

use super::choice::DeltaPatterns;
use super::plan::Workspace;
use crate::buffer::RawBuffer;
use crate::lanes::LANES;
use crate::primitive::raw::{RawCompressed, VectorOperands};
use crate::{Buffer, Device, Kernel};
use sparse_core::op::Op;
use sparse_core::{Backend, Error, Result};

/// Rows that share a base: `ROWS` of the kernels.
const ROWS: usize = LANES;

/// The file of the kernel whose loads leave the cache first, on devices that have such loads.
const EVICT_FIRST_FILE: &str = "csr_deltas_evict_first";

/// The kernel, and what it reads in place of the columns.
#[derive(Debug)]
pub struct RowDeltas {
    kernel: Kernel,
    /// Lanes per row.
    lanes: usize,
    bases: RawBuffer,
    deltas: Buffer<u16>,
}

/// The number of groups of rows whose columns pay off as deltas.
#[derive(Debug, Clone, Copy)]
struct Found {
    /// The number of [`ROWS`] whose middle row is like the one before.
    alike: usize,
    /// The number of those, and of [`ROWS`] whose columns lie near each other.
    near: usize,
    /// The number of the others whose middle row has columns apart from each other.
    scattered: usize,
}

/// The columns of a plan that runs often.
pub(super) enum Columns {
    /// As deltas of 16 bits, which pay off.
    Deltas(RowDeltas),
    /// As they are, in most rows apart from each other.
    Scattered,
    /// As they are.
    Plain,
}

impl RowDeltas {
    /// The columns as deltas, if the pattern is one of these and columns of neighbouring rows lie within 65536.
    pub(super) fn of_patterns(
        backend: &Device,
        a: RawCompressed<'_>,
        op: Op,
        patterns: DeltaPatterns,
    ) -> Result<Columns> {
        if patterns == DeltaPatterns::None {
            return Ok(Columns::Plain);
        }
        let (deltas, found) = Self::make(backend, a, op)?;
        let most = a.rows.div_ceil(ROWS) / 4 * 3;
        let pays = match patterns {
            DeltaPatterns::None => false,
            DeltaPatterns::Fitting => true,
            DeltaPatterns::Near => found.near >= most,
            DeltaPatterns::Alike => found.alike >= most,
        };
        Ok(match deltas {
            Some(deltas) if pays => Columns::Deltas(deltas),
            _ if found.scattered >= most => Columns::Scattered,
            _ => Columns::Plain,
        })
    }

    /// The columns as deltas, if they fit, and what was found on the way.
    fn make(backend: &Device, a: RawCompressed<'_>, op: Op) -> Result<(Option<Self>, Found)> {
        let defines = a.product_defines(op);
        let kernel = |file, entry, defines| backend.kernel_of(a.dtype, file, entry, defines);
        let bases = backend.allocate_raw(a.rows.div_ceil(ROWS), a.indices.element_bytes)?;
        let (deltas, found) = (backend.allocate(a.nnz())?, backend.zeros::<i32>(4)?);
        let make = kernel("csr_deltas", "csr_deltas_make", defines.clone())?;
        let launch = backend.launch(&make).size(a.rows).buffer(a.offsets).buffer(a.indices);
        launch.buffer(&bases).buffer(&deltas).buffer(&found).warps_at_once(a.rows.div_ceil(ROWS))?;
        let counts = backend.download(&found)?;
        let lanes = lanes_for(a.mean_length(), a.values.element_bytes);
        let evicts_first = backend.lacks(EVICT_FIRST_FILE).is_none()
            && is_little_larger_than(backend.properties().cache_bytes, product_bytes(a));
        let kernel = match (lanes, evicts_first) {
            (1, false) => kernel("csr_deltas", "csr_deltas_spmv", defines)?,
            (1, true) => kernel(EVICT_FIRST_FILE, "csr_deltas_evict_first_spmv", defines)?,
            (_, false) => {
                kernel("csr_deltas_vector", "csr_deltas_row_per_vector", defines.set("LANES", lanes))?
            }
            (_, true) => {
                let name = "csr_deltas_vector_evict_first";
                kernel(name, name, defines.set("LANES", lanes))?
            }
        };
        let deltas = Self { kernel, lanes, bases, deltas };
        let [alike, near, scattered] = [1, 2, 3].map(|kind| counts[kind] as usize);
        let found = Found { alike, near, scattered };
        Ok(((counts[0] == 0).then_some(deltas), found))
    }

    /// The columns as deltas.
    ///
    /// # Errors
    /// [`Error::Unsupported`] if those of some neighbouring rows lie 65536 or more apart.
    pub(super) fn new(backend: &Device, a: RawCompressed<'_>, op: Op) -> Result<Self> {
        Self::make(backend, a, op)?.0.ok_or_else(|| {
            Error::unsupported(
                "spmv algorithm `delta16` for this pattern",
                format_args!("columns of {ROWS} neighbouring rows lie 65536 or more apart"),
            )
        })
    }

    /// Computes the product.
    pub(super) fn run(
        &self,
        backend: &Device,
        a: RawCompressed<'_>,
        operands: VectorOperands<'_>,
    ) -> Result<()> {
        let launch = backend.launch(&self.kernel).size(a.rows).buffer(a.offsets).buffer(&self.bases);
        let launch = launch.buffer(&self.deltas).buffer(a.values).vectors(operands);
        match self.lanes {
            1 => launch.items(a.rows),
            lanes => launch.warps_at_once(a.rows.div_ceil(LANES / lanes)),
        }
    }
}

/// Bytes that a product reads and writes, with x as long as y.
fn product_bytes(a: RawCompressed<'_>) -> usize {
    let value_bytes = a.values.element_bytes;
    a.nnz() * (value_bytes + size_of::<u16>()) + a.rows * (a.offsets.element_bytes + 2 * value_bytes)
}

/// True if a cache that evicts the least recent lines keeps nothing of these bytes from one product to the next, and
/// one that evicts the newest keeps a good part. Measured, time of loads that leave first over plain ones, on an H100
/// of 50 MiB: 0.75 to 0.97 at 54 to 95 MB, 1.01 on roads of 90 MB; on an H200 of 60 MiB: 0.73 to 0.95 at 63 to 108 MB,
/// 1.04 and 1.05 at 138 and 150 MB, 0.93 to 1.27 at 38 to 56 MB.
fn is_little_larger_than(cache_bytes: usize, bytes: usize) -> bool {
    bytes > cache_bytes && bytes <= 2 * cache_bytes
}

/// Lanes for rows of `mean` entries whose values have `value_bytes`: a power of two up to 32, with at least five
/// entries each, four if values have 8 bytes. Measured with one, two, four and eight lanes: 19.8 and 18.0 µs by the
/// first two at 11 entries, 9.5 by two and 10.7 by four at 18, 13.0 by four and 12.8 by two at 21, 12.1 by eight and
/// 12.6 by four at 41 (f32); 27.6 by four and more by two at 18 (f64).
pub(super) fn lanes_for(mean: usize, value_bytes: usize) -> usize {
    let entries_per_lane = if value_bytes < 8 { 5 } else { 4 };
    let most = (mean / entries_per_lane).clamp(1, LANES);
    1 << most.ilog2()
}

impl Workspace for RowDeltas {
    fn bytes(&self) -> usize {
        self.bases.bytes() + self.deltas.bytes()
    }
}

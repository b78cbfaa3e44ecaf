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
        let lanes = lanes_for(a.mean_length(), a.values.element_bytes, !backend.has_barriers());
        let evicts_first = backend.lacks(EVICT_FIRST_FILE).is_none()
            && pays_to_evict_first(backend.properties().cache_bytes, product_bytes(a), lanes > 1);
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

/// True from seven tenths of the cache, nine where words are read, to twice the cache: entries that leave first leave x
/// and a part of the entries there for the next product. Measured, time of loads that leave first over plain ones, on an H100
/// of 50 MiB: 0.75 to 0.97 at 54 to 95 MB, 1.01 on roads of 90 MB; on an H200 of 60 MiB with a thread a row: 1.05 to 1.23
/// at 35 to 42 MB, 0.82 to 1.00 from 43 MB on, with words 1.02 to 1.4 at 46 to 55 MB, 0.75 to 1.03 at 57 to 119 MB, and
/// 1.04 to 1.26 at 138 to 154 MB.
fn pays_to_evict_first(cache_bytes: usize, bytes: usize, reads_words: bool) -> bool {
    let tenths = if reads_words { 9 } else { 7 };
    10 * bytes > tenths * cache_bytes && bytes <= 2 * cache_bytes
}

/// Lanes for rows of `mean` entries whose values have `value_bytes`: a power of two up to 32.
///
/// Where several read words of 16 bytes, rows of ten entries have two, each has at least 28 bytes of values of longer
/// ones, nearly two words, and a row has up to 64 entries a step. Measured on an H200 with 65 meshes, bands,
/// blocks and rows of near columns: 0.90 of the time of lanes that read one entry after the other in f32, 0.96 in f64;
/// half or twice the lanes take 0.87 to 1.3 of it.
///
/// Where each reads one entry after the other, as all do if values have 2 bytes (words of four entries take 1.10 of the
/// time there, of eight 1.18), it has at least five, four if values have 8 bytes. Measured on an H100
/// with one, two, four and eight lanes: 19.8 and 18.0 µs by the first two at 11 entries, 9.5 by two and 10.7 by four at
/// 18, 13.0 by four and 12.8 by two at 21, 12.1 by eight and 12.6 by four at 41 (f32); 27.6 by four and more by two at 18
/// (f64).
pub(super) fn lanes_for(mean: usize, value_bytes: usize, reads_words: bool) -> usize {
    let most = match reads_words && value_bytes >= 4 {
        true => (mean * value_bytes / 28).clamp(if mean < 10 { 1 } else { 2 }, 4 * value_bytes),
        false if value_bytes < 8 => mean / 5,
        false => mean / 4,
    };
    1 << most.clamp(1, LANES).ilog2()
}

impl Workspace for RowDeltas {
    fn bytes(&self) -> usize {
        self.bases.bytes() + self.deltas.bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn longer_rows_have_more_lanes() {
        let lanes = |value_bytes, reads_words| {
            [3, 9, 11, 18, 35, 74, 1000].map(|mean| lanes_for(mean, value_bytes, reads_words))
        };
        assert_eq!(lanes(2, true), lanes(2, false));
        assert_eq!(lanes(4, true), [1, 1, 2, 2, 4, 8, 16]);
        assert_eq!(lanes(8, true), [1, 2, 2, 4, 8, 16, 32]);
        assert_eq!(lanes(4, false), [1, 1, 2, 2, 4, 8, 32]);
        assert_eq!(lanes(8, false), [1, 2, 2, 4, 8, 16, 32]);
    }

    #[test]
    fn entries_leave_the_cache_first_where_it_holds_most_of_them() {
        let evicts =
            |megabytes: usize, reads_words| pays_to_evict_first(60 << 20, megabytes * 1_000_000, reads_words);
        assert_eq!([35, 46, 60, 119, 130].map(|mb| evicts(mb, false)), [false, true, true, true, false]);
        assert_eq!([35, 46, 60, 119, 130].map(|mb| evicts(mb, true)), [false, false, true, true, false]);
    }
}

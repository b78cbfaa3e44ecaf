//! `C ← alpha·A·B + beta·C` for compressed rows in chunks: chunks that are whole rows write C, the others write partial
//! sums that a second kernel adds in order.

use super::row_product::RowProduct;
use super::summed_chunks::{SINGLE_WARPS, SummedChunks};
use super::team_kernels::{Team, TeamKernels};
use super::thresholds::{LARGEST_CHUNK, SpmmThresholds};
use crate::buffer::RawBuffer;
use crate::defines::Defines;
use crate::lanes::{LANES, vector};
use crate::operand::{DenseOperand, Pointer};
use crate::primitive::chunks::{Chunks, SMALLEST};
use crate::primitive::partial_sums::SplitRows;
use crate::primitive::planned_rows::PlannedRows;
use crate::primitive::raw::{DenseOperands, RawCompressed};
use crate::{Device, Kernel};
use sparse_core::error::checked_product;
use sparse_core::{Backend, DType, Result};

/// The file of the kernels, and the entry of the product.
const FILE: &str = "csr_spmm_split";
const KERNEL: (&str, &str) = (FILE, "csr_spmm_row_split");

/// The plan: the chunks, and a kernel for operands of either alignment.
#[derive(Debug)]
pub(super) struct RowSplit {
    kernels: TeamKernels,
    chunks: SummedChunks,
    columns: usize,
    packed: Option<Packed>,
}

/// The unit of work of a team.
#[derive(Debug, Clone, Copy)]
pub(super) enum Division {
    /// Chunks of a size that fills the device.
    Chunks,
    /// Tiles of equal size.
    Tiles,
    /// Whole rows.
    Rows,
}

impl Division {
    /// The chunks for teams that take each of them for `slices` slices of B's columns, and the rows that are split.
    fn cut(self, rows: &PlannedRows<'_>, team: Team, slices: usize) -> Result<(Chunks, SplitRows)> {
        let &PlannedRows { backend, a, ref lengths, .. } = rows;
        match self {
            Self::Chunks => {
                let longest = lengths.longest()?;
                let largest = (team.lanes() * ENTRIES_PER_LANE).clamp(LEAST_LARGEST, LARGEST_CHUNK);
                let is_cut = longest > LEAST_LARGEST;
                let more = if is_cut { (LANES / team.lanes() / TEAMS_AS_ONE).max(1) } else { 1 };
                let class_bits = class_bits(a.rows, a.nnz(), longest);
                Chunks::new(backend, a, (slices, more, largest), class_bits)
            }
            Self::Tiles => Chunks::tiles(backend, a, SMALLEST),
            Self::Rows => Chunks::whole_rows(backend, a, lengths.longest()?.min(i32::MAX as usize)),
        }
    }
}

/// A slice of B's columns, copied to a contiguous buffer.
#[derive(Debug)]
struct Packed {
    kernel: Kernel,
    columns: usize,
    slice: RawBuffer,
}

/// Bytes of a row of B in a slice: `[usual, alike, far]`. `alike` is for long rows of similar lengths, which find rows
/// of B in the cache again; `far`, one cache line, for a large B whose rows are reused often. Measured on an H200 with
/// K = 128, the time of `alike` over that of `usual`: 0.81 and 0.89 with 16 and 12 random columns a row, 1.0 to 1.4 on
/// 20 other matrices.
const SLICES: [usize; 3] = [512, 256, 128];

/// Average entries per row from which on slices are `alike`, if no row has more than [`LONGEST_ALIKE`] times the
/// average.
const LONG_FOR_REUSE: usize = 12;
const LONGEST_ALIKE: usize = 4;

/// Rows count as short below this average of entries per non-empty row: their time is mostly latency of the rows of B,
/// and a team has half the lanes. Measured on an H200 with K = 8 and 32: 0.61 to 1.03 of the time with fewer than 17
/// entries, 0.99 to 1.6 with 33 to 97.
const SHORT: usize = 24;

/// Words of a row of B from which on a lane takes two words: `[short rows, others]`.
const LONG_FOR_TWO_WORDS: [usize; 2] = [8, 16];

/// The fewest lanes of a team: `[short rows or many of similar lengths, others]`. Teams of two lanes read long chunks
/// in words, if the kernel does so. Measured on an H200 with K = 8 on 18 matrices of alike rows of 24 to 1000 entries:
/// 0.57 to 0.96 of the time of four lanes, two without words 0.67 to 1.26; 0.94 to 1.09 on six of skewed rows.
const MIN_LANES: [usize; 2] = [2, 4];

/// Chunks per compute unit from which on teams of two lanes fill the device, if rows are not short. Measured, two lanes
/// over four: 1.2 with 152, 0.87 with 242.
const CHUNKS_FOR_TWO_LANES: usize = 192;

/// The most entries of a chunk per lane of its team, so that a team with few lanes does not delay the others. Every
/// team takes at least [`LEAST_LARGEST`].
const ENTRIES_PER_LANE: usize = 32;
pub(super) const LEAST_LARGEST: usize = 128;

/// Up to this number, the teams of a warp count as one in the number of chunks that fill a device: a warp waits for its
/// longest chunk. Measured on an H200 with K = 8 on skewed rows of 5 to 14 entries: chunks of 32 take 0.66 to 0.91 of
/// the time of those of 128, but 1.6 where no row has more than 60 entries, so that 128 cut none.
const TEAMS_AS_ONE: usize = 4;

/// Bits of the length classes by which chunks are ordered, where several chunks share a warp, which waits for the
/// longest. Measured on an H100 over 58 matrices of skewed rows with K = 32, beside the exact order of lengths: 0.987 ×
/// (0 bits 0.978 ×, but 1.11 × at worst).
const CLASS_BITS: u32 = 1;

/// Average entries per row below which length classes are wider (up to a factor of 2) if all chunks are whole rows:
/// more neighbouring rows, which read neighbouring rows of B, stay together. Measured on an H200 on 27 matrices without
/// a row of more than 32 entries: 0.95 of the time with K = 8 (0.87 to 1.00), 0.98 with K = 32 to 256 (0.90 to 1.03);
/// 1.06 with 15 entries, 1.08 with 27.
const SHORT_FOR_WIDE_CLASSES: usize = 12;

/// True if slices of B should be copied to a contiguous buffer, for a B of this shape and an A with `nnz` entries.
pub(super) fn is_far(
    nnz: usize,
    (b_rows, columns): (usize, usize),
    value_bytes: usize,
    limits: &SpmmThresholds,
) -> bool {
    let bytes = b_rows.saturating_mul(columns).saturating_mul(value_bytes);
    bytes >= limits.far_bytes
        && nnz >= b_rows.saturating_mul(limits.reuses)
        && columns > SLICES[1] / value_bytes
}

/// Columns per slice.
fn slice_columns(rows: &PlannedRows<'_>, columns: usize) -> Result<usize> {
    let &PlannedRows { backend, a, ref lengths, .. } = rows;
    let [usual, alike, far] = SLICES;
    let cache = backend.properties().cache_bytes;
    let exceeds_cache = |bytes: usize| a.cols.saturating_mul(bytes) > cache;
    let bytes = if exceeds_cache(alike) && a.nnz() >= a.cols.saturating_mul(backend.thresholds().spmm.reuses)
    {
        far
    } else if exceeds_cache(usual)
        && a.nnz() >= a.rows.saturating_mul(LONG_FOR_REUSE)
        && lengths.longest()? <= a.mean_length().saturating_mul(LONGEST_ALIKE)
    {
        alike
    } else {
        usual
    };
    Ok((bytes / a.dtype.bytes()).min(columns).max(1))
}

/// True if non-empty rows have fewer than [`SHORT`] entries on average.
fn are_short(rows: &PlannedRows<'_>) -> Result<bool> {
    let &PlannedRows { a, ref lengths, .. } = rows;
    Ok(a.nnz() < a.rows.saturating_mul(SHORT) && a.nnz() < lengths.filled()?.saturating_mul(SHORT))
}

/// True if rows are many and of similar lengths, so that teams of two lanes fill the device.
fn are_many_and_alike(rows: &PlannedRows<'_>) -> Result<bool> {
    let &PlannedRows { backend, a, ref lengths, .. } = rows;
    let chunks = a.rows.max(a.nnz() / LEAST_LARGEST);
    Ok(!backend.has_single_warps()
        && chunks >= backend.caps().compute_units * CHUNKS_FOR_TWO_LANES
        && lengths.longest()? <= a.mean_length().saturating_mul(LONGEST_ALIKE))
}

/// The team for a chunk and a slice of `columns` columns, and the fewest lanes of a team.
fn team(dtype: DType, columns: usize, is_short: bool, are_many_and_alike: bool) -> (Team, usize) {
    let row = columns.div_ceil(vector(dtype.bytes()));
    let words = if row < LONG_FOR_TWO_WORDS[usize::from(!is_short)] { 1 } else { 2 };
    let least = MIN_LANES[usize::from(!is_short && !are_many_and_alike)];
    (Team::of_words(row, words, least), MIN_LANES[1])
}

/// Bits of the classes of chunk lengths for `rows` rows of `nnz` entries, of which the longest has `longest`.
fn class_bits(rows: usize, nnz: usize, longest: usize) -> u32 {
    let are_wide = longest <= SMALLEST && nnz < rows.saturating_mul(SHORT_FOR_WIDE_CLASSES);
    if are_wide { 0 } else { CLASS_BITS }
}

impl RowSplit {
    /// The plan for `columns` columns of B; `is_packed` if slices of B are copied.
    pub(super) fn new(
        rows: &PlannedRows<'_>,
        columns: usize,
        division: Division,
        is_packed: bool,
    ) -> Result<Self> {
        let &PlannedRows { backend, a, op, .. } = rows;
        let defines = a.product_defines(op);
        let slice = slice_columns(rows, columns)?;
        // On NVIDIA's OpenCL, where a warp is a work-group, two words a lane take 0.93 to 1.6 of the time of one: a
        // warp waits for the longest of its chunks.
        let has_halves = !(backend.chunks_share_groups() && SINGLE_WARPS.contains(&columns));
        let are_short = has_halves && are_short(rows)?;
        let (team, least_lanes) = team(a.dtype, slice, are_short, are_many_and_alike(rows)?);
        let chunks = division.cut(rows, team, columns.div_ceil(slice))?;
        let packed = match is_packed {
            true => Some(Packed::new(backend, a, slice, &defines)?),
            false => None,
        };
        Ok(Self {
            kernels: TeamKernels::new(backend, KERNEL, a.dtype, (team, slice, least_lanes), &defines)?,
            chunks: SummedChunks::new(rows, chunks, columns)?,
            columns,
            packed,
        })
    }

    /// Computes the product for some columns of B and C.
    fn multiply(&self, backend: &Device, a: RawCompressed<'_>, operands: DenseOperands<'_>) -> Result<()> {
        let team = self.kernels.for_operands(operands);
        let warps = team.warps(self.chunks.count(), operands.c.cols);
        self.chunks.multiply(backend, &team.kernel, warps, a, operands)
    }
}

impl RowProduct for RowSplit {
    fn bytes(&self) -> usize {
        let packed = self.packed.as_ref().map_or(0, |packed| packed.slice.bytes());
        self.chunks.bytes() + packed
    }

    fn run(&self, backend: &Device, a: RawCompressed<'_>, operands: DenseOperands<'_>) -> Result<()> {
        let Some(packed) = &self.packed else { return self.multiply(backend, a, operands) };
        for first in (0..self.columns).step_by(packed.columns) {
            let columns = first..self.columns.min(first + packed.columns);
            let b = packed.fill(backend, operands.b.columns(columns.clone()))?;
            let c = operands.c.columns(columns);
            self.multiply(backend, a, DenseOperands { b, c, ..operands })?;
        }
        Ok(())
    }
}

impl Packed {
    /// Allocates a buffer for `columns` columns of B.
    fn new(backend: &Device, a: RawCompressed<'_>, columns: usize, defines: &Defines) -> Result<Self> {
        let len = checked_product("rows of B x columns", a.cols, columns)?;
        Ok(Self {
            kernel: backend.kernel_of(
                a.dtype,
                FILE,
                "csr_spmm_pack",
                defines.clone().set("WIDE", 0).set("LANES", LANES),
            )?,
            columns,
            slice: backend.allocate_raw(len, a.dtype.bytes())?,
        })
    }

    /// Copies some columns of B, row by row.
    fn fill(&self, backend: &Device, b: DenseOperand<'_>) -> Result<DenseOperand<'_>> {
        let DenseOperand { rows, cols, .. } = b;
        let launch = backend.launch(&self.kernel).size(rows).size(cols).dense(b).buffer(&self.slice);
        launch.warps(rows)?;
        let data = Pointer { memory: &self.slice.memory, start: 0 };
        Ok(DenseOperand { data, rows, cols, steps: (cols, 1) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn teams_have_fewer_lanes_where_rows_are_short_or_many_and_alike() {
        let lanes = |columns, is_short, many| team(DType::F32, columns, is_short, many).0.lanes();
        assert_eq!([8, 32, 64, 128].map(|columns| lanes(columns, true, false)), [2, 4, 8, 16]);
        assert_eq!([8, 32, 64, 128].map(|columns| lanes(columns, false, false)), [4, 8, 8, 16]);
        assert_eq!(lanes(8, false, true), 2);
    }

    #[test]
    fn classes_are_wide_where_rows_are_short_and_whole() {
        assert_eq!(class_bits(1_000_000, 5_356_264, 19), 0);
        assert_eq!(class_bits(300_000, 1_569_854, 60), CLASS_BITS, "a row has two chunks");
        assert_eq!(class_bits(200_000, 3_600_000, 18), CLASS_BITS, "18 entries");
    }
}

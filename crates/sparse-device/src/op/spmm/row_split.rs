//! `C ← alpha·A·B + beta·C` for compressed rows in chunks: chunks that are whole rows write C, the others write partial
//! sums that a second kernel adds in order.

use super::summed_chunks::SummedChunks;
use super::thresholds::SpmmThresholds;
use crate::buffer::RawBuffer;
use crate::defines::Defines;
use crate::lanes::{LANES, in_words, vector};
use crate::operand::{DenseOperand, Pointer};
use crate::primitive::chunks::Chunks;
use crate::primitive::raw::{DenseOperands, RawCompressed};
use crate::{Device, Kernel};
use sparse_core::error::checked_product;
use sparse_core::op::Op;
use sparse_core::{DType, Result};

/// The file of the kernels.
const FILE: &str = "csr_spmm_split";

/// A kernel of the file that takes any number of columns.
pub(super) fn any_columns(
    backend: &Device,
    dtype: DType,
    entry: &'static str,
    defines: &Defines,
) -> Result<Kernel> {
    backend.kernel_of(dtype, FILE, entry, defines.clone().set("WIDE", 0).set("LANES", LANES))
}

/// The plan: the chunks, and a kernel for operands of either alignment.
#[derive(Debug)]
pub struct RowSplit {
    narrow: ColumnKernel,
    wide: ColumnKernel,
    chunks: SummedChunks,
    columns: usize,
    packed: Option<Packed>,
}

/// The parts of rows that warps take.
#[derive(Debug, Clone, Copy)]
pub(super) enum Division {
    /// Chunks, as long as there are enough of them for the device.
    Chunks,
    /// Tiles of equal size.
    Tiles,
    /// Whole rows.
    Rows,
}

/// A slice of B, copied to memory of its own.
#[derive(Debug)]
struct Packed {
    kernel: Kernel,
    columns: usize,
    slice: RawBuffer,
}

/// A kernel, its columns per warp, and its chunks per warp.
#[derive(Debug)]
struct ColumnKernel {
    kernel: Kernel,
    columns: usize,
    together: usize,
}

/// Bytes of a row of B in a slice: two steps of a warp, where rows are so short that there is little else to wait for;
/// otherwise fewer, so that more rows of B stay in the cache; and the fewest that are still whole lines where B is
/// large and much reused.
const SLICES: [usize; 3] = [1024, 256, 128];

/// Average entries per row up to which rows count as short.
const SHORT: usize = 8;

/// Bits of the classes of chunk lengths: where chunks share a warp, which waits for the longest, and where each has a
/// warp of its own. Measured on an H100 over 58 matrices of skewed rows, beside the exact order of lengths: 0.987 ×
/// with K = 32 (1 bit; 0 bits 0.978 ×, but 1.11 × at worst), 0.947 × with K = 256 (0 bits, 1.04 × at worst and 0.61 ×
/// at best, where neighbouring rows read the same rows of B).
const SHARED_CLASS_BITS: u32 = 1;
const WARP_CLASS_BITS: u32 = 0;

/// True if slices of B, of this shape, are better copied where A has `nnz` entries.
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
fn slice_columns(cache_bytes: usize, reuses: usize, a: RawCompressed<'_>, columns: usize) -> usize {
    let [long, usual, short] = SLICES.map(|bytes| bytes / a.dtype.bytes());
    let slice = if a.nnz() < SHORT * a.rows && columns >= long {
        long
    } else if a.cols.saturating_mul(SLICES[1]) > cache_bytes && a.nnz() >= a.cols.saturating_mul(reuses) {
        short
    } else {
        usual
    };
    slice.min(columns)
}

impl ColumnKernel {
    /// A kernel with 16 bytes of columns per lane if `wide`, else with one column per lane.
    fn new(backend: &Device, dtype: DType, wide: bool, columns: usize, defines: &Defines) -> Result<Self> {
        let vector = if wide { vector(dtype.bytes()) } else { 1 };
        let lanes = columns.div_ceil(vector).next_power_of_two().clamp(4, LANES);
        let packs = if wide && lanes == LANES { 2 } else { 1 };
        let defines = defines.clone().set("WIDE", u8::from(wide)).set("LANES", lanes);
        let kernel = backend.kernel_of(dtype, FILE, "csr_spmm_row_split", defines)?;
        Ok(Self { kernel, columns: lanes * vector * packs, together: LANES / lanes })
    }
}

impl RowSplit {
    pub(super) fn new(
        backend: &Device,
        a: RawCompressed<'_>,
        op: Op,
        columns: usize,
        (division, is_packed): (Division, bool),
    ) -> Result<Self> {
        let defines = a.product_defines(op);
        let slice =
            slice_columns(backend.properties().cache_bytes, backend.thresholds().spmm.reuses, a, columns)
                .max(1);
        let wide = ColumnKernel::new(backend, a.dtype, true, slice, &defines)?;
        let class_bits = if wide.together > 1 { SHARED_CLASS_BITS } else { WARP_CLASS_BITS };
        let chunks = match division {
            Division::Chunks => Chunks::new(backend, a, columns.div_ceil(slice), class_bits)?,
            Division::Tiles => Chunks::tiles(backend, a)?,
            Division::Rows => {
                let longest = backend.longest_row(a.offsets)?.min(i32::MAX as usize);
                Chunks::whole_rows(backend, a, longest)?
            }
        };
        let packed = match is_packed {
            true => Some(Packed::new(backend, a, slice, &defines)?),
            false => None,
        };
        Ok(Self {
            narrow: ColumnKernel::new(backend, a.dtype, false, slice, &defines)?,
            wide,
            chunks: SummedChunks::new(backend, a, chunks, columns, &defines)?,
            columns,
            packed,
        })
    }

    pub(super) fn bytes(&self) -> usize {
        let packed = self.packed.as_ref().map_or(0, |packed| packed.slice.bytes());
        self.chunks.bytes() + packed
    }

    pub(super) fn run(
        &self,
        backend: &Device,
        a: RawCompressed<'_>,
        operands: DenseOperands<'_>,
    ) -> Result<()> {
        let Some(packed) = &self.packed else { return self.multiply(backend, a, operands) };
        for first in (0..self.columns).step_by(packed.columns) {
            let columns = first..self.columns.min(first + packed.columns);
            let b = packed.fill(backend, operands.b.columns(columns.clone()))?;
            let c = operands.c.columns(columns);
            self.multiply(backend, a, DenseOperands { b, c, ..operands })?;
        }
        Ok(())
    }

    /// Computes the product for some columns of B and C.
    fn multiply(&self, backend: &Device, a: RawCompressed<'_>, operands: DenseOperands<'_>) -> Result<()> {
        let DenseOperands { b, c, .. } = operands;
        let (columns, bytes) = (c.cols, a.dtype.bytes());
        let has_words = |dense: DenseOperand<'_>| in_words(bytes, &[dense.data.start], dense.steps);
        let wide = columns.is_multiple_of(vector(bytes)) && has_words(b) && has_words(c);
        let kernel = if wide { &self.wide } else { &self.narrow };
        let warps = self.chunks.count().div_ceil(kernel.together) * columns.div_ceil(kernel.columns);
        self.chunks.multiply(backend, &kernel.kernel, warps, a, operands)
    }
}

impl Packed {
    /// Memory for `columns` columns of B.
    fn new(backend: &Device, a: RawCompressed<'_>, columns: usize, defines: &Defines) -> Result<Self> {
        let len = checked_product("rows of B x columns", a.cols, columns)?;
        Ok(Self {
            kernel: any_columns(backend, a.dtype, "csr_spmm_pack", defines)?,
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

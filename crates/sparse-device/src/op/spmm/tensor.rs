//! `C ← alpha·A·B + beta·C` for compressed rows by tensor cores: tiles of 8 rows and 8 columns that have entries, in
//! f16 or in f32 rounded to TF32.

use super::panel_columns::PanelColumns;
use super::row_product::RowProduct;
use crate::buffer::RawBuffer;
use crate::lanes::LANES;
use crate::primitive::raw::{DenseOperands, RawCompressed};
use crate::{Device, Kernel};
use sparse_core::Result;
use sparse_core::error::checked_product;

/// The file of the kernels.
pub(super) const FILE: &str = "csr_spmm_tensor";

/// The data of the plan, for tables.
pub(super) const PREPROCESSING: &str =
    "for each window of 8 rows its columns, and the positions of their entries in each row";

/// Significant bits of TF32, to which values in f32 are rounded.
pub(super) const TF32_BITS: u32 = 11;

/// Rows of a window, and columns of a tile: `ROWS` and `SLOTS` of the kernels.
const ROWS: usize = 8;
const SLOTS: usize = 8;

/// Lanes that share neighbouring columns of C: `PAIRS` of the kernels.
const PAIRS: usize = SLOTS / 2;

/// Bytes of neighbouring columns of B that a lane reads: 8, or 16 if B has more columns than a warp covers with 8.
const PACK_BYTES: [usize; 2] = [8, 16];

/// The plan: the tiles of each window of rows.
#[derive(Debug)]
pub(super) struct TensorTiles {
    kernel: Kernel,
    /// Columns of C per warp.
    width: usize,
    /// The columns of each window; a group of slots is a tile.
    columns: PanelColumns,
    /// The position of the entry of each slot and row of its window; −1 where there is none.
    positions: RawBuffer,
}

impl TensorTiles {
    pub(super) fn new(backend: &Device, a: RawCompressed<'_>, b_columns: usize) -> Result<Self> {
        let [few, many] = PACK_BYTES.map(|bytes| (bytes, LANES / PAIRS * bytes / a.dtype.bytes()));
        let (pack_bytes, width) = if b_columns <= few.1 { few } else { many };
        let kernel =
            |entry| backend.kernel_of(a.dtype, FILE, entry, a.defines().set("PACK_BYTES", pack_bytes));
        let windows = a.rows.div_ceil(ROWS);
        let teams = (windows + 1).div_ceil(LANES / ROWS);
        let count = kernel("csr_spmm_tensor_count")?;
        let columns =
            PanelColumns::allocate(backend, a, (windows, SLOTS), &count, |launch| launch.warps(teams))?;
        let positions = checked_product("slots x rows", columns.slots(), ROWS)?;
        let positions = backend.allocate_raw(positions, a.offsets.element_bytes)?;
        let fill = kernel("csr_spmm_tensor_fill")?;
        columns.fill(backend, a, &fill).buffer(&positions).warps(teams)?;
        Ok(Self { kernel: kernel("csr_spmm_tensor")?, width, columns, positions })
    }
}

impl RowProduct for TensorTiles {
    fn bytes(&self) -> usize {
        self.columns.bytes() + self.positions.bytes()
    }

    fn run(&self, backend: &Device, a: RawCompressed<'_>, operands: DenseOperands<'_>) -> Result<()> {
        let (rows, cols) = (operands.c.rows, operands.c.cols);
        let launch = backend.launch(&self.kernel).size(rows).size(cols);
        let launch = self.columns.arguments(launch).buffer(&self.positions);
        launch.buffer(a.values).matrices(operands).warps(rows.div_ceil(ROWS) * cols.div_ceil(self.width))
    }
}

//! `C ← alpha·A·B + beta·C` for compressed rows that are short: some lanes walk over the entries of neighbouring rows,
//! with the rows of B for the next entries on their way.

use crate::defines::Defines;
use crate::lanes::{LANES, in_words, vector};
use crate::operand::DenseOperand;
use crate::primitive::raw::{DenseOperands, RawCompressed};
use crate::primitive::row_blocks::RowBlocks;
use crate::{Device, Kernel};
use sparse_core::op::Op;
use sparse_core::{DType, Result};

/// The file of the kernels.
const FILE: &str = "csr_spmm_row_blocks";

/// Rows and entries of a block: few, where rows are very short and neighbours read neighbouring rows of B. Measured on
/// an H100 with K = 128: 567 and 625 µs with rows of 3.2 entries, 702 and 664 with 6.9.
const SMALL: usize = 32;
const LARGE: usize = 64;

/// Average entries per row from which on blocks are large.
const LONG_FOR_SMALL: usize = 6;

/// Work-items per compute unit that make the walks, in which rows of B wait for those before, worth it. Measured with
/// 970 thousand rows and entries: 16.7 and 11.7 µs by chunks with K = 8, where there are 920, 31.7 and 38.3 with K =
/// 32.
const ITEMS_PER_UNIT: usize = 1024;

/// The same where lanes meet at barriers. Measured on an H200 by NVIDIA's OpenCL, chunks over blocks: 1.04 to 1.65 at
/// 450 to 760 items, 0.91 and 1.39 at 910, 0.78 to 1.09 at 110 to 230.
const ITEMS_PER_UNIT_WITH_BARRIERS: usize = 256;

/// The plan: the blocks, and a kernel for operands of either alignment.
#[derive(Debug)]
pub struct BlockedRows {
    narrow: TeamKernel,
    wide: TeamKernel,
    blocks: RowBlocks,
    size: usize,
}

/// A kernel, with its lanes per block and their columns.
#[derive(Debug)]
struct TeamKernel {
    kernel: Kernel,
    lanes: usize,
    columns: usize,
}

/// Lanes for a row of `columns` columns, `vector` of them a lane.
fn lanes(columns: usize, vector: usize) -> usize {
    columns.div_ceil(vector).next_power_of_two().clamp(4, LANES)
}

/// True if the blocks of A's rows fill a device with `units` compute units, whose lanes meet at barriers or not.
pub(super) fn fill_device(a: RawCompressed<'_>, columns: usize, units: usize, has_barriers: bool) -> bool {
    let vector = vector(a.dtype.bytes());
    let lanes = lanes(columns, vector);
    let items = (a.rows + a.nnz()) / SMALL * lanes * columns.div_ceil(lanes * vector);
    items >= units * if has_barriers { ITEMS_PER_UNIT_WITH_BARRIERS } else { ITEMS_PER_UNIT }
}

impl TeamKernel {
    /// A kernel with 16 bytes of columns per lane if `wide`, else with one column per lane.
    fn new(backend: &Device, dtype: DType, wide: bool, columns: usize, defines: &Defines) -> Result<Self> {
        let vector = if wide { vector(dtype.bytes()) } else { 1 };
        let lanes = lanes(columns, vector);
        let defines = defines.clone().set("WIDE", u8::from(wide)).set("LANES", lanes);
        let kernel = backend.kernel_of(dtype, FILE, "csr_spmm_row_blocks", defines)?;
        Ok(Self { kernel, lanes, columns: lanes * vector })
    }
}

impl BlockedRows {
    pub(super) fn new(backend: &Device, a: RawCompressed<'_>, op: Op, columns: usize) -> Result<Self> {
        let defines = a.product_defines(op);
        let size = if a.nnz() < LONG_FOR_SMALL * a.rows { SMALL } else { LARGE };
        Ok(Self {
            narrow: TeamKernel::new(backend, a.dtype, false, columns, &defines)?,
            wide: TeamKernel::new(backend, a.dtype, true, columns, &defines)?,
            blocks: RowBlocks::new(backend, a, size, columns)?,
            size,
        })
    }

    pub(super) fn bytes(&self) -> usize {
        self.blocks.bytes()
    }

    pub(super) fn run(
        &self,
        backend: &Device,
        a: RawCompressed<'_>,
        operands: DenseOperands<'_>,
    ) -> Result<()> {
        let DenseOperands { alpha, b, beta, c } = operands;
        let bytes = a.dtype.bytes();
        let has_words = |dense: DenseOperand<'_>| in_words(bytes, &[dense.data.start], dense.steps);
        let wide = c.cols.is_multiple_of(vector(bytes)) && has_words(b) && has_words(c);
        let TeamKernel { kernel, lanes, columns } = if wide { &self.wide } else { &self.narrow };
        let launch = backend.launch(kernel).size(self.blocks.count).size(self.size).size(c.cols);
        let launch = self.blocks.arguments(launch).buffer(a.offsets).buffer(a.indices).buffer(a.values);
        let launch = launch.matrices(operands).buffer(self.blocks.partial());
        launch.warps((self.blocks.count * c.cols.div_ceil(*columns)).div_ceil(LANES / lanes))?;
        self.blocks.add_pieces(backend, alpha, beta, c)
    }
}

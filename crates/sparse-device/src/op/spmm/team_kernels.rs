//! Kernels of products in which a team of lanes takes a slice of B's columns.

use crate::defines::Defines;
use crate::lanes::{LANES, in_words, vector};
use crate::operand::DenseOperand;
use crate::primitive::raw::DenseOperands;
use crate::{Device, Kernel};
use sparse_core::{DType, Result};

/// A file with a kernel of its own name, and the fewest lanes that it takes.
#[derive(Debug, Clone, Copy)]
pub(super) struct TeamFile {
    pub(super) name: &'static str,
    pub(super) min_lanes: usize,
}

/// A kernel for operands that are read in words of 16 bytes, and one for others.
#[derive(Debug)]
pub(super) struct TeamKernels {
    narrow: TeamKernel,
    wide: TeamKernel,
    element_bytes: usize,
}

/// A kernel, with the lanes of a team and their columns.
#[derive(Debug)]
pub(super) struct TeamKernel {
    pub(super) kernel: Kernel,
    lanes: usize,
    columns: usize,
}

impl TeamFile {
    /// Lanes for a row of `columns` columns, `vector` of them a lane.
    fn lanes(self, columns: usize, vector: usize) -> usize {
        columns.div_ceil(vector).next_power_of_two().clamp(self.min_lanes, LANES)
    }

    /// The work-items that take `teams` parts of A times `columns` columns of B.
    pub(super) fn items(self, dtype: DType, teams: usize, columns: usize) -> usize {
        let vector = vector(dtype.bytes());
        let lanes = self.lanes(columns, vector);
        teams * lanes * columns.div_ceil(lanes * vector)
    }
}

impl TeamKernels {
    pub(super) fn new(
        backend: &Device,
        file: TeamFile,
        dtype: DType,
        columns: usize,
        defines: &Defines,
    ) -> Result<Self> {
        let kernel = |wide: bool| {
            let vector = if wide { vector(dtype.bytes()) } else { 1 };
            let lanes = file.lanes(columns, vector);
            let defines = defines.clone().set("WIDE", u8::from(wide)).set("LANES", lanes);
            let kernel = backend.kernel_of(dtype, file.name, file.name, defines)?;
            Ok(TeamKernel { kernel, lanes, columns: lanes * vector })
        };
        Ok(Self { narrow: kernel(false)?, wide: kernel(true)?, element_bytes: dtype.bytes() })
    }

    /// The kernel for these operands.
    pub(super) fn for_operands(&self, operands: DenseOperands<'_>) -> &TeamKernel {
        let DenseOperands { b, c, .. } = operands;
        let bytes = self.element_bytes;
        let has_words = |dense: DenseOperand<'_>| in_words(bytes, &[dense.data.start], dense.steps);
        let has_short_steps = i32::try_from(b.steps.0).is_ok();
        let is_wide = c.cols.is_multiple_of(vector(bytes)) && has_words(b) && has_words(c) && has_short_steps;
        if is_wide { &self.wide } else { &self.narrow }
    }
}

impl TeamKernel {
    /// The warps for `teams` parts of A times `columns` columns of B.
    pub(super) fn warps(&self, teams: usize, columns: usize) -> usize {
        (teams * columns.div_ceil(self.columns)).div_ceil(LANES / self.lanes)
    }
}

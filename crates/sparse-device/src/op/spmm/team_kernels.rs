//! Kernels of products in which a team of lanes takes a slice of B's columns.

use crate::defines::Defines;
use crate::lanes::{LANES, in_words, vector};
use crate::operand::DenseOperand;
use crate::primitive::raw::DenseOperands;
use crate::{Device, Kernel};
use sparse_core::{DType, Result};

/// A team: the lanes that share a row of B, and the words of each lane; without words, each lane has one column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Team {
    lanes: usize,
    words: usize,
}

/// A kernel for operands that are read in words, and one for others.
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

impl Team {
    /// At least `least` lanes for `columns` columns, one each.
    pub(super) fn of_columns(columns: usize, least: usize) -> Self {
        Self { lanes: columns.next_power_of_two().clamp(least, LANES), words: 0 }
    }

    /// At least `least` lanes for rows of B of `row` words, `words` each.
    pub(super) fn of_words(row: usize, words: usize, least: usize) -> Self {
        Self { lanes: row.div_ceil(words).next_power_of_two().clamp(least, LANES), words }
    }

    pub(super) fn lanes(self) -> usize {
        self.lanes
    }

    fn columns(self, dtype: DType) -> usize {
        self.lanes * (self.words * vector(dtype.bytes())).max(1)
    }

    /// The teams that take `parts` parts of A times `columns` columns of B.
    pub(super) fn teams(self, dtype: DType, parts: usize, columns: usize) -> usize {
        parts * columns.div_ceil(self.columns(dtype))
    }

    /// The work-items for `teams` parts of A times `columns` columns of B, if each had one word or column.
    pub(super) fn items(self, dtype: DType, teams: usize, columns: usize) -> usize {
        self.teams(dtype, teams, columns) * self.lanes * self.words.max(1)
    }
}

impl TeamKernels {
    /// The kernels `entry` of `file` for slices of `columns` columns: `wide` has its operands in words, the other at
    /// least `least` lanes.
    pub(super) fn new(
        backend: &Device,
        (file, entry): (&'static str, &'static str),
        dtype: DType,
        (wide, columns, least): (Team, usize, usize),
        defines: &Defines,
    ) -> Result<Self> {
        let kernel = |team: Team| {
            let defines = defines.clone().set("WIDE", team.words).set("LANES", team.lanes);
            let kernel = backend.kernel_of(dtype, file, entry, defines)?;
            Ok(TeamKernel { kernel, lanes: team.lanes, columns: team.columns(dtype) })
        };
        let narrow = Team::of_columns(columns, least);
        Ok(Self { narrow: kernel(narrow)?, wide: kernel(wide)?, element_bytes: dtype.bytes() })
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

//! Runs of entries with one coordinate, and one value for each.

use super::positions::Positions;
use crate::buffer::RawBuffer;
use crate::defines::Defines;
use crate::{Buffer, Device, Kernel};
use sparse_core::{DType, Result};

/// The file of the kernels.
const FILE: &str = "coo_merge";

/// The runs of entries with one coordinate, and the position of each.
#[derive(Debug)]
pub(super) struct Runs {
    pub(super) count: usize,
    pub(super) starts: Buffer<i64>,
}

/// One value for each run: the sum of its entries, or the last of them.
#[derive(Debug)]
pub(crate) struct Merge {
    kernel: Kernel,
    runs: Runs,
    positions: Positions,
}

impl Merge {
    pub(super) fn new(
        backend: &Device,
        dtype: DType,
        runs: Runs,
        positions: Positions,
        last: bool,
    ) -> Result<Self> {
        let entry = if last { "coo_merge_last" } else { "coo_merge_sum" };
        let defines = Defines::default().set("POS", positions.type_name());
        Ok(Self { kernel: backend.kernel_of(dtype, FILE, entry, defines)?, runs, positions })
    }

    /// The values of the runs.
    pub(super) fn run(&self, backend: &Device, values: &RawBuffer) -> Result<RawBuffer> {
        let n = self.positions.len();
        let merged = backend.allocate_raw(self.runs.count, values.element_bytes)?;
        let launch = backend.launch(&self.kernel).size(n).buffer(&self.runs.starts);
        launch.positions(&self.positions).buffer(values).buffer(&merged).items(n)?;
        Ok(merged)
    }
}

//! Elements moved from one array to another: gathered by their positions, or the first of each run.

use super::positions::Positions;
use super::values::Values;
use crate::buffer::RawBuffer;
use crate::defines::Defines;
use crate::{Buffer, Device, Kernel};
use sparse_core::Result;

/// The kernels' name for an element of `bytes` bytes that is only moved.
fn word(bytes: usize) -> &'static str {
    match bytes {
        2 => "ushort",
        4 => "uint",
        8 => "ulong",
        _ => "ulong2",
    }
}

impl Device {
    /// The kernel of [`gather`](Self::gather) for elements of `bytes` bytes.
    pub(super) fn gather_kernel(&self, bytes: usize, positions: &Positions) -> Result<Kernel> {
        let defines = Defines::default().set("WORD", word(bytes)).set("POS", positions.type_name());
        self.kernel("gather", "gather_words", defines)
    }

    /// The elements at these positions.
    pub(super) fn gather(
        &self,
        kernel: &Kernel,
        positions: &Positions,
        from: Values<'_>,
    ) -> Result<RawBuffer> {
        let to = self.allocate_raw(positions.len(), from.head.element_bytes)?;
        self.gather_to(kernel, positions, from, &to)?;
        Ok(to)
    }

    /// `to` ← the elements at these positions.
    pub(super) fn gather_to(
        &self,
        kernel: &Kernel,
        positions: &Positions,
        from: Values<'_>,
        to: &RawBuffer,
    ) -> Result<()> {
        let n = positions.len();
        self.launch(kernel).size(n).positions(positions).values(from).buffer(to).items(n)
    }

    /// The elements of one buffer at these positions.
    pub(crate) fn gathered(&self, positions: &Positions, from: &RawBuffer) -> Result<RawBuffer> {
        self.gather(&self.gather_kernel(from.element_bytes, positions)?, positions, Values::one(from))
    }

    /// The first element of each run, as marked by `starts`; there are `runs` of them.
    pub(crate) fn compact(&self, starts: &Buffer<i64>, from: &RawBuffer, runs: usize) -> Result<RawBuffer> {
        let defines = Defines::default().set("WORD", word(from.element_bytes));
        let kernel = self.kernel("move", "move_compact", defines)?;
        let to = self.allocate_raw(runs, from.element_bytes)?;
        let launch = self.launch(&kernel).size(from.len).buffer(starts);
        launch.buffer(from).buffer(&to).items(from.len)?;
        Ok(to)
    }
}

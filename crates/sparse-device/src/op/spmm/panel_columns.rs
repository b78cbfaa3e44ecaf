//! The columns of panels of neighbouring rows: each column in which a row of the panel has an entry, in groups of
//! slots.

use crate::buffer::RawBuffer;
use crate::launch::Launch;
use crate::primitive::prefix_sum::PrefixSum;
use crate::primitive::raw::RawCompressed;
use crate::{Buffer, Device, Kernel};
use sparse_core::Result;
use sparse_core::error::checked_product;

/// The groups of slots of all panels.
#[derive(Debug)]
pub(super) struct PanelColumns {
    /// The number of groups.
    pub(super) groups: usize,
    /// The first group of each panel, and the number of groups.
    starts: Buffer<i64>,
    /// The column of each slot.
    columns: RawBuffer,
}

impl PanelColumns {
    /// Allocates the columns of `panels` panels, in groups of `slots`. The kernel `count`, which `launch` starts,
    /// counts the groups of each panel.
    pub(super) fn allocate(
        backend: &Device,
        a: RawCompressed<'_>,
        (panels, slots): (usize, usize),
        count: &Kernel,
        launch: impl FnOnce(Launch<'_>) -> Result<()>,
    ) -> Result<Self> {
        let starts: Buffer<i64> = backend.allocate(panels + 1)?;
        let arguments = backend.launch(count).size(a.rows).buffer(a.offsets).buffer(a.indices);
        launch(arguments.buffer(&starts))?;
        let groups = PrefixSum::series(backend, panels + 1)?.starts_and_sum(backend, &starts)?;
        let slots = checked_product("groups x slots", groups, slots)?;
        Ok(Self { groups, starts, columns: backend.allocate_raw(slots, a.indices.element_bytes)? })
    }

    /// The first arguments of the kernel that fills the slots.
    pub(super) fn fill<'a>(
        &'a self,
        backend: &'a Device,
        a: RawCompressed<'a>,
        kernel: &'a Kernel,
    ) -> Launch<'a> {
        let launch = backend.launch(kernel).size(a.rows).buffer(a.offsets).buffer(a.indices);
        self.arguments(launch)
    }

    /// Adds the first group of each panel and the columns to the arguments of a launch.
    pub(super) fn arguments<'a>(&'a self, launch: Launch<'a>) -> Launch<'a> {
        launch.buffer(&self.starts).buffer(&self.columns)
    }

    /// Number of slots.
    pub(super) fn slots(&self) -> usize {
        self.columns.len
    }

    /// Bytes on the device.
    pub(super) fn bytes(&self) -> usize {
        self.starts.bytes() + self.columns.bytes()
    }
}

//! Launches: a kernel, its arguments in order, and the number of its work-groups.
//!
//! The builder is safe to call and private to this crate: an operation is reached through its plan, which has checked
//! shapes, contexts and patterns, or through an unsafe kernel trait. Other crates launch by the unsafe
//! [`Driver::launch`](crate::Driver::launch).

use crate::buffer::{RawBuffer, View};
use crate::defines::Defines;
use crate::device::Device;
use crate::driver::{Arg, Grid, Kernel, Memory, Value};
use crate::lanes::{LANES, WARPS_AT_ONCE, WORD_BYTES};
use crate::operand::{DenseOperand, Pointer};
use sparse_core::op::Coefficient;
use sparse_core::{Backend, Caps, DType, Element, Error, Result, Scalar};

/// Work-groups for each compute unit; kernels stride over the grid, so that no launch limit bounds a matrix.
const GROUPS_PER_UNIT: usize = 32;

/// Warps per compute unit. A GPU gives the next group to the unit that finishes first, which balances unequal work
/// better than strides do; a CPU's runtime has an overhead per group.
const WARPS_PER_UNIT: usize = 8192;
const WARPS_PER_CPU_UNIT: usize = 256;

/// Arguments of most kernels, so that a launch allocates once.
const MAX_ARGUMENTS: usize = 16;

/// A launch whose arguments are added one by one.
#[must_use]
pub(crate) struct Launch<'a> {
    device: &'a Device,
    kernel: &'a Kernel,
    args: Vec<Arg<'a>>,
    early: bool,
}

impl Device {
    /// A kernel for values of this type, or an error if the device cannot have it.
    pub(crate) fn kernel_of(
        &self,
        dtype: DType,
        file: &'static str,
        entry: &'static str,
        defines: Defines,
    ) -> Result<Kernel> {
        let double = matches!(dtype, DType::F64 | DType::C64);
        let Caps { backend, device, f64, .. } = self.caps();
        if double && !f64 {
            let reason = format!("{device} has no double precision");
            return Err(Error::unsupported(format!("{dtype} on {backend}"), reason));
        }
        self.kernel(file, entry, defines.scalar(dtype))
    }

    /// A kernel that reads no values, or whose `defines` include the value type.
    pub(crate) fn kernel(&self, file: &'static str, entry: &'static str, defines: Defines) -> Result<Kernel> {
        self.inner.programs.kernel(self.usable_driver()?, file, entry, defines)
    }

    /// A launch of `kernel`, still without arguments.
    pub(crate) fn launch<'a>(&'a self, kernel: &'a Kernel) -> Launch<'a> {
        Launch { device: self, kernel, args: Vec::with_capacity(MAX_ARGUMENTS), early: false }
    }

    /// Fills the whole memory of a buffer with zeros. (Oclgrind takes what `clEnqueueFillBuffer` wrote for unwritten.)
    pub(crate) fn clear(&self, buffer: &RawBuffer) -> Result<()> {
        let kernel = self.kernel("move", "move_zeros", Defines::default().set("WORD", "ulong2"))?;
        let words = buffer.bytes().div_ceil(WORD_BYTES);
        self.launch(&kernel).size(words).buffer(buffer).items(words)
    }

    /// The most work-groups of a launch whose kernel strides over the grid.
    pub(crate) fn most_groups(&self) -> usize {
        self.caps().compute_units * GROUPS_PER_UNIT
    }
}

impl<'a> Launch<'a> {
    /// A buffer of a matrix or of a plan, from its first element on.
    pub(crate) fn buffer(self, buffer: &'a RawBuffer) -> Self {
        self.memory(&buffer.memory)
    }

    /// A buffer, or a null pointer for a missing one.
    pub(crate) fn buffer_or_null(self, buffer: Option<&'a RawBuffer>) -> Self {
        match buffer {
            Some(buffer) => self.buffer(buffer),
            None => self.null(),
        }
    }

    fn null(self) -> Self {
        self.value(0_usize)
    }

    fn memory(mut self, memory: &'a Memory) -> Self {
        self.args.push(Arg::Memory(memory));
        self
    }

    /// An operand: its buffer, and where it starts.
    pub(crate) fn view(self, view: impl Into<Pointer<'a>>) -> Self {
        self.pointer(view.into())
    }

    fn pointer(self, pointer: Pointer<'a>) -> Self {
        self.memory(pointer.memory).size(pointer.start)
    }

    /// A coefficient: its factor and its elements; a missing element becomes a null pointer.
    pub(crate) fn coefficient<'v: 'a, A: Scalar>(self, coefficient: Coefficient<'v, Device, A>) -> Self {
        let Coefficient { factor, numerator, denominator } = coefficient;
        self.value(factor).element(numerator).element(denominator)
    }

    fn element<A: Scalar>(self, element: Option<View<'a, A>>) -> Self {
        match element {
            Some(view) => self.view(view),
            None => self.null().size(0),
        }
    }

    /// A dense operand: its buffer, where it starts, and the steps from row to row and from column to column.
    pub(crate) fn dense(self, dense: DenseOperand<'a>) -> Self {
        let DenseOperand { data, steps: (row, col), .. } = dense;
        self.pointer(data).size(row).size(col)
    }

    /// A dense operand, or a null pointer for a missing one.
    pub(crate) fn dense_or_null(self, dense: Option<DenseOperand<'a>>) -> Self {
        match dense {
            Some(dense) => self.dense(dense),
            None => self.null().size(0).size(0).size(0),
        }
    }

    /// A size or a position.
    pub(crate) fn size(self, size: usize) -> Self {
        self.value(size as i64)
    }

    /// A number, or a complex one.
    pub(crate) fn value<T: Element>(self, value: T) -> Self {
        self.factor(Value::new(&value))
    }

    /// A number of the type that the kernel was compiled for.
    pub(crate) fn factor(mut self, factor: Value) -> Self {
        self.args.push(Arg::Value(factor));
        self
    }

    /// Lets the kernel begin before the previous launch has ended: it waits for that one itself.
    pub(crate) fn early(mut self) -> Self {
        self.early = true;
        self
    }

    /// [`early`](Self::early) if the kernel touches nothing that the previous launch writes.
    pub(crate) fn early_if(self, is_apart: bool) -> Self {
        if is_apart { self.early() } else { self }
    }

    /// Launches a work-item for each of `items`, up to the most worth it. A CPU's runtime compiles a kernel anew for
    /// each size of its work-groups; a GPU starts a small group sooner than a large one.
    pub(crate) fn items(self, items: usize) -> Result<()> {
        let block = match self.device.caps().is_cpu {
            true => self.device.inner.block,
            false => self.device.inner.block.min(items.next_multiple_of(LANES).max(LANES)),
        };
        let groups = items.div_ceil(block).min(self.device.most_groups());
        self.groups(groups, block)
    }

    /// Launches a warp of [`LANES`] for each of `rows`, up to the most worth it.
    pub(crate) fn warps(self, rows: usize) -> Result<()> {
        let per_group = self.device.properties().warps_per_group;
        let groups = rows.min(self.most_warps()).div_ceil(per_group);
        self.groups(groups, per_group * LANES)
    }

    /// Launches a warp of [`LANES`] for each of `rows`, up to those that run at once: for rows of similar lengths,
    /// strides balance the work too, and avoid the overhead of starting groups.
    pub(crate) fn warps_at_once(self, rows: usize) -> Result<()> {
        let rows = rows.min(self.warps_that_run_at_once());
        self.warps(rows)
    }

    fn warps_that_run_at_once(&self) -> usize {
        let caps = self.device.caps();
        caps.compute_units * if caps.is_cpu { WARPS_PER_CPU_UNIT } else { WARPS_AT_ONCE }
    }

    /// [`warps`](Self::warps) of a kernel whose lanes exchange values.
    pub(crate) fn exchanging_warps(self, rows: usize) -> Result<()> {
        let per_group = self.device.properties().exchanging_warps_per_group;
        let groups = rows.min(self.most_warps()).div_ceil(per_group);
        self.groups(groups, per_group * LANES)
    }

    /// [`warps_at_once`](Self::warps_at_once) of a kernel whose lanes exchange values.
    pub(crate) fn exchanging_warps_at_once(self, rows: usize) -> Result<()> {
        let rows = rows.min(self.warps_that_run_at_once());
        self.exchanging_warps(rows)
    }

    /// [`exchanging_warps_at_once`](Self::exchanging_warps_at_once), up to those that the registers of the kernel let
    /// run at once: the others would run when these are done, with less than a device's work.
    pub(crate) fn resident_warps(self, rows: usize) -> Result<()> {
        let of_unit = self.device.usable_driver()?.warps_at_once(self.kernel);
        let resident = of_unit.map_or(rows, |warps| warps * self.device.caps().compute_units);
        self.exchanging_warps_at_once(rows.min(resident))
    }

    /// Launches a work-group of `local` work-items for each of `rows`, up to the most worth it.
    pub(crate) fn group_per_row(self, rows: usize, local: usize) -> Result<()> {
        let groups = rows.min(self.most_warps());
        self.groups(groups, local)
    }

    /// Launches a team of `lanes` work-items, a power of two, for each of `rows`, up to the most worth it. Where
    /// several warps make a work-group, so do several teams of fewer work-items.
    pub(crate) fn teams(self, rows: usize, lanes: usize) -> Result<()> {
        let per_group = self.device.properties().warps_per_group;
        let local = if per_group > 1 { lanes.max(per_group * LANES) } else { lanes };
        let groups = rows.div_ceil(local / lanes).min(self.most_warps());
        self.groups(groups, local)
    }

    /// The most warps worth launching.
    fn most_warps(&self) -> usize {
        let caps = self.device.caps();
        caps.compute_units * if caps.is_cpu { WARPS_PER_CPU_UNIT } else { WARPS_PER_UNIT }
    }

    /// Launches `groups` work-groups of `local` work-items.
    pub(crate) fn groups(self, groups: usize, local: usize) -> Result<()> {
        self.groups_that_share(groups, local, 0)
    }

    /// Launches `groups` work-groups with `shared` bytes of dynamic shared memory each.
    pub(crate) fn groups_that_share(self, groups: usize, local: usize, shared: usize) -> Result<()> {
        let grid = Grid { groups, local, shared, early: self.early };
        // SAFETY: operations give the arguments that the kernel's file lists; plans have checked the shapes of sizes
        // and views.
        unsafe { self.device.usable_driver()?.launch(self.kernel, grid, &self.args) }
    }
}

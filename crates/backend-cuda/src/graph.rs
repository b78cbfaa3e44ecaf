//! CUDA graphs: the launches of a plan, recorded once and repeated for a fraction of their cost.

use crate::cu::{CuDriver, Executable};
use sparse_core::Result;
use sparse_device::Device;
use std::marker::PhantomData;

/// What was enqueued while it was recorded, to be enqueued again as often as one likes.
///
/// The recorded work names the memory of its operands and plans; the lifetime keeps them borrowed, so that none is
/// freed, while their contents change with every launch.
#[derive(Debug)]
pub struct Graph<'a> {
    executable: Executable,
    operands: PhantomData<&'a mut ()>,
}

impl<'a> Graph<'a> {
    /// Records what `work` enqueues on `device`, in place of doing it. Only the `run` of plans whose operations make
    /// no matrix can be recorded: they neither allocate nor wait.
    ///
    /// # Errors
    /// Those of `work`; [`Backend`](sparse_core::Error::Backend) if it did what cannot be recorded.
    pub fn record(device: &Device, work: impl FnOnce() -> Result<()> + 'a) -> Result<Self> {
        let queue = device.driver_as::<CuDriver>()?.queue().clone();
        Ok(Self { executable: Executable::capture(queue, work)?, operands: PhantomData })
    }

    /// Enqueues the recorded work.
    ///
    /// # Errors
    /// What the library reports.
    pub fn launch(&mut self) -> Result<()> {
        self.executable.launch()
    }
}

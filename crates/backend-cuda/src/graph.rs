//! CUDA graphs: the launches of a plan, recorded once and repeated for a fraction of their cost.

use crate::cu::CuDriver;
use crate::recording::Executable;
use sparse_core::Result;
use sparse_device::Device;

/// Recorded launches and copies, which can be enqueued again any number of times.
///
/// The recorded work names the memory of its operands and plans. A graph shares that memory, so that operands may be
/// read, written and dropped between its launches. Arrays that it shares cannot become a matrix
/// ([`Device::compressed`]), since it could write to them.
#[derive(Debug)]
pub struct Graph {
    executable: Executable,
}

impl Graph {
    /// Records the launches and copies that `work` enqueues on `device`, without running them. Only the `run` of plans
    /// whose operations make no matrix can be recorded: they neither allocate nor wait.
    ///
    /// Other threads that use the device wait until `work` is done, so `work` must not wait for them. An error or a
    /// panic in `work` ends the recording, and nothing of it is done.
    ///
    /// # Errors
    /// Those of `work`; [`Unsupported`](sparse_core::Error::Unsupported) if it did something that cannot be recorded.
    pub fn record(device: &Device, work: impl FnOnce() -> Result<()>) -> Result<Self> {
        let queue = device.driver_as::<CuDriver>()?.queue().clone();
        Ok(Self { executable: Executable::capture(queue, work)? })
    }

    /// Enqueues the recorded work.
    ///
    /// # Errors
    /// An error of the library.
    pub fn launch(&mut self) -> Result<()> {
        self.executable.launch()
    }
}

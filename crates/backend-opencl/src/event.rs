//! Points in the work of a queue, and the time between them by the device's clock.

use crate::cl::{ClDriver, failed};
use crate::owned::Owned;
use cl3::event::{CL_PROFILING_COMMAND_END, get_event_profiling_info, wait_for_events};
use sparse_core::Result;
use sparse_device::Device;

/// A point in the work of a device that was opened with its [clock](crate::with_clock).
#[derive(Debug)]
pub struct Event(Owned);

impl Event {
    /// The point after all work enqueued on `device` so far.
    ///
    /// # Errors
    /// [`Unsupported`](sparse_core::Error::Unsupported) for a device that is not of OpenCL's own queue; an error of the
    /// library.
    pub fn record(device: &Device) -> Result<Self> {
        device.driver_as::<ClDriver>()?.mark().map(Self)
    }

    /// The seconds that the device took from `earlier` to here, after waiting for both.
    ///
    /// # Errors
    /// An error of the library: `CL_PROFILING_INFO_NOT_AVAILABLE` without [`with_clock`](crate::with_clock).
    pub fn seconds_since(&self, earlier: &Self) -> Result<f64> {
        Ok(self.nanoseconds()?.saturating_sub(earlier.nanoseconds()?) as f64 / 1e9)
    }

    /// The time when it was reached, by the device's clock.
    fn nanoseconds(&self) -> Result<u64> {
        let event = self.0.get();
        wait_for_events(&[event]).map_err(|code| failed("clWaitForEvents", code))?;
        let time = get_event_profiling_info(event, CL_PROFILING_COMMAND_END);
        Ok(time.map_err(|code| failed("clGetEventProfilingInfo", code))?.to_ulong())
    }
}

//! Points in the work of a SYCL queue, and the time between them by the device's clock.

use super::SyclDriver;
use super::shim::{Functions, RawEvent, guarded};
use sparse_core::Result;
use sparse_device::Device;
use std::ptr;

/// A point in the work of a device that was opened with its [clock](super::with_clock).
#[derive(Debug)]
pub struct Event {
    raw: *mut RawEvent,
    functions: &'static Functions,
}

impl Drop for Event {
    fn drop(&mut self) {
        // SAFETY: the event is alive, and it is not used again.
        self.functions.release(|| unsafe { (self.functions.release_event)(self.raw) });
    }
}

impl Event {
    /// The point after all work enqueued on `device` so far.
    ///
    /// # Errors
    /// [`Unsupported`](sparse_core::Error::Unsupported) for a device that is not SYCL's; an error of the library.
    pub fn record(device: &Device) -> Result<Self> {
        let queue = &device.driver_as::<SyclDriver>()?.queue;
        let (functions, mut raw) = (queue.functions, ptr::null_mut());
        // SAFETY: the queue is open, and the output is a live variable.
        guarded(|reason| unsafe { (functions.mark)(queue.raw, &raw mut raw, reason) })
            .map_err(|refusal| refusal.of("enqueueing an event"))?;
        Ok(Self { raw, functions })
    }

    /// The seconds that the device took from `earlier` to here, after waiting for both.
    ///
    /// # Errors
    /// An error of the library: `sycl::errc::invalid` without [`with_clock`](super::with_clock).
    pub fn seconds_since(&self, earlier: &Self) -> Result<f64> {
        Ok(self.nanoseconds()?.saturating_sub(earlier.nanoseconds()?) as f64 / 1e9)
    }

    /// The time when it was reached, by the device's clock.
    fn nanoseconds(&self) -> Result<u64> {
        let mut nanoseconds = 0;
        // SAFETY: the event is alive, and the output is a live variable.
        guarded(|reason| unsafe { (self.functions.reached)(self.raw, &raw mut nanoseconds, reason) })
            .map_err(|refusal| refusal.of("the time of an event"))?;
        Ok(nanoseconds)
    }
}

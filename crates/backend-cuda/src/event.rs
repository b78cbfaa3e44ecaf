//! Points in the work of a stream: the time between them by the device's clock, and streams that wait for each other.

use crate::cu::CuDriver;
use crate::error::failed;
use crate::queue::Queue;
use cudarc::driver::{result, sys};
use sparse_core::Result;
use sparse_device::Device;
use std::ffi::c_void;
use std::sync::Arc;

/// A point in the work of a backend's stream.
#[derive(Debug)]
pub struct Event {
    event: sys::CUevent,
    queue: Arc<Queue>,
}

// SAFETY: the handle is not changed after it was made, and the driver API may be called from any thread.
unsafe impl Send for Event {}

impl Event {
    /// The point after all work enqueued on `device` so far.
    ///
    /// # Errors
    /// An error of the library.
    pub fn record(device: &Device) -> Result<Self> {
        let queue = device.driver_as::<CuDriver>()?.queue().clone();
        queue.refuse_in_recording("recording an event")?;
        let event = {
            let _entered = queue.enter()?;
            result::event::create(sys::CUevent_flags::CU_EVENT_DEFAULT).map_err(failed("cuEventCreate"))?
        };
        let event = Self { event, queue };
        let _enqueues = event.queue.enqueue()?;
        // SAFETY: event and stream are alive.
        let recorded = unsafe { result::event::record(event.event, event.queue.stream) };
        drop(_enqueues);
        recorded.map_err(failed("cuEventRecord"))?;
        Ok(event)
    }

    /// Makes the work that is enqueued on another stream from now on wait for this point. Nobody waits here.
    ///
    /// # Errors
    /// An error of the library.
    ///
    /// # Safety
    /// `stream` is a `CUstream` of this context that is alive.
    pub unsafe fn delay(&self, stream: *mut c_void) -> Result<()> {
        let _entered = self.queue.enter()?;
        let flags = sys::CUevent_wait_flags::CU_EVENT_WAIT_DEFAULT;
        // SAFETY: the event is alive, and so is the stream, as the caller promises.
        unsafe { result::stream::wait_event(stream.cast(), self.event, flags) }
            .map_err(failed("cuStreamWaitEvent"))
    }

    /// The seconds that the device took from `earlier` to here, after waiting for both.
    ///
    /// # Errors
    /// An error of the library, errors of the work before included.
    pub fn seconds_since(&self, earlier: &Self) -> Result<f64> {
        let _entered = self.queue.enter()?;
        for event in [earlier, self] {
            // SAFETY: the event is alive.
            unsafe { result::event::synchronize(event.event) }.map_err(failed("cuEventSynchronize"))?;
        }
        // SAFETY: both events are alive and were recorded.
        let milliseconds = unsafe { result::event::elapsed(earlier.event, self.event) };
        Ok(f64::from(milliseconds.map_err(failed("cuEventElapsedTime"))?) / 1e3)
    }
}

impl Drop for Event {
    fn drop(&mut self) {
        if let Ok(_entered) = self.queue.enter() {
            // SAFETY: the event was made by `record` and is not used after this.
            let _ = unsafe { result::event::destroy(self.event) };
        }
    }
}

/// A point in the work of a stream, for which others wait. It is recorded again and again.
#[derive(Debug)]
pub(crate) struct Mark {
    event: sys::CUevent,
    queue: Arc<Queue>,
}

// SAFETY: the handle is not changed after it was made, and the driver API may be called from any thread.
unsafe impl Send for Mark {}
// SAFETY: as above.
unsafe impl Sync for Mark {}

impl Mark {
    /// A mark for streams of the context of `queue`.
    pub(crate) fn new(queue: &Arc<Queue>) -> Result<Self> {
        let _entered = queue.enter()?;
        let event = result::event::create(sys::CUevent_flags::CU_EVENT_DISABLE_TIMING)
            .map_err(failed("cuEventCreate"))?;
        Ok(Self { event, queue: queue.clone() })
    }

    /// Moves the mark to the end of all work of `queue`, which is of the mark's context.
    pub(crate) fn record(&self, queue: &Queue) -> Result<()> {
        let _enqueues = queue.enqueue()?;
        // SAFETY: event and stream are alive, and of one context.
        unsafe { result::event::record(self.event, queue.stream) }.map_err(failed("cuEventRecord"))
    }

    /// Lets the work that is enqueued on `queue`, of any context, from here on begin behind the mark.
    pub(crate) fn precedes(&self, queue: &Queue) -> Result<()> {
        let _enqueues = queue.enqueue()?;
        let flags = sys::CUevent_wait_flags::CU_EVENT_WAIT_DEFAULT;
        // SAFETY: event and stream are alive.
        unsafe { result::stream::wait_event(queue.stream, self.event, flags) }
            .map_err(failed("cuStreamWaitEvent"))
    }
}

impl Drop for Mark {
    fn drop(&mut self) {
        if let Ok(_entered) = self.queue.enter() {
            // SAFETY: the event was made by `new` and is not used after this; streams that wait for it still do.
            let _ = unsafe { result::event::destroy(self.event) };
        }
    }
}

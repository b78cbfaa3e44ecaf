//! Pinned memory of the host.

use crate::error::failed;
use crate::queue::Queue;
use cudarc::driver::{result, sys};
use sparse_core::Result;
use std::sync::Arc;

/// Pinned memory of the host.
#[derive(Debug)]
pub(crate) struct Pinned {
    pointer: *mut u8,
    bytes: usize,
    done: sys::CUevent,
    queue: Arc<Queue>,
}

// SAFETY: the memory belongs to this value alone, and the driver API may be called from any thread.
unsafe impl Send for Pinned {}

impl Pinned {
    pub(crate) fn new(bytes: usize, queue: &Arc<Queue>) -> Result<Self> {
        let _entered = queue.enter()?;
        // SAFETY: the memory is freed once, by `Drop`. It is cached, not write-combined, since the host reads it too.
        let pointer = unsafe { result::malloc_host(bytes, 0) }.map_err(failed("cuMemHostAlloc"))?;
        // SAFETY: the memory has this many bytes.
        unsafe { pointer.cast::<u8>().write_bytes(0, bytes) };
        let done = result::event::create(sys::CUevent_flags::CU_EVENT_DISABLE_TIMING);
        match done.map_err(failed("cuEventCreate")) {
            Ok(done) => Ok(Self { pointer: pointer.cast(), bytes, done, queue: queue.clone() }),
            Err(error) => {
                // SAFETY: the memory was just allocated, and nothing uses it.
                let _ = unsafe { result::free_host(pointer) };
                Err(error)
            }
        }
    }

    /// The bytes, after the last copy that uses them.
    pub(crate) fn bytes(&mut self) -> Result<&mut [u8]> {
        let _entered = self.queue.enter()?;
        // SAFETY: the event is alive; one that was never recorded is done.
        unsafe { result::event::synchronize(self.done) }.map_err(failed("cuEventSynchronize"))?;
        // SAFETY: the memory has this many bytes, no copy touches it any more, and it is borrowed exclusively;
        // `new` has written all of it.
        Ok(unsafe { std::slice::from_raw_parts_mut(self.pointer, self.bytes) })
    }

    /// Enqueues a copy of the first `bytes` to the device.
    pub(crate) fn upload(&self, bytes: usize, to: sys::CUdeviceptr) -> Result<()> {
        self.copy(bytes, "cuMemcpyHtoDAsync", |host| {
            // SAFETY: the range on the device was checked by the caller, and `bytes` lie in this memory.
            unsafe { result::memcpy_htod_async(to, host, self.queue.stream) }
        })
    }

    /// Enqueues a copy from the device to the first `bytes`.
    pub(crate) fn download(&self, bytes: usize, from: sys::CUdeviceptr) -> Result<()> {
        self.copy(bytes, "cuMemcpyDtoHAsync", |host| {
            // SAFETY: as above.
            unsafe { result::memcpy_dtoh_async(host, from, self.queue.stream) }
        })
    }

    /// Enqueues a copy of the first `bytes`, and an event that marks its end.
    fn copy(
        &self,
        bytes: usize,
        call: &str,
        copy: impl FnOnce(&mut [u8]) -> Result<(), result::DriverError>,
    ) -> Result<()> {
        assert!(bytes <= self.bytes, "{bytes} of {}", self.bytes);
        let _enqueues = self.queue.enqueue()?;
        // SAFETY: the first `bytes` of this memory; `bytes()` waits for the event before it is touched again.
        let host = unsafe { std::slice::from_raw_parts_mut(self.pointer, bytes) };
        copy(host).map_err(failed(call))?;
        // SAFETY: event and stream are alive.
        unsafe { result::event::record(self.done, self.queue.stream) }.map_err(failed("cuEventRecord"))
    }
}

impl Drop for Pinned {
    fn drop(&mut self) {
        let is_done = self.bytes().is_ok();
        if let (true, Ok(_entered)) = (is_done, self.queue.enter()) {
            // SAFETY: no copy uses memory or event any more, and both were made by `new`.
            let _ = unsafe { result::event::destroy(self.done) };
            // SAFETY: as above.
            let _ = unsafe { result::free_host(self.pointer.cast()) };
        }
    }
}

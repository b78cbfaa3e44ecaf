//! A stream and its context, and entering it on a thread.

use crate::error::failed;
use cudarc::driver::{result, sys};
use sparse_core::{Error, Result};
use std::ptr;
use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

/// The primary context of a device and a stream.
#[derive(Debug)]
pub(crate) struct Queue {
    device: sys::CUdevice,
    context: sys::CUcontext,
    pub(crate) stream: sys::CUstream,
    owns_stream: bool,
    /// Locked for reading to enqueue, and for writing during a recording.
    turn: RwLock<()>,
}

// SAFETY: the driver API may be called from any thread; the handles are not changed after they were made.
unsafe impl Send for Queue {}
// SAFETY: as above.
unsafe impl Sync for Queue {}

/// Makes the queue's context the calling thread's until this is dropped, and then restores the one before.
#[derive(Debug)]
pub(crate) struct Entered {
    before: Option<sys::CUcontext>,
}

impl Drop for Entered {
    fn drop(&mut self) {
        if let Some(before) = self.before {
            // SAFETY: the context was this thread's, or is none.
            let _ = unsafe { result::ctx::set_current(before) };
        }
    }
}

/// Permission of the calling thread to enqueue until this is dropped. It must not ask again before that.
#[derive(Debug)]
pub(crate) struct Enqueues<'a> {
    // Fields are dropped in this order.
    _entered: Entered,
    /// `None` in a recording, which has the lock.
    _turn: Option<RwLockReadGuard<'a, ()>>,
}

impl Queue {
    /// A queue on the caller's stream, or on one of its own.
    pub(crate) fn new(device: sys::CUdevice, stream: Option<sys::CUstream>) -> Result<Self> {
        // SAFETY: the device was found, and the context is released when the queue is dropped.
        let context =
            unsafe { result::primary_ctx::retain(device) }.map_err(failed("cuDevicePrimaryCtxRetain"))?;
        let turn = RwLock::default();
        let mut queue = Self { device, context, stream: ptr::null_mut(), owns_stream: false, turn };
        let _entered = queue.enter()?;
        queue.stream = match stream {
            Some(stream) => stream,
            None => result::stream::create(result::stream::StreamKind::NonBlocking)
                .map_err(failed("cuStreamCreate"))?,
        };
        queue.owns_stream = stream.is_none();
        Ok(queue)
    }

    /// The number of the device.
    pub(crate) fn device(&self) -> sys::CUdevice {
        self.device
    }

    /// True if the stream was made here, so that it does not wait for the default stream, nor that for it.
    pub(crate) fn owns_stream(&self) -> bool {
        self.owns_stream
    }

    /// The primary context of the device.
    pub(crate) fn context(&self) -> sys::CUcontext {
        self.context
    }

    /// A queue of the same context, on a stream of its own.
    pub(crate) fn sibling(&self) -> Result<Self> {
        Self::new(self.device, None)
    }

    /// As [`sibling`](Self::sibling), whose kernels the device prefers to those of other streams.
    pub(crate) fn urgent_sibling(&self) -> Result<Self> {
        let stream = {
            let _entered = self.enter()?;
            // The driver takes the highest priority that it has.
            result::stream::create_with_priority(result::stream::StreamKind::NonBlocking, i32::MIN)
                .map_err(failed("cuStreamCreateWithPriority"))?
        };
        let mut queue = Self::new(self.device, Some(stream))?;
        queue.owns_stream = true;
        Ok(queue)
    }

    /// Makes the context that of the calling thread, for calls that enqueue nothing.
    pub(crate) fn enter(&self) -> Result<Entered> {
        let before = result::ctx::get_current().map_err(failed("cuCtxGetCurrent"))?;
        let before = before.unwrap_or(ptr::null_mut());
        if before == self.context {
            return Ok(Entered { before: None });
        }
        // SAFETY: the context is alive as long as the queue.
        unsafe { result::ctx::set_current(self.context) }.map_err(failed("cuCtxSetCurrent"))?;
        Ok(Entered { before: Some(before) })
    }

    /// Makes the context that of the calling thread, for calls that enqueue; waits until another thread's recording has
    /// ended.
    pub(crate) fn enqueue(&self) -> Result<Enqueues<'_>> {
        if self.is_listed_here() {
            return Err(Error::unsupported("work", "only launches and copies on the device can be listed"));
        }
        let turn = match self.is_recorded_here() {
            true => None,
            false => Some(self.turn.read().unwrap_or_else(PoisonError::into_inner)),
        };
        Ok(Enqueues { _entered: self.enter()?, _turn: turn })
    }

    /// Lets other threads wait with their work until the result is dropped.
    pub(crate) fn lock(&self) -> RwLockWriteGuard<'_, ()> {
        self.turn.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for all work.
    pub(crate) fn synchronize(&self) -> Result<()> {
        let _enqueues = self.enqueue()?;
        // SAFETY: the stream is alive as long as the queue.
        unsafe { result::stream::synchronize(self.stream) }.map_err(failed("cuStreamSynchronize"))
    }

    /// Waits for all work of all streams of the context.
    pub(crate) fn synchronize_context(&self) -> Result<()> {
        self.refuse_in_recording("waiting for the device")?;
        let _enqueues = self.enqueue()?;
        result::ctx::synchronize().map_err(failed("cuCtxSynchronize"))
    }

    /// Frees memory in order with the work of the stream.
    ///
    /// # Safety
    /// The memory was allocated on this stream, or before all of its work, and nobody uses it any more.
    pub(crate) unsafe fn free(&self, pointer: sys::CUdeviceptr) {
        if self.drops_in_recording(pointer) {
            return;
        }
        if let Ok(_enqueues) = self.enqueue() {
            // SAFETY: the caller promises the same.
            let _ = unsafe { result::free_async(pointer, self.stream) };
        }
    }
}

impl Drop for Queue {
    fn drop(&mut self) {
        if let (Ok(_entered), true) = (self.enter(), self.owns_stream) {
            // SAFETY: the stream was made here, and nothing uses it any more. Its work is finished first, since the
            // process may end next; errors cannot be reported.
            let _ = unsafe { result::stream::synchronize(self.stream) };
            // SAFETY: as above.
            let _ = unsafe { result::stream::destroy(self.stream) };
        }
        // SAFETY: the context was retained by `new`.
        let _ = unsafe { result::primary_ctx::release(self.device) };
    }
}

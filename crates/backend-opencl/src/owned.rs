//! Handles of OpenCL that are released when they are dropped. (Those of `opencl3` panic if a runtime refuses the
//! release.)
//!
//! A forked process has none of the runtime's threads, for which a release may wait without end: so it does not release
//! its parent's handles.

use opencl3::types::{cl_context, cl_device_id, cl_int};
use std::ffi::c_void;
use std::{process, ptr};

/// A function that releases a handle.
type Release = unsafe fn(*mut c_void) -> Result<(), cl_int>;

/// A handle that has one owner.
#[derive(Debug)]
pub(crate) struct Owned {
    handle: *mut c_void,
    release: Release,
    /// The process that made the handle.
    process: u32,
}

// SAFETY: OpenCL's objects may be used by any thread, and by several at once; kernels, which may not, are behind locks.
unsafe impl Send for Owned {}
// SAFETY: as above.
unsafe impl Sync for Owned {}

impl Owned {
    /// Takes a handle over.
    ///
    /// # Safety
    /// The handle is alive, no other code releases it, and `release` is the function that does.
    pub(crate) unsafe fn new(handle: *mut c_void, release: Release) -> Self {
        Self { handle, release, process: process::id() }
    }

    /// True unless the process was forked from that which made the handle.
    pub(crate) fn is_of_this_process(&self) -> bool {
        self.process == process::id()
    }

    /// The handle, alive as long as this.
    pub(crate) fn get(&self) -> *mut c_void {
        self.handle
    }
}

impl Drop for Owned {
    fn drop(&mut self) {
        if self.is_of_this_process() {
            // A failure to release is the runtime's own; it cannot be reported.
            // SAFETY: as `new` was promised.
            let _ = unsafe { (self.release)(self.handle) };
        }
    }
}

/// A context of one device.
#[derive(Debug)]
pub(crate) struct Context {
    handle: Owned,
    device: usize,
}

impl Context {
    /// A new context.
    pub(crate) fn create(device: cl_device_id) -> Result<Self, cl_int> {
        let context = cl3::context::create_context(&[device], ptr::null(), None, ptr::null_mut())?;
        // SAFETY: the context is new.
        Ok(unsafe { Self::new(context, device) })
    }

    /// Takes a context over.
    ///
    /// # Safety
    /// As for [`Owned::new`]; the context is of this device.
    pub(crate) unsafe fn new(context: cl_context, device: cl_device_id) -> Self {
        // SAFETY: the caller promises the same.
        let handle = unsafe { Owned::new(context, cl3::context::release_context) };
        Self { handle, device: device as usize }
    }

    pub(crate) fn get(&self) -> cl_context {
        self.handle.get()
    }

    pub(crate) fn device(&self) -> cl_device_id {
        self.device as cl_device_id
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_release_that_is_refused_is_no_panic() {
        /// Fails, as a runtime whose device is lost does.
        unsafe fn refuses(_: *mut c_void) -> Result<(), cl_int> {
            Err(opencl3::error_codes::CL_OUT_OF_RESOURCES)
        }
        // SAFETY: the function releases nothing.
        drop(unsafe { Owned::new(ptr::null_mut(), refuses) });
    }
}

//! The OpenCL backend of [nnz](https://docs.rs/nnz): any device with OpenCL 1.2, found at run time, through OpenCL's
//! own queue or, with the feature `sycl`, through a SYCL 2020 queue.
//!
//! [`OPENCL`] lists the devices of all platforms and opens them, by index or by name. Without a loader, a runtime or a
//! device nothing panics: there is a reason instead. Kernels need neither sub-groups nor float atomics, and every
//! result is the same on every run on the same device. The operations are those of [`sparse_device`].
//!
//! | file | contents |
//! |---|---|
//! | `cl.rs` | the driver over OpenCL's own queue |
//! | `sycl.rs`, `sycl/` | the driver over a SYCL queue, through a library that `shim.cpp` makes |
//! | `devices.rs` | the devices of the machine |
//! | `program.rs` | programs and kernels, for both drivers |
//! | `memory_pool.rs`, `memory_account.rs` | released memory for later allocations, and the bytes that are allocated |
//! | `event.rs`, `owned.rs`, `error.rs` | the clock of a queue, handles that are released, errors of calls |
#![cfg_attr(docsrs, feature(doc_cfg))]

mod cl;
mod devices;
mod error;
mod event;
mod memory_account;
mod memory_pool;
mod owned;
mod program;
#[cfg(feature = "sycl")]
pub mod sycl;

use cl::{ClDriver, ClMemory};
pub use event::Event;
use sparse_core::{Element, Result};
use sparse_device::View;
pub use sparse_device::{Device, Library};
use std::ffi::c_void;
use std::ptr;
use std::sync::OnceLock;

/// OpenCL: the devices of all platforms, in the loader's order. `NNZ_OPENCL_DEVICE` names the preferred one.
pub static OPENCL: Library = Library {
    name: devices::NAME,
    device_variable: "NNZ_OPENCL_DEVICE",
    devices: || devices::caps(devices::opencl()),
    driver: |index| Ok(Box::new(ClDriver::open(index)?)),
    process: OnceLock::new(),
};

/// Device number `index` of [`OPENCL`] with a queue that records when its work ran, for [`Event`]; some runtimes then
/// take longer to enqueue work.
///
/// # Errors
/// As for [`Library::open`].
pub fn with_clock(index: usize) -> Result<Device> {
    OPENCL.start(format!("opencl device {index}"), || Ok(Box::new(ClDriver::open_with_clock(index)?)))
}

/// OpenCL's handles of a device, for libraries that work in the same context.
#[derive(Debug, Clone, Copy)]
pub struct Handles {
    /// A `cl_context` of this device alone.
    pub context: *mut c_void,
    /// The `cl_device_id`.
    pub device: *mut c_void,
    /// The `cl_command_queue`: work that others enqueue there is in order with this backend's.
    pub queue: *mut c_void,
}

/// The handles of a device; they are alive as long as it is.
///
/// # Errors
/// [`Unsupported`](sparse_core::Error::Unsupported) if it is no device of OpenCL's own queue.
pub fn handles(device: &Device) -> Result<Handles> {
    Ok(device.driver_as::<ClDriver>()?.handles())
}

/// The `cl_mem` of a view, and the view's first byte in it; null if the memory is not OpenCL's.
pub fn buffer<T: Element>(view: &View<'_, T>) -> (*mut c_void, usize) {
    let (memory, byte) = view.place();
    (memory.of::<ClMemory>().map_or(ptr::null_mut(), ClMemory::buffer), byte)
}

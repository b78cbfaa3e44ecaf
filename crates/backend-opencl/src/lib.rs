//! The OpenCL backend of [nnz](https://docs.rs/nnz): any device with OpenCL 1.2, found at run time, through OpenCL's own
//! queue or, with the feature `sycl`, through a SYCL 2020 queue.
//!
//! [`probe`] lists the devices of all platforms; [`OpenCl::new`](Device::new) opens one by its index,
//! [`OpenCl::named`](Device::named) by a part of its name. Without a loader, a runtime or a device nothing panics: there
//! is a reason instead. Kernels need neither sub-groups nor float atomics, and every result is the same on every run on
//! the same device. The operations are those of [`sparse_device`].
#![cfg_attr(docsrs, feature(doc_cfg))]

mod cl;
mod error;
mod event;
mod found;
mod kept;
mod program;
#[cfg(feature = "sycl")]
pub mod sycl;

pub use cl::ClDriver;
pub use event::Event;
pub use program::Program;
use sparse_core::op::AllTypes;
use sparse_core::{Element, Probe, Result};
pub use sparse_device::Device;
use sparse_device::View;
use std::ffi::c_void;

/// An OpenCL device: a context and an in-order queue. Cloning shares them.
pub type OpenCl = Device<ClDriver>;

const _: () = {
    const fn has_all_operations<B: AllTypes>() {}
    has_all_operations::<OpenCl>();
};

/// The devices of all platforms, in the loader's order, or why there are none (rule P1).
pub fn probe() -> Probe {
    sparse_device::probe::<ClDriver>()
}

/// The index of the device that `NNZ_OPENCL_DEVICE` names, by its index or by a part of its name; 0 without it.
///
/// # Errors
/// [`Unsupported`](sparse_core::Error::Unsupported) if no device has such a name.
pub fn preferred_index() -> Result<usize> {
    sparse_device::preferred_index::<ClDriver>()
}

/// Device number `index` of [`probe`] with a queue that notes when its work ran, for [`Event`]; some runtimes take longer
/// to enqueue work then.
///
/// # Errors
/// As [`OpenCl::new`](Device::new).
pub fn with_clock(index: usize) -> Result<OpenCl> {
    Device::from_driver(ClDriver::open_with_clock(index)?)
}

/// What OpenCL knows a device by, for libraries that work in the same context.
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
pub fn handles(backend: &OpenCl) -> Handles {
    backend.driver().handles()
}

/// The `cl_mem` that a view is of, and the byte of it where the view starts.
pub fn buffer<T: Element>(view: &View<'_, ClDriver, T>) -> (*mut c_void, usize) {
    let (memory, byte) = view.place();
    (memory.buffer(), byte)
}

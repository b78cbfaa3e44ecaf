//! The CUDA backend of [nnz](https://docs.rs/nnz): NVIDIA GPUs from sm_75 on, found at run time.
//!
//! Nothing of CUDA is needed to build it. The driver's library (libcuda, of CUDA 12.4 or later) and the compiler's
//! (libnvrtc, 12 or 13) are loaded when they are first asked for; without them nothing panics: there is a reason
//! instead. Kernels are compiled for the device's own architecture and kept on disk (see [`CACHE_VARIABLE`]); with the
//! feature `aot` they were compiled when this crate was built (see [`kernels_cu`]), and libnvrtc is not asked for. The
//! operations are those of [`sparse_device`].

mod cache;
#[doc(hidden)]
pub mod compiler;
mod cu;
mod event;
mod graph;
mod nvrtc;
mod program;
mod staging;
mod version;

pub use cache::CACHE_VARIABLE;
pub use cu::CuDriver;
pub use event::Event;
pub use graph::Graph;
use sparse_core::op::AllTypes;
use sparse_core::{Element, Probe, Result};
pub use sparse_device::Device;
use sparse_device::View;

/// A CUDA device: its primary context and a stream. Cloning shares them.
pub type Cuda = Device<CuDriver>;

const _: () = {
    const fn has_all_operations<B: AllTypes>() {}
    has_all_operations::<Cuda>();
};

/// The devices in CUDA's order, or why there are none (rule P1).
pub fn probe() -> Probe {
    sparse_device::probe::<CuDriver>()
}

/// The index of the device that `NNZ_CUDA_DEVICE` names, by its index or by a part of its name; 0 without it.
///
/// # Errors
/// [`Unsupported`](sparse_core::Error::Unsupported) if no device has such a name.
pub fn preferred_index() -> Result<usize> {
    sparse_device::preferred_index::<CuDriver>()
}

/// Device number `index` with a stream of the caller's.
///
/// Work of this backend is in order with the caller's own work in that stream.
///
/// # Errors
/// As [`Device::new`].
///
/// # Safety
/// `stream` is a `CUstream` of the primary context of this device, and outlives everything that is made here.
pub unsafe fn on_stream(index: usize, stream: *mut std::ffi::c_void) -> Result<Cuda> {
    // SAFETY: the caller promises what is asked.
    Device::from_driver(unsafe { CuDriver::on_stream(index, stream)? })
}

/// The stream of a device, a `CUstream`: work that others enqueue there is in order with this backend's.
pub fn stream(backend: &Cuda) -> *mut std::ffi::c_void {
    backend.driver().queue().stream.cast()
}

/// The address of a view's first element on the device, for libraries that work on the same memory.
pub fn address<T: Element>(view: &View<'_, CuDriver, T>) -> u64 {
    let (memory, byte) = view.place();
    memory.address() + byte as u64
}

//! The CUDA backend of [nnz](https://docs.rs/nnz): NVIDIA GPUs from sm_75 on, found at run time.
//!
//! CUDA is not needed to build it. The driver's library (libcuda, of CUDA 12.4 or later) and the compiler's (libnvrtc,
//! 12 or 13) are loaded at their first use; without them nothing panics: there is a reason instead. Kernels are
//! compiled for the device's own architecture and cached on disk (see [`CACHE_VARIABLE`]); with the feature `aot` they
//! are compiled when this crate is built (see [`kernels_cu`]), and libnvrtc is not loaded.
//!
//! This crate is a driver: memory, programs and launches. The operations, with the choice of their algorithms, are
//! those of [`sparse_device`] in `op/`; the kernels that they launch are in `kernels_cu`.
//!
//! | file | contents |
//! |---|---|
//! | `cu.rs` | the driver: memory, copies, programs and launches in one stream |
//! | `devices.rs`, `version.rs` | the devices of the machine, and the oldest driver that is supported |
//! | `queue.rs` | a stream and its context, entered by the calling thread |
//! | `memory.rs`, `foreign.rs`, `ipc.rs` | a device's memory: our own, of other libraries, of other processes |
//! | `pinned.rs`, `pinned_pool.rs`, `staging.rs`, `uploads.rs` | pinned memory of the host, and copies through it |
//! | `program.rs`, `compiler.rs`, `nvrtc.rs`, `cache.rs` | kernels: from NVRTC or the cache on disk to a launch |
//! | `graph.rs`, `recording.rs`, `event.rs` | CUDA graphs of recorded work, and the time that work takes |
//! | `peer/` | exchanges among devices, by NCCL or by copies |

mod cache;
#[doc(hidden)]
pub mod compiler;
mod cu;
mod devices;
mod error;
mod event;
mod foreign;
mod graph;
mod ipc;
mod memory;
mod nvrtc;
mod peer;
mod pinned;
mod pinned_pool;
mod program;
mod queue;
mod recording;
mod staging;
mod uploads;
mod version;

pub use cache::CACHE_VARIABLE;
use cu::CuDriver;
pub use event::Event;
pub use graph::Graph;
pub use ipc::{IpcHandle, IpcMemory};
use memory::CuMemory;
pub use peer::{Peer, PeerPath, connect, device_uuid, join, nccl_version, unique_id};
pub use pinned::PinnedVec;
use sparse_core::error::checked_product;
use sparse_core::{Backend as _, Element, Result};
use sparse_device::{Buffer, Memory, View};
pub use sparse_device::{Device, Library};
use std::any::Any;
use std::ffi::c_void;
use std::sync::OnceLock;

/// CUDA: NVIDIA's GPUs, in the driver's order. `NNZ_CUDA_DEVICE` names the preferred one.
pub static CUDA: Library = Library {
    name: error::NAME,
    device_variable: "NNZ_CUDA_DEVICE",
    devices: devices::caps,
    driver: |index| Ok(Box::new(CuDriver::open(index)?)),
    process: OnceLock::new(),
};

/// Device number `index` with a caller's stream.
///
/// Work of this backend is in order with the caller's own work in that stream.
///
/// # Errors
/// As for [`Library::open`].
///
/// # Safety
/// `stream` is a `CUstream` of the primary context of this device, and outlives the device and everything made with it.
pub unsafe fn on_stream(index: usize, stream: *mut c_void) -> Result<Device> {
    // SAFETY: the caller makes the same promise.
    CUDA.start("the caller's stream", || Ok(Box::new(unsafe { CuDriver::on_stream(index, stream)? })))
}

/// Device number `index` whose kernels prefer `percent` of 100 parts of the memory of a multiprocessor, L1 cache and
/// shared memory together, to be shared ("carve-out").
///
/// It changes times, and no result. The driver takes a split that the GPU has, with as much shared memory as is asked
/// for and as blocks need. [`CUDA`]'s own devices leave the split of each kernel to the driver.
///
/// ```
/// let device = backend_cuda::with_carveout(0, 50);
/// assert!(device.is_ok() || backend_cuda::CUDA.probe().reason.is_some());
/// assert!(backend_cuda::with_carveout(0, 101).is_err());
/// ```
///
/// # Errors
/// As for [`Library::open`]; [`Unsupported`](sparse_core::Error::Unsupported) for more than 100 %.
pub fn with_carveout(index: usize, percent: u8) -> Result<Device> {
    CUDA.start(format!("cuda device {index}"), || Ok(Box::new(CuDriver::open_with_carveout(index, percent)?)))
}

/// The stream of a device, a `CUstream`: work that others enqueue there is in order with this backend's.
///
/// # Errors
/// [`Unsupported`](sparse_core::Error::Unsupported) if the device is not CUDA's.
pub fn stream(device: &Device) -> Result<*mut c_void> {
    Ok(device.driver_as::<CuDriver>()?.queue().stream.cast())
}

/// The address of a view's first element on the device, for libraries that work on the same memory; 0 if it is not
/// CUDA's.
pub fn address<T: Element>(view: &View<'_, T>) -> u64 {
    let (memory, byte) = view.place();
    memory.of::<CuMemory>().map_or(0, |memory| memory.address() + byte as u64)
}

/// A buffer over memory of another library, which is not copied: `len` elements from `address` on.
///
/// `owner` keeps the memory alive, and is dropped when the stream has done all work up to then. Without an owner
/// nothing waits: the caller frees the memory in order with the stream.
///
/// # Errors
/// [`Unsupported`](sparse_core::Error::Unsupported) for an address that is not of this GPU's memory or not a multiple
/// of 16, and if the device is not CUDA's.
///
/// # Safety
/// The memory has `len` elements, and whoever writes or frees it does so in order with the stream of `device`. Nobody
/// writes indices of a matrix as long as that lives.
pub unsafe fn borrow<T: Element>(
    device: &Device,
    address: u64,
    len: usize,
    owner: Option<Box<dyn Any + Send + Sync>>,
) -> Result<Buffer<T>> {
    let queue = device.driver_as::<CuDriver>()?.queue();
    let bytes = checked_product("length x size of an element", len, size_of::<T>())?;
    if bytes == 0 {
        return device.upload(&[]);
    }
    // SAFETY: the caller promises the same.
    let memory = unsafe { foreign::borrow_words(address, bytes, owner, queue)? };
    // SAFETY: it is memory of this device with `len` elements, in whole words, as was checked.
    Ok(unsafe { device.adopt(Memory::new(memory), len) })
}

/// Waits for all work of all streams of a device, those of other libraries among them.
///
/// # Errors
/// [`Unsupported`](sparse_core::Error::Unsupported) if the device is not CUDA's; an error of the driver, errors of the
/// work included.
pub fn synchronize_all(device: &Device) -> Result<()> {
    device.driver_as::<CuDriver>()?.queue().synchronize_context()
}

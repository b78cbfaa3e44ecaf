//! Pinned memory of the host, which a device copies by itself.

use crate::cu::CuDriver;
use crate::error::failed;
use crate::memory::CuMemory;
use crate::queue::Queue;
use cudarc::driver::{result, sys};
use sparse_core::error::checked_product;
use sparse_core::{Element, Result};
use sparse_device::{Device, Memory};
use std::cell::Cell;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};
use std::slice;
use std::sync::Arc;

/// Pinned memory of the host.
#[derive(Debug)]
pub(crate) struct Pinned {
    pointer: *mut u8,
    bytes: usize,
    done: sys::CUevent,
    /// True from the begin of work with the memory until `done` marks its end: after an error in between, only the
    /// end of the stream's work is an end of that work.
    is_unmarked: Cell<bool>,
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
            Ok(done) => {
                let (pointer, is_unmarked) = (pointer.cast(), Cell::new(false));
                Ok(Self { pointer, bytes, done, is_unmarked, queue: queue.clone() })
            }
            Err(error) => {
                // SAFETY: the memory was just allocated, and nothing uses it.
                let _ = unsafe { result::free_host(pointer) };
                Err(error)
            }
        }
    }

    /// The bytes, after the last work that uses them.
    pub(crate) fn bytes(&mut self) -> Result<&mut [u8]> {
        if self.is_unmarked.get() {
            self.queue.synchronize()?;
            self.is_unmarked.set(false);
        }
        let _entered = self.queue.enter()?;
        // SAFETY: the event is alive; one that was never recorded is done.
        unsafe { result::event::synchronize(self.done) }.map_err(failed("cuEventSynchronize"))?;
        // SAFETY: the memory has this many bytes, no work touches it any more, and it is borrowed exclusively;
        // `new` has written all of it.
        Ok(unsafe { slice::from_raw_parts_mut(self.pointer, self.bytes) })
    }

    /// Lets `launch` enqueue a kernel that writes the memory, and marks its end.
    pub(crate) fn write_by(&self, launch: impl FnOnce(&Memory) -> Result<()>) -> Result<()> {
        let address = self.pointer as sys::CUdeviceptr;
        // SAFETY: kernels reach memory that the driver has pinned at its address on the host, and work with it ends
        // before `bytes()` returns, or before it is freed.
        let memory = Memory::new(unsafe { CuMemory::borrowed(address, self.bytes, &self.queue, None) });
        self.is_unmarked.set(true);
        launch(&memory)?;
        let _enqueues = self.queue.enqueue()?;
        self.mark()
    }

    /// Enqueues the event that marks the end of the work with the memory. The caller has the queue's permission.
    fn mark(&self) -> Result<()> {
        // SAFETY: event and stream are alive.
        unsafe { result::event::record(self.done, self.queue.stream) }.map_err(failed("cuEventRecord"))?;
        self.is_unmarked.set(false);
        Ok(())
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

    /// Enqueues a copy of the first `bytes`, and marks its end.
    fn copy(
        &self,
        bytes: usize,
        call: &str,
        copy: impl FnOnce(&mut [u8]) -> Result<(), result::DriverError>,
    ) -> Result<()> {
        assert!(bytes <= self.bytes, "{bytes} of {}", self.bytes);
        let _enqueues = self.queue.enqueue()?;
        // SAFETY: the first `bytes` of this memory; `bytes()` waits for the event before it is touched again.
        let host = unsafe { slice::from_raw_parts_mut(self.pointer, bytes) };
        self.is_unmarked.set(true);
        copy(host).map_err(failed(call))?;
        self.mark()
    }
}

impl Drop for Pinned {
    fn drop(&mut self) {
        let is_done = self.bytes().is_ok();
        if let (true, Ok(_entered)) = (is_done, self.queue.enter()) {
            // SAFETY: no work uses memory or event any more, and both were made by `new`.
            let _ = unsafe { result::event::destroy(self.done) };
            // SAFETY: as above.
            let _ = unsafe { result::free_host(self.pointer.cast()) };
        }
    }
}

/// Elements in pinned memory of the host, for a CUDA device.
///
/// The device copies pinned memory by itself, at the full rate of its link; of other memory the host makes a pinned
/// copy first, piece by piece. Uploads and downloads see whether memory is pinned, also by somebody else
/// (`cuMemHostRegister`, `torch.Tensor.pin_memory`). Pinned memory is never swapped out: take no more than is needed.
///
/// ```
/// use backend_cuda::{CUDA, Device, PinnedVec};
/// use sparse_core::{Backend, Space};
///
/// if let Ok(device) = CUDA.open_preferred() {
///     let mut numbers = PinnedVec::zeros(&device, 1 << 20)?;
///     numbers[7] = 1.5_f32;
///     let copy = device.upload(&numbers)?;
///     device.download_into(Device::view(&copy), &mut numbers)?;
///     assert_eq!(numbers[7], 1.5);
/// }
/// # Ok::<(), sparse_core::Error>(())
/// ```
#[derive(Debug)]
pub struct PinnedVec<T> {
    memory: Pinned,
    len: usize,
    element: PhantomData<T>,
}

// SAFETY: a shared reference reads the elements alone.
unsafe impl<T: Sync> Sync for PinnedVec<T> {}

impl<T: Element> PinnedVec<T> {
    /// Allocates `len` zeros.
    ///
    /// # Errors
    /// [`Unsupported`](sparse_core::Error::Unsupported) if the device is not CUDA's, or an error of the driver, which
    /// may be out of memory.
    pub fn zeros(device: &Device, len: usize) -> Result<Self> {
        Self::on(device.driver_as::<CuDriver>()?.queue(), len)
    }

    /// Allocates `len` zeros in the context of a queue.
    pub(crate) fn on(queue: &Arc<Queue>, len: usize) -> Result<Self> {
        let bytes = checked_product("elements x bytes", len, size_of::<T>())?;
        // The driver has no memory of 0 bytes.
        Ok(Self { memory: Pinned::new(bytes.max(1), queue)?, len, element: PhantomData })
    }
}

impl<T: Element> Deref for PinnedVec<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        // SAFETY: the memory has this many elements, begins at a page, and was written whole; copies from and to it are
        // over before they return.
        unsafe { slice::from_raw_parts(self.memory.pointer.cast(), self.len) }
    }
}

impl<T: Element> DerefMut for PinnedVec<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        // SAFETY: as above, and the memory is borrowed exclusively.
        unsafe { slice::from_raw_parts_mut(self.memory.pointer.cast(), self.len) }
    }
}

/// True if all of `host` is pinned memory of one allocation.
pub(crate) fn is_pinned(host: &[u8], queue: &Queue) -> Result<bool> {
    let (mut kind, mut start, mut bytes) = (0_u32, 0_u64, 0_u64);
    let mut attributes = [
        sys::CUpointer_attribute::CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
        sys::CUpointer_attribute::CU_POINTER_ATTRIBUTE_RANGE_START_ADDR,
        sys::CUpointer_attribute::CU_POINTER_ATTRIBUTE_RANGE_SIZE,
    ];
    let mut data = [(&raw mut kind).cast(), (&raw mut start).cast(), (&raw mut bytes).cast()];
    let address = host.as_ptr() as u64;
    let _entered = queue.enter()?;
    // SAFETY: the attributes are numbers of these widths; the call leaves alone what does not apply to an address that
    // the driver does not know, and reads nothing there.
    let done = unsafe { sys::cuPointerGetAttributes(3, attributes.as_mut_ptr(), data.as_mut_ptr(), address) };
    let is_host = done.result().is_ok() && kind == sys::CUmemorytype::CU_MEMORYTYPE_HOST as u32;
    Ok(is_host && start <= address && address - start + host.len() as u64 <= bytes)
}

/// Copies pinned memory to the device, and waits until that is done.
pub(crate) fn upload(host: &[u8], to: sys::CUdeviceptr, queue: &Queue) -> Result<()> {
    {
        let _enqueues = queue.enqueue()?;
        // SAFETY: the caller has checked the range on the device, and the copy is over before `host` can change.
        unsafe { result::memcpy_htod_async(to, host, queue.stream) }.map_err(failed("cuMemcpyHtoDAsync"))?;
    }
    queue.synchronize()
}

/// Copies to pinned memory, after all work before it.
pub(crate) fn download(from: sys::CUdeviceptr, host: &mut [u8], queue: &Queue) -> Result<()> {
    {
        let _enqueues = queue.enqueue()?;
        // SAFETY: as above.
        unsafe { result::memcpy_dtoh_async(host, from, queue.stream) }
            .map_err(failed("cuMemcpyDtoHAsync"))?;
    }
    queue.synchronize()
}

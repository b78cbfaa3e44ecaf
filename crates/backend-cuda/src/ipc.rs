//! Memory of a GPU that another process of this machine has allocated (CUDA IPC).

use crate::cu::CuDriver;
use crate::error::failed;
use crate::foreign;
use crate::memory::CuMemory;
use cudarc::driver::{result, sys};
use sparse_core::error::checked_product;
use sparse_core::space::View as _;
use sparse_core::{Backend as _, Element, Error, Result};
use sparse_device::{Buffer, Device, Memory, View, WORD_BYTES};
use std::ffi::c_char;

/// The handle of an allocation, by which other processes find it: what `cuIpcGetMemHandle` gives.
pub type IpcHandle = [u8; 64];

/// Memory of another process, which this one can use until the value is dropped.
#[derive(Debug)]
pub struct IpcMemory {
    start: sys::CUdeviceptr,
    device: Device,
}

impl IpcMemory {
    /// Opens the allocation of a handle, which another process has made in the memory of `device`.
    ///
    /// # Errors
    /// [`Unsupported`](Error::Unsupported) if the device is not CUDA's, and for a handle of this process, or of nothing
    /// that is allocated.
    pub fn open(device: &Device, handle: &IpcHandle) -> Result<Self> {
        let queue = device.driver_as::<CuDriver>()?.queue();
        queue.refuse_in_recording("opening memory of another process")?;
        let _entered = queue.enter()?;
        let (mut start, handle) = (0, sys::CUipcMemHandle { reserved: handle.map(|byte| byte as c_char) });
        let flags = sys::CUipcMem_flags::CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS as u32;
        // SAFETY: the handle is of its size, whatever it says, and the address is written to `start`.
        let opened = unsafe { sys::cuIpcOpenMemHandle_v2(&raw mut start, handle, flags) };
        let refused =
            |code| Error::unsupported("this handle of CUDA IPC", format!("cuIpcOpenMemHandle: {code}"));
        opened.result().map_err(refused)?;
        Ok(Self { start, device: device.clone() })
    }

    /// A copy of `len` elements from byte `offset` on, once it is made.
    ///
    /// # Errors
    /// [`Unsupported`](Error::Unsupported) for elements that pass the end of the allocation;
    /// [`OutOfMemory`](Error::OutOfMemory), or an error of the driver.
    pub fn read<T: Element>(&self, offset: usize, len: usize) -> Result<Buffer<T>> {
        let bytes = checked_product("length x size of an element", len, size_of::<T>())?;
        if bytes == 0 {
            return self.device.upload(&[]);
        }
        let queue = self.device.driver_as::<CuDriver>()?.queue();
        let from = self.address(offset, bytes)?;
        let to = CuMemory::allocate(bytes.next_multiple_of(WORD_BYTES), queue)?;
        self.copy(from, to.address(), bytes)?;
        // SAFETY: the memory is new, of this device, has whole words, and its elements were copied.
        Ok(unsafe { self.device.adopt(Memory::new(to), len) })
    }

    /// Copies elements of the device to byte `offset` and behind, and waits until they are there.
    ///
    /// # Errors
    /// As for [`read`](Self::read); [`WrongContext`](Error::WrongContext) for elements of another device.
    ///
    /// # Safety
    /// The process that has the memory allows these bytes to change, and uses them only when the call has ended: it may
    /// have checked them before, as the indices of a matrix, and not check them again.
    pub unsafe fn write<T: Element>(&self, offset: usize, elements: &View<'_, T>) -> Result<()> {
        if elements.len() == 0 {
            return Ok(());
        }
        let (memory, first) = elements.place();
        let bytes = elements.len() * size_of::<T>();
        let from = CuMemory::of(memory, self.device.driver_as::<CuDriver>()?.queue())?.range(first, bytes)?;
        self.copy(from, self.address(offset, bytes)?, bytes)
    }

    /// The address of byte `offset`, if `bytes` bytes follow it in this allocation.
    fn address(&self, offset: usize, bytes: usize) -> Result<sys::CUdeviceptr> {
        let passes = || Error::unsupported("an array of another process", "its offset is not an address");
        let end = offset.checked_add(bytes).ok_or_else(passes)?;
        // From the start on, since other allocations may lie behind this one.
        foreign::check(self.start, end as u64, self.device.driver_as::<CuDriver>()?.queue())?;
        Ok(self.start + offset as u64)
    }

    fn copy(&self, from: sys::CUdeviceptr, to: sys::CUdeviceptr, bytes: usize) -> Result<()> {
        let queue = self.device.driver_as::<CuDriver>()?.queue();
        {
            let _enqueues = queue.enqueue()?;
            // SAFETY: both ranges lie in allocations of their own, as was checked, and are not freed before the stream
            // is waited for.
            unsafe { result::memcpy_dtod_async(to, from, bytes, queue.stream) }
                .map_err(failed("cuMemcpyDtoDAsync"))?;
        }
        queue.synchronize()
    }
}

impl Drop for IpcMemory {
    fn drop(&mut self) {
        let Ok(driver) = self.device.driver_as::<CuDriver>() else { return };
        if let Ok(_entered) = driver.queue().enter() {
            // SAFETY: it was opened in this context, and all work with it was waited for.
            let _ = unsafe { sys::cuIpcCloseMemHandle(self.start) };
        }
    }
}

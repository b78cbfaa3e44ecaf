//! Memory of a device.

use crate::error::failed;
use crate::queue::Queue;
use cudarc::driver::{result, sys};
use sparse_core::{Error, Result};
use sparse_device::Memory;
use std::any::Any;
use std::sync::Arc;
use std::{mem, ptr};

/// Memory of a device, freed in order with the work of its stream unless it is borrowed.
#[derive(Debug)]
pub(crate) struct CuMemory {
    pub(crate) pointer: sys::CUdeviceptr,
    bytes: usize,
    queue: Arc<Queue>,
    owner: Owner,
}

/// Keeps memory of another library alive until it is dropped.
pub(crate) type ForeignOwner = Box<dyn Any + Send + Sync>;

/// The owner of memory.
#[derive(Debug)]
enum Owner {
    /// The stream that uses it.
    Stream,
    /// Another library, which has it back when this is dropped, if there is something to drop.
    Foreign(Option<ForeignOwner>),
}

impl CuMemory {
    /// Allocates `bytes` bytes, not 0, in order with the work of the queue.
    pub(crate) fn allocate(bytes: usize, queue: &Arc<Queue>) -> Result<Self> {
        queue.refuse_in_recording("allocating memory")?;
        Self::allocate_on(queue, bytes, queue)
    }

    /// Allocates `bytes` bytes, not 0, in order with the work of `queue`. `owner`, of the same context, uses and frees
    /// them; the caller makes sure that the work of `queue` up to here is done before.
    pub(crate) fn allocate_on(queue: &Queue, bytes: usize, owner: &Arc<Queue>) -> Result<Self> {
        let _enqueues = queue.enqueue()?;
        // SAFETY: the stream is alive, and the memory is freed once, by `Drop`.
        let pointer = unsafe { result::malloc_async(queue.stream, bytes) };
        let pointer = pointer.map_err(|code| match code.0 {
            sys::CUresult::CUDA_ERROR_OUT_OF_MEMORY => {
                let available = result::mem_get_info().ok().map(|(free, _)| free as u64);
                Error::OutOfMemory { needed: bytes as u64, available }
            }
            _ => failed("cuMemAllocAsync")(code),
        })?;
        Ok(Self { pointer, bytes, queue: owner.clone(), owner: Owner::Stream })
    }

    /// Borrowed memory, which the queue uses and does not free. `owner` is dropped when the work of the queue
    /// is done.
    ///
    /// # Safety
    /// From `pointer` on there are `bytes` bytes that the queue's context can use, and that outlive this and all work
    /// with it.
    pub(crate) unsafe fn borrowed(
        pointer: sys::CUdeviceptr,
        bytes: usize,
        queue: &Arc<Queue>,
        owner: Option<ForeignOwner>,
    ) -> Self {
        Self { pointer, bytes, queue: queue.clone(), owner: Owner::Foreign(owner) }
    }

    /// The memory as its own type, if it was allocated on this queue.
    pub(crate) fn of<'a>(memory: &'a Memory, queue: &Queue) -> Result<&'a Self> {
        let memory = memory.of::<Self>()?;
        if ptr::eq(queue, &raw const *memory.queue) {
            return Ok(memory);
        }
        Err(Error::unsupported("this memory", "it belongs to another context"))
    }

    /// The first address.
    pub(crate) fn address(&self) -> sys::CUdeviceptr {
        self.pointer
    }

    /// The address of byte `offset`; an error if the range passes the end.
    pub(crate) fn range(&self, offset: usize, bytes: usize) -> Result<sys::CUdeviceptr> {
        match offset.checked_add(bytes) {
            Some(end) if end <= self.bytes => Ok(self.pointer + offset as u64),
            _ => Err(Error::shape(
                "a range of memory",
                format_args!("{bytes} bytes from {offset} on, of {}", self.bytes),
            )),
        }
    }
}

impl Drop for CuMemory {
    fn drop(&mut self) {
        match &mut self.owner {
            // SAFETY: the memory is this stream's, and nobody can name it any more.
            Owner::Stream => unsafe { self.queue.free(self.pointer) },
            Owner::Foreign(owner) => {
                let Some(owner) = owner.take() else { return };
                let done = self.queue.refuse_in_recording("waiting").and_then(|()| self.queue.synchronize());
                if done.is_err() {
                    // Work may still use it.
                    mem::forget(owner);
                }
            }
        }
    }
}

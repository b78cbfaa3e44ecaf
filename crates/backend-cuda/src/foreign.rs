//! Memory that other libraries have allocated on a device, and the streams that write it.

use crate::error::{NAME, failed};
use crate::memory::{CuMemory, ForeignOwner};
use crate::queue::Queue;
use cudarc::driver::{result, sys};
use sparse_core::{Error, Result};
use sparse_device::WORD_BYTES;
use sparse_device::foreign::{ForeignArray, MemoryKind};
use std::sync::Arc;

/// The subject of errors.
const WHAT: &str = "a foreign array";

/// The answers of the driver about an address.
#[derive(Debug, Default)]
struct Attributes {
    context: usize,
    kind: u32,
    is_managed: u32,
    ordinal: i32,
    start: u64,
    bytes: u64,
}

impl Attributes {
    fn of(address: u64, queue: &Queue) -> Result<Self> {
        let mut found = Self::default();
        let mut attributes = [
            sys::CUpointer_attribute::CU_POINTER_ATTRIBUTE_CONTEXT,
            sys::CUpointer_attribute::CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
            sys::CUpointer_attribute::CU_POINTER_ATTRIBUTE_IS_MANAGED,
            sys::CUpointer_attribute::CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,
            sys::CUpointer_attribute::CU_POINTER_ATTRIBUTE_RANGE_START_ADDR,
            sys::CUpointer_attribute::CU_POINTER_ATTRIBUTE_RANGE_SIZE,
        ];
        let Self { context, kind, is_managed, ordinal, start, bytes } = &mut found;
        let mut data = [
            (&raw mut *context).cast(),
            (&raw mut *kind).cast(),
            (&raw mut *is_managed).cast(),
            (&raw mut *ordinal).cast(),
            (&raw mut *start).cast(),
            (&raw mut *bytes).cast(),
        ];
        let count = attributes.len() as u32;
        let _entered = queue.enter()?;
        // SAFETY: the attributes are a handle and numbers of at most these widths; the call leaves alone what does not
        // apply to an address, and reads nothing there.
        let done = unsafe {
            sys::cuPointerGetAttributes(count, attributes.as_mut_ptr(), data.as_mut_ptr(), address)
        };
        done.result().map_err(failed("cuPointerGetAttributes"))?;
        Ok(found)
    }
}

/// Memory from the word of an array's first byte to its end, and the first byte in it, after the work of its stream.
///
/// # Safety
/// As for [`Driver::borrow`](sparse_device::Driver::borrow).
pub(crate) unsafe fn borrow(
    array: &ForeignArray,
    bytes: usize,
    queue: &Arc<Queue>,
) -> Result<(CuMemory, usize)> {
    array.check_memory(MemoryKind::Cuda, NAME)?;
    queue.refuse_in_recording("borrowing memory")?;
    let address = (array.handle + array.byte_offset) as u64;
    check(address, bytes as u64, queue)?;
    if let Some(stream) = array.stream {
        // SAFETY: the caller vouches for the stream.
        unsafe { wait_for(stream as sys::CUstream, queue) }?;
    }
    // Allocations begin at a multiple of a word.
    let first_byte = (address % WORD_BYTES as u64) as usize;
    // SAFETY: the caller vouches for the array.
    let memory = unsafe { CuMemory::borrowed(address - first_byte as u64, first_byte + bytes, queue, None) };
    Ok((memory, first_byte))
}

/// Memory of `bytes` bytes, not 0, from the word `address` on, up to the end of the last word.
///
/// # Safety
/// As for [`borrow`](crate::borrow).
pub(crate) unsafe fn borrow_words(
    address: u64,
    bytes: usize,
    owner: Option<ForeignOwner>,
    queue: &Arc<Queue>,
) -> Result<CuMemory> {
    queue.refuse_in_recording("borrowing memory")?;
    if !address.is_multiple_of(WORD_BYTES as u64) {
        let reason =
            format!("{address:#x} is not a multiple of {WORD_BYTES}: the address of a copy would be");
        return Err(Error::unsupported(WHAT, reason));
    }
    let bytes = bytes.next_multiple_of(WORD_BYTES);
    check(address, bytes as u64, queue)?;
    // SAFETY: the caller vouches for the memory, whose words were found in one allocation.
    Ok(unsafe { CuMemory::borrowed(address, bytes, queue, owner) })
}

/// An error unless `bytes` bytes from `address` on lie in one allocation of the queue's device that its context can
/// use.
pub(crate) fn check(address: u64, bytes: u64, queue: &Queue) -> Result<()> {
    let refused = |reason: String| Err(Error::unsupported(WHAT, reason));
    let Attributes { context, kind, is_managed, ordinal, start, bytes: available } =
        Attributes::of(address, queue)?;
    if kind != sys::CUmemorytype::CU_MEMORYTYPE_DEVICE as u32 && is_managed == 0 {
        return refused(format!("{address:#x} is not an address in a CUDA device's memory"));
    }
    let device = queue.device();
    if ordinal != device && is_managed == 0 {
        return refused(format!("{address:#x} is memory of CUDA device {ordinal}, not {device}"));
    }
    // Memory of a pool, as of cudaMallocAsync, is of no context: all of its device's can use it.
    if context != 0 && context != queue.context() as usize {
        return refused(format!(
            "{address:#x} belongs to another context than the primary one of device {device}"
        ));
    }
    let before = address.wrapping_sub(start);
    if before > available || bytes > available - before {
        return refused(format!(
            "{bytes} bytes from {address:#x} on pass the end of their allocation, {available} bytes from {start:#x} on"
        ));
    }
    Ok(())
}

/// Lets later work of the queue wait for what `stream` has so far.
///
/// # Safety
/// `stream` is a stream of the queue's device, or the number of a default stream.
unsafe fn wait_for(stream: sys::CUstream, queue: &Queue) -> Result<()> {
    let _enqueues = queue.enqueue()?;
    let event = result::event::create(sys::CUevent_flags::CU_EVENT_DISABLE_TIMING);
    let event = event.map_err(failed("cuEventCreate"))?;
    // SAFETY: the event is alive, and the caller vouches for the stream.
    let recorded = unsafe { result::event::record(event, stream) }.map_err(failed("cuEventRecord"));
    let waits = recorded.and_then(|()| {
        let flags = sys::CUevent_wait_flags::CU_EVENT_WAIT_DEFAULT;
        // SAFETY: stream and event are alive.
        unsafe { result::stream::wait_event(queue.stream, event, flags) }.map_err(failed("cuStreamWaitEvent"))
    });
    // SAFETY: the library keeps the event until nothing waits for it any more.
    let _ = unsafe { result::event::destroy(event) };
    waits
}

//! The driver over a SYCL queue, which launches the same kernels of OpenCL C, and kernels of SYCL's own.
//!
//! The runtime compiles no source of OpenCL's, so programs are built for the native context of the queue, and their
//! kernels are handed to SYCL.

mod event;
mod program;
mod shim;

pub use event::Event;
use program::{SyclKernel, SyclProgram};

use crate::devices::{self, DeviceInfo};
use crate::memory_account::{Allocation, MemoryAccount};
use crate::owned::Context;
use crate::program::check_launch;
use kernels_core::File;
use opencl3::device::Device;
use opencl3::platform::Platform;
use opencl3::types::cl_device_id;
use shim::{Argument, Functions, MEMORY_ALLOCATION, RawMemory, RawQueue, functions, guarded};
use sparse_core::{Element, Error, Result};
use sparse_device::foreign::{ForeignArray, MemoryKind};
use sparse_device::{
    Arg, Buffer, Defines, Driver, Grid, Kernel, Library, Memory, Program, Properties, View, WORD_BYTES,
};
use std::ffi::{CStr, c_char, c_int, c_void};
use std::ptr;
use std::sync::{OnceLock, PoisonError};

/// The backend's name.
const NAME: &str = "sycl";

/// The subject of errors of borrowed queues.
const CALLERS_QUEUE: &str = "the caller's queue";

/// The subject of errors of borrowed memory.
const CALLERS_MEMORY: &str = "the caller's memory";

/// SYCL: the devices that it reaches through OpenCL, in its order. `NNZ_SYCL_DEVICE` names the preferred one.
pub static SYCL: Library = Library {
    name: NAME,
    device_variable: "NNZ_SYCL_DEVICE",
    devices: || devices::caps(devices()),
    driver: |index| Ok(Box::new(SyclDriver::open_queue(index, false)?)),
    process: OnceLock::new(),
};

/// Device number `index` of [`SYCL`] with a queue that records when its work ran, for [`Event`]; some runtimes then
/// take longer to enqueue work.
///
/// # Errors
/// As for [`Library::open`].
pub fn with_clock(index: usize) -> Result<sparse_device::Device> {
    SYCL.start(format!("sycl device {index}"), || Ok(Box::new(SyclDriver::open_queue(index, true)?)))
}

/// The device of a caller's `sycl::queue`.
///
/// Work of this backend is in order with the caller's own work in that queue, whose handler receives errors.
///
/// # Errors
/// [`Unsupported`](Error::Unsupported) for a queue that is not in order, whose device OpenCL does not serve, or that
/// has no unified shared memory, and in a process that was forked since SYCL was loaded.
///
/// # Safety
/// `queue` points to a `sycl::queue` of the SYCL runtime that the shim was built for.
pub unsafe fn on_queue(queue: *const c_void) -> Result<sparse_device::Device> {
    // SAFETY: the caller makes the same promise.
    SYCL.start(CALLERS_QUEUE, || Ok(Box::new(unsafe { SyclDriver::on_queue(queue)? })))
}

/// A buffer of `len` elements over the caller's unified shared memory, which stays the caller's.
///
/// # Errors
/// [`Unsupported`](Error::Unsupported) if `pointer` is not unified shared memory of the context of `device`'s queue, or
/// is not aligned to 16 bytes, or if `device` is none of SYCL's.
///
/// # Safety
/// From `pointer` on there are `len` initialized elements, and up to the next multiple of 16 bytes the memory can be
/// read. It outlives the buffer and all work with it, and no other code writes it in the meantime.
pub unsafe fn borrow<T: Element>(
    device: &sparse_device::Device,
    pointer: *mut T,
    len: usize,
) -> Result<Buffer<T>> {
    let what = CALLERS_MEMORY;
    if !pointer.addr().is_multiple_of(WORD_BYTES) {
        return Err(Error::unsupported(what, format!("{pointer:p} is not aligned to {WORD_BYTES} bytes")));
    }
    let bytes = len.checked_mul(size_of::<T>()).and_then(|bytes| bytes.checked_next_multiple_of(WORD_BYTES));
    let bytes = bytes.ok_or_else(|| Error::unsupported(what, format!("{len} elements fit no memory")))?;
    // SAFETY: the caller makes the same promise.
    let memory = unsafe { device.driver_as::<SyclDriver>()?.borrowed(pointer.cast(), bytes) }?;
    // SAFETY: the caller vouches for the elements.
    Ok(unsafe { device.adopt(Memory::new(memory), len) })
}

/// The address of a view's first element on the device; null if it is not in unified shared memory of SYCL.
pub fn address<T: Element>(view: &View<'_, T>) -> *const T {
    let (memory, byte) = view.place();
    let Ok(memory) = memory.of::<SyclMemory>() else { return ptr::null() };
    // SAFETY: the memory is alive.
    let address = unsafe { (memory.functions.address)(memory.raw) };
    if address.is_null() { ptr::null() } else { address.cast::<u8>().wrapping_add(byte).cast() }
}

/// All devices that SYCL reaches through OpenCL, or the reason why there are none. OpenCL's are listed first: without
/// one there is none here, and two threads must not ask PoCL at once for the first time.
fn devices() -> Result<&'static [DeviceInfo], String> {
    static DEVICES: OnceLock<Result<Vec<DeviceInfo>, String>> = OnceLock::new();
    DEVICES.get_or_init(find_devices).as_deref().map_err(String::clone)
}

fn find_devices() -> Result<Vec<DeviceInfo>, String> {
    let functions = functions()?;
    devices::opencl()?;
    let mut listed: Vec<Listed> = vec![];
    // SAFETY: `push` is given the vector that it expects, which outlives the call.
    guarded(|reason| unsafe { (functions.devices)(push, (&raw mut listed).cast(), reason) })
        .map_err(|refusal| format!("SYCL lists no devices: {}", refusal.into_reason()))?;
    let asked = listed.into_iter().map(|listed| describe(listed).map_err(|code| code.to_string())).collect();
    devices::usable(asked, "SYCL finds no device that OpenCL serves".into())
}

/// A device, and its SYCL features in words.
type Listed = (cl_device_id, String);

/// Appends to the vector that `to` points to.
///
/// # Safety
/// `to` is a `*mut Vec<Listed>` that no other code uses, and `features` a text.
unsafe extern "C" fn push(to: *mut c_void, device: cl_device_id, features: *const c_char) {
    // SAFETY: the caller promises the same.
    let (listed, features) = unsafe { (&mut *to.cast::<Vec<Listed>>(), CStr::from_ptr(features)) };
    listed.push((device, features.to_string_lossy().into_owned()));
}

fn describe((device, features): Listed) -> Result<DeviceInfo, opencl3::error_codes::ClError> {
    let device = Device::new(device);
    let platform = Platform::new(device.platform()?).name()?;
    let mut info = DeviceInfo::new(NAME, kernels_cl::SYCL_FILES, platform.trim(), device)?;
    info.properties.caps.features.extend(features.split_whitespace().map(String::from));
    Ok(info)
}

/// An in-order SYCL queue of one device, and its context as OpenCL's.
#[derive(Debug)]
pub(crate) struct SyclDriver {
    // Fields are dropped in this order: the queue before its context.
    queue: Queue,
    context: Context,
    info: &'static DeviceInfo,
    account: MemoryAccount,
}

impl SyclDriver {
    fn open_queue(index: usize, clock: bool) -> Result<Self> {
        let info = devices::by_index(NAME, devices(), index)?;
        Self::over(Queue::open(&info.device(), clock)?, info)
    }

    /// # Safety
    /// As for [`on_queue`].
    unsafe fn on_queue(queue: *const c_void) -> Result<Self> {
        let functions = functions().map_err(|reason| Error::unsupported("SYCL", reason))?;
        let (mut raw, mut id) = (ptr::null_mut(), ptr::null_mut());
        // SAFETY: the caller vouches for the queue, and the outputs are live variables.
        guarded(|reason| unsafe { (functions.adopt)(queue, &raw mut raw, &raw mut id, reason) })
            .map_err(|refusal| refusal.unsupported(CALLERS_QUEUE))?;
        let queue = Queue { raw, functions, is_own: false };
        let all = devices().map_err(|reason| Error::unsupported("SYCL", reason))?;
        let info = all.iter().find(|info| info.is(id));
        let info =
            info.ok_or_else(|| Error::unsupported(CALLERS_QUEUE, "its device is not a root device"))?;
        Self::over(queue, info)
    }

    fn over(queue: Queue, info: &'static DeviceInfo) -> Result<Self> {
        let context = queue.context(&info.device())?;
        Ok(Self { queue, context, info, account: MemoryAccount::new(info) })
    }

    /// Memory over `bytes` bytes of borrowed unified shared memory.
    ///
    /// # Errors
    /// [`Unsupported`](Error::Unsupported) if the pointer is not unified shared memory of the queue's context.
    ///
    /// # Safety
    /// The bytes outlive the memory and all work with it.
    unsafe fn borrowed(&self, pointer: *mut c_void, bytes: usize) -> Result<SyclMemory> {
        let Self { queue: Queue { raw: queue, functions, .. }, account, .. } = self;
        let mut raw = ptr::null_mut();
        // SAFETY: the queue is open, and the output is a live variable.
        guarded(|reason| unsafe { (functions.borrow)(*queue, pointer, &raw mut raw, reason) })
            .map_err(|refusal| refusal.unsupported(CALLERS_MEMORY))?;
        Ok(SyclMemory { raw, allocation: account.count(bytes), functions })
    }

    /// The memory as its own type, if it is of this context.
    fn own<'a>(&self, memory: &'a Memory) -> Result<&'a SyclMemory> {
        let memory = memory.of::<SyclMemory>()?;
        self.account.check(&memory.allocation)?;
        Ok(memory)
    }

    /// An argument in the shim's form.
    fn argument(&self, arg: &Arg<'_>) -> Result<Argument> {
        Ok(match arg {
            Arg::Memory(memory) => Argument { memory: self.own(memory)?.raw, value: ptr::null(), length: 0 },
            Arg::Value(value) => {
                let bytes = value.bytes();
                Argument { memory: ptr::null_mut(), value: bytes.as_ptr().cast(), length: bytes.len() }
            }
        })
    }
}

/// A queue of the shim.
#[derive(Debug)]
struct Queue {
    raw: *mut RawQueue,
    functions: &'static Functions,
    /// False for a caller's queue, which the caller ends.
    is_own: bool,
}

// SAFETY: SYCL's queues may be used by any thread, and by several at once.
unsafe impl Send for Queue {}
// SAFETY: as above.
unsafe impl Sync for Queue {}

impl Drop for Queue {
    fn drop(&mut self) {
        self.functions.release(|| {
            if self.is_own {
                // A runtime that still works crashes where the process ends meanwhile. Errors cannot be reported.
                // SAFETY: the queue is open.
                let _ = guarded(|reason| unsafe { (self.functions.wait)(self.raw, reason) });
            }
            // SAFETY: the queue is open, and it is not used again.
            unsafe { (self.functions.close)(self.raw) }
        });
    }
}

impl Queue {
    fn open(device: &Device, clock: bool) -> Result<Self> {
        let functions = functions().map_err(|reason| Error::unsupported("SYCL", reason))?;
        let mut raw = ptr::null_mut();
        // SAFETY: the device was found, and the output is a live variable.
        guarded(|reason| unsafe { (functions.open)(device.id(), clock, &raw mut raw, reason) })
            .map_err(|refusal| refusal.of("sycl::queue"))?;
        Ok(Self { raw, functions, is_own: true })
    }

    fn context(&self, device: &Device) -> Result<Context> {
        let mut context = ptr::null_mut();
        // SAFETY: the queue is open, and the output is a live variable.
        guarded(|reason| unsafe { (self.functions.context)(self.raw, &raw mut context, reason) })
            .map_err(|refusal| refusal.of("sycl::get_native"))?;
        // SAFETY: the context is of this device, and SYCL has retained it for its caller.
        Ok(unsafe { Context::new(context, device.id()) })
    }
}

/// Memory of a device: unified shared memory if it has that, else a buffer.
#[derive(Debug)]
struct SyclMemory {
    raw: *mut RawMemory,
    allocation: Allocation,
    functions: &'static Functions,
}

// SAFETY: the shim's memory is a queue with a pointer or a buffer, which any thread may use, and several at once.
unsafe impl Send for SyclMemory {}
// SAFETY: as above.
unsafe impl Sync for SyclMemory {}

impl Drop for SyclMemory {
    fn drop(&mut self) {
        self.functions.release(|| {
            // A failure here follows an earlier one, which the queue reports when it is synchronized. SAFETY: the
            // memory is alive, and it is not used again.
            let _ = guarded(|reason| unsafe { (self.functions.free)(self.raw, reason) });
        });
    }
}

// SAFETY: every allocation is a new one of the library; files are constants; the queue is in order.
unsafe impl Driver for SyclDriver {
    fn properties(&self) -> &Properties {
        &self.info.properties
    }

    fn allocate(&self, bytes: usize) -> Result<Memory> {
        let allocation = self.account.take(bytes)?;
        let functions = self.queue.functions;
        let mut raw = ptr::null_mut();
        // SAFETY: the queue is open, and the output is a live variable.
        guarded(|reason| unsafe {
            (functions.allocate)(self.queue.raw, allocation.bytes(), &raw mut raw, reason)
        })
        .map_err(|refusal| match refusal.code {
            MEMORY_ALLOCATION => allocation.refused(),
            _ => refusal.of("sycl::malloc_device"),
        })?;
        Ok(Memory::new(SyclMemory { raw, allocation, functions }))
    }

    unsafe fn borrow(&self, array: &ForeignArray, bytes: usize) -> Result<(Memory, usize)> {
        array.check_memory(MemoryKind::Sycl, NAME)?;
        array.check_without_stream()?;
        let address = array.handle + array.byte_offset;
        // Kernels load whole words, where elements begin at a multiple of them.
        let first_byte = address % WORD_BYTES;
        let word = ptr::with_exposed_provenance_mut(address - first_byte);
        // SAFETY: the caller vouches for the array, and allocations begin at a word.
        let memory = unsafe { self.borrowed(word, first_byte + bytes) }?;
        Ok((Memory::new(memory), first_byte))
    }

    unsafe fn write(&self, memory: &Memory, offset: usize, host: &[u8]) -> Result<()> {
        if host.is_empty() {
            return Ok(());
        }
        let memory = self.own(memory)?;
        memory.allocation.check(offset, host.len())?;
        let Queue { raw, functions, .. } = self.queue;
        // SAFETY: the range lies inside the memory, as checked, and the call waits until `host` has been read.
        guarded(|reason| unsafe {
            (functions.write)(raw, memory.raw, offset, host.as_ptr(), host.len(), reason)
        })
        .map_err(|refusal| refusal.of("writing memory"))
    }

    fn read(&self, memory: &Memory, offset: usize, host: &mut [u8]) -> Result<()> {
        if host.is_empty() {
            return Ok(());
        }
        let memory = self.own(memory)?;
        memory.allocation.check(offset, host.len())?;
        let Queue { raw, functions, .. } = self.queue;
        // SAFETY: the range lies inside the memory, as checked, and the call waits until `host` has been written.
        guarded(|reason| unsafe {
            (functions.read)(raw, memory.raw, offset, host.as_mut_ptr(), host.len(), reason)
        })
        .map_err(|refusal| refusal.of("reading memory"))
    }

    unsafe fn copy(&self, from: (&Memory, usize), to: (&Memory, usize), bytes: usize) -> Result<()> {
        if bytes == 0 {
            return Ok(());
        }
        let (from, to) = ((self.own(from.0)?, from.1), (self.own(to.0)?, to.1));
        from.0.allocation.check(from.1, bytes)?;
        to.0.allocation.check(to.1, bytes)?;
        let Queue { raw, functions, .. } = self.queue;
        // SAFETY: both ranges lie inside their memory, as checked; views that are written overlap no others.
        guarded(|reason| unsafe { (functions.copy)(raw, from.0.raw, from.1, to.0.raw, to.1, bytes, reason) })
            .map_err(|refusal| refusal.of("copying memory"))
    }

    fn flush(&self) -> Result<()> {
        // SAFETY: the queue is open.
        guarded(|reason| unsafe { (self.queue.functions.flush)(self.queue.raw, reason) })
            .map_err(|refusal| refusal.of("flushing the queue"))
    }

    fn synchronize(&self) -> Result<()> {
        // SAFETY: the queue is open.
        guarded(|reason| unsafe { (self.queue.functions.wait)(self.queue.raw, reason) })
            .map_err(|refusal| refusal.of("waiting for the queue"))
    }

    fn build(&self, file: &File, defines: &Defines) -> Result<Program> {
        SyclProgram::build(&self.queue, &self.context, file, defines).map(Program::new)
    }

    fn kernel(&self, program: &Program, entry: &str) -> Result<Kernel> {
        program.of::<SyclProgram>()?.kernel(&self.queue, entry).map(Kernel::new)
    }

    /// The kernel is enqueued under a lock: a kernel object may not be used by two threads at once.
    unsafe fn launch(&self, kernel: &Kernel, grid: Grid, args: &[Arg<'_>]) -> Result<()> {
        if grid.groups == 0 {
            return Ok(());
        }
        let kernel = kernel.of::<SyclKernel>()?;
        check_launch(&kernel.name, grid, args.len(), kernel.arguments)?;
        let mut arguments = Vec::with_capacity(args.len());
        for arg in args {
            arguments.push(self.argument(arg)?);
        }
        let locked = kernel.raw.lock().unwrap_or_else(PoisonError::into_inner);
        let Queue { raw, functions, .. } = self.queue;
        let count = arguments.len() as c_int;
        // SAFETY: the arguments are as many as the kernel takes, and alive; the shim copies values. Memory that is
        // freed waits for the queue. The caller vouches for what the kernel does with them.
        guarded(|reason| unsafe {
            (functions.launch)(raw, *locked, grid.groups, grid.local, arguments.as_ptr(), count, reason)
        })
        .map_err(|refusal| refusal.of(&kernel.name))
    }
}

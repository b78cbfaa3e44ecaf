//! The driver API of CUDA behind a safe interface: devices and memory.

use crate::nvrtc::Architecture;
use crate::program::{CuKernel, Module};
use crate::queue::Queue;
use crate::staging::Staging;
use crate::version::{FUNCTIONS, NEEDED, Version};
use cudarc::driver::{result, sys};
use kernels_core::File;
use sparse_core::{Caps, Error, Result};
use sparse_device::{Arg, Defines, Driver, Grid, Kernel, Memory, Program, Properties};
use std::ffi::{CStr, c_void};
use std::ptr;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// The library's answer to a failed call.
#[derive(Debug, thiserror::Error)]
#[error("{call}: {error}")]
struct CallFailed {
    call: String,
    error: String,
}

/// The error of a call.
pub(crate) fn failed(call: impl Into<String>) -> impl FnOnce(result::DriverError) -> Error {
    |code| backend_error(CallFailed { call: call.into(), error: name_of(code) })
}

/// The driver's own name of an error: a driver that is newer than the bindings has codes that they cannot print.
fn name_of(error: result::DriverError) -> String {
    match error.error_name() {
        Ok(name) => name.to_string_lossy().into_owned(),
        Err(_) => format!("error {}", error.0 as u32),
    }
}

pub(crate) fn backend_error(source: impl std::error::Error + Send + Sync + 'static) -> Error {
    Error::Backend { backend: NAME, source: Box::new(source) }
}

/// The backend's name.
pub(crate) const NAME: &str = "cuda";

/// The first architecture whose launches may begin while the one before runs.
const OVERLAPPING: Architecture = Architecture(90);

/// A device.
#[derive(Debug)]
struct Found {
    device: sys::CUdevice,
    properties: Properties,
    architecture: Architecture,
    /// True if launches may overlap.
    overlaps: bool,
}

impl Found {
    fn new(index: i32) -> Result<Self, result::DriverError> {
        use sys::CUdevice_attribute as Attribute;
        let device = result::device::get(index)?;
        // SAFETY: the device was just got from the library.
        let attribute = |which| unsafe { result::device::get_attribute(device, which) };
        let major = attribute(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)?;
        let minor = attribute(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)?;
        let compute_units = attribute(Attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)?;
        let cache_bytes = attribute(Attribute::CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE)?;
        let cache_bytes = usize::try_from(cache_bytes).unwrap_or(0);
        let shared_bytes = attribute(Attribute::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN)?;
        let shared_bytes = usize::try_from(shared_bytes).unwrap_or(0);
        let architecture = Architecture(major * 10 + minor);
        // SAFETY: as above.
        let memory_bytes = unsafe { result::device::total_mem(device)? };
        let caps = Caps {
            backend: NAME,
            device: device_name(device)?,
            compute_units: usize::try_from(compute_units).unwrap_or(1),
            is_cpu: false,
            memory_bytes: Some(memory_bytes as u64),
            f64: true,
            flushes_subnormals: false,
            features: vec![architecture.to_string()],
        };
        let properties = Properties {
            caps,
            files: kernels_cu::FILES,
            warps_per_group: 8,
            cache_bytes,
            shared_bytes,
            largest_group: 1024,
        };
        let overlaps = architecture >= OVERLAPPING;
        Ok(Self { device, properties, architecture, overlaps })
    }
}

/// All devices, or the reason why there are none. They are listed once.
fn devices() -> Result<&'static [Found], String> {
    static DEVICES: OnceLock<Result<Vec<Found>, String>> = OnceLock::new();
    DEVICES.get_or_init(find_devices).as_deref().map_err(String::clone)
}

/// The capabilities of the devices, or the reason why there are none.
pub(crate) fn caps() -> Result<Vec<Caps>, String> {
    Ok(devices()?.iter().map(|found| found.properties.caps.clone()).collect())
}

fn find_devices() -> Result<Vec<Found>, String> {
    // SAFETY: the call only looks for the library.
    if !unsafe { sys::is_culib_present() } {
        return Err("the NVIDIA driver's library (libcuda.so.1, nvcuda.dll) was not found".into());
    }
    let reason = |call: &'static str| move |error| format!("{call}: {}", name_of(error));
    let mut version = 0;
    // SAFETY: nothing is called yet.
    if unsafe { sys::culib().get::<unsafe extern "C" fn()>(b"cuDriverGetVersion") }.is_err() {
        return Err("the library libcuda.so.1 or nvcuda.dll that was found is not the NVIDIA driver's".into());
    }
    // SAFETY: the call writes one number. It comes first: an older library lacks functions of the others.
    unsafe { sys::cuDriverGetVersion(&raw mut version) }.result().map_err(reason("cuDriverGetVersion"))?;
    Version(version).check()?;
    check_functions()?;
    result::init().map_err(reason("cuInit"))?;
    let count = result::device::get_count().map_err(reason("cuDeviceGetCount"))?;
    if count <= 0 {
        return Err("the NVIDIA driver found no device".into());
    }
    let mut refused = String::new();
    let mut devices = vec![];
    for index in 0..count {
        // A device whose properties cannot be read does not hide the others.
        match Found::new(index) {
            Ok(found) => devices.push(found),
            Err(error) => refused = format!("{refused}; asking device {index}: {}", name_of(error)),
        }
    }
    if devices.is_empty() {
        return Err(format!("the NVIDIA driver has no usable device{refused}"));
    }
    Ok(devices)
}

/// An error if the library lacks a function in use; cudarc would panic when it is called.
fn check_functions() -> Result<(), String> {
    // SAFETY: the library was found, and nothing is called.
    let library = unsafe { sys::culib() };
    // SAFETY: as above.
    let lacks = |name: &str| unsafe { library.get::<unsafe extern "C" fn()>(name.as_bytes()) }.is_err();
    match FUNCTIONS.iter().find(|name| lacks(name)) {
        Some(name) => {
            Err(format!("the NVIDIA driver's library lacks {name}, which a driver of CUDA {NEEDED} has"))
        }
        None => Ok(()),
    }
}

/// The name of a device; cudarc's own function panics on one that fills its buffer.
fn device_name(device: sys::CUdevice) -> Result<String, result::DriverError> {
    let mut name = [0_u8; 256];
    let len = name.len() as i32 - 1;
    // SAFETY: the call writes at most this length, so that the last byte stays 0.
    unsafe { sys::cuDeviceGetName(name.as_mut_ptr().cast(), len, device) }.result()?;
    Ok(CStr::from_bytes_until_nul(&name).unwrap_or_default().to_string_lossy().into_owned())
}

/// Memory of a device, freed in order with the work of its stream.
#[derive(Debug)]
pub(crate) struct CuMemory {
    pub(crate) pointer: sys::CUdeviceptr,
    bytes: usize,
    queue: Arc<Queue>,
}

impl CuMemory {
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
    fn range(&self, offset: usize, bytes: usize) -> Result<sys::CUdeviceptr> {
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
        // SAFETY: the memory was allocated on this stream, and nobody can name it any more.
        unsafe { self.queue.free(self.pointer) };
    }
}

/// A device with its queue, and pinned memory for uploads and downloads.
#[derive(Debug)]
pub(crate) struct CuDriver {
    found: &'static Found,
    queue: Arc<Queue>,
    staging: Mutex<Staging>,
}

impl CuDriver {
    /// Device number `index` with a stream of its own.
    pub(crate) fn open(index: usize) -> Result<Self> {
        Self::with(index, None)
    }

    /// Device number `index` with a caller's stream.
    ///
    /// # Safety
    /// `stream` belongs to the device's primary context and outlives the device and everything made with it.
    pub(crate) unsafe fn on_stream(index: usize, stream: *mut c_void) -> Result<Self> {
        Self::with(index, Some(stream.cast()))
    }

    fn with(index: usize, stream: Option<sys::CUstream>) -> Result<Self> {
        let unsupported = |reason| Error::unsupported(format!("{NAME} device {index}"), reason);
        let found = devices().map_err(unsupported)?;
        let found = found.get(index).ok_or_else(|| unsupported(format!("there are {}", found.len())))?;
        let queue = Arc::new(Queue::new(found.device, stream)?);
        keep_freed_memory(found.device)?;
        let staging = Mutex::new(Staging::new(&queue)?);
        Ok(Self { found, queue, staging })
    }

    pub(crate) fn queue(&self) -> &Arc<Queue> {
        &self.queue
    }

    fn staging(&self) -> std::sync::MutexGuard<'_, Staging> {
        self.staging.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Lets the device's pool retain freed memory for the next allocation.
fn keep_freed_memory(device: sys::CUdevice) -> Result<()> {
    let mut all = u64::MAX;
    let attribute = sys::CUmemPool_attribute::CU_MEMPOOL_ATTR_RELEASE_THRESHOLD;
    // SAFETY: the attribute is a 64-bit number, as given.
    let done = unsafe {
        result::device::get_default_mem_pool(device)
            .and_then(|pool| result::mem_pool::set_attribute(pool, attribute, (&raw mut all).cast()))
    };
    done.map_err(failed("cuMemPoolSetAttribute"))
}

// SAFETY: every allocation is a new one of the library; files are constants; the stream is in order.
unsafe impl Driver for CuDriver {
    fn properties(&self) -> &Properties {
        &self.found.properties
    }

    fn allocate(&self, bytes: usize) -> Result<Memory> {
        // The library has no memory of 0 bytes.
        let bytes = bytes.max(1).checked_next_multiple_of(16).unwrap_or(usize::MAX);
        let total = self.found.properties.caps.memory_bytes.unwrap_or(u64::MAX);
        if bytes as u64 > total {
            return Err(Error::OutOfMemory { needed: bytes as u64, available: total });
        }
        self.queue.refuse_in_recording("allocating memory")?;
        let _enqueues = self.queue.enqueue()?;
        // SAFETY: the stream is alive, and the memory is freed once, by `Drop`.
        let pointer = unsafe { result::malloc_async(self.queue.stream, bytes) };
        let pointer = pointer.map_err(|code| match code.0 {
            sys::CUresult::CUDA_ERROR_OUT_OF_MEMORY => {
                let available = result::mem_get_info().map_or(0, |(free, _)| free as u64);
                Error::OutOfMemory { needed: bytes as u64, available }
            }
            _ => failed("cuMemAllocAsync")(code),
        })?;
        Ok(Memory::new(CuMemory { pointer, bytes, queue: self.queue.clone() }))
    }

    unsafe fn write(&self, memory: &Memory, offset: usize, host: &[u8]) -> Result<()> {
        let to = CuMemory::of(memory, &self.queue)?.range(offset, host.len())?;
        self.queue.refuse_in_recording("writing memory from the host")?;
        self.staging().upload(host, to)
    }

    fn read(&self, memory: &Memory, offset: usize, host: &mut [u8]) -> Result<()> {
        let from = CuMemory::of(memory, &self.queue)?.range(offset, host.len())?;
        self.queue.refuse_in_recording("reading memory")?;
        self.staging().download(from, host)
    }

    unsafe fn copy(&self, from: (&Memory, usize), to: (&Memory, usize), bytes: usize) -> Result<()> {
        if bytes == 0 {
            return Ok(());
        }
        let source = CuMemory::of(from.0, &self.queue)?.range(from.1, bytes)?;
        let target = CuMemory::of(to.0, &self.queue)?.range(to.1, bytes)?;
        let _enqueues = self.queue.enqueue()?;
        self.queue.keep(|named| named.memory([from.0, to.0]));
        // SAFETY: both ranges lie inside their memory, as checked.
        unsafe { result::memcpy_dtod_async(target, source, bytes, self.queue.stream) }
            .map_err(failed("cuMemcpyDtoDAsync"))
    }

    /// Does nothing: a stream begins by itself.
    fn flush(&self) -> Result<()> {
        Ok(())
    }

    fn synchronize(&self) -> Result<()> {
        self.queue.refuse_in_recording("waiting for the device")?;
        self.queue.synchronize()
    }

    fn build(&self, file: &File, defines: &Defines) -> Result<Program> {
        Module::build(&self.queue, self.found.architecture, file, defines)
            .map(|module| Program::new(Arc::new(module)))
    }

    fn kernel(&self, program: &Program, entry: &str) -> Result<Kernel> {
        let module = program.of::<Arc<Module>>()?;
        CuKernel::new(module, entry, self.found.properties.shared_bytes).map(Kernel::new)
    }

    unsafe fn launch(&self, kernel: &Kernel, grid: Grid, args: &[Arg<'_>]) -> Result<()> {
        let early = grid.early && self.found.overlaps;
        let function = kernel.of::<CuKernel>()?;
        self.queue.keep(|named| named.launch(kernel, args));
        // SAFETY: the caller vouches for the arguments.
        unsafe { function.launch(&self.queue, Grid { early, ..grid }, args) }
    }
}

/// Pinned memory of the host.
#[derive(Debug)]
pub(crate) struct Pinned {
    pointer: *mut u8,
    bytes: usize,
    done: sys::CUevent,
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
            Ok(done) => Ok(Self { pointer: pointer.cast(), bytes, done, queue: queue.clone() }),
            Err(error) => {
                // SAFETY: the memory was just allocated, and nothing uses it.
                let _ = unsafe { result::free_host(pointer) };
                Err(error)
            }
        }
    }

    /// The bytes, after the last copy that uses them.
    pub(crate) fn bytes(&mut self) -> Result<&mut [u8]> {
        let _entered = self.queue.enter()?;
        // SAFETY: the event is alive; one that was never recorded is done.
        unsafe { result::event::synchronize(self.done) }.map_err(failed("cuEventSynchronize"))?;
        // SAFETY: the memory has this many bytes, no copy touches it any more, and it is borrowed exclusively;
        // `new` has written all of it.
        Ok(unsafe { std::slice::from_raw_parts_mut(self.pointer, self.bytes) })
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

    /// Enqueues a copy of the first `bytes`, and an event that marks its end.
    fn copy(
        &self,
        bytes: usize,
        call: &str,
        copy: impl FnOnce(&mut [u8]) -> Result<(), result::DriverError>,
    ) -> Result<()> {
        assert!(bytes <= self.bytes, "{bytes} of {}", self.bytes);
        let _enqueues = self.queue.enqueue()?;
        // SAFETY: the first `bytes` of this memory; `bytes()` waits for the event before it is touched again.
        let host = unsafe { std::slice::from_raw_parts_mut(self.pointer, bytes) };
        copy(host).map_err(failed(call))?;
        // SAFETY: event and stream are alive.
        unsafe { result::event::record(self.done, self.queue.stream) }.map_err(failed("cuEventRecord"))
    }
}

impl Drop for Pinned {
    fn drop(&mut self) {
        let is_done = self.bytes().is_ok();
        if let (true, Ok(_entered)) = (is_done, self.queue.enter()) {
            // SAFETY: no copy uses memory or event any more, and both were made by `new`.
            let _ = unsafe { result::event::destroy(self.done) };
            // SAFETY: as above.
            let _ = unsafe { result::free_host(self.pointer.cast()) };
        }
    }
}

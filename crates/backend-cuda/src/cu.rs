//! The driver API of CUDA: devices, queues, memory and graphs. What this module hands out is safe to use.

use crate::nvrtc::Architecture;
use crate::program::{CuKernel, Module};
use crate::staging::Staging;
use crate::version::Version;
use cudarc::driver::{result, sys};
use kernels_core::File;
use sparse_core::{Caps, Error, Result};
use sparse_device::{Arg, Defines, Driver, Grid, Kernel, Memory, Program, Properties};
use std::ffi::{CStr, c_void};
use std::mem::MaybeUninit;
use std::ptr;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// What the library said to a call.
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

/// From which architecture on a launch may begin while the one before it runs.
const OVERLAPPING: Architecture = Architecture(90);

/// A device that was found.
#[derive(Debug)]
struct Found {
    device: sys::CUdevice,
    properties: Properties,
    architecture: Architecture,
    /// Whether launches may overlap.
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
            memory_bytes: Some(memory_bytes as u64),
            f64: true,
            flushes_subnormals: false,
            features: vec![architecture.to_string()],
        };
        let properties = Properties {
            caps,
            files: kernels_cu::FILES,
            warps_per_group: 8,
            is_cpu: false,
            cache_bytes,
            shared_bytes,
            largest_group: 1024,
        };
        let overlaps = architecture >= OVERLAPPING;
        Ok(Self { device, properties, architecture, overlaps })
    }
}

/// All devices, or why there are none. They are looked for once.
fn devices() -> Result<&'static [Found], String> {
    static DEVICES: OnceLock<Result<Vec<Found>, String>> = OnceLock::new();
    DEVICES.get_or_init(find_devices).as_deref().map_err(String::clone)
}

/// What the devices can do, or why there are none.
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
    // SAFETY: the call writes one number. It comes first: an older library lacks functions of the others.
    unsafe { sys::cuDriverGetVersion(&raw mut version) }.result().map_err(reason("cuDriverGetVersion"))?;
    Version(version).check()?;
    result::init().map_err(reason("cuInit"))?;
    let count = result::device::get_count().map_err(reason("cuDeviceGetCount"))?;
    if count <= 0 {
        return Err("the NVIDIA driver found no device".into());
    }
    (0..count).map(|index| Found::new(index).map_err(reason("asking a device"))).collect()
}

/// The name of a device; cudarc's own function panics on one that fills its buffer.
fn device_name(device: sys::CUdevice) -> Result<String, result::DriverError> {
    let mut name = [0_u8; 256];
    let len = name.len() as i32 - 1;
    // SAFETY: the call writes no more than this length, so that the last byte stays 0.
    unsafe { sys::cuDeviceGetName(name.as_mut_ptr().cast(), len, device) }.result()?;
    Ok(CStr::from_bytes_until_nul(&name).unwrap_or_default().to_string_lossy().into_owned())
}

/// The primary context of a device and a stream.
#[derive(Debug)]
pub(crate) struct Queue {
    device: sys::CUdevice,
    context: sys::CUcontext,
    pub(crate) stream: sys::CUstream,
    owns_stream: bool,
}

// SAFETY: the driver API may be called from any thread; the handles are not changed after they were made.
unsafe impl Send for Queue {}
// SAFETY: as above.
unsafe impl Sync for Queue {}

impl Queue {
    /// A queue on the caller's stream, or on one of its own.
    fn new(device: sys::CUdevice, stream: Option<sys::CUstream>) -> Result<Self> {
        // SAFETY: the device was found, and the context is released when the queue is dropped.
        let context =
            unsafe { result::primary_ctx::retain(device) }.map_err(failed("cuDevicePrimaryCtxRetain"))?;
        let mut queue = Self { device, context, stream: ptr::null_mut(), owns_stream: false };
        queue.enter()?;
        queue.stream = match stream {
            Some(stream) => stream,
            None => result::stream::create(result::stream::StreamKind::NonBlocking)
                .map_err(failed("cuStreamCreate"))?,
        };
        queue.owns_stream = stream.is_none();
        Ok(queue)
    }

    /// Makes the context that of the calling thread.
    pub(crate) fn enter(&self) -> Result<()> {
        // SAFETY: the context is alive as long as the queue.
        unsafe { result::ctx::set_current(self.context) }.map_err(failed("cuCtxSetCurrent"))
    }

    /// Memory by its own type, if it was allocated on this queue.
    pub(crate) fn own<'a>(&self, memory: &'a Memory) -> Result<&'a CuMemory> {
        let memory = memory.of::<CuMemory>()?;
        if ptr::eq(self, &raw const *memory.queue) {
            return Ok(memory);
        }
        Err(Error::unsupported("this memory", "it belongs to another context"))
    }

    /// Waits for all work.
    pub(crate) fn synchronize(&self) -> Result<()> {
        self.enter()?;
        // SAFETY: the stream is alive as long as the queue.
        unsafe { result::stream::synchronize(self.stream) }.map_err(failed("cuStreamSynchronize"))
    }
}

impl Drop for Queue {
    fn drop(&mut self) {
        if self.enter().is_ok() && self.owns_stream {
            // SAFETY: the stream was made here, and nothing uses it any more.
            let _ = unsafe { result::stream::destroy(self.stream) };
        }
        // SAFETY: the context was retained by `new`.
        let _ = unsafe { result::primary_ctx::release(self.device) };
    }
}

/// Memory of a device; it is given back in order with the work of its stream.
#[derive(Debug)]
pub(crate) struct CuMemory {
    pub(crate) pointer: sys::CUdeviceptr,
    bytes: usize,
    queue: Arc<Queue>,
}

impl CuMemory {
    /// Where it starts.
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
        if self.queue.enter().is_ok() {
            // SAFETY: the memory was allocated on this stream, and nobody can name it any more.
            let _ = unsafe { result::free_async(self.pointer, self.queue.stream) };
        }
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

    /// Device number `index` with a stream of the caller's.
    ///
    /// # Safety
    /// `stream` belongs to the device's primary context and outlives everything that is made here.
    pub(crate) unsafe fn on_stream(index: usize, stream: *mut c_void) -> Result<Self> {
        Self::with(index, Some(stream.cast()))
    }

    fn with(index: usize, stream: Option<sys::CUstream>) -> Result<Self> {
        let unsupported = |reason| Error::unsupported(format!("{NAME} device {index}"), reason);
        let found = devices().map_err(unsupported)?;
        let found = found.get(index).ok_or_else(|| unsupported(format!("there are {}", found.len())))?;
        let queue = Arc::new(Queue::new(found.device, stream)?);
        keep_freed_memory(found.device)?;
        Ok(Self { found, queue: queue.clone(), staging: Mutex::new(Staging::new(queue)?) })
    }

    pub(crate) fn queue(&self) -> &Arc<Queue> {
        &self.queue
    }

    fn staging(&self) -> std::sync::MutexGuard<'_, Staging> {
        self.staging.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Tells the device's pool to keep memory that was freed, for the next allocation.
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

// SAFETY: every allocation is a new one of the library's; files are constants; the stream is in order.
unsafe impl Driver for CuDriver {
    fn properties(&self) -> &Properties {
        &self.found.properties
    }

    fn allocate(&self, bytes: usize) -> Result<Memory> {
        // The library knows no memory of 0 bytes.
        let bytes = bytes.max(1).checked_next_multiple_of(16).unwrap_or(usize::MAX);
        let total = self.found.properties.caps.memory_bytes.unwrap_or(u64::MAX);
        if bytes as u64 > total {
            return Err(Error::OutOfMemory { needed: bytes as u64, available: total });
        }
        self.queue.enter()?;
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
        let to = self.queue.own(memory)?.range(offset, host.len())?;
        self.staging().upload(host, to)
    }

    fn read(&self, memory: &Memory, offset: usize, host: &mut [u8]) -> Result<()> {
        let from = self.queue.own(memory)?.range(offset, host.len())?;
        self.staging().download(from, host)
    }

    unsafe fn copy(&self, from: (&Memory, usize), to: (&Memory, usize), bytes: usize) -> Result<()> {
        if bytes == 0 {
            return Ok(());
        }
        self.queue.enter()?;
        let source = self.queue.own(from.0)?.range(from.1, bytes)?;
        let target = self.queue.own(to.0)?.range(to.1, bytes)?;
        // SAFETY: both ranges lie inside their memory, as checked.
        unsafe { result::memcpy_dtod_async(target, source, bytes, self.queue.stream) }
            .map_err(failed("cuMemcpyDtoDAsync"))
    }

    /// A stream begins by itself.
    fn flush(&self) -> Result<()> {
        Ok(())
    }

    fn synchronize(&self) -> Result<()> {
        self.queue.synchronize()
    }

    fn build(&self, file: &File, defines: &Defines) -> Result<Program> {
        Module::build(&self.queue, self.found.architecture, file, defines)
            .map(|module| Program::new(Arc::new(module)))
    }

    fn kernel(&self, program: &Program, entry: &str) -> Result<Kernel> {
        CuKernel::new(program.of::<Arc<Module>>()?, entry).map(Kernel::new)
    }

    unsafe fn launch(&self, kernel: &Kernel, grid: Grid, args: &[Arg<'_>]) -> Result<()> {
        let early = grid.early && self.found.overlaps;
        // SAFETY: the caller vouches for the arguments.
        unsafe { kernel.of::<CuKernel>()?.launch(&self.queue, Grid { early, ..grid }, args) }
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
    pub(crate) fn new(bytes: usize, queue: Arc<Queue>) -> Result<Self> {
        queue.enter()?;
        // SAFETY: the memory is freed once, by `Drop`. It is cached, not write-combined, since the host reads it too.
        let pointer = unsafe { result::malloc_host(bytes, 0) }.map_err(failed("cuMemHostAlloc"))?;
        // SAFETY: the memory has this many bytes.
        unsafe { pointer.cast::<u8>().write_bytes(0, bytes) };
        let done = result::event::create(sys::CUevent_flags::CU_EVENT_DISABLE_TIMING);
        match done.map_err(failed("cuEventCreate")) {
            Ok(done) => Ok(Self { pointer: pointer.cast(), bytes, done, queue }),
            Err(error) => {
                // SAFETY: the memory was just allocated, and nothing uses it.
                let _ = unsafe { result::free_host(pointer) };
                Err(error)
            }
        }
    }

    /// Its bytes, after the last copy that it took part in.
    pub(crate) fn bytes(&mut self) -> Result<&mut [u8]> {
        self.queue.enter()?;
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

    /// Enqueues a copy of the first `bytes`, and the event that says that it is done.
    fn copy(
        &self,
        bytes: usize,
        call: &str,
        copy: impl FnOnce(&mut [u8]) -> Result<(), result::DriverError>,
    ) -> Result<()> {
        assert!(bytes <= self.bytes, "{bytes} of {}", self.bytes);
        self.queue.enter()?;
        // SAFETY: the first `bytes` of this memory; `bytes()` waits for the event before it is touched again.
        let host = unsafe { std::slice::from_raw_parts_mut(self.pointer, bytes) };
        copy(host).map_err(failed(call))?;
        // SAFETY: event and stream are alive.
        unsafe { result::event::record(self.done, self.queue.stream) }.map_err(failed("cuEventRecord"))
    }
}

impl Drop for Pinned {
    fn drop(&mut self) {
        if self.bytes().is_ok() {
            // SAFETY: no copy uses memory or event any more, and both were made by `new`.
            let _ = unsafe { result::event::destroy(self.done) };
            // SAFETY: as above.
            let _ = unsafe { result::free_host(self.pointer.cast()) };
        }
    }
}

/// A graph of launches that was captured from a stream.
#[derive(Debug)]
pub(crate) struct Executable {
    graph: sys::CUgraphExec,
    queue: Arc<Queue>,
}

// SAFETY: the handle is not changed after it was made, and a graph is launched through `&mut self` alone.
unsafe impl Send for Executable {}

impl Executable {
    /// What `work` enqueues, in place of doing it.
    pub(crate) fn capture(queue: Arc<Queue>, work: impl FnOnce() -> Result<()>) -> Result<Self> {
        queue.enter()?;
        let mode = sys::CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL;
        // SAFETY: the stream is alive; what the capture breaks is reported by its end.
        unsafe { result::stream::begin_capture(queue.stream, mode) }
            .map_err(failed("cuStreamBeginCapture"))?;
        let worked = work();
        // SAFETY: the capture was begun above.
        let graph = unsafe { result::stream::end_capture(queue.stream) };
        let graph = worked.and(graph.map_err(failed("cuStreamEndCapture")))?;
        let mut executable = MaybeUninit::uninit();
        // SAFETY: the graph was just captured; it is not needed after an executable was made of it.
        let made = unsafe {
            let made = sys::cuGraphInstantiateWithFlags(executable.as_mut_ptr(), graph, 0).result();
            let _ = result::graph::destroy(graph);
            made
        };
        made.map_err(failed("cuGraphInstantiate"))?;
        // SAFETY: the call succeeded, so it wrote the handle.
        Ok(Self { graph: unsafe { executable.assume_init() }, queue })
    }

    /// Enqueues all of it.
    pub(crate) fn launch(&mut self) -> Result<()> {
        self.queue.enter()?;
        // SAFETY: graph and stream are alive; what the graph names is kept by its owner.
        unsafe { result::graph::launch(self.graph, self.queue.stream) }.map_err(failed("cuGraphLaunch"))
    }
}

impl Drop for Executable {
    fn drop(&mut self) {
        if self.queue.enter().is_ok() {
            // SAFETY: the graph was made by `capture`, and the library keeps it until its launches are done.
            let _ = unsafe { result::graph::exec_destroy(self.graph) };
        }
    }
}

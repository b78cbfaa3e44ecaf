//! The one module that touches the foreign library. What it hands out is safe to use.

use kernels_core::File;
use opencl3::command_queue::{
    CommandQueue, enqueue_copy_buffer, enqueue_nd_range_kernel, enqueue_read_buffer, enqueue_write_buffer,
};
use opencl3::context::Context;
use opencl3::device::{CL_DEVICE_TYPE_ALL, CL_DEVICE_TYPE_CPU, CL_FP_DENORM, Device};
use opencl3::error_codes::{
    CL_MEM_OBJECT_ALLOCATION_FAILURE, CL_OUT_OF_RESOURCES, ClError, DLOPEN_RUNTIME_LOAD_FAILED,
};
use opencl3::event::Event;
use opencl3::kernel::{Kernel as ClKernel, set_kernel_arg};
use opencl3::memory::{Buffer as ClBuffer, CL_MEM_READ_WRITE, ClMem, retain_mem_object};
use opencl3::platform::get_platforms;
use opencl3::program::Program as ClProgram;
use opencl3::types::{CL_BLOCKING, cl_event};
use sparse_core::{Caps, Error, Result};
use sparse_device::{Arg, Defines, Driver};
use std::path::Path;
use std::ptr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// What the runtime said to a call.
#[derive(Debug, thiserror::Error)]
#[error("{call}: {code}")]
struct CallFailed {
    call: String,
    code: ClError,
}

fn failed(call: impl Into<String>, code: impl Into<ClError>) -> Error {
    Error::Backend {
        backend: "opencl",
        source: Box::new(CallFailed { call: call.into(), code: code.into() }),
    }
}

/// A device that was found, and what was asked of it.
#[derive(Debug)]
struct Found {
    id: usize,
    caps: Caps,
    memory_bytes: u64,
    largest_buffer: u64,
    largest_group: usize,
    is_cpu: bool,
    cache_bytes: usize,
    /// Oclgrind's check of uninitialised memory takes a new buffer for a released one that had its number: what it says
    /// is true only where no buffer is released.
    keeps_buffers: bool,
}

impl Found {
    fn device(&self) -> Device {
        Device::new(self.id as opencl3::types::cl_device_id)
    }

    fn new(platform: &str, device: Device) -> Result<Self, ClError> {
        let features: Vec<_> = device.extensions()?.split_whitespace().map(String::from).collect();
        let memory_bytes = device.global_mem_size()?;
        Ok(Self {
            id: device.id() as usize,
            caps: Caps {
                backend: ClDriver::NAME,
                device: format!("{} ({platform})", device.name()?.trim()),
                compute_units: device.max_compute_units()? as usize,
                memory_bytes: Some(memory_bytes),
                f64: features.iter().any(|name| name == "cl_khr_fp64"),
                flushes_subnormals: device.single_fp_config()? & CL_FP_DENORM == 0,
                features,
            },
            memory_bytes,
            largest_buffer: device.max_mem_alloc_size()?,
            largest_group: device.max_work_group_size()?,
            cache_bytes: device.global_mem_cache_size()? as usize,
            is_cpu: device.dev_type()? & CL_DEVICE_TYPE_CPU != 0,
            keeps_buffers: platform == "Oclgrind" && std::env::var_os("OCLGRIND_UNINITIALIZED").is_some(),
        })
    }
}

/// All devices of all platforms, or why there are none. They are looked for once: the loader reads its list once a
/// process, and PoCL 3.1 crashes where two threads ask for the first time.
fn devices() -> Result<&'static [Found], String> {
    static DEVICES: OnceLock<Result<Vec<Found>, String>> = OnceLock::new();
    DEVICES.get_or_init(find_devices).as_deref().map_err(String::clone)
}

fn find_devices() -> Result<Vec<Found>, String> {
    if let Some(vendors) = std::env::var_os("OCL_ICD_VENDORS") {
        check_vendors(Path::new(&vendors))?;
    }
    let platforms = get_platforms().map_err(|code| match code.0 {
        DLOPEN_RUNTIME_LOAD_FAILED => "no OpenCL loader (libOpenCL) was found".into(),
        _ => format!("the OpenCL loader found no runtime: {code}"),
    })?;
    let mut found = vec![];
    for platform in &platforms {
        let name = platform.name().unwrap_or_default();
        for id in platform.get_devices(CL_DEVICE_TYPE_ALL).unwrap_or_default() {
            found.push(Found::new(name.trim(), Device::new(id)).map_err(|code| format!("{name}: {code}"))?);
        }
    }
    if found.is_empty() {
        return Err(format!("the OpenCL loader found {} platforms without a device", platforms.len()));
    }
    Ok(found)
}

/// An error if the place where the loader is told to look for runtimes is a missing path or an empty folder.
fn check_vendors(vendors: &Path) -> Result<(), String> {
    let reason = |what: &str| Err(format!("OCL_ICD_VENDORS names {}, {what}", vendors.display()));
    if vendors.is_dir() {
        let files = vendors.read_dir().into_iter().flatten().flatten();
        let any = files.into_iter().any(|file| file.path().extension().is_some_and(|end| end == "icd"));
        return if any { Ok(()) } else { reason("a folder without .icd files") };
    }
    let is_path = vendors.components().count() > 1;
    if is_path && !vendors.exists() { reason("which does not exist") } else { Ok(()) }
}

/// Bytes of the words that memory is made of.
const WORD_BYTES: usize = 16;

/// A context of one device with its in-order queue.
#[derive(Debug)]
pub struct ClDriver {
    // Fields are dropped in this order: the queue before its context.
    queue: CommandQueue,
    context: Context,
    found: &'static Found,
    used_bytes: Arc<AtomicU64>,
}

/// Memory of a device.
#[derive(Debug)]
pub struct Memory {
    buffer: ClBuffer<u8>,
    bytes: u64,
    used_bytes: Arc<AtomicU64>,
}

impl Drop for Memory {
    fn drop(&mut self) {
        self.used_bytes.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

impl Driver for ClDriver {
    const NAME: &'static str = "opencl";
    const DEVICE_VARIABLE: &'static str = "NNZ_OPENCL_DEVICE";
    const FILES: &'static [File] = kernels_cl::FILES;
    const WARPS_PER_GROUP: usize = 1;
    type Memory = Memory;
    type Program = Program;
    type Kernel = Kernel;

    fn devices() -> Result<Vec<Caps>, String> {
        Ok(devices()?.iter().map(|found| found.caps.clone()).collect())
    }

    fn open(index: usize) -> Result<Self> {
        let unsupported = |reason| Error::unsupported(format!("opencl device {index}"), reason);
        let found = devices().map_err(unsupported)?;
        let found = found.get(index).ok_or_else(|| unsupported(format!("there are {}", found.len())))?;
        let device = found.device();
        let context = Context::from_device(&device).map_err(|code| failed("clCreateContext", code))?;
        let queue =
            CommandQueue::create_default(&context, 0).map_err(|code| failed("clCreateCommandQueue", code))?;
        Ok(Self { queue, context, found, used_bytes: Arc::default() })
    }

    fn caps(&self) -> &Caps {
        &self.found.caps
    }

    fn cache_bytes(&self) -> usize {
        self.found.cache_bytes
    }

    fn is_cpu(&self) -> bool {
        self.found.is_cpu
    }

    fn largest_group(&self) -> usize {
        self.found.largest_group
    }

    fn allocate(&self, bytes: usize) -> Result<Memory> {
        // OpenCL knows no buffers of 0 bytes.
        let bytes = bytes.max(1).checked_next_multiple_of(WORD_BYTES).unwrap_or(usize::MAX);
        let used = self.used_bytes.load(Ordering::Relaxed);
        let available = self.found.largest_buffer.min(self.found.memory_bytes.saturating_sub(used));
        let out_of_memory = Error::OutOfMemory { needed: bytes as u64, available };
        if bytes as u64 > available {
            return Err(out_of_memory);
        }
        // SAFETY: no host pointer is given, and the context is alive.
        let buffer =
            unsafe { ClBuffer::<u8>::create(&self.context, CL_MEM_READ_WRITE, bytes, ptr::null_mut()) };
        let buffer = buffer.map_err(|code| match code.0 {
            CL_MEM_OBJECT_ALLOCATION_FAILURE | CL_OUT_OF_RESOURCES => out_of_memory,
            _ => failed("clCreateBuffer", code),
        })?;
        if self.found.keeps_buffers {
            // SAFETY: the buffer is alive; one more owner only keeps it.
            unsafe { retain_mem_object(buffer.get()) }.map_err(|code| failed("clRetainMemObject", code))?;
        }
        self.used_bytes.fetch_add(bytes as u64, Ordering::Relaxed);
        Ok(Memory { buffer, bytes: bytes as u64, used_bytes: self.used_bytes.clone() })
    }

    fn write(&self, memory: &Memory, offset: usize, host: &[u8]) -> Result<()> {
        if host.is_empty() {
            return Ok(());
        }
        memory.check(offset, host.len());
        // SAFETY: the range lies inside the buffer, as checked, and the call waits until `host` has been read.
        let event = unsafe {
            enqueue_write_buffer(
                self.queue.get(),
                memory.buffer.get(),
                CL_BLOCKING,
                offset,
                host.len(),
                host.as_ptr().cast_mut().cast(),
                0,
                ptr::null(),
            )
        };
        done("clEnqueueWriteBuffer", event)
    }

    fn read(&self, memory: &Memory, offset: usize, host: &mut [u8]) -> Result<()> {
        if host.is_empty() {
            return Ok(());
        }
        memory.check(offset, host.len());
        // SAFETY: the range lies inside the buffer, as checked, and the call waits until `host` has been written.
        let event = unsafe {
            enqueue_read_buffer(
                self.queue.get(),
                memory.buffer.get(),
                CL_BLOCKING,
                offset,
                host.len(),
                host.as_mut_ptr().cast(),
                0,
                ptr::null(),
            )
        };
        done("clEnqueueReadBuffer", event)
    }

    fn copy(&self, from: (&Memory, usize), to: (&Memory, usize), bytes: usize) -> Result<()> {
        if bytes == 0 {
            return Ok(());
        }
        from.0.check(from.1, bytes);
        to.0.check(to.1, bytes);
        // SAFETY: both ranges lie inside their buffers, as checked; the runtime refuses ranges that overlap.
        let event = unsafe {
            enqueue_copy_buffer(
                self.queue.get(),
                from.0.buffer.get(),
                to.0.buffer.get(),
                from.1,
                to.1,
                bytes,
                0,
                ptr::null(),
            )
        };
        done("clEnqueueCopyBuffer", event)
    }

    fn flush(&self) -> Result<()> {
        self.queue.flush().map_err(|code| failed("clFlush", code))
    }

    fn synchronize(&self) -> Result<()> {
        self.queue.finish().map_err(|code| failed("clFinish", code))
    }

    fn build(&self, file: &File, defines: &Defines) -> Result<Program> {
        let options = format!("-cl-std=CL1.2 {defines}");
        let device = self.context.default_device();
        let mut program = ClProgram::create_from_source(&self.context, &file.source())
            .map_err(|code| failed("clCreateProgramWithSource", code))?;
        if let Err(code) = program.build(&[device], &options) {
            let log = program.get_build_log(device).unwrap_or_default();
            return Err(failed(format!("compiling {} with `{options}`\n{}\n", file.name, log.trim()), code));
        }
        Ok(Program(program))
    }

    fn kernel(&self, program: &Program, entry: &str) -> Result<Kernel> {
        let error = |code| failed(format!("kernel {entry}"), code);
        let object = ClKernel::create(&program.0, entry).map_err(error)?;
        let arguments = object.num_args().map_err(error)?;
        Ok(Kernel { name: entry.into(), arguments: arguments as usize, object: Mutex::new(object) })
    }

    /// The arguments are set and the kernel is enqueued under one lock: a kernel object is not made for two threads.
    fn launch(&self, kernel: &Kernel, groups: usize, local: usize, args: &[Arg<'_, Memory>]) -> Result<()> {
        if groups == 0 {
            return Ok(());
        }
        let name = &kernel.name;
        if args.len() != kernel.arguments {
            let reason = format!("{} arguments for the {} of {name}", args.len(), kernel.arguments);
            return Err(Error::unsupported("a launch", reason));
        }
        let locked = kernel.object.lock().unwrap_or_else(PoisonError::into_inner);
        for (position, arg) in args.iter().enumerate() {
            let bytes = match arg {
                Arg::Memory(memory) => &(memory.buffer.get() as usize).to_ne_bytes(),
                Arg::Value(value) => value.bytes(),
            };
            // SAFETY: the argument exists, as counted above; the runtime refuses a wrong length, and copies the bytes.
            unsafe { set_kernel_arg(locked.get(), position as u32, bytes.len(), bytes.as_ptr().cast()) }
                .map_err(|code| failed(format!("argument {position} of {name}"), code))?;
        }
        let global = groups * local;
        // SAFETY: all arguments are set; buffers that the arguments name are kept by the runtime until the kernel has
        // run. The kernels stay inside the lengths and starts that callers take from their views.
        let event = unsafe {
            enqueue_nd_range_kernel(
                self.queue.get(),
                locked.get(),
                1,
                ptr::null(),
                &raw const global,
                &raw const local,
                0,
                ptr::null(),
            )
        };
        done(name, event)
    }
}

/// Releases the event of a call, or says what failed.
fn done(call: &str, event: Result<cl_event, i32>) -> Result<()> {
    event.map(|event| drop(Event::new(event))).map_err(|code| failed(call, code))
}

impl Memory {
    /// A bug of the caller if the range passes the end.
    fn check(&self, offset: usize, bytes: usize) {
        assert!(offset as u64 + bytes as u64 <= self.bytes, "bytes {offset}..+{bytes} of {}", self.bytes);
    }
}

/// A compiled program.
#[derive(Debug)]
pub struct Program(ClProgram);

/// A kernel object.
#[derive(Debug)]
pub struct Kernel {
    name: String,
    arguments: usize,
    object: Mutex<ClKernel>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_or_empty_folder_of_vendors_is_no_runtime() {
        let missing = Path::new("/nowhere/at/all");
        assert!(check_vendors(missing).unwrap_err().contains("does not exist"));
        let folder = std::env::temp_dir().join(format!("nnz-vendors-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        assert!(check_vendors(&folder).unwrap_err().contains("without .icd files"));
        std::fs::write(folder.join("a.icd"), "libnothing.so").unwrap();
        assert_eq!(check_vendors(&folder), Ok(()));
        std::fs::remove_dir_all(&folder).unwrap();
    }
}

//! The driver over OpenCL's own queue.

use crate::Handles;
use crate::error;

use crate::devices::{self, DeviceInfo, NAME};
use crate::memory_account::{Allocation, MemoryAccount, in_whole_words};
use crate::memory_pool::MemoryPool;
use crate::owned::{Context, Owned};
use crate::program::{ClProgram, check_launch};
use cl3::command_queue::{
    CL_QUEUE_PROFILING_ENABLE, create_command_queue, enqueue_copy_buffer, enqueue_marker_with_wait_list,
    enqueue_read_buffer, enqueue_write_buffer, finish, flush, release_command_queue,
};
use cl3::event::release_event;
use cl3::kernel::set_kernel_arg;
use cl3::memory::{
    CL_MEM_CONTEXT, CL_MEM_OBJECT_BUFFER, CL_MEM_READ_WRITE, CL_MEM_SIZE, CL_MEM_TYPE, create_buffer,
    get_mem_object_info, release_mem_object, retain_mem_object,
};
use kernels_core::File;
use opencl3::error_codes::{
    CL_MEM_OBJECT_ALLOCATION_FAILURE, CL_OUT_OF_RESOURCES, CL_SUCCESS, ClError,
    DLOPEN_FUNCTION_NOT_AVAILABLE, DLOPEN_RUNTIME_LOAD_FAILED,
};
use opencl3::types::{
    CL_BLOCKING, cl_command_queue, cl_command_queue_properties, cl_event, cl_kernel, cl_mem,
};
use sparse_core::{Error, Result};
use sparse_device::foreign::{ForeignArray, MemoryKind};
use sparse_device::{Arg, Defines, Driver, Grid, Kernel, Memory, Program, Properties};
use std::ptr;
use std::sync::{Arc, Mutex, PoisonError};

pub(crate) fn failed(call: impl Into<String>, code: impl Into<ClError>) -> Error {
    error::failed(NAME, call, code)
}

/// A context of one device with its in-order queue.
#[derive(Debug)]
pub(crate) struct ClDriver {
    // Fields are dropped in this order: the queue before its context.
    queue: Owned,
    context: Context,
    info: &'static DeviceInfo,
    account: MemoryAccount,
    pool: MemoryPool<Arc<Allocated>>,
}

/// A buffer, and its allocation of the device's memory.
#[derive(Debug)]
struct Allocated {
    // Fields are dropped in this order: the buffer before its allocation.
    buffer: Owned,
    allocation: Allocation,
}

/// Memory of a device, which returns to the pool when it is dropped, if the device has one.
#[derive(Debug)]
pub(crate) struct ClMemory {
    allocated: Arc<Allocated>,
    pool: MemoryPool<Arc<Allocated>>,
}

impl ClMemory {
    fn allocation(&self) -> &Allocation {
        &self.allocated.allocation
    }

    pub(crate) fn buffer(&self) -> cl_mem {
        self.allocated.buffer.get()
    }
}

impl Drop for ClMemory {
    fn drop(&mut self) {
        self.pool.keep(self.allocation().bytes(), self.allocated.clone());
    }
}

impl ClDriver {
    pub(crate) fn open(index: usize) -> Result<Self> {
        Self::open_queue(index, 0)
    }

    /// Opens a device whose queue records when each command ran.
    pub(crate) fn open_with_clock(index: usize) -> Result<Self> {
        Self::open_queue(index, CL_QUEUE_PROFILING_ENABLE)
    }

    fn open_queue(index: usize, properties: cl_command_queue_properties) -> Result<Self> {
        let info = devices::by_index(NAME, devices::opencl(), index)?;
        let device = info.device().id();
        let context = Context::create(device).map_err(|code| failed("clCreateContext", code))?;
        // SAFETY: the context is of this device.
        let queue = unsafe { create_command_queue(context.get(), device, properties) };
        let queue = queue.map_err(|code| failed("clCreateCommandQueue", code))?;
        // SAFETY: the queue is new.
        let queue = unsafe { Owned::new(queue, release_command_queue) };
        Ok(Self {
            queue,
            context,
            info,
            account: MemoryAccount::new(info),
            pool: MemoryPool::new(info.pool_bytes),
        })
    }

    /// A new buffer of at least `bytes` bytes.
    fn create(&self, bytes: usize) -> Result<Arc<Allocated>> {
        let allocation = self.account.take(bytes)?;
        // SAFETY: no host pointer is given, and the context is alive.
        let buffer = unsafe {
            create_buffer(self.context.get(), CL_MEM_READ_WRITE, allocation.bytes(), ptr::null_mut())
        };
        let buffer = buffer.map_err(|code| match code {
            CL_MEM_OBJECT_ALLOCATION_FAILURE | CL_OUT_OF_RESOURCES => allocation.refused(),
            _ => failed("clCreateBuffer", code),
        })?;
        // SAFETY: the buffer is new.
        let buffer = unsafe { Owned::new(buffer, release_mem_object) };
        if self.info.checks_reads {
            // SAFETY: the buffer is alive; one more owner only extends its life.
            unsafe { retain_mem_object(buffer.get()) }.map_err(|code| failed("clRetainMemObject", code))?;
        }
        Ok(Arc::new(Allocated { buffer, allocation }))
    }

    /// The memory as its own type, if it is of this context.
    fn own<'a>(&self, memory: &'a Memory) -> Result<&'a ClMemory> {
        let memory = memory.of::<ClMemory>()?;
        self.account.check(memory.allocation())?;
        Ok(memory)
    }

    /// Memory over a borrowed buffer, whose first `bytes` bytes are used; it is never in the pool.
    ///
    /// # Safety
    /// `buffer` is alive.
    unsafe fn borrowed(&self, buffer: cl_mem, bytes: usize) -> Result<ClMemory> {
        let refused = |reason: String| Err(Error::unsupported("a foreign array", reason));
        let info =
            |what| get_mem_object_info(buffer, what).map_err(|code| failed("clGetMemObjectInfo", code));
        if info(CL_MEM_TYPE)?.to_uint() != CL_MEM_OBJECT_BUFFER {
            return refused("its memory object is not a buffer".into());
        }
        if info(CL_MEM_CONTEXT)?.to_ptr() != self.context.get() as isize {
            return refused("its buffer belongs to another context than the device's".into());
        }
        let available = info(CL_MEM_SIZE)?.to_size();
        if bytes > available {
            return refused(format!("it ends at byte {bytes} of a buffer of {available}"));
        }
        // SAFETY: the buffer is alive; one more owner only extends its life.
        unsafe { retain_mem_object(buffer) }.map_err(|code| failed("clRetainMemObject", code))?;
        // SAFETY: this owner was just added.
        let buffer = unsafe { Owned::new(buffer, release_mem_object) };
        let allocated = Arc::new(Allocated { buffer, allocation: self.account.count(bytes) });
        Ok(ClMemory { allocated, pool: MemoryPool::new(0) })
    }

    pub(crate) fn handles(&self) -> Handles {
        let Self { queue, context, info, .. } = self;
        Handles { context: context.get(), device: info.device().id(), queue: queue.get() }
    }

    /// Writes to a buffer from byte `offset` on.
    fn write_bytes(&self, memory: &ClMemory, offset: usize, host: &[u8]) -> Result<()> {
        memory.allocation().check(offset, host.len())?;
        if self.info.checks_reads && offset > 0 {
            let mut whole = vec![0; memory.allocation().bytes()];
            self.read_bytes(memory, 0, &mut whole)?;
            whole[offset..][..host.len()].copy_from_slice(host);
            return self.write_bytes(memory, 0, &whole);
        }
        // SAFETY: the range lies inside the buffer, as checked, and the call waits until `host` has been read.
        let event = unsafe {
            enqueue_write_buffer(
                self.queue.get(),
                memory.buffer(),
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

    /// Reads a buffer from byte `offset` on.
    fn read_bytes(&self, memory: &ClMemory, offset: usize, host: &mut [u8]) -> Result<()> {
        memory.allocation().check(offset, host.len())?;
        // SAFETY: the range lies inside the buffer, as checked, and the call waits until `host` has been written.
        let event = unsafe {
            enqueue_read_buffer(
                self.queue.get(),
                memory.buffer(),
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

    /// A marker: a command that is done when all before it are.
    pub(crate) fn mark(&self) -> Result<Owned> {
        // SAFETY: the queue is alive, and the list of events to wait for is empty.
        let event = unsafe { enqueue_marker_with_wait_list(self.queue.get(), 0, ptr::null()) };
        let event = event.map_err(|code| failed("clEnqueueMarkerWithWaitList", code))?;
        // SAFETY: the event is new.
        Ok(unsafe { Owned::new(event, release_event) })
    }
}

impl Drop for ClDriver {
    /// Waits for the queue: a runtime that still works, or compiles a kernel, crashes where the process ends meanwhile.
    fn drop(&mut self) {
        if self.queue.is_of_this_process() {
            // Errors of work that was not waited for cannot be reported.
            let _ = finish(self.queue.get());
        }
    }
}

// SAFETY: every allocation is a new one of the library's, or one that no other code has; files are constants; the queue
// is in order.
unsafe impl Driver for ClDriver {
    fn properties(&self) -> &Properties {
        &self.info.properties
    }

    fn allocate(&self, bytes: usize) -> Result<Memory> {
        let allocated = match self.pool.take(in_whole_words(bytes)) {
            Some(allocated) => allocated,
            None => match self.create(bytes) {
                Err(Error::OutOfMemory { .. }) if self.pool.release() => self.create(bytes)?,
                created => created?,
            },
        };
        Ok(Memory::new(ClMemory { allocated, pool: self.pool.clone() }))
    }

    unsafe fn borrow(&self, array: &ForeignArray, bytes: usize) -> Result<(Memory, usize)> {
        array.check_memory(MemoryKind::OpenCl, NAME)?;
        array.check_without_stream()?;
        let buffer = ptr::with_exposed_provenance_mut(array.handle);
        // SAFETY: the caller vouches for the buffer.
        let memory = unsafe { self.borrowed(buffer, array.byte_offset + bytes) }?;
        Ok((Memory::new(memory), array.byte_offset))
    }

    unsafe fn write(&self, memory: &Memory, offset: usize, host: &[u8]) -> Result<()> {
        if host.is_empty() {
            return Ok(());
        }
        self.write_bytes(self.own(memory)?, offset, host)
    }

    fn read(&self, memory: &Memory, offset: usize, host: &mut [u8]) -> Result<()> {
        if host.is_empty() {
            return Ok(());
        }
        self.read_bytes(self.own(memory)?, offset, host)
    }

    unsafe fn copy(&self, from: (&Memory, usize), to: (&Memory, usize), bytes: usize) -> Result<()> {
        if bytes == 0 {
            return Ok(());
        }
        let (from, to) = ((self.own(from.0)?, from.1), (self.own(to.0)?, to.1));
        from.0.allocation().check(from.1, bytes)?;
        to.0.allocation().check(to.1, bytes)?;
        if self.info.checks_reads {
            let mut host = vec![0; bytes];
            self.read_bytes(from.0, from.1, &mut host)?;
            return self.write_bytes(to.0, to.1, &host);
        }
        // SAFETY: both ranges lie inside their buffers, as checked; the runtime refuses ranges that overlap.
        let event = unsafe {
            enqueue_copy_buffer(
                self.queue.get(),
                from.0.buffer(),
                to.0.buffer(),
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
        flush(self.queue.get()).map_err(|code| failed("clFlush", code))
    }

    fn synchronize(&self) -> Result<()> {
        finish(self.queue.get()).map_err(|code| failed("clFinish", code))
    }

    fn build(&self, file: &File, defines: &Defines) -> Result<Program> {
        ClProgram::build(NAME, &self.context, file, defines).map(Program::new)
    }

    fn kernel(&self, program: &Program, entry: &str) -> Result<Kernel> {
        let (object, arguments) = program.of::<ClProgram>()?.kernel(NAME, entry)?;
        Ok(Kernel::new(ClKernel { name: entry.into(), arguments, object: Mutex::new(object) }))
    }

    /// The arguments are set and the kernel is enqueued under one lock: a kernel object is not made for two threads.
    unsafe fn launch(&self, kernel: &Kernel, grid: Grid, args: &[Arg<'_>]) -> Result<()> {
        if grid.groups == 0 {
            return Ok(());
        }
        let kernel = kernel.of::<ClKernel>()?;
        let name = &kernel.name;
        check_launch(name, grid, args.len(), kernel.arguments)?;
        let locked = kernel.object.lock().unwrap_or_else(PoisonError::into_inner);
        for (position, arg) in args.iter().enumerate() {
            let bytes = match arg {
                Arg::Memory(memory) => &(self.own(memory)?.buffer() as usize).to_ne_bytes(),
                Arg::Value(value) => value.bytes(),
            };
            // SAFETY: the argument exists, as counted above; the runtime refuses a wrong length, and copies the bytes.
            unsafe { set_kernel_arg(locked.get(), position as u32, bytes.len(), bytes.as_ptr().cast()) }
                .map_err(|code| failed(format!("argument {position} of {name}"), code))?;
        }
        let global = grid.groups * grid.local;
        // SAFETY: all arguments are set; the runtime retains buffers that they name until the kernel has run. The
        // caller vouches for what the kernel does with them.
        unsafe { enqueue(self.queue.get(), locked.get(), global, grid.local) }
            .map_err(|code| failed(name, code))
    }
}

/// Enqueues a kernel without an event, which would be created and released for each launch.
///
/// # Safety
/// The queue and the kernel are alive, and all arguments of the kernel are set.
unsafe fn enqueue(
    queue: cl_command_queue,
    kernel: cl_kernel,
    global: usize,
    local: usize,
) -> Result<(), i32> {
    let library = cl3::load_library().as_ref().map_err(|_| DLOPEN_RUNTIME_LOAD_FAILED)?;
    let (offset, waits, event) = (ptr::null(), ptr::null(), ptr::null_mut());
    let code = library.clEnqueueNDRangeKernel(
        queue,
        kernel,
        1,
        offset,
        &raw const global,
        &raw const local,
        0,
        waits,
        event,
    );
    match code {
        Some(CL_SUCCESS) => Ok(()),
        Some(code) => Err(code),
        None => Err(DLOPEN_FUNCTION_NOT_AVAILABLE),
    }
}

/// Releases the event of a call, or returns its error.
fn done(call: &str, event: Result<cl_event, i32>) -> Result<()> {
    let event = event.map_err(|code| failed(call, code))?;
    // SAFETY: the event is new, and none waits for it.
    drop(unsafe { Owned::new(event, release_event) });
    Ok(())
}

/// A kernel object.
#[derive(Debug)]
pub(crate) struct ClKernel {
    name: String,
    arguments: usize,
    object: Mutex<Owned>,
}

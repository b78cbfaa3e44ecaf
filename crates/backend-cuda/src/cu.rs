//! The driver of CUDA devices: memory, programs and launches in a stream.

use crate::devices::{DeviceInfo, devices};
use crate::error::{NAME, failed};
use crate::foreign;
use crate::memory::CuMemory;
use crate::pinned::{self, Pinned};
use crate::pinned_pool::PinnedPool;
use crate::program::{CuKernel, Module};
use crate::queue::Queue;
use crate::recording::{Call, Executable};
use crate::staging::Staging;
use crate::uploads::Uploads;
use cudarc::driver::{result, sys};
use kernels_core::File;
use sparse_core::backend::{HostBuffer, Recording};
use sparse_core::{Error, Result};
use sparse_device::foreign::ForeignArray;
use sparse_device::{Arg, Defines, Driver, Grid, Kernel, Memory, Program, Properties};
use std::any::Any;
use std::ffi::c_void;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

/// The fewest bytes for which the driver is asked whether they are pinned, and which are uploaded beside other work: a
/// staged copy of fewer takes no longer than the wait at the end.
const DIRECT_BYTES: usize = 1 << 18;

/// Bytes of a word of the kernel that copies numbers.
const WORD_BYTES: usize = 4;

/// The most bytes of numbers, two complex ones, which are read while the device goes on.
const NUMBER_BYTES: usize = 32;

/// A device with its queue, and pinned memory for uploads and downloads.
#[derive(Debug)]
pub(crate) struct CuDriver {
    info: &'static DeviceInfo,
    queue: Arc<Queue>,
    staging: Mutex<Staging>,
    /// Pinned memory for numbers, one for each read at a time.
    numbers: Mutex<Vec<Pinned>>,
    /// The kernel that copies them.
    to_host: OnceLock<Kernel>,
    uploads: Uploads,
    pinned: Arc<PinnedPool>,
    /// The part of a multiprocessor's memory that kernels prefer to be shared, in percent; otherwise the driver
    /// chooses.
    carveout: Option<u8>,
}

impl CuDriver {
    /// Device number `index` with a stream of its own.
    pub(crate) fn open(index: usize) -> Result<Self> {
        Self::with(index, None)
    }

    /// Device number `index`, whose kernels prefer a part of a multiprocessor's memory to be shared.
    pub(crate) fn open_with_carveout(index: usize, percent: u8) -> Result<Self> {
        if percent > 100 {
            let what = format!("a carve-out of {percent} %");
            return Err(Error::unsupported(what, "a multiprocessor's memory is 100 %"));
        }
        Ok(Self { carveout: Some(percent), ..Self::open(index)? })
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
        let devices = devices().map_err(unsupported)?;
        let info = devices.get(index).ok_or_else(|| unsupported(format!("there are {}", devices.len())))?;
        let queue = Arc::new(Queue::new(info.device, stream)?);
        keep_freed_memory(info.device)?;
        let staging = Mutex::new(Staging::new(&queue)?);
        let (numbers, uploads, pinned) = (Mutex::default(), Uploads::default(), Arc::default());
        let to_host = OnceLock::new();
        Ok(Self { info, queue, staging, numbers, to_host, uploads, pinned, carveout: None })
    }

    pub(crate) fn queue(&self) -> &Arc<Queue> {
        &self.queue
    }

    /// Whole words for `bytes` bytes, at least one; an error if the device has fewer.
    fn whole_words(&self, bytes: usize) -> Result<usize> {
        // The library has no memory of 0 bytes.
        let bytes = bytes.max(1).checked_next_multiple_of(16).unwrap_or(usize::MAX);
        let total = self.info.properties.caps.memory_bytes.unwrap_or(u64::MAX);
        if bytes as u64 > total {
            return Err(Error::OutOfMemory { needed: bytes as u64, available: Some(total) });
        }
        Ok(bytes)
    }

    /// Enqueues a kernel that copies words to pinned memory: among other kernels it takes a quarter of the time of the
    /// copy engine.
    fn copy_words(&self, from: &Memory, start: usize, words: usize, to: &Pinned) -> Result<()> {
        let kernel = self.to_host_kernel()?;
        let grid = Grid { groups: 1, local: words, shared: 0, early: false };
        to.write_by(|to| {
            let args = [
                Arg::Value((words as i64).into()),
                Arg::Memory(from),
                Arg::Value((start as i64).into()),
                Arg::Memory(to),
            ];
            // SAFETY: the arguments are those of the kernel's file; the words lie in both memories, the first as the
            // caller has checked, and the second is written by nothing else before its event.
            unsafe { self.launch(kernel, grid, &args) }
        })
    }

    /// The kernel that copies words to pinned memory, built at its first use.
    fn to_host_kernel(&self) -> Result<&Kernel> {
        if let Some(kernel) = self.to_host.get() {
            return Ok(kernel);
        }
        let missing = || Error::unsupported("reading a number", "to_host.cu is missing");
        let file = kernels_cu::file("to_host.cu").ok_or_else(missing)?;
        let program = self.build(file, &Defines::default().set("WORD", "uint"))?;
        let kernel = self.kernel(&program, "to_host_words")?;
        Ok(self.to_host.get_or_init(|| kernel))
    }

    fn numbers(&self) -> MutexGuard<'_, Vec<Pinned>> {
        self.numbers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn staging(&self) -> MutexGuard<'_, Staging> {
        self.staging.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// True if a copy from or to `host` needs no pinned copy beside it.
pub(crate) fn is_copied_directly(host: &[u8], queue: &Queue) -> Result<bool> {
    Ok(host.len() >= DIRECT_BYTES && pinned::is_pinned(host, queue)?)
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

/// Bytes of the device's pool that are allocated; none if the driver does not say.
fn used_memory(device: sys::CUdevice) -> Option<u64> {
    let mut used = 0_u64;
    let attribute = sys::CUmemPool_attribute::CU_MEMPOOL_ATTR_USED_MEM_CURRENT;
    // SAFETY: the attribute is a 64-bit number, as given.
    let done = unsafe {
        result::device::get_default_mem_pool(device)
            .and_then(|pool| result::mem_pool::get_attribute(pool, attribute, (&raw mut used).cast()))
    };
    done.is_ok().then_some(used)
}

// SAFETY: every allocation is a new one of the library; files are constants; the stream is in order.
unsafe impl Driver for CuDriver {
    fn properties(&self) -> &Properties {
        &self.info.properties
    }

    fn allocate(&self, bytes: usize) -> Result<Memory> {
        CuMemory::allocate(self.whole_words(bytes)?, &self.queue).map(Memory::new)
    }

    fn allocated_bytes(&self) -> Option<u64> {
        used_memory(self.info.device)
    }

    fn upload(&self, host: &[u8]) -> Result<Memory> {
        let bytes = self.whole_words(host.len())?;
        if host.len() >= DIRECT_BYTES {
            return self.uploads.upload(host, bytes, &self.queue).map(Memory::new);
        }
        let memory = CuMemory::allocate(bytes, &self.queue)?;
        self.staging().upload(host, memory.address())?;
        Ok(Memory::new(memory))
    }

    unsafe fn borrow(&self, array: &ForeignArray, bytes: usize) -> Result<(Memory, usize)> {
        // SAFETY: the caller makes the same promise.
        let (memory, first_byte) = unsafe { foreign::borrow(array, bytes, &self.queue) }?;
        Ok((Memory::new(memory), first_byte))
    }

    unsafe fn write(&self, memory: &Memory, offset: usize, host: &[u8]) -> Result<()> {
        let to = CuMemory::of(memory, &self.queue)?.range(offset, host.len())?;
        self.queue.refuse_in_recording("writing memory from the host")?;
        if is_copied_directly(host, &self.queue)? {
            return pinned::upload(host, to, &self.queue);
        }
        self.staging().upload(host, to)
    }

    fn pinned(&self, bytes: usize) -> Option<HostBuffer<u8>> {
        self.pinned.zeros(bytes, &self.queue).ok().map(|memory| Box::new(memory) as HostBuffer<u8>)
    }

    /// True also of few bytes, of which a copy costs nothing, and where the driver cannot say.
    fn uploads_directly(&self, host: &[u8]) -> bool {
        host.len() < DIRECT_BYTES || pinned::is_pinned(host, &self.queue).unwrap_or(true)
    }

    fn read(&self, memory: &Memory, offset: usize, host: &mut [u8]) -> Result<()> {
        let from = CuMemory::of(memory, &self.queue)?.range(offset, host.len())?;
        self.queue.refuse_in_recording("reading memory")?;
        if is_copied_directly(host, &self.queue)? {
            return pinned::download(from, host, &self.queue);
        }
        self.staging().download(from, host)
    }

    fn read_before(
        &self,
        memory: &Memory,
        offset: usize,
        host: &mut [u8],
        enqueue: &mut dyn FnMut() -> Result<()>,
    ) -> Result<()> {
        let from = CuMemory::of(memory, &self.queue)?.range(offset, host.len())?;
        self.queue.refuse_in_recording("reading memory")?;
        if host.len() > NUMBER_BYTES {
            self.staging().download(from, host)?;
            return enqueue();
        }
        let free = self.numbers().pop();
        let mut number = free.map_or_else(|| Pinned::new(NUMBER_BYTES, &self.queue), Ok)?;
        match offset.is_multiple_of(WORD_BYTES) && host.len().is_multiple_of(WORD_BYTES) {
            true => self.copy_words(memory, offset / WORD_BYTES, host.len() / WORD_BYTES, &number)?,
            false => number.download(host.len(), from)?,
        }
        enqueue()?;
        host.copy_from_slice(&number.bytes()?[..host.len()]);
        self.numbers().push(number);
        Ok(())
    }

    fn overlaps_reads(&self) -> bool {
        true
    }

    /// None for a caller's stream: work of other threads on the default stream can fail while it is recorded.
    fn record(&self, work: &mut dyn FnMut() -> Result<()>) -> Result<Option<Box<dyn Recording>>> {
        if !self.queue.owns_stream() {
            return Ok(None);
        }
        match Executable::capture(self.queue.clone(), work) {
            Ok(executable) => Ok(Some(Box::new(executable))),
            Err(Error::Unsupported { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn record_again(
        &self,
        last: Box<dyn Recording>,
        work: &mut dyn FnMut() -> Result<()>,
    ) -> Result<Option<Box<dyn Recording>>> {
        let last: Box<dyn Any> = last;
        if let Ok(mut last) = last.downcast::<Executable>()
            && last.is_on(&self.queue)
        {
            match last.is_of(work) {
                Ok(true) => return Ok(Some(last)),
                Ok(false) | Err(Error::Unsupported { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        self.record(work)
    }

    unsafe fn copy(&self, from: (&Memory, usize), to: (&Memory, usize), bytes: usize) -> Result<()> {
        if bytes == 0 {
            return Ok(());
        }
        let source = CuMemory::of(from.0, &self.queue)?.range(from.1, bytes)?;
        let target = CuMemory::of(to.0, &self.queue)?.range(to.1, bytes)?;
        if self
            .queue
            .record_call(|named| named.copy(Call::Copy { from: source, to: target, bytes }, from.0, to.0))
        {
            return Ok(());
        }
        let _enqueues = self.queue.enqueue()?;
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
        Module::build(&self.queue, self.info.architecture, file, defines)
            .map(|module| Program::new(Arc::new(module)))
    }

    fn kernel(&self, program: &Program, entry: &str) -> Result<Kernel> {
        let module = program.of::<Arc<Module>>()?;
        let kernel = CuKernel::new(module, entry, self.info.properties.shared_bytes)?;
        if let Some(percent) = self.carveout {
            kernel.prefer_carveout(percent)?;
        }
        Ok(Kernel::new(kernel))
    }

    fn warps_at_once(&self, kernel: &Kernel) -> Option<usize> {
        kernel.of::<CuKernel>().ok().map(CuKernel::warps_at_once)
    }

    unsafe fn launch(&self, kernel: &Kernel, grid: Grid, args: &[Arg<'_>]) -> Result<()> {
        let grid = Grid { early: grid.early && self.info.overlaps, ..grid };
        let function = kernel.of::<CuKernel>()?;
        if grid.groups == 0 {
            return Ok(());
        }
        function.check(args)?;
        if self.queue.is_recorded_here() {
            let call = function.call(&self.queue, grid, args)?;
            if self.queue.record_call(|named| named.launch(call, kernel, args)) {
                return Ok(());
            }
        }
        // SAFETY: the caller vouches for the arguments, which were checked.
        unsafe { function.launch(&self.queue, grid, args) }
    }
}

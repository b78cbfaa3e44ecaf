//! The interface of a foreign library to a device: memory, programs and launches.

use crate::defines::Defines;
use crate::foreign::{ForeignArray, refuse};
use kernels_core::File;
use sparse_core::backend::{HostBuffer, Recording};
use sparse_core::{Caps, Error, Result};
use std::any::Any;
use std::fmt::Debug;
use std::sync::Arc;

/// Properties of a device.
#[derive(Debug, Clone)]
pub struct Properties {
    /// Identity and abilities.
    pub caps: Caps,
    /// The kernels, in the library's language.
    pub files: &'static [File],
    /// Warps per work-group in kernels that give a row to a warp.
    pub warps_per_group: usize,
    /// Warps per work-group in kernels whose lanes exchange values; 1 where they do so behind barriers.
    pub exchanging_warps_per_group: usize,
    /// Bytes of the largest cache that all work-groups share; 0 if unknown.
    pub cache_bytes: usize,
    /// Bytes of local memory that the kernels of a work-group can declare.
    pub local_bytes: usize,
    /// The most bytes of dynamic shared memory per work-group, beside the kernel's own; 0 if a launch cannot request
    /// any.
    pub shared_bytes: usize,
    /// The most work-items of a work-group.
    pub largest_group: usize,
}

/// A foreign library that runs kernels: one context of one device with an in-order queue.
///
/// A driver knows bytes and kernels, not operations. It checks that ranges lie inside their memory, that memory is of
/// its own context, and counts the arguments of a launch. Its unsafe methods leave the other checks to their callers:
/// the operations of this crate, which have checked every shape. Other code cannot launch without `unsafe`:
///
/// ```no_run
/// use sparse_device::{Arg, Device, Grid, Kernel, Memory};
/// fn overwrites(device: &Device, kernel: &Kernel, memory: &Memory) -> sparse_core::Result<()> {
///     let grid = Grid { groups: 1, local: 1, shared: 0, early: false };
///     // SAFETY: none is argued here.
///     unsafe { device.driver().launch(kernel, grid, &[Arg::Memory(memory)]) }
/// }
/// ```
///
/// ```compile_fail
/// use sparse_device::{Arg, Device, Grid, Kernel, Memory};
/// fn overwrites(device: &Device, kernel: &Kernel, memory: &Memory) -> sparse_core::Result<()> {
///     let grid = Grid { groups: 1, local: 1, shared: 0, early: false };
///     device.driver().launch(kernel, grid, &[Arg::Memory(memory)])
/// }
/// ```
///
/// ```compile_fail
/// use sparse_device::{Device, Memory};
/// fn overwrites(device: &Device, memory: &Memory) -> sparse_core::Result<()> {
///     device.driver().write(memory, 0, &[0; 16])
/// }
/// ```
///
/// ```compile_fail
/// use sparse_device::{Device, Memory};
/// fn overwrites(device: &Device, memory: &Memory) -> sparse_core::Result<()> {
///     device.driver().copy((memory, 0), (memory, 16), 16)
/// }
/// ```
///
/// # Safety
/// Operations rely on a driver's handles: memory has the requested bytes, belongs to nothing else, and stays the same
/// until it is written; kernels are those of [`Properties::files`], which never change, and run in the order of their
/// launches with writes, reads and copies. A type that only forwards calls to another driver must not change them.
pub unsafe trait Driver: Any + Debug + Send + Sync {
    /// Properties of the device.
    fn properties(&self) -> &Properties;

    /// Allocates at least `bytes` bytes, rounded up to whole words of 16 bytes, with arbitrary contents.
    ///
    /// # Errors
    /// [`OutOfMemory`](sparse_core::Error::OutOfMemory), or an error of the library.
    fn allocate(&self, bytes: usize) -> Result<Memory>;

    /// Bytes of the device's memory that this process has allocated, as the library counts them. Default: `None`.
    fn allocated_bytes(&self) -> Option<u64> {
        None
    }

    /// Wraps the memory of another library's array, which this driver never frees: the memory, and the offset of the
    /// array's first byte. The array has at least one byte, `bytes` up to its end. Later work follows what the array's
    /// [stream](ForeignArray::stream) has so far.
    ///
    /// # Errors
    /// [`Unsupported`](sparse_core::Error::Unsupported) unless the bytes are in one allocation of this driver's device
    /// and context; by default for every array.
    ///
    /// # Safety
    /// That of [`Device::borrow_stack`](crate::Device::borrow_stack).
    unsafe fn borrow(&self, array: &ForeignArray, _bytes: usize) -> Result<(Memory, usize)> {
        refuse(array, self.properties().caps.backend)
    }

    /// Writes to memory from byte `offset` on; `host` is free again when the call returns.
    ///
    /// # Errors
    /// An error of the library.
    ///
    /// # Safety
    /// No code relies on these bytes: they are no indices of a checked matrix.
    unsafe fn write(&self, memory: &Memory, offset: usize, host: &[u8]) -> Result<()>;

    /// Allocates memory with the bytes of `host`, which is free again when the call returns. A driver may copy them
    /// concurrently with the enqueued work; by default it [allocates](Self::allocate) and [writes](Self::write).
    ///
    /// # Errors
    /// As for [`allocate`](Self::allocate) and [`write`](Self::write).
    fn upload(&self, host: &[u8]) -> Result<Memory> {
        let memory = self.allocate(host.len())?;
        // SAFETY: the memory is new.
        unsafe { self.write(&memory, 0, host) }?;
        Ok(memory)
    }

    /// Allocates `bytes` zeros in pinned memory of the host, which the device copies by DMA, at an address that is a
    /// multiple of 16. `None`, the default, if the library cannot allocate such memory.
    fn pinned(&self, _bytes: usize) -> Option<HostBuffer<u8>> {
        None
    }

    /// True if [`upload`](Self::upload) makes no copy of `host` on the host, or if by default no memory of the host is
    /// [`pinned`](Self::pinned).
    fn uploads_directly(&self, _host: &[u8]) -> bool {
        true
    }

    /// Reads memory from byte `offset` on, after all work before it.
    ///
    /// # Errors
    /// [`Unsupported`](sparse_core::Error::Unsupported) for memory of another driver or context; what the library
    /// reports, errors of earlier work included.
    fn read(&self, memory: &Memory, offset: usize, host: &mut [u8]) -> Result<()>;

    /// [Reads](Self::read) memory after all work before it, and calls `enqueue`, whose launches come after the read. A
    /// driver that [overlaps reads](Self::overlaps_reads) calls it before the read has ended, so that the device goes
    /// on meanwhile; by default the read ends first.
    ///
    /// # Errors
    /// As for [`read`](Self::read), and that of `enqueue`.
    fn read_before(
        &self,
        memory: &Memory,
        offset: usize,
        host: &mut [u8],
        enqueue: &mut dyn FnMut() -> Result<()>,
    ) -> Result<()> {
        self.read(memory, offset, host)?;
        enqueue()
    }

    /// True if [`read_before`](Self::read_before) calls `enqueue` before the read of a number has ended; false by
    /// default.
    fn overlaps_reads(&self) -> bool {
        false
    }

    /// Records the launches and copies that `work` enqueues, without running them. The recording holds references to
    /// its memory and kernels. `None`, the default, if the library cannot record, or cannot record `work`.
    ///
    /// # Errors
    /// Those of `work`, or an error of the library.
    fn record(&self, work: &mut dyn FnMut() -> Result<()>) -> Result<Option<Box<dyn Recording>>> {
        let _ = work;
        Ok(None)
    }

    /// [Records](Self::record) `work`, or returns `last` if it is a recording of the same work.
    ///
    /// # Errors
    /// As for [`record`](Self::record).
    fn record_again(
        &self,
        last: Box<dyn Recording>,
        work: &mut dyn FnMut() -> Result<()>,
    ) -> Result<Option<Box<dyn Recording>>> {
        drop(last);
        self.record(work)
    }

    /// Copies `bytes` from one place to another; a place is a memory and a byte offset.
    ///
    /// # Errors
    /// An error of the library.
    ///
    /// # Safety
    /// That of [`write`](Self::write); the two ranges do not overlap.
    unsafe fn copy(&self, from: (&Memory, usize), to: (&Memory, usize), bytes: usize) -> Result<()>;

    /// Submits the enqueued work to the device.
    ///
    /// # Errors
    /// An error of the library.
    fn flush(&self) -> Result<()>;

    /// Waits for all work.
    ///
    /// # Errors
    /// An error of the library, errors of earlier work included.
    fn synchronize(&self) -> Result<()>;

    /// Compiles a file.
    ///
    /// # Errors
    /// [`Backend`](sparse_core::Error::Backend) with the file, the options and the compiler's whole log.
    fn build(&self, file: &File, defines: &Defines) -> Result<Program>;

    /// The kernel of this name.
    ///
    /// # Errors
    /// An error of the library if there is none.
    fn kernel(&self, program: &Program, entry: &str) -> Result<Kernel>;

    /// The warps of a kernel, in groups of 256 work-items, that the registers of a compute unit suffice for. Default:
    /// unknown.
    fn warps_at_once(&self, _kernel: &Kernel) -> Option<usize> {
        None
    }

    /// Enqueues `kernel`; does nothing for a grid without groups.
    ///
    /// # Errors
    /// [`Unsupported`](sparse_core::Error::Unsupported) for a wrong number of arguments, or an error of the library.
    ///
    /// # Safety
    /// The arguments have the kernel's types, in its order, and their sizes keep it inside its memory.
    unsafe fn launch(&self, kernel: &Kernel, grid: Grid, args: &[Arg<'_>]) -> Result<()>;
}

/// Declares handles whose type only the driver knows.
macro_rules! handles {
    ($($(#[$meta:meta])* $name:ident, $what:literal;)+) => {$(
        $(#[$meta])*
        #[derive(Debug)]
        pub struct $name(Arc<dyn Handle>);

        impl $name {
            /// Hides the driver's own type.
            pub fn new(handle: impl Any + Debug + Send + Sync) -> Self {
                Self(Arc::new(handle))
            }

            /// The handle as the driver's own type.
            ///
            /// # Errors
            /// [`Error::Unsupported`] if another driver has made it.
            pub fn of<T: Any>(&self) -> Result<&T> {
                let handle: &dyn Any = self.0.as_ref();
                handle.downcast_ref().ok_or_else(|| Error::unsupported($what, "another driver has made it"))
            }
        }
    )+};
}

impl Memory {
    /// Another handle of the same memory, which lives as long as one of them. Shared arrays cannot become a matrix,
    /// since they could be written through the other handle.
    pub fn share(&self) -> Self {
        Self(self.0.clone())
    }

    /// True if there are several handles of this memory.
    pub(crate) fn is_shared(&self) -> bool {
        Arc::strong_count(&self.0) > 1
    }
}

/// A type that a handle can wrap.
trait Handle: Any + Debug + Send + Sync {}

impl<T: Any + Debug + Send + Sync> Handle for T {}

handles! {
    /// Memory of a device.
    Memory, "this memory";
    /// A compiled file.
    #[derive(Clone)]
    Program, "this program";
    /// A kernel of a program.
    #[derive(Clone)]
    Kernel, "this kernel";
}

/// The work-items of a launch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Grid {
    /// The number of work-groups.
    pub groups: usize,
    /// The work-items of each group.
    pub local: usize,
    /// Bytes of dynamic shared memory per group, at most [`Properties::shared_bytes`].
    pub shared: usize,
    /// True if the kernel may begin before the previous launch has ended (programmatic dependent launch): it waits
    /// itself before it touches memory that the previous one writes, and before it ends.
    pub early: bool,
}

/// An argument of a kernel.
#[derive(Debug)]
pub enum Arg<'a> {
    /// Memory, from its first byte on.
    Memory(&'a Memory),
    /// A number, or a pair of numbers.
    Value(Value),
}

/// The bytes of an argument: at most those of a complex double.
#[derive(Debug, Clone, Copy)]
#[repr(align(16))]
pub struct Value {
    bytes: [u8; 16],
    len: usize,
}

impl Value {
    /// A value of at most 16 bytes.
    pub(crate) fn new<T: bytemuck::Pod>(value: &T) -> Self {
        let mut bytes = [0; 16];
        bytes[..size_of::<T>()].copy_from_slice(bytemuck::bytes_of(value));
        Self { bytes, len: size_of::<T>() }
    }

    /// The bytes of the argument, aligned for any number.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes[..self.len]
    }
}

/// A size or a position, as the kernels take them.
impl From<i64> for Value {
    fn from(number: i64) -> Self {
        Self::new(&number)
    }
}

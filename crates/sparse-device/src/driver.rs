//! What a foreign library must do for a device: memory, programs and launches.

use crate::Defines;
use kernels_core::File;
use sparse_core::{Caps, Result};
use std::fmt::Debug;

/// What is known of a device.
#[derive(Debug, Clone)]
pub struct Properties {
    /// What it is and what it can do.
    pub caps: Caps,
    /// Whether it is a processor of the host, which prefers few and long work-items.
    pub is_cpu: bool,
    /// Bytes of the largest cache that all work-groups share; 0 if it is not known.
    pub cache_bytes: usize,
    /// Bytes that a work-group can share beyond what its kernel names, at most; 0 where a launch cannot ask for any.
    pub shared_bytes: usize,
    /// The most work-items of a work-group.
    pub largest_group: usize,
}

/// A foreign library that runs kernels: one context of one device with an in-order queue.
///
/// A driver knows bytes and kernels, not operations. All its methods are safe to call: it checks that ranges lie inside
/// their memory, and counts the arguments of a launch. What it cannot check is that a kernel stays inside the memory
/// that it is given; that is the business of the operations above it, which have checked every shape.
pub trait Driver: Sized + Debug + Send + Sync + 'static {
    /// The backend's name in messages and in [`Caps`].
    const NAME: &'static str;
    /// The environment variable that names the device to take where none is asked for: an index, or a part of a name.
    const DEVICE_VARIABLE: &'static str;
    /// The kernels, in the library's language.
    const FILES: &'static [File];
    /// The warps that share a work-group in kernels that give a row to a warp.
    const WARPS_PER_GROUP: usize;
    /// Memory of the device.
    type Memory: Debug + Send + Sync;
    /// A compiled file.
    type Program: Debug + Send + Sync;
    /// A kernel of a program.
    type Kernel: Debug + Send + Sync;

    /// The devices that are there, or why there are none.
    ///
    /// # Errors
    /// The reason why there are none.
    fn devices() -> Result<Vec<Caps>, String>;

    /// Opens device number `index` of [`devices`](Self::devices).
    ///
    /// # Errors
    /// What the library reports.
    fn open(index: usize) -> Result<Self>;

    /// What is known of the device.
    fn properties(&self) -> &Properties;

    /// What the device is and what it can do.
    fn caps(&self) -> &Caps {
        &self.properties().caps
    }

    /// Memory of at least so many bytes, rounded up to whole words of 16 bytes, that holds anything.
    ///
    /// # Errors
    /// [`OutOfMemory`](sparse_core::Error::OutOfMemory), or what the library reports.
    fn allocate(&self, bytes: usize) -> Result<Self::Memory>;

    /// Writes to memory from byte `offset` on; `host` is free again when the call is back.
    ///
    /// # Errors
    /// What the library reports.
    fn write(&self, memory: &Self::Memory, offset: usize, host: &[u8]) -> Result<()>;

    /// Reads memory from byte `offset` on, after all work before it.
    ///
    /// # Errors
    /// What the library reports, errors of earlier work included.
    fn read(&self, memory: &Self::Memory, offset: usize, host: &mut [u8]) -> Result<()>;

    /// Copies `bytes` from one place, a memory and a byte, to another.
    ///
    /// # Errors
    /// What the library reports.
    fn copy(&self, from: (&Self::Memory, usize), to: (&Self::Memory, usize), bytes: usize) -> Result<()>;

    /// Lets the device begin with the work that is enqueued.
    ///
    /// # Errors
    /// What the library reports.
    fn flush(&self) -> Result<()>;

    /// Waits for all work.
    ///
    /// # Errors
    /// What the library reports, errors of earlier work included.
    fn synchronize(&self) -> Result<()>;

    /// Compiles a file.
    ///
    /// # Errors
    /// [`Backend`](sparse_core::Error::Backend) with the file, the options and the compiler's whole log.
    fn build(&self, file: &File, defines: &Defines) -> Result<Self::Program>;

    /// The kernel of this name.
    ///
    /// # Errors
    /// What the library reports if there is none.
    fn kernel(&self, program: &Self::Program, entry: &str) -> Result<Self::Kernel>;

    /// Enqueues `kernel`; without groups nothing happens.
    ///
    /// # Errors
    /// [`Unsupported`](sparse_core::Error::Unsupported) for a wrong number of arguments, or what the library reports.
    fn launch(&self, kernel: &Self::Kernel, grid: Grid, args: &[Arg<'_, Self::Memory>]) -> Result<()>;
}

/// The work-items of a launch.
#[derive(Debug, Clone, Copy)]
pub struct Grid {
    /// The number of work-groups.
    pub groups: usize,
    /// The work-items of each.
    pub local: usize,
    /// The bytes that each shares beyond what its kernel names, at most [`Properties::shared_bytes`].
    pub shared: usize,
    /// Whether it may begin, where that gains, before the last launch has ended: the kernel waits for that one itself
    /// before it touches memory that others write or read.
    pub early: bool,
}

/// An argument of a kernel.
#[derive(Debug)]
pub enum Arg<'a, M> {
    /// Memory, from its first byte on.
    Memory(&'a M),
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

    /// Its bytes, which are aligned for any number.
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

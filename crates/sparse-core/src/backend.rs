//! Who computes: a backend is one context and one in-order queue.

use crate::error::Result;
use crate::space::{ContextId, Element, Space};
use std::fmt::Debug;

/// The space of a backend. Write this, not `B::Space`, in the bounds of supertraits.
pub type SpaceOf<B> = <B as Backend>::Space;
/// A buffer of a backend.
pub type Buf<B, T> = <SpaceOf<B> as Space>::Buffer<T>;
/// A shared view of memory of a backend.
pub type ViewOf<'a, B, T> = <SpaceOf<B> as Space>::View<'a, T>;
/// An exclusive view of memory of a backend.
pub type ViewMutOf<'a, B, T> = <SpaceOf<B> as Space>::ViewMut<'a, T>;

/// What a device is and what it can do.
#[derive(Debug, Clone, PartialEq)]
pub struct Caps {
    /// The backend: `cpu`, `opencl`, `cuda`, …
    pub backend: &'static str,
    /// The device's own name.
    pub device: String,
    /// Processors that work at the same time: threads of the CPU, multiprocessors of a GPU.
    pub compute_units: usize,
    /// Bytes of memory, if known.
    pub memory_bytes: Option<u64>,
    /// Whether the device computes in double precision.
    pub f64: bool,
    /// Whether subnormal results are flushed to zero.
    pub flushes_subnormals: bool,
    /// Instruction sets and extensions that kernels were chosen by.
    pub features: Vec<String>,
}

/// A context and an in-order queue of one device.
///
/// Operations are traits of their own (`SpmvKernel` and its kin); a backend implements those that it has.
pub trait Backend: Clone + Debug + Send + Sync + 'static {
    /// Where this backend's bytes live.
    type Space: Space;

    /// What the device is and what it can do.
    fn caps(&self) -> &Caps;

    /// The context that this backend's buffers belong to.
    fn context(&self) -> ContextId;

    /// Copies host memory into a new buffer. Length 0 is legal.
    ///
    /// # Errors
    /// [`OutOfMemory`](crate::Error::OutOfMemory), or what the device's runtime reports.
    fn upload<T: Element>(&self, host: &[T]) -> Result<Buf<Self, T>>;

    /// Copies a view to the host. The lengths are equal; callers check.
    ///
    /// # Errors
    /// What the device's runtime reports.
    fn download_into<T: Element>(&self, device: ViewOf<'_, Self, T>, host: &mut [T]) -> Result<()>;

    /// A new buffer of `len` zeros.
    ///
    /// # Errors
    /// [`OutOfMemory`](crate::Error::OutOfMemory), or what the device's runtime reports.
    fn zeros<T: Element>(&self, len: usize) -> Result<Buf<Self, T>> {
        self.upload(&vec![T::default(); len])
    }

    /// Copies a whole buffer into a new vector.
    ///
    /// # Errors
    /// What the device's runtime reports.
    fn download<T: Element>(&self, device: &Buf<Self, T>) -> Result<Vec<T>> {
        let view = Self::Space::view(device);
        let mut host = vec![T::default(); crate::space::View::len(&view)];
        self.download_into(view, &mut host)?;
        Ok(host)
    }

    /// Copies one view onto another of the same length; callers check the lengths.
    ///
    /// # Errors
    /// What the device's runtime reports.
    fn copy<T: Element>(&self, from: ViewOf<'_, Self, T>, to: ViewMutOf<'_, Self, T>) -> Result<()>;

    /// Waits until everything that was asked of the queue is done.
    ///
    /// # Errors
    /// What the device's runtime reports, errors of earlier work included.
    fn synchronize(&self) -> Result<()>;
}

/// The devices that a backend found, or why it found none (rule P1).
#[derive(Debug, Clone, PartialEq)]
pub struct Probe {
    /// What was found; the position is the device's index.
    pub devices: Vec<Caps>,
    /// Why the list is empty.
    pub reason: Option<String>,
}

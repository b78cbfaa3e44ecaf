//! Backends: a backend is one context and one in-order queue of a device.

use crate::checks::{check_context, check_size};
use crate::error::{Error, Result};
use crate::huge_pages::advise_huge_pages;
use crate::space::{ContextId, Element, Space, View as _, ViewMut as _};
use bytemuck::allocation::try_zeroed_vec;
use std::any::Any;
use std::fmt::Debug;
use std::ops::DerefMut;
use std::process;
use std::sync::OnceLock;

/// Bytes from which on a download goes to huge pages.
const HUGE: usize = 4 << 20;

/// The space of a backend. Write this, not `B::Space`, in the bounds of supertraits.
pub type SpaceOf<B> = <B as Backend>::Space;
/// A buffer of a backend.
pub type Buf<B, T> = <SpaceOf<B> as Space>::Buffer<T>;
/// A shared view of memory of a backend.
pub type ViewOf<'a, B, T> = <SpaceOf<B> as Space>::View<'a, T>;
/// An exclusive view of memory of a backend.
pub type ViewMutOf<'a, B, T> = <SpaceOf<B> as Space>::ViewMut<'a, T>;
/// Work that a backend has [recorded](Backend::record).
pub trait Recording: Any + Debug + Send {
    /// Enqueues all of it again.
    ///
    /// # Errors
    /// [`Unsupported`](crate::Error::Unsupported) after [`release`](Self::release); an error of the device's runtime.
    fn enqueue(&mut self) -> Result<()>;

    /// Drops the references to memory. Only [`Backend::record_again`] can use the recording after that.
    fn release(&mut self);
}

/// Elements in the host's memory, which a backend has allocated for [uploads](Backend::upload).
pub type HostBuffer<T> = Box<dyn DerefMut<Target = [T]> + Send + Sync>;

/// Identity and abilities of a device.
#[derive(Debug, Clone, PartialEq)]
pub struct Caps {
    /// The backend: `cpu`, `opencl`, `cuda`, …
    pub backend: &'static str,
    /// The device's own name.
    pub device: String,
    /// Processors that work at the same time: threads of the CPU, multiprocessors of a GPU.
    pub compute_units: usize,
    /// True if the device is a processor of the host.
    pub is_cpu: bool,
    /// Bytes of memory, if known: of a device all that it has, of the host those that were free when the
    /// process first asked, or the limit of its control group.
    pub memory_bytes: Option<u64>,
    /// True if the device computes in double precision.
    pub f64: bool,
    /// True if subnormal results are flushed to zero.
    pub flushes_subnormals: bool,
    /// Instruction sets and extensions that select kernels.
    pub features: Vec<String>,
}

/// A context and an in-order queue of one device.
///
/// Each operation is a trait of its own, such as `SpmvKernel`; a backend implements those that it supports.
///
/// ```compile_fail
/// use sparse_core::{Backend, Caps, ContextId, Element, Host, Result, reference::Reference};
///
/// #[derive(Debug, Clone)]
/// struct Forgets;
///
/// impl Backend for Forgets {
///     type Space = Host;
///     fn caps(&self) -> &Caps { Reference.caps() }
///     fn context(&self) -> ContextId { ContextId::HOST }
///     fn upload<T: Element>(&self, _: &[T]) -> Result<Vec<T>> { Ok(vec![]) }
///     fn download_into<T: Element>(&self, _: &[T], _: &mut [T]) -> Result<()> { Ok(()) }
///     fn copy<T: Element>(&self, _: &[T], _: &mut [T]) -> Result<()> { Ok(()) }
///     fn synchronize(&self) -> Result<()> { Ok(()) }
/// }
/// ```
///
/// # Safety
/// Kernels rely on matrices that were checked before they were copied through a backend. So a new buffer has exactly
/// the requested elements and lives in [`context`](Self::context), a download returns the elements of the view, and two
/// backends have the same context only if each can use the other's buffers.
///
/// An implementation without `unsafe` does not compile:
pub unsafe trait Backend: Clone + Debug + Send + Sync + 'static {
    /// The space of this backend's buffers.
    type Space: Space;

    /// Identity and abilities of the device.
    fn caps(&self) -> &Caps;

    /// The context that this backend's buffers belong to.
    fn context(&self) -> ContextId;

    /// Copies host memory into a new buffer. Length 0 is legal.
    ///
    /// # Errors
    /// [`OutOfMemory`](crate::Error::OutOfMemory), or an error of the device's runtime.
    fn upload<T: Element>(&self, host: &[T]) -> Result<Buf<Self, T>>;

    /// Allocates `len` zeros in the host's memory from which [`upload`](Self::upload) is fastest: pinned memory for a
    /// device with DMA, by default a vector. Pinning memory takes longer than filling it, so a device may cache dropped
    /// buffers for the next call.
    ///
    /// ```
    /// use sparse_core::{Backend, reference::Reference};
    ///
    /// let mut elements = Reference.host_buffer::<f32>(3)?;
    /// elements[1] = 2.0;
    /// assert_eq!(Reference.upload(&elements)?, [0.0, 2.0, 0.0]);
    /// # Ok::<(), sparse_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`OutOfMemory`](crate::Error::OutOfMemory) if the host has none.
    fn host_buffer<T: Element>(&self, len: usize) -> Result<HostBuffer<T>> {
        Ok(Box::new(zeroed_vec(len)?))
    }

    /// True, as by default, if [`upload`](Self::upload) is as fast from `host` as from a
    /// [`host_buffer`](Self::host_buffer).
    fn uploads_directly<T: Element>(&self, _host: &[T]) -> bool {
        true
    }

    /// Copies a view to the host.
    ///
    /// # Errors
    /// [`Shape`](crate::Error::Shape) if the lengths differ, [`WrongContext`](crate::Error::WrongContext) if the view
    /// is in another context, both before anything is written; an error of the device's runtime.
    fn download_into<T: Element>(&self, device: ViewOf<'_, Self, T>, host: &mut [T]) -> Result<()>;

    /// Copies the view of `state` to the host, and calls `enqueue`, whose work comes after the copy and may write what
    /// was copied. A backend that [overlaps downloads](Self::overlaps_downloads) calls it before it waits for the copy,
    /// so that the device goes on meanwhile; by default the copy ends first.
    ///
    /// ```
    /// use sparse_core::{Backend, reference::Reference};
    ///
    /// let (mut x, mut before) = (vec![1.0], [0.0]);
    /// let enqueue = &mut |x: &mut Vec<f64>| Reference.copy(&vec![2.0], x);
    /// Reference.download_overlapped(&mut x, |x| x, &mut before, enqueue)?;
    /// assert_eq!((before, x), ([1.0], vec![2.0]));
    /// # Ok::<(), sparse_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// As for [`download_into`](Self::download_into), and those of `enqueue`.
    fn download_overlapped<T: Element, S>(
        &self,
        state: &mut S,
        view: fn(&S) -> ViewOf<'_, Self, T>,
        host: &mut [T],
        enqueue: &mut dyn FnMut(&mut S) -> Result<()>,
    ) -> Result<()> {
        self.download_into(view(state), host)?;
        enqueue(state)
    }

    /// True if [`download_overlapped`](Self::download_overlapped) waits after it has called `enqueue`. Default: false.
    fn overlaps_downloads(&self) -> bool {
        false
    }

    /// Records what `work` enqueues, without running it, so that it can be enqueued again at less cost. `None`, the
    /// default, if the backend cannot record, or if `work` waits for the device or allocates its memory, which cannot
    /// be recorded.
    ///
    /// ```
    /// use sparse_core::{Backend, reference::Reference};
    ///
    /// assert!(Reference.record(&mut || unreachable!()).unwrap().is_none());
    /// ```
    ///
    /// # Errors
    /// Those of `work`, or an error of the device's runtime.
    fn record(&self, work: &mut dyn FnMut() -> Result<()>) -> Result<Option<Box<dyn Recording>>> {
        let _ = work;
        Ok(None)
    }

    /// [Records](Self::record) `work`, which may be called twice, or returns `last` if it is a recording of the same
    /// work, whatever the memory has now: to compare takes less time than to record. By default it records.
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

    /// A new buffer of `len` zeros.
    ///
    /// # Errors
    /// [`OutOfMemory`](crate::Error::OutOfMemory), or an error of the device's runtime.
    fn zeros<T: Element>(&self, len: usize) -> Result<Buf<Self, T>> {
        self.upload(&zeroed_vec(len)?)
    }

    /// Copies a whole buffer into a new vector.
    ///
    /// # Errors
    /// As for [`download_into`](Self::download_into).
    fn download<T: Element>(&self, device: &Buf<Self, T>) -> Result<Vec<T>> {
        let view = Self::Space::view(device);
        let mut host = zeroed_vec(view.len())?;
        advise_huge_pages(&host, HUGE);
        self.download_into(view, &mut host)?;
        Ok(host)
    }

    /// Copies one view onto another.
    ///
    /// # Errors
    /// [`Shape`](crate::Error::Shape) if the lengths differ, [`WrongContext`](crate::Error::WrongContext) if a view is
    /// in another context, both before anything is written; an error of the device's runtime.
    fn copy<T: Element>(&self, from: ViewOf<'_, Self, T>, to: ViewMutOf<'_, Self, T>) -> Result<()>;

    /// Waits until all work in the queue is done.
    ///
    /// # Errors
    /// An error of the device's runtime, errors of earlier work included.
    fn synchronize(&self) -> Result<()>;

    /// The backend for callers that run several threads themselves: on the host, one that computes in the calling
    /// thread. Default: the same backend.
    fn single_threaded(&self) -> Self {
        self.clone()
    }
}

/// A vector of `len` zeros (`calloc`): the system zeroes each page of a large one when a thread first touches it.
///
/// # Errors
/// [`OutOfMemory`](crate::Error::OutOfMemory).
pub fn zeroed_vec<T: Element>(len: usize) -> Result<Vec<T>> {
    try_zeroed_vec(len).map_err(|()| Error::out_of_memory::<T>(len))
}

/// An empty vector with memory for `len` elements.
///
/// # Errors
/// [`OutOfMemory`](crate::Error::OutOfMemory).
pub fn vec_with_capacity<T>(len: usize) -> Result<Vec<T>> {
    let mut elements = vec![];
    elements.try_reserve_exact(len).map_err(|_| Error::out_of_memory::<T>(len))?;
    Ok(elements)
}

/// True in a process that was forked after its parent had called this function.
///
/// Such a process has none of the threads of its parent. Code that uses a process-wide thread pool, such as rayon's,
/// calls this before each use, and computes in the calling thread if it is true: waiting for the lost threads would
/// never end.
///
/// ```
/// assert!(!sparse_core::backend::is_forked());
/// ```
pub fn is_forked() -> bool {
    static FIRST: OnceLock<u32> = OnceLock::new();
    *FIRST.get_or_init(process::id) != process::id()
}

/// Checks a copy from a view to the host, as [`Backend::download_into`] says.
///
/// # Errors
/// As for [`Backend::download_into`].
pub fn check_download<B: Backend, T: Element>(
    backend: &B,
    from: &ViewOf<'_, B, T>,
    host: &[T],
) -> Result<()> {
    check_context("download", "the view", backend.context(), from.context())?;
    check_size("download", "the length of the host's slice", from.len(), host.len())
}

/// Checks a copy from one view to another, as [`Backend::copy`] says.
///
/// # Errors
/// As for [`Backend::copy`].
pub fn check_copy<B: Backend, T: Element>(
    backend: &B,
    from: &ViewOf<'_, B, T>,
    to: &ViewMutOf<'_, B, T>,
) -> Result<()> {
    check_context("copy", "the source", backend.context(), from.context())?;
    check_context("copy", "the target", backend.context(), to.context())?;
    check_size("copy", "the length of the target", from.len(), to.len())
}

/// The devices that a backend found, or why it found none.
#[derive(Debug, Clone, PartialEq)]
pub struct Probe {
    /// The devices; the position is the device's index.
    pub devices: Vec<Caps>,
    /// The reason for an empty list.
    pub reason: Option<String>,
}

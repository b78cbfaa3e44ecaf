//! A device as a backend.

use crate::buffer::{Buffer, RawBuffer, View};
use crate::defines::Defines;
use crate::driver::{Driver, Memory, Properties};
use crate::index_type::IndexType;
use crate::lanes::LANES;
use crate::program::Programs;
use crate::thresholds::Thresholds;
use kernels_core::File;
use sparse_core::backend::{
    Buf, HostBuffer, Recording, ViewMutOf, ViewOf, check_copy, check_download, zeroed_vec,
};
use sparse_core::op::AllTypes;
use sparse_core::space::View as _;
use sparse_core::{Backend, Caps, ContextId, Element, Error, Index, Result, error::checked_product};
use std::any::Any;
use std::fmt::{self, Debug, Formatter};
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};
use std::process;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock, Weak};

/// The largest work-group that kernels use.
const LARGEST_BLOCK: usize = 256;

/// Numbers converted to indices per write to the device: few enough for the host's L2 cache.
const CONVERTED_AT_ONCE: usize = 1 << 15;

/// The reciprocal of the part of the device's memory that is the initial scratch limit.
const SCRATCH_PART: u64 = 16;

/// A device: a context and an in-order queue. Clones share both.
#[derive(Debug)]
pub struct Device {
    pub(crate) inner: Arc<Inner>,
}

pub(crate) struct Inner {
    // Fields are dropped in this order: programs before their context.
    pub(crate) programs: Programs,
    driver: Box<dyn Driver>,
    pub(crate) block: usize,
    /// Bytes of scratch memory that an operation may take to be faster.
    scratch_limit: AtomicU64,
    thresholds: RwLock<Thresholds>,
    context: ContextId,
    /// The process that has opened the device.
    process: u32,
}

/// Omits the kernels' sources, which are megabytes.
impl Debug for Inner {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let caps = &self.driver.properties().caps;
        f.debug_struct("Inner").field("caps", caps).field("block", &self.block).finish_non_exhaustive()
    }
}

impl Clone for Device {
    fn clone(&self) -> Self {
        Self { inner: self.inner.clone() }
    }
}

/// A reference to a device that does not keep it open, made by [`Device::downgrade`].
#[derive(Debug)]
pub struct WeakDevice(Weak<Inner>);

impl WeakDevice {
    /// The device, if it is still open.
    pub fn upgrade(&self) -> Option<Device> {
        self.0.upgrade().map(|inner| Device { inner })
    }
}

impl Device {
    /// A device over an open driver.
    ///
    /// # Errors
    /// [`Error::Unsupported`] if its work-groups are too small for the kernels.
    pub fn from_driver(driver: Box<dyn Driver>) -> Result<Self> {
        let Properties { ref caps, largest_group, .. } = *driver.properties();
        if largest_group < LANES {
            let what = format!("{} device {}", caps.backend, caps.device);
            let reason =
                format!("its work-groups have at most {largest_group} work-items, {LANES} are needed");
            return Err(Error::unsupported(what, reason));
        }
        let scratch_limit = caps.memory_bytes.map_or(u64::MAX, |bytes| bytes / SCRATCH_PART);
        let inner = Inner {
            programs: Programs::default(),
            scratch_limit: AtomicU64::new(scratch_limit),
            thresholds: RwLock::new(Thresholds::stored(caps).unwrap_or(Thresholds::H100)),
            driver,
            block: LARGEST_BLOCK.min(1 << largest_group.ilog2()),
            context: ContextId::unique(),
            process: process::id(),
        };
        Ok(Self { inner: Arc::new(inner) })
    }

    /// A reference that does not keep the device open.
    pub fn downgrade(&self) -> WeakDevice {
        WeakDevice(Arc::downgrade(&self.inner))
    }

    /// Bytes of scratch memory that an operation may take to be faster: at first a sixteenth of the device's memory.
    pub fn scratch_limit(&self) -> u64 {
        self.inner.scratch_limit.load(Ordering::Relaxed)
    }

    /// Sets [`scratch_limit`](Self::scratch_limit), for this device and its clones. A sparse product whose columns do
    /// not fit this memory takes two passes: it counts entries, then writes them.
    pub fn set_scratch_limit(&self, bytes: u64) {
        self.inner.scratch_limit.store(bytes, Ordering::Relaxed);
    }

    /// The thresholds of the choice of algorithms: initially those [stored](Thresholds::store) for this device.
    pub fn thresholds(&self) -> Thresholds {
        *self.inner.thresholds.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sets [`thresholds`](Self::thresholds), for later plans of this device and its clones.
    pub fn set_thresholds(&self, thresholds: Thresholds) {
        *self.inner.thresholds.write().unwrap_or_else(PoisonError::into_inner) = thresholds;
    }

    /// The driver, for kernels outside the operations of this crate. Methods that could invalidate a matrix are unsafe.
    pub fn driver(&self) -> &dyn Driver {
        self.inner.driver.as_ref()
    }

    /// The driver, for work of the library. In a forked process, libraries lack the threads that they had started, and
    /// would wait for them forever.
    ///
    /// # Errors
    /// [`Error::Unsupported`] in another process than that which has opened the device.
    pub(crate) fn usable_driver(&self) -> Result<&dyn Driver> {
        if self.inner.process == process::id() {
            return Ok(self.driver());
        }
        let what = format!("{} in a forked process", self.caps().backend);
        Err(Error::unsupported(
            what,
            "the device was opened before the fork: a new process (spawn) can open it",
        ))
    }

    /// The driver as its own type, for its abilities beyond operations.
    ///
    /// # Errors
    /// [`Error::Unsupported`] if the device has another driver, or was opened before the process was forked.
    pub fn driver_as<D: Driver>(&self) -> Result<&D> {
        let driver: &dyn Any = self.usable_driver()?;
        let reason = || format!("it is a device of {}", self.caps().backend);
        driver.downcast_ref().ok_or_else(|| Error::unsupported("this device", reason()))
    }

    /// Properties of the device.
    pub(crate) fn properties(&self) -> &Properties {
        self.driver().properties()
    }

    /// True if a warp is a work-group in the kernels that give a row to one.
    pub(crate) fn has_single_warps(&self) -> bool {
        self.properties().warps_per_group == 1
    }

    /// True if the lanes of a warp exchange values behind barriers in all kernels, and not by shuffles in some.
    pub(crate) fn has_barriers(&self) -> bool {
        self.properties().exchanging_warps_per_group == 1
    }

    /// Compiles a file of kernels, as a check; `defines` are all of its macros.
    ///
    /// # Errors
    /// [`Error::Backend`] with the file, the options and the compiler's whole log.
    pub fn compile(&self, file: &File, defines: &[(&'static str, &str)]) -> Result<()> {
        let all = Defines::default();
        let all = defines.iter().fold(all, |all, &(name, value)| all.set(name, value));
        self.usable_driver()?.build(file, &all).map(drop)
    }

    /// True if the driver has the kernels of a file (named without its extension) and the device meets their needs.
    pub(crate) fn has(&self, stem: &str) -> bool {
        self.lacks(stem).is_none()
    }

    /// The reason why the kernels of a file are unavailable, if they are.
    pub(crate) fn lacks(&self, stem: &str) -> Option<String> {
        let Properties { caps, files, .. } = self.properties();
        let Some(file) = files.iter().find(|file| file.stem() == stem) else {
            return Some(format!("{} has no kernels of {stem}", caps.backend));
        };
        let lacks = file.lacks(&caps.features);
        (!lacks.is_empty()).then(|| format!("{} lacks {} for {}", caps.device, lacks.join(", "), file.name))
    }

    /// A buffer of `len` elements over foreign memory that the driver has wrapped.
    ///
    /// # Safety
    /// The memory is of this device's context and has `len` initialized elements; it can be read up to the next
    /// multiple of 16 bytes.
    pub unsafe fn adopt<T: Element>(&self, memory: Memory, len: usize) -> Buffer<T> {
        RawBuffer { memory, len, element_bytes: size_of::<T>(), context: self.inner.context }.of()
    }

    /// A buffer with arbitrary contents: the caller writes all of it before it is read.
    pub(crate) fn allocate<T: Element>(&self, len: usize) -> Result<Buffer<T>> {
        Ok(self.allocate_raw(len, size_of::<T>())?.of())
    }

    /// A buffer of `len` elements of `element_bytes` bytes, with arbitrary contents.
    pub(crate) fn allocate_raw(&self, len: usize, element_bytes: usize) -> Result<RawBuffer> {
        let bytes = checked_product("length x size of an element", len, element_bytes)?;
        let memory = self.usable_driver()?.allocate(bytes)?;
        Ok(RawBuffer { memory, len, element_bytes, context: self.inner.context })
    }

    /// A buffer of `len` elements of `element_bytes` bytes, with the bytes of `host`.
    fn upload_raw(&self, len: usize, element_bytes: usize, host: &[u8]) -> Result<RawBuffer> {
        let memory = self.usable_driver()?.upload(host)?;
        Ok(RawBuffer { memory, len, element_bytes, context: self.inner.context })
    }

    /// A buffer of these numbers as indices; `what` names one that does not fit.
    pub(crate) fn upload_indices(
        &self,
        what: &str,
        numbers: &[usize],
        index: IndexType,
    ) -> Result<RawBuffer> {
        let buffer = self.allocate_raw(numbers.len(), index.bytes())?;
        match index {
            IndexType::I32 => self.write_indices::<i32>(what, numbers, &buffer)?,
            IndexType::I64 => self.write_indices::<i64>(what, numbers, &buffer)?,
        }
        Ok(buffer)
    }

    /// Writes numbers as indices to a new buffer, part by part: the device copies one while the host converts the next.
    fn write_indices<I: Index>(&self, what: &str, numbers: &[usize], buffer: &RawBuffer) -> Result<()> {
        let mut indices = Vec::with_capacity(numbers.len().min(CONVERTED_AT_ONCE));
        for (number, part) in numbers.chunks(CONVERTED_AT_ONCE).enumerate() {
            indices.clear();
            extend_indices::<I>(what, part, &mut indices)?;
            let offset = number * CONVERTED_AT_ONCE * size_of::<I>();
            // SAFETY: the buffer is new, so that it is no part of a matrix.
            unsafe { self.usable_driver()?.write(&buffer.memory, offset, bytemuck::cast_slice(&indices)) }?;
        }
        Ok(())
    }

    /// A buffer of zeros.
    pub(crate) fn zeros_raw(&self, len: usize, element_bytes: usize) -> Result<RawBuffer> {
        let buffer = self.allocate_raw(len, element_bytes)?;
        self.clear(&buffer)?;
        Ok(buffer)
    }

    /// The number in a buffer of one element; the device meanwhile begins the work that `enqueue` launches.
    pub(crate) fn download_before<T: Element>(
        &self,
        number: View<'_, T>,
        enqueue: &mut dyn FnMut() -> Result<()>,
    ) -> Result<T> {
        assert_eq!(number.len(), 1, "a view of one number");
        let mut host = T::default();
        let bytes = bytemuck::bytes_of_mut(&mut host);
        self.usable_driver()?.read_before(number.memory, number.offset(), bytes, enqueue)?;
        Ok(host)
    }

    /// A new buffer: the first `len` elements of each part, one part after the other.
    pub(crate) fn joined(&self, parts: &[(&RawBuffer, usize)]) -> Result<RawBuffer> {
        let element_bytes = parts.first().map_or(1, |(part, _)| part.element_bytes);
        let all = self.allocate_raw(parts.iter().map(|&(_, len)| len).sum(), element_bytes)?;
        let mut at = 0;
        for &(part, len) in parts {
            assert!(len <= part.len && part.element_bytes == element_bytes, "{len} elements of {part:?}");
            let bytes = len * element_bytes;
            // SAFETY: the target is new, so that it is no part of a matrix and does not overlap the source.
            unsafe { self.usable_driver()?.copy((&part.memory, 0), (&all.memory, at), bytes) }?;
            at += bytes;
        }
        Ok(all)
    }
}

/// Appends numbers as indices. The largest index has all bits set, so the bitwise or of all numbers tells whether they
/// fit.
fn extend_indices<I: Index>(what: &str, numbers: &[usize], indices: &mut Vec<I>) -> Result<()> {
    let bits = numbers.iter().fold(0, |bits, &number| bits | number);
    if I::try_new(what, bits).is_err() {
        numbers.iter().try_for_each(|&number| I::try_new(what, number).map(drop))?;
    }
    indices.extend(numbers.iter().map(|&number| I::cast(number)));
    Ok(())
}

const _: () = {
    const fn has_all_operations<B: AllTypes>() {}
    has_all_operations::<Device>();
};

// SAFETY: a driver, whose trait is unsafe, stores what was written to its memory, and every device has a context of its
// own.
unsafe impl Backend for Device {
    type Space = Self;

    fn caps(&self) -> &Caps {
        &self.properties().caps
    }

    fn context(&self) -> ContextId {
        self.inner.context
    }

    fn upload<T: Element>(&self, host: &[T]) -> Result<Buf<Self, T>> {
        Ok(self.upload_raw(host.len(), size_of::<T>(), bytemuck::cast_slice(host))?.of())
    }

    fn host_buffer<T: Element>(&self, len: usize) -> Result<HostBuffer<T>> {
        let bytes = checked_product("elements x bytes", len, size_of::<T>())?;
        match self.driver().pinned(bytes) {
            Some(bytes) => Ok(Box::new(PinnedElements { bytes, element: PhantomData })),
            None => Ok(Box::new(zeroed_vec(len)?)),
        }
    }

    fn uploads_directly<T: Element>(&self, host: &[T]) -> bool {
        self.driver().uploads_directly(bytemuck::cast_slice(host))
    }

    fn download_into<T: Element>(&self, device: ViewOf<'_, Self, T>, host: &mut [T]) -> Result<()> {
        check_download(self, &device, host)?;
        self.usable_driver()?.read(device.memory, device.offset(), bytemuck::cast_slice_mut(host))
    }

    fn download_overlapped<T: Element, S>(
        &self,
        state: &mut S,
        view: fn(&S) -> ViewOf<'_, Self, T>,
        host: &mut [T],
        enqueue: &mut dyn FnMut(&mut S) -> Result<()>,
    ) -> Result<()> {
        let (memory, offset) = {
            let view = view(state);
            check_download(self, &view, host)?;
            (view.memory.share(), view.offset())
        };
        let bytes = bytemuck::cast_slice_mut(host);
        self.usable_driver()?.read_before(&memory, offset, bytes, &mut || enqueue(state))
    }

    fn overlaps_downloads(&self) -> bool {
        self.inner.driver.overlaps_reads()
    }

    fn record(&self, work: &mut dyn FnMut() -> Result<()>) -> Result<Option<Box<dyn Recording>>> {
        self.usable_driver()?.record(work)
    }

    fn record_again(
        &self,
        last: Box<dyn Recording>,
        work: &mut dyn FnMut() -> Result<()>,
    ) -> Result<Option<Box<dyn Recording>>> {
        self.usable_driver()?.record_again(last, work)
    }

    fn zeros<T: Element>(&self, len: usize) -> Result<Buf<Self, T>> {
        Ok(self.zeros_raw(len, size_of::<T>())?.of())
    }

    fn copy<T: Element>(&self, from: ViewOf<'_, Self, T>, to: ViewMutOf<'_, Self, T>) -> Result<()> {
        check_copy(self, &from, &to)?;
        let bytes = from.len() * size_of::<T>();
        // SAFETY: the target is borrowed exclusively, so that it belongs to no matrix's pattern and to no other view;
        // it has elements of this type.
        unsafe { self.usable_driver()?.copy((from.memory, from.offset()), (to.memory, to.offset()), bytes) }
    }

    fn synchronize(&self) -> Result<()> {
        self.usable_driver()?.synchronize()
    }
}

/// Pinned bytes of a driver as elements.
struct PinnedElements<T> {
    bytes: HostBuffer<u8>,
    element: PhantomData<T>,
}

impl<T: Element> Deref for PinnedElements<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        bytemuck::cast_slice(&self.bytes)
    }
}

impl<T: Element> DerefMut for PinnedElements<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        bytemuck::cast_slice_mut(&mut self.bytes)
    }
}

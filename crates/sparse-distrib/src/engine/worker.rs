//! A device that compresses chunks and holds the results.

use super::ledger::{Lease, Ledger};
pub use super::message::PackedBatch;
use super::parallelism::Parallelism;
use super::source::DeviceMatrices;
use super::staging::Staging;
use sparse_core::backend::{SpaceOf, ViewOf};
use sparse_core::op::{
    CompressedArrays, DenseToCompressedPlan, DenseToCsrKernel, Keep, PackedPattern, UnpackKernel,
};
use sparse_core::reference::Reference;
use sparse_core::space::{Buffer as _, Space};
use sparse_core::{
    Backend, BatchCsr, ContextId, DenseBatchView, Error, Host, Index, IndexOrder, Order, PlanOptions, Result,
    Row, Scalar, SparseFormat,
};
use std::any::Any;
use std::fmt::Debug;
use std::sync::Arc;
use std::time::Duration;

/// A device of the [`Engine`](super::Engine), of any backend.
///
/// [`DeviceWorker`] implements it for every backend that compresses dense matrices.
pub trait Worker<T: Scalar, I: Index, O: Index>: Send {
    /// The device's name in reports.
    fn name(&self) -> &str;

    /// True if the device computes in the host's memory, so that its parts are never moved there.
    fn is_host(&self) -> bool;

    /// Bytes of dense data that the device compresses per second, its link included, if known: what policies that
    /// schedule in advance compare.
    fn rate(&self) -> Option<f64>;

    /// The account of the device's memory. Parts stay in it until they are freed.
    fn ledger(&self) -> &Arc<Ledger>;

    /// Sets the division of the compressions that follow. By default it is left as it is: results have the same bytes.
    fn set_parallelism(&mut self, _parallelism: Parallelism) {}

    /// Compresses the members of a chunk by rows, after it was copied to a device with memory of its own. The result takes
    /// exactly the memory that its entries need.
    ///
    /// # Errors
    /// [`IndexOverflow`](sparse_core::Error::IndexOverflow) if the extents or the entries of a member do not fit their
    /// types, [`OutOfMemory`](sparse_core::Error::OutOfMemory); any other error means that the device has failed.
    fn compress(&mut self, chunk: DenseBatchView<'_, T>, keep: Keep<T>)
    -> Result<Box<dyn Resident<T, I, O>>>;

    /// The context of the device's memory, if the worker compresses what lies there already
    /// ([`compress_in_place`](Self::compress_in_place)). None, as by default, if it does not.
    fn context(&self) -> Option<ContextId> {
        None
    }

    /// Compresses matrices in the device's own memory by rows, as [`compress`](Self::compress) does those of the host. The
    /// result may take more memory than its entries need: [`Resident::reserved_bytes`].
    ///
    /// # Errors
    /// As for [`compress`](Self::compress); [`Unsupported`](sparse_core::Error::Unsupported) unless the worker has a
    /// [context](Self::context).
    fn compress_in_place(
        &mut self,
        _matrices: &DeviceMatrices<'_>,
        _keep: Keep<T>,
    ) -> Result<Box<dyn Resident<T, I, O>>> {
        let reason = "the worker takes matrices of the host alone";
        Err(Error::unsupported(format!("compressing in the memory of {}", self.name()), reason))
    }

    /// Copies a compressed part to the device.
    ///
    /// # Errors
    /// [`OutOfMemory`](sparse_core::Error::OutOfMemory), or an error of the device's runtime.
    fn adopt(&self, part: &BatchCsr<T, Host, I, O>) -> Result<Box<dyn Resident<T, I, O>>>;

    /// True if the device itself [unpacks](Self::unpack) messages by `ed2` and `bitmap`, so that they cross the link as they
    /// are. Not by default: the host decodes them then.
    fn unpacks(&self) -> bool {
        false
    }

    /// Copies a batch from messages to the device, which makes offsets and indices of it.
    ///
    /// # Errors
    /// As for [`adopt`](Self::adopt); [`Unsupported`](sparse_core::Error::Unsupported) unless the worker
    /// [unpacks](Self::unpacks).
    fn unpack(&self, _batch: &PackedBatch<T, I>) -> Result<Box<dyn Resident<T, I, O>>> {
        Err(Error::unsupported(format!("unpacking on {}", self.name()), "the host decodes its messages"))
    }

    /// The memory of the host that chunks are written to before the device [compresses](Self::compress) them; by default
    /// memory like any other.
    fn staging(&self) -> Box<dyn Staging<T>> {
        Box::new(Reference)
    }

    /// Frees memory that only makes the next chunk faster.
    fn trim(&mut self);

    /// Other workers for the same device, with the same account, which work on chunks of their own while this one does.
    /// None, as by default, where they would gain nothing.
    fn further_streams(&self) -> Vec<Box<dyn Worker<T, I, O>>> {
        vec![]
    }
}

/// A worker of any backend.
pub(super) type BoxedWorker<T, I, O> = Box<dyn Worker<T, I, O>>;

/// Bytes of the elements of a portion of a chunk, unless one matrix has more: few enough to stay in a cache. A thread of
/// the host compresses it alone, without handing work over to others.
pub(super) const PORTION_BYTES: u64 = 4 << 20;
/// Bytes of the elements of a portion that is written to a slot for a device behind a link, unless one matrix has more:
/// enough to hide the launches of its compression, few enough for slots that are soon pinned.
pub(super) const STAGED_BYTES: u64 = 16 << 20;
/// Bytes of the elements of the largest matrix that is written to a slot as its device has it allocated. To pin memory
/// takes 0.4 to 0.5 ms a MiB, longer than to copy it once more; what is larger lies in memory like any other.
pub(super) const MOST_PINNED_BYTES: u64 = 64 << 20;

/// Compressed matrices of one shape in the memory of a device, freed when dropped. Matrices that were compressed by
/// columns are held as their transposes.
pub trait Resident<T: Scalar, I: Index, O: Index>: Send + Sync {
    /// The first entry of each member, and nnz.
    fn member_ptr(&self) -> &[usize];

    /// Bytes of the members' arrays.
    fn bytes(&self) -> u64;

    /// Bytes of the device's memory that the arrays take at most; as many as they have, unless some are unused.
    fn reserved_bytes(&self) -> u64 {
        self.bytes()
    }

    /// A copy of all members on the host.
    ///
    /// # Errors
    /// An error of the device's runtime.
    fn to_host(&self) -> Result<BatchCsr<T, Host, I, O>>;

    /// Copies of the offsets, indices and values of member `k` on the host.
    ///
    /// # Errors
    /// An error of the device's runtime.
    fn member(&self, k: usize) -> Result<(Vec<O>, Vec<I>, Vec<T>)>;

    /// The [`BatchCsr`] of the backend that made it, for operations on the device.
    fn as_any(&self) -> &dyn Any;
}

/// A worker over a backend.
///
/// ```
/// use sparse_core::reference::Reference;
/// use sparse_distrib::{DeviceWorker, Worker};
///
/// let worker = DeviceWorker::<_, f64, i32, i32>::new(Reference).named("first").with_budget(1 << 30);
/// assert_eq!((worker.name(), worker.ledger().budget()), ("first", 1 << 30));
/// ```
#[derive(Debug)]
pub struct DeviceWorker<B, T, I, O>
where
    B: DenseToCsrKernel<T, I, O>,
    T: Scalar,
    I: Index,
    O: Index,
{
    backend: B,
    /// The backend with one thread, for portions, several of which are compressed at once.
    single_threaded: B,
    parallelism: Parallelism,
    name: String,
    rate: Option<f64>,
    ledger: Arc<Ledger>,
    plan: Option<CachedPlan<B, T, I, O>>,
    unpack: Option<Unpack<B, T, I, O>>,
}

/// [`UnpackKernel::unpack`] of a backend that has it.
type Unpack<B, T, I, O> = unsafe fn(
    &B,
    (usize, usize),
    Vec<usize>,
    PackedPattern<'_, I>,
    &[T],
) -> Result<CompressedArrays<B, T, I, O>>;

/// The plan of the last chunk, with what it was made for.
#[derive(Debug)]
struct CachedPlan<B, T, I, O>
where
    B: DenseToCsrKernel<T, I, O>,
    T: Scalar,
    I: Index,
    O: Index,
{
    key: PlanKey<T>,
    plan: DenseToCompressedPlan<B, Row, T, I, O>,
    _workspace: Lease,
}

/// Count, shape, order and rule of a chunk: chunks that agree in these have one plan.
type PlanKey<T> = (usize, (usize, usize), Order, Keep<T>);

/// The algorithm of devices by which a task, a warp, has whole matrices, and that of processors driven as devices.
const MATRIX_PER_WARP: &str = "matrix_per_warp";
const MATRIX_PER_THREAD: &str = "matrix_per_thread";

/// The least memory of a device, in bytes, that is left to its driver and to others.
const HEADROOM_BYTES: u64 = 512 << 20;
/// The reciprocal of the least part of a device's memory that is left to others.
const HEADROOM_PART: u64 = 20;
/// The reciprocal of the part of the host's memory that is left to others.
const HOST_HEADROOM_PART: u64 = 8;

impl<B, T, I, O> DeviceWorker<B, T, I, O>
where
    B: DenseToCsrKernel<T, I, O>,
    T: Scalar,
    I: Index,
    O: Index,
{
    /// A worker with the device's own name. Its budget is the device's memory less 5 % and at least 512 MiB, of the host's
    /// memory less an eighth, and as much as is asked for where the backend does not know.
    pub fn new(backend: B) -> Self {
        let caps = backend.caps();
        let name = format!("{}: {}", caps.backend, caps.device);
        let is_host = backend.context() == ContextId::HOST;
        let headroom = |bytes: u64| match is_host {
            true => bytes / HOST_HEADROOM_PART,
            false => HEADROOM_BYTES.max(bytes / HEADROOM_PART),
        };
        let budget = caps.memory_bytes.map_or(u64::MAX, |bytes| bytes.saturating_sub(headroom(bytes)));
        let (single_threaded, ledger) = (backend.single_threaded(), Ledger::new(budget));
        let parallelism = Parallelism::default();
        Self { backend, single_threaded, parallelism, name, rate: None, ledger, plan: None, unpack: None }
    }

    /// The worker by another name.
    #[must_use]
    pub fn named(self, name: impl Into<String>) -> Self {
        Self { name: name.into(), ..self }
    }

    /// The worker with at most `bytes` of the device's memory, which is also what policies by memory compare.
    #[must_use]
    pub fn with_budget(self, bytes: u64) -> Self {
        self.with_ledger(Ledger::new(bytes))
    }

    /// The worker with an account that others share.
    #[must_use]
    pub fn with_ledger(self, ledger: Arc<Ledger>) -> Self {
        Self { ledger, ..self }
    }

    /// The worker with a known rate, in bytes of dense data per second.
    #[must_use]
    pub fn with_rate(self, rate: f64) -> Self {
        Self { rate: Some(rate), ..self }
    }

    /// The worker with a backend that unpacks messages itself.
    #[must_use]
    pub fn unpacking(self) -> Self
    where
        B: UnpackKernel<T, I, O>,
    {
        Self { unpack: Some(B::unpack), ..self }
    }

    /// The plan for chunks like `chunk`, which lies in the device's memory.
    fn plan(
        &mut self,
        chunk: DenseBatchView<'_, T, SpaceOf<B>>,
        keep: Keep<T>,
    ) -> Result<&mut DenseToCompressedPlan<B, Row, T, I, O>> {
        let key = (chunk.count(), chunk.shape(), chunk.order(), keep);
        let cached = self.plan.take().filter(|cached| cached.key == key);
        let cached = match cached {
            Some(cached) => cached,
            None => {
                // A view of what others have allocated goes on behind its last matrix.
                let (rows, cols) = chunk.shape();
                let is_portion = (size_of::<T>() * chunk.count() * rows * cols) as u64 <= PORTION_BYTES;
                let backend = match self.parallelism {
                    Parallelism::Batch if is_portion => &self.single_threaded,
                    Parallelism::InterTask => &self.single_threaded,
                    Parallelism::Batch | Parallelism::IntraTask => &self.backend,
                };
                let plan = DenseToCompressedPlan::new(backend, chunk, keep, &self.plan_options())?;
                let bytes = plan.workspace_bytes() as u64;
                let mut workspace = self.ledger.reserve(bytes, Duration::ZERO)?;
                workspace.settle(bytes);
                CachedPlan { key, plan, _workspace: workspace }
            }
        };
        Ok(&mut self.plan.insert(cached).plan)
    }

    /// The algorithm that the parallelism asks for, where the backend has it.
    fn plan_options(&self) -> PlanOptions {
        let per_task = if self.backend.caps().is_cpu { MATRIX_PER_THREAD } else { MATRIX_PER_WARP };
        let has_it = || self.backend.dense_to_csr_algorithms().iter().any(|known| known.name == per_task);
        match self.parallelism {
            Parallelism::InterTask if has_it() => PlanOptions::forced(per_task),
            _ => PlanOptions::default(),
        }
    }

    /// The entries of a chunk whose elements lie in the device's memory.
    fn run_plan(
        &mut self,
        chunk: &DenseBatchView<'_, T>,
        elements: ViewOf<'_, B, T>,
        keep: Keep<T>,
    ) -> Result<BatchCsr<T, SpaceOf<B>, I, O>> {
        let (count, stride, ld) = (chunk.count(), chunk.stride(), chunk.leading_dimension());
        let dense = DenseBatchView::new(elements, count, stride, chunk.shape(), ld, chunk.order())?;
        self.plan(dense, keep)?.run_batch(dense)
    }

    fn resident(
        &self,
        batch: BatchCsr<T, SpaceOf<B>, I, O>,
        capacity: Capacity,
    ) -> Box<dyn Resident<T, I, O>> {
        Box::new(DeviceBatch { backend: self.backend.clone(), batch, capacity })
    }
}

impl<B, T, I, O> Worker<T, I, O> for DeviceWorker<B, T, I, O>
where
    B: DenseToCsrKernel<T, I, O>,
    T: Scalar,
    I: Index,
    O: Index,
{
    fn name(&self) -> &str {
        &self.name
    }

    fn is_host(&self) -> bool {
        self.backend.context() == ContextId::HOST
    }

    fn rate(&self) -> Option<f64> {
        self.rate
    }

    fn ledger(&self) -> &Arc<Ledger> {
        &self.ledger
    }

    fn set_parallelism(&mut self, parallelism: Parallelism) {
        if self.parallelism != parallelism {
            self.parallelism = parallelism;
            self.plan = None;
        }
    }

    fn compress(
        &mut self,
        chunk: DenseBatchView<'_, T>,
        keep: Keep<T>,
    ) -> Result<Box<dyn Resident<T, I, O>>> {
        let batch = match SpaceOf::<B>::host_view(chunk.data()) {
            // The host reads the elements where they lie, and its vectors are exact.
            Some(elements) => self.run_plan(&chunk, elements, keep)?,
            // A plan of a device guesses the number of entries and leaves some memory unused.
            None => {
                let elements = self.backend.upload(chunk.data())?;
                let batch = self.run_plan(&chunk, SpaceOf::<B>::view(&elements), keep)?;
                drop(elements);
                batch.to_exact(&self.backend)?
            }
        };
        self.backend.synchronize()?;
        Ok(self.resident(batch, Capacity::Exact))
    }

    fn context(&self) -> Option<ContextId> {
        Some(self.backend.context())
    }

    fn compress_in_place(
        &mut self,
        matrices: &DeviceMatrices<'_>,
        keep: Keep<T>,
    ) -> Result<Box<dyn Resident<T, I, O>>> {
        let dense = matrices.view::<SpaceOf<B>, T>()?;
        let batch = self.plan(dense, keep)?.run_batch(dense)?;
        self.backend.synchronize()?;
        // A copy to exact arrays would take longer than the compression where there are many entries.
        let capacity = if self.is_host() { Capacity::Exact } else { Capacity::OfPlan };
        Ok(self.resident(batch, capacity))
    }

    fn adopt(&self, part: &BatchCsr<T, Host, I, O>) -> Result<Box<dyn Resident<T, I, O>>> {
        let batch = part.to_device(&self.backend)?;
        self.backend.synchronize()?;
        Ok(self.resident(batch, Capacity::Exact))
    }

    fn unpacks(&self) -> bool {
        self.unpack.is_some()
    }

    fn unpack(&self, batch: &PackedBatch<T, I>) -> Result<Box<dyn Resident<T, I, O>>> {
        let unpack = self.unpack.ok_or_else(|| {
            Error::unsupported(format!("unpacking on {}", self.name), "the host decodes its messages")
        })?;
        let member_ptr = batch.member_ptr().to_vec();
        for ends in member_ptr.windows(2) {
            O::try_new("nnz", ends[1] - ends[0])?;
        }
        // SAFETY: the messages were checked when the batch was made of them, and the members' sizes here.
        let arrays =
            unsafe { unpack(&self.backend, batch.shape(), member_ptr, batch.pattern(), batch.values()) }?;
        let CompressedArrays { member_ptr, offsets, indices, values } = arrays;
        // SAFETY: the kernel returns the arrays of valid members, sorted and unique.
        let batch = unsafe {
            BatchCsr::new_unchecked(
                batch.shape(),
                member_ptr,
                offsets,
                indices,
                values,
                IndexOrder::CANONICAL,
            )
        };
        self.backend.synchronize()?;
        Ok(self.resident(batch, Capacity::Exact))
    }

    fn staging(&self) -> Box<dyn Staging<T>> {
        Box::new(self.backend.clone())
    }

    fn trim(&mut self) {
        self.plan = None;
    }

    /// On the host one for each thread of the backend, this one included. On a device one more, which copies a chunk
    /// there while the other compresses.
    fn further_streams(&self) -> Vec<Box<dyn Worker<T, I, O>>> {
        let streams = if self.is_host() { self.backend.caps().compute_units } else { 2 };
        let stream = |_| -> Box<dyn Worker<T, I, O>> {
            Box::new(Self {
                backend: self.backend.clone(),
                single_threaded: self.single_threaded.clone(),
                parallelism: self.parallelism,
                name: self.name.clone(),
                rate: self.rate,
                ledger: self.ledger.clone(),
                plan: None,
                unpack: self.unpack,
            })
        };
        (1..streams).map(stream).collect()
    }
}

/// A batch in the memory of a backend.
#[derive(Debug)]
pub(super) struct DeviceBatch<B: Backend, T: Scalar, I: Index, O: Index> {
    pub(super) backend: B,
    pub(super) batch: BatchCsr<T, SpaceOf<B>, I, O>,
    pub(super) capacity: Capacity,
}

/// The capacity of the arrays of entries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Capacity {
    /// As many elements as entries.
    Exact,
    /// As a device plan leaves it: up to 1/8 unused ([`UNUSED_PART`]).
    OfPlan,
}

/// The reciprocal of the largest part of the arrays' capacity that a plan leaves unused.
const UNUSED_PART: u64 = 8;

impl<B: Backend, T: Scalar, I: Index, O: Index> Resident<T, I, O> for DeviceBatch<B, T, I, O> {
    fn member_ptr(&self) -> &[usize] {
        self.batch.member_ptr()
    }

    fn bytes(&self) -> u64 {
        batch_bytes(&self.batch)
    }

    fn reserved_bytes(&self) -> u64 {
        match self.capacity {
            Capacity::Exact => self.bytes(),
            Capacity::OfPlan => {
                let entries = self.batch.nnz() * (size_of::<I>() + size_of::<T>());
                self.bytes() + (entries as u64).div_ceil(UNUSED_PART - 1)
            }
        }
    }

    fn to_host(&self) -> Result<BatchCsr<T, Host, I, O>> {
        self.batch.to_host(&self.backend)
    }

    fn member(&self, k: usize) -> Result<(Vec<O>, Vec<I>, Vec<T>)> {
        let member = self.batch.member(k);
        let (lines, entries) = (member.major + 1, self.batch.member_range(k).len());
        let (mut offsets, mut indices) = (vec![O::default(); lines], vec![I::default(); entries]);
        let mut values = vec![T::ZERO; entries];
        self.backend.download_into(member.offsets, &mut offsets)?;
        self.backend.download_into(member.indices, &mut indices)?;
        self.backend.download_into(member.values, &mut values)?;
        Ok((offsets, indices, values))
    }

    fn as_any(&self) -> &dyn Any {
        &self.batch
    }
}

/// Bytes of the arrays of a batch.
pub(super) fn batch_bytes<T: Scalar, S: Space, I: Index, O: Index>(batch: &BatchCsr<T, S, I, O>) -> u64 {
    let (offsets, entries) = (batch.offsets().len(), batch.nnz());
    (offsets * size_of::<O>() + entries * (size_of::<I>() + size_of::<T>())) as u64
}

/// Bytes that compressing a chunk may take at most of a device's memory, its plan apart: the dense elements, the arrays
/// with `nnz` entries, and on a device the copy of these that has no unused capacity.
pub(super) fn peak_bytes<T: Scalar, I: Index, O: Index>(lines: usize, elements: usize, nnz: usize) -> u64 {
    let entries = (nnz as u64).saturating_mul((size_of::<T>() + size_of::<I>()) as u64);
    let offsets = (lines as u64).saturating_mul(size_of::<O>() as u64);
    let dense = (elements as u64).saturating_mul(size_of::<T>() as u64);
    dense.saturating_add(entries.saturating_add(offsets).saturating_mul(2))
}

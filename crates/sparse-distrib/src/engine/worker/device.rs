//! A worker over a backend.

use super::Worker;
use super::portion::{DEVICE_STREAMS, PORTION_BYTES, UNPACKING_STREAMS};
use super::resident::{Capacity, DeviceBatch, Resident};
use crate::engine::ledger::{Lease, Ledger};
use crate::engine::message::PackedBatch;
use crate::engine::parallelism::Parallelism;
use crate::engine::source::DeviceMatrices;
use crate::engine::staging::Staging;
use sparse_core::backend::{SpaceOf, ViewOf};
use sparse_core::op::{
    CompressedArrays, DenseToCompressedPlan, DenseToCsrKernel, Keep, PackedPattern, UnpackKernel,
};
use sparse_core::space::Space;
use sparse_core::{
    BatchCsr, ContextId, DenseBatchView, Error, Host, Index, IndexOrder, Order, PlanOptions, Result, Row,
    Scalar, SparseFormat,
};
use std::fmt::Debug;
use std::sync::Arc;
use std::time::Duration;

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
    /// The backend with one thread, for portions of a chunk, several of which are compressed at the same time.
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

/// The algorithm that gives each warp whole matrices, and its counterpart for CPUs driven by OpenCL.
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
    /// A worker with the device's own name. Its budget is the device's memory less 5 % and at least 512 MiB, or the
    /// host's memory less an eighth; unlimited where the backend does not know its memory.
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

    /// The plan for chunks like `chunk`, which is in the device's memory.
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
                // A view of a caller's buffer may extend beyond its last matrix.
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

    /// The algorithm for the requested parallelism, if the backend has it.
    fn plan_options(&self) -> PlanOptions {
        let per_task = if self.backend.caps().is_cpu { MATRIX_PER_THREAD } else { MATRIX_PER_WARP };
        let has_it = || self.backend.dense_to_csr_algorithms().iter().any(|known| known.name == per_task);
        match self.parallelism {
            Parallelism::InterTask if has_it() => PlanOptions::forced(per_task),
            _ => PlanOptions::default(),
        }
    }

    /// The entries of a chunk whose elements are in the device's memory.
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
            // The host reads the elements in place, and its vectors have no unused capacity.
            Some(elements) => self.run_plan(&chunk, elements, keep)?,
            // A device plan estimates the number of entries and leaves some capacity unused.
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
        // SAFETY: the kernel, whose trait is unsafe, returns the arrays of valid members, sorted and unique.
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

    /// On the host, one stream for each thread of the backend, this worker included. On a device, one more, which
    /// copies a chunk while this one compresses, or four in all if the device unpacks messages.
    fn further_streams(&self) -> Vec<Box<dyn Worker<T, I, O>>> {
        let streams = match self.unpack {
            _ if self.is_host() => self.backend.caps().compute_units,
            Some(_) => UNPACKING_STREAMS,
            None => DEVICE_STREAMS,
        };
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

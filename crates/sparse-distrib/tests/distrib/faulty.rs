//! A worker that fails on command: the serial reference behind a device's memory.

use sparse_core::backend::{Buf, ViewMutOf, ViewOf};
use sparse_core::op::{CompressedArrays, DenseToCsrKernel, Keep, PackedPattern, UnpackKernel};
use sparse_core::reference::Reference;
use sparse_core::{
    Algorithm, Backend, BatchCsr, Caps, ContextId, DenseBatchView, Element, Error, Host, PlanOptions, Result,
};
use sparse_distrib::{DeviceMatrices, DeviceWorker, Ledger, PackedBatch, Parallelism, Resident, Worker};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

/// The steps of a device's work.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Step {
    Upload,
    Plan,
    Kernel,
    Result,
    Download,
}

pub(crate) const STEPS: [Step; 5] = [Step::Upload, Step::Plan, Step::Kernel, Step::Result, Step::Download];

/// The error of a step.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Fault {
    Broken,
    OutOfMemory,
}

/// The step that fails, in which of its calls, and the calls so far of every step.
#[derive(Debug)]
pub(crate) struct Faults {
    pub(crate) step: Step,
    pub(crate) fault: Fault,
    /// The first call that fails, and the first behind it that does not.
    pub(crate) calls: std::ops::Range<usize>,
    pub(crate) counts: [AtomicUsize; 5],
}

impl Faults {
    pub(crate) fn new(step: Step, fault: Fault, calls: std::ops::Range<usize>) -> Arc<Self> {
        Arc::new(Self { step, fault, calls, counts: Default::default() })
    }

    pub(crate) fn none() -> Arc<Self> {
        Self::new(Step::Upload, Fault::Broken, 0..0)
    }

    pub(crate) fn count(&self, step: Step) -> usize {
        self.counts[step as usize].load(SeqCst)
    }

    fn reach(&self, step: Step) -> Result<()> {
        let call = self.counts[step as usize].fetch_add(1, SeqCst);
        if step != self.step || !self.calls.contains(&call) {
            return Ok(());
        }
        Err(match self.fault {
            Fault::Broken => Error::Backend { backend: "faulty", source: format!("{step:?} failed").into() },
            Fault::OutOfMemory => Error::OutOfMemory { needed: 1, available: None },
        })
    }
}

/// The reference, with faults.
#[derive(Debug, Clone)]
struct Faulty(Arc<Faults>);

// SAFETY: every call is the reference's, or fails.
unsafe impl Backend for Faulty {
    type Space = Host;

    fn caps(&self) -> &Caps {
        Reference.caps()
    }

    fn context(&self) -> ContextId {
        Reference.context()
    }

    fn upload<T: Element>(&self, host: &[T]) -> Result<Buf<Self, T>> {
        self.0.reach(Step::Upload)?;
        Reference.upload(host)
    }

    fn download_into<T: Element>(&self, device: ViewOf<'_, Self, T>, host: &mut [T]) -> Result<()> {
        self.0.reach(Step::Download)?;
        Reference.download_into(device, host)
    }

    fn copy<T: Element>(&self, from: ViewOf<'_, Self, T>, to: ViewMutOf<'_, Self, T>) -> Result<()> {
        Reference.copy(from, to)
    }

    fn synchronize(&self) -> Result<()> {
        self.0.reach(Step::Result)
    }
}

// SAFETY: the reference's arrays.
unsafe impl DenseToCsrKernel<f32, i32, i32> for Faulty {
    type Plan = <Reference as DenseToCsrKernel<f32, i32, i32>>::Plan;

    fn dense_to_csr_algorithms(&self) -> &'static [Algorithm] {
        DenseToCsrKernel::<f32, i32, i32>::dense_to_csr_algorithms(&Reference)
    }

    fn plan_dense_to_csr(
        &self,
        a: &DenseBatchView<'_, f32>,
        keep: Keep<f32>,
        options: &PlanOptions,
    ) -> Result<Self::Plan> {
        self.0.reach(Step::Plan)?;
        DenseToCsrKernel::<f32, i32, i32>::plan_dense_to_csr(&Reference, a, keep, options)
    }

    unsafe fn run_dense_to_csr(
        &self,
        plan: &mut Self::Plan,
        a: DenseBatchView<'_, f32>,
    ) -> Result<CompressedArrays<Self, f32, i32, i32>> {
        self.0.reach(Step::Kernel)?;
        // SAFETY: the caller's promise.
        let arrays: CompressedArrays<Reference, f32, i32, i32> =
            unsafe { Reference.run_dense_to_csr(plan, a) }?;
        let CompressedArrays { member_ptr, offsets, indices, values } = arrays;
        Ok(CompressedArrays { member_ptr, offsets, indices, values })
    }
}

// SAFETY: the indices of the set bits or of the message in their order, and prefix sums of their counts.
unsafe impl UnpackKernel<f32, i32, i32> for Faulty {
    unsafe fn unpack(
        &self,
        (rows, cols): (usize, usize),
        member_ptr: Vec<usize>,
        pattern: PackedPattern<'_, i32>,
        values: &[f32],
    ) -> Result<CompressedArrays<Self, f32, i32, i32>> {
        self.0.reach(Step::Kernel)?;
        let (mut offsets, mut indices, mut all_counts) = (vec![], vec![], vec![]);
        match pattern {
            PackedPattern::Bits(bits) => {
                let row_bytes = cols.div_ceil(8);
                for row in 0..rows * (member_ptr.len() - 1) {
                    let is_set = |&col: &usize| bits[row * row_bytes + col / 8] >> (col % 8) & 1 == 1;
                    let before = indices.len();
                    indices.extend((0..cols).filter(is_set).map(|col| col as i32));
                    all_counts.push((indices.len() - before) as i32);
                }
            }
            PackedPattern::Counts { counts, indices: all, bases } => {
                all_counts.extend(counts);
                for (member, base) in member_ptr.windows(2).zip(bases) {
                    indices.extend(all[member[0]..member[1]].iter().map(|index| index - *base as i32));
                }
            }
        }
        for member in 0..member_ptr.len() - 1 {
            offsets.push(0);
            for count in &all_counts[member * rows..][..rows] {
                offsets.push(offsets[offsets.len() - 1] + count);
            }
        }
        Ok(CompressedArrays { member_ptr, offsets, indices, values: values.to_vec() })
    }
}

/// A worker whose memory counts as a device's, so that parts are moved to the host and back.
pub(crate) struct FaultyWorker {
    worker: DeviceWorker<Faulty, f32, i32, i32>,
    faults: Arc<Faults>,
    has_second_stream: bool,
}

impl FaultyWorker {
    pub(crate) fn boxed(name: &str, faults: &Arc<Faults>, budget: u64) -> Box<dyn Worker<f32, i32, i32>> {
        Box::new(Self::new(name, faults, Ledger::new(budget), false))
    }

    /// A worker whose memory is the host's.
    pub(crate) fn on_host(faults: &Arc<Faults>) -> Box<dyn Worker<f32, i32, i32>> {
        Box::new(DeviceWorker::new(Faulty(faults.clone())))
    }

    pub(crate) fn with_two_streams(
        name: &str,
        faults: &Arc<Faults>,
        budget: u64,
    ) -> Box<dyn Worker<f32, i32, i32>> {
        Box::new(Self::new(name, faults, Ledger::new(budget), true))
    }

    /// With two streams, and messages that are unpacked.
    pub(crate) fn unpacking(name: &str, faults: &Arc<Faults>, budget: u64) -> Box<dyn Worker<f32, i32, i32>> {
        let mut worker = Self::new(name, faults, Ledger::new(budget), true);
        worker.worker = worker.worker.unpacking();
        Box::new(worker)
    }

    fn new(name: &str, faults: &Arc<Faults>, ledger: Arc<Ledger>, has_second_stream: bool) -> Self {
        let worker = DeviceWorker::new(Faulty(faults.clone())).named(name).with_ledger(ledger);
        Self { worker, faults: faults.clone(), has_second_stream }
    }
}

impl Worker<f32, i32, i32> for FaultyWorker {
    fn name(&self) -> &str {
        self.worker.name()
    }

    fn is_host(&self) -> bool {
        false
    }

    fn rate(&self) -> Option<f64> {
        None
    }

    fn ledger(&self) -> &Arc<Ledger> {
        self.worker.ledger()
    }

    fn set_parallelism(&mut self, parallelism: Parallelism) {
        self.worker.set_parallelism(parallelism);
    }

    fn compress(
        &mut self,
        chunk: DenseBatchView<'_, f32>,
        keep: Keep<f32>,
    ) -> Result<Box<dyn Resident<f32, i32, i32>>> {
        drop(Faulty(self.faults.clone()).upload(chunk.data())?);
        self.worker.compress(chunk, keep)
    }

    fn context(&self) -> Option<ContextId> {
        self.worker.context()
    }

    fn compress_in_place(
        &mut self,
        matrices: &DeviceMatrices<'_>,
        keep: Keep<f32>,
    ) -> Result<Box<dyn Resident<f32, i32, i32>>> {
        self.worker.compress_in_place(matrices, keep)
    }

    fn adopt(&self, part: &BatchCsr<f32>) -> Result<Box<dyn Resident<f32, i32, i32>>> {
        self.worker.adopt(part)
    }

    fn unpacks(&self) -> bool {
        self.worker.unpacks()
    }

    fn unpack(&self, batch: &PackedBatch<f32, i32>) -> Result<Box<dyn Resident<f32, i32, i32>>> {
        self.worker.unpack(batch)
    }

    fn trim(&mut self) {
        self.worker.trim();
    }

    fn further_streams(&self) -> Vec<Box<dyn Worker<f32, i32, i32>>> {
        let second = || {
            let mut second = Self::new(self.name(), &self.faults, self.ledger().clone(), false);
            if self.unpacks() {
                second.worker = second.worker.unpacking();
            }
            second
        };
        self.has_second_stream
            .then(|| Box::new(second()) as Box<dyn Worker<f32, i32, i32>>)
            .into_iter()
            .collect()
    }
}

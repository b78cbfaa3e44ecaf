//! A worker that fails on command: the serial reference behind a device's memory.

use sparse_core::backend::{Buf, ViewMutOf, ViewOf};
use sparse_core::op::{CompressedArrays, DenseToCsrKernel, Keep};
use sparse_core::reference::Reference;
use sparse_core::{
    Algorithm, Backend, BatchCsr, Caps, ContextId, DenseBatchView, Element, Error, Host, PlanOptions, Result,
};
use sparse_distrib::{DeviceWorker, Ledger, Resident, Worker};
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
            Fault::OutOfMemory => Error::OutOfMemory { needed: 1, available: 0 },
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

impl DenseToCsrKernel<f32, i32, i32> for Faulty {
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

    unsafe fn dense_to_csr(
        &self,
        plan: &mut Self::Plan,
        a: DenseBatchView<'_, f32>,
    ) -> Result<CompressedArrays<Self, f32, i32, i32>> {
        self.0.reach(Step::Kernel)?;
        // SAFETY: the caller's promise.
        let arrays: CompressedArrays<Reference, f32, i32, i32> = unsafe { Reference.dense_to_csr(plan, a) }?;
        let CompressedArrays { member_ptr, offsets, indices, values } = arrays;
        Ok(CompressedArrays { member_ptr, offsets, indices, values })
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

    pub(crate) fn with_two_streams(
        name: &str,
        faults: &Arc<Faults>,
        budget: u64,
    ) -> Box<dyn Worker<f32, i32, i32>> {
        Box::new(Self::new(name, faults, Ledger::new(budget), true))
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

    fn compress(
        &mut self,
        chunk: DenseBatchView<'_, f32>,
        keep: Keep<f32>,
    ) -> Result<Box<dyn Resident<f32, i32, i32>>> {
        self.worker.compress(chunk, keep)
    }

    fn adopt(&self, part: &BatchCsr<f32>) -> Result<Box<dyn Resident<f32, i32, i32>>> {
        self.worker.adopt(part)
    }

    fn trim(&mut self) {
        self.worker.trim();
    }

    fn second_stream(&self) -> Option<Box<dyn Worker<f32, i32, i32>>> {
        let second = || Self::new(self.name(), &self.faults, self.ledger().clone(), false);
        self.has_second_stream.then(|| Box::new(second()) as Box<dyn Worker<f32, i32, i32>>)
    }
}

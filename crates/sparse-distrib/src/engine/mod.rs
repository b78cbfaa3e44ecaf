//! The engine: compresses any number of dense matrices to CSR or CSC on several devices, which store the results.
//!
//! | module | contents |
//! |---|---|
//! | [`source`] | matrices from memory, a function or `.npy` files, read one by one |
//! | [`worker`] | a device, over any backend |
//! | [`staging`] | host memory from which a device copies |
//! | [`ledger`] | the account of a device's memory: bytes reserved and available |
//! | [`report`] | progress, and what a run did |
//! | [`handle`] | the compressed matrices, wherever they are |
//!
//! Matrices of one shape are grouped into chunks of up to 64 MiB. A matrix that fits no device's memory is cut into
//! blocks of rows (CSR) or columns (CSC); with a [`Partition`], all matrices are cut. Parts go to devices as matrices
//! do.
//!
//! Each device has two kinds of threads: fillers write chunks from the source to slots, which are buffers in the host's
//! memory, and streams have the device compress the slots.
//!
//! | device | streams |
//! |---|---|
//! | the CPU | one for each of its threads, and as many fillers; each takes a portion of up to 4 MiB, which stays in a cache from the source to the entries |
//! | one that gets elements | two: the next chunk crosses the link while the one before is compressed |
//! | one that unpacks messages | four, which copy messages to pinned memory |
//!
//! So a device needs memory for two dense chunks and for the results, independently of the amount of data, and the host
//! for the slots.
//!
//! Slots for a CUDA device are pinned, so that it copies them by DMA. Matrices that the source does not lend in pinned
//! memory are written to slots by the host's threads, in portions of up to 16 MiB, matrix by matrix. The device's
//! backend caches the slots of a run for the next, since pinning memory takes longer than filling it.
//!
//! By the [`Scheme`] `sfc` a device gets elements and compresses them. By the other schemes, the thread that fills a
//! slot first compresses them to messages, on all of the host's threads. A device that [unpacks](Worker::unpacks)
//! messages gets them by `ed2` and `bitmap` as they are, once they were checked; else a thread of the device decodes
//! them and copies the arrays. Where the rates of the machine are known, the scheme is the one that the model predicts
//! to be faster.
//!
//! Matrices that are already in a device's memory ([`Source::on_device`]) are compressed there, in one launch for each
//! 4 GiB: nothing is copied, no thread fills slots, no policy moves them, and the scheme is `sfc`.
//!
//! [`Parallelism`] selects how a device works on a chunk: as a batch, inter-task (each thread a matrix), or intra-task
//! (all threads or work-items on one matrix after the other).
//!
//! A [`Policy`] gives matrices to devices: by `pull` a device that is free takes the next chunk of a common queue, by
//! the others each has its own queue from the start. A compressed matrix has the same bytes with every policy and
//! scheme, and if devices fail or run out of memory.
//!
//! | problem | remedies, in this order |
//! |---|---|
//! | memory is short | wait for the device's other stream and for operations of others; free the plans; move finished batches to the host; halve the chunk; give it to another device |
//! | the device fails | its finished batches are moved to the host, or compressed again; other devices do the remaining work |
//! | the source fails to read a matrix | it is read a second time |
//!
//! A kernel that faults ends the contexts of all GPUs in its process (CUDA's sticky errors), not only its own: the
//! remaining work is then done by workers that are not CUDA devices. Other processes, such as the server's workers, go
//! on.
//!
//! [`Engine::compress_on_ranks`] divides the matrices among the ranks of a [`Transport`](crate::Transport), each with
//! an engine of its own, and gathers the results.
//!
//! The [`Report`] names every matrix that could not be compressed, and why.
//!
//! The task is that of Hsu, Efficient strategies for compressing sparse matrices on graphics processing units, master's
//! thesis, Chang Gung University 2013, where all dense data lay in the devices' memory.

mod batch;
mod choice;
mod chunk;
mod device;
pub mod handle;
mod item;
pub mod ledger;
pub(crate) mod message;
mod parallelism;
mod queue;
mod ranks;
pub mod report;
mod run;
mod saved;
mod slots;
pub mod source;
pub mod staging;
pub mod worker;
mod write_chunks;

pub use parallelism::Parallelism;
pub use ranks::RankOutcome;

use crate::partition::Partition;
use crate::schedule::{CHUNK_BYTES, Device, Policy};
use crate::scheme::{Rates, Scheme};
use crate::wire::ed1;
use chunk::Assignment;
use handle::Handle;
use message::HostCompressor;
use report::{Cause, Progress, Report};
use run::Run;
use source::Source;
use sparse_core::op::{DenseToCsrKernel, Keep};
use sparse_core::reference::Reference;
use sparse_core::{Axis, Backend, Error, Host, Index, Result, Scalar};
use std::fmt::Debug;
use std::sync::atomic::AtomicBool;
use std::time::Duration;
use worker::{BoxedWorker, Worker};

/// Devices that compress together.
///
/// ```
/// use sparse_core::reference::Reference;
/// use sparse_core::Row;
/// use sparse_distrib::{DeviceWorker, Engine, Generated, Options, Worker};
///
/// // A thousand diagonals, which nobody ever holds at once.
/// let diagonals = Generated::new(vec![(8, 8); 1000], |item, elements: &mut [f32]| {
///     elements.fill(0.0);
///     elements.iter_mut().step_by(9).for_each(|element| *element = item as f32 + 1.0);
///     Ok(())
/// });
/// let worker = |name: &str| -> Box<dyn Worker<f32, i32, i32>> { Box::new(DeviceWorker::new(Reference).named(name)) };
/// let mut engine = Engine::new(vec![worker("first"), worker("second")])?;
/// let (handle, report) = engine.compress::<Row>(&diagonals, &Options::default())?.complete()?;
/// assert_eq!((report.items, report.nnz), (1000, 8000));
/// assert_eq!(handle.fetch(999)?.values(), &[1000.0; 8]);
/// # Ok::<(), sparse_core::Error>(())
/// ```
pub struct Engine<T: Scalar, I: Index = i32, O: Index = i32> {
    workers: Vec<Box<dyn Worker<T, I, O>>>,
    /// The other streams of each device.
    further_streams: Vec<Vec<BoxedWorker<T, I, O>>>,
    host: Box<dyn HostCompressor<T, I, O>>,
}

/// Settings of a run.
#[derive(Clone)]
pub struct Options<'a, T: Scalar> {
    /// The policy that gives matrices to devices. `None` chooses: [`Policy::Lpt`] where the rates of all devices are
    /// known, else [`Policy::Pull`], which needs none.
    pub policy: Option<Policy>,
    /// The form in which matrices reach the devices. `None` chooses: what the model predicts by `rates` to be faster,
    /// on devices with memory of their own; else [`Scheme::Sfc`].
    pub scheme: Option<Scheme>,
    /// The division of the matrices among the threads or work-items of a device.
    pub parallelism: Parallelism,
    /// The rates of the machine: [`Calibration`](crate::Calibration) measures them. With them the report explains the
    /// scheme.
    pub rates: Option<Rates>,
    /// The parts that every matrix is cut into. `None` cuts only matrices that may fit no device's memory.
    pub partition: Option<Partition>,
    /// The elements that become entries.
    pub keep: Keep<T>,
    /// Bytes of a chunk at most, unless it is one matrix. An explicit [`Policy::Pull`] has its own limit. There are at
    /// least eight chunks for each device, if there are as many matrices.
    pub chunk_bytes: u64,
    /// Slots of the host's memory for each device, at least 1; with 2 the next is filled while the device works. Each
    /// further thread of a device that fills or compresses has one more.
    pub slots: usize,
    /// The longest wait for other operations on a device whose memory is short.
    pub patience: Duration,
    /// True if finished batches may be moved to the host where memory is short.
    pub spill: bool,
    /// Called after each batch, by one thread at a time; devices wait for it.
    pub progress: Option<&'a (dyn Fn(Progress) + Sync)>,
    /// Ends the run when it becomes true, after the chunks that are being compressed.
    pub cancel: Option<&'a AtomicBool>,
}

impl<T: Scalar> Default for Options<'_, T> {
    fn default() -> Self {
        Self {
            policy: None,
            scheme: None,
            parallelism: Parallelism::Batch,
            rates: None,
            partition: None,
            keep: Keep::NonZero,
            chunk_bytes: CHUNK_BYTES,
            slots: 2,
            patience: Duration::from_secs(1),
            spill: true,
            progress: None,
            cancel: None,
        }
    }
}

impl<T: Scalar> Debug for Options<'_, T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut debug = f.debug_struct("Options");
        debug.field("policy", &self.policy).field("scheme", &self.scheme).field("rates", &self.rates);
        debug.field("parallelism", &self.parallelism).field("partition", &self.partition);
        debug.field("keep", &self.keep).field("chunk_bytes", &self.chunk_bytes);
        debug.field("slots", &self.slots).field("patience", &self.patience).field("spill", &self.spill);
        debug.finish_non_exhaustive()
    }
}

/// The result of a run: the compressed matrices, and a report that names the others.
#[derive(Debug)]
pub struct Outcome<A: Axis, T: Scalar, I: Index, O: Index> {
    /// The compressed matrices.
    pub handle: Handle<A, T, I, O>,
    /// Work and time, and the matrices that are not compressed.
    pub report: Report,
}

impl<A: Axis, T: Scalar, I: Index, O: Index> Outcome<A, T, I, O> {
    /// Handle and report if all matrices are compressed.
    ///
    /// # Errors
    /// The error of the first matrix that is not; [`Error::Operands`] if the run was cancelled or all devices have
    /// failed.
    pub fn complete(mut self) -> Result<(Handle<A, T, I, O>, Report)> {
        if self.report.unfinished.is_empty() {
            return Ok((self.handle, self.report));
        }
        let first = self.report.unfinished.swap_remove(0);
        match first.cause {
            Cause::Error(error) => Err(error),
            cause => {
                let failures = self.report.devices.iter().filter_map(|device| {
                    device.failure.as_ref().map(|failure| format!("; {}: {failure}", device.name))
                });
                let (done, all) = (self.report.items, self.handle.len());
                let reason = format!("{cause}; {done} of {all} matrices are compressed");
                Err(Error::operands("compress", reason + &failures.collect::<String>()))
            }
        }
    }
}

impl<T: Scalar, I: Index, O: Index> Engine<T, I, O> {
    /// An engine of these devices. Where the host compresses, the serial reference does;
    /// [`with_host`](Self::with_host) names a faster backend.
    ///
    /// # Errors
    /// [`Error::Shape`] if there is none.
    pub fn new(workers: Vec<Box<dyn Worker<T, I, O>>>) -> Result<Self> {
        if workers.is_empty() {
            return Err(Error::shape("engine", "0 devices where at least one is needed"));
        }
        let further_streams = workers.iter().map(|worker| worker.further_streams()).collect();
        Ok(Self { workers, further_streams, host: Box::new(Reference) })
    }

    /// Sets the host's backend that compresses matrices for schemes that send them compressed. The engine calls it from
    /// several threads, so a backend with one thread is enough.
    ///
    /// ```
    /// use sparse_core::reference::Reference;
    /// use sparse_core::{DenseView, Row};
    /// use sparse_distrib::{DeviceWorker, Engine, Options, Scheme};
    ///
    /// let elements = [0.0, 1.0, 2.0, 0.0];
    /// let source = vec![DenseView::row_major(&elements, 2, 2)?];
    /// let device = DeviceWorker::new(Reference); // or a GPU's backend
    /// let mut engine = Engine::<f64>::new(vec![Box::new(device)])?.with_host(Reference);
    /// let options = Options { scheme: Some(Scheme::Bitmap), ..Options::default() };
    /// let (handle, report) = engine.compress::<Row>(&source, &options)?.complete()?;
    /// assert!(handle.fetch(0)?.triplets().eq([(0, 1, 1.0), (1, 0, 2.0)]));
    /// assert_eq!(report.devices[0].scheme, Scheme::Bitmap);
    /// # Ok::<(), sparse_core::Error>(())
    /// ```
    #[must_use]
    pub fn with_host<H>(self, host: H) -> Self
    where
        H: DenseToCsrKernel<T, I, O> + Backend<Space = Host>,
    {
        Self { host: Box::new(host), ..self }
    }

    /// The devices.
    pub fn workers(&self) -> &[Box<dyn Worker<T, I, O>>] {
        &self.workers
    }

    /// Compresses all matrices of a source: to CSR for `A` = [`Row`](sparse_core::Row), to CSC for
    /// [`Col`](sparse_core::Col).
    ///
    /// A matrix that cannot be compressed does not affect the others, and is in the report; [`Outcome::complete`] makes
    /// it an error.
    ///
    /// # Errors
    /// [`Error::IndexOverflow`] if a matrix has more elements than can be counted; [`Error::Shape`] if a device's rate
    /// is not positive; [`Error::OutOfMemory`] if the host cannot allocate the list of matrices or parts;
    /// [`Error::Unsupported`] for [`Scheme::Ed1`] of values of half a word.
    pub fn compress<A: Axis>(
        &mut self,
        source: &dyn Source<T>,
        options: &Options<'_, T>,
    ) -> Result<Outcome<A, T, I, O>> {
        if options.scheme == Some(Scheme::Ed1) {
            ed1::check_value::<T>()?;
        }
        let largest_budget = self.workers.iter().map(|worker| worker.ledger().budget()).max();
        let budget = largest_budget.unwrap_or_default();
        let layouts = item::layouts::<T, I, O>(source, options.partition, budget, A::IS_ROW)?;
        let contexts: Vec<_> = self.workers.iter().map(|worker| worker.context()).collect();
        let items = item::items(source, &layouts, &contexts)?;
        let (schemes, explanation) = choice::choose(&self.workers, source, &items, options);
        let policy = options.policy.unwrap_or_else(|| self.choose_policy(options.chunk_bytes));
        let chunk_bytes = match policy {
            Policy::Pull { chunk_bytes } => chunk_bytes,
            _ => options.chunk_bytes,
        };
        let assignment = Assignment::new(source, &items, policy, &self.devices(), chunk_bytes)?;
        let hosts = self.workers.iter().map(|worker| worker.is_host()).collect();
        let all_streams = self.workers.iter_mut().chain(self.further_streams.iter_mut().flatten());
        all_streams.for_each(|worker| worker.set_parallelism(options.parallelism));
        let run = Run::new(source, (&layouts, items), options, assignment, (schemes, hosts), A::IS_ROW);
        let streams = self.workers.iter_mut().zip(&mut self.further_streams).map(|(first, further)| {
            let mut streams = vec![first];
            streams.extend(further);
            streams
        });
        let (batches, report) = run.execute(streams.collect(), self.host.as_ref(), policy, explanation);
        Ok(Outcome { handle: Handle::new(layouts, batches), report })
    }

    fn choose_policy(&self, chunk_bytes: u64) -> Policy {
        let all_rates_are_known = self.workers.iter().all(|worker| worker.rate().is_some());
        if all_rates_are_known { Policy::Lpt } else { Policy::Pull { chunk_bytes } }
    }

    /// The devices with the rates that policies compare: equal rates unless all are known.
    fn devices(&self) -> Vec<Device> {
        let rates: Option<Vec<f64>> = self.workers.iter().map(|worker| worker.rate()).collect();
        let rates = rates.unwrap_or_else(|| vec![1.0; self.workers.len()]);
        let budgets = self.workers.iter().map(|worker| worker.ledger().budget());
        budgets.zip(rates).map(|(memory_bytes, rate)| Device { memory_bytes, rate }).collect()
    }
}

impl<T: Scalar, I: Index, O: Index> Debug for Engine<T, I, O> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.workers.iter().map(|worker| worker.name())).finish()
    }
}

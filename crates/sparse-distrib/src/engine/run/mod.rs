//! A run of the engine: for each device, threads that fill slots and threads that compress their contents.

mod encode;
mod fill;
mod tally;
mod threads;

use super::Options;
use super::chunk::{Assignment, Chunk};
use super::device::ActiveDevice;
use super::handle::ResidentBatch;
use super::item::{Item, MatrixItems};
use super::message::{self, HostCompressor};
use super::queue::Queue;
use super::report::{DeviceReport, Report};
use super::slots::{Slots, TakenSlot};
use super::source::{DeviceMatrices, Source};
use super::worker::BoxedWorker;
use crate::explain::Explanation;
use crate::schedule::Policy;
use crate::scheme::Scheme;
use fill::Filler;
use sparse_core::{Index, Scalar};
use std::panic::resume_unwind;
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Instant;
use tally::{Tally, matrices_of};
pub(super) use threads::available_threads;

/// The common data of the threads of a run.
pub(super) struct Run<'a, T: Scalar> {
    source: &'a dyn Source<T>,
    pub(super) items: Vec<Item>,
    pub(super) options: &'a Options<'a, T>,
    pub(super) queue: Queue,
    /// The scheme of each device.
    pub(super) schemes: Vec<Scheme>,
    /// True for each device that computes in the host's memory.
    hosts: Vec<bool>,
    /// True if all items are in the memory of devices.
    is_in_place: bool,
    /// True for CSR.
    pub(super) is_by_rows: bool,
    total_bytes: u64,
    start: Instant,
    tally: Mutex<Tally>,
}

/// A chunk whose items are at `location`. The slot limits how far the device may lag, even where it is empty.
pub(super) struct Filled<'a, T: Scalar, I> {
    pub(super) chunk: Chunk,
    pub(super) slot: TakenSlot<T, I>,
    pub(super) location: Location<'a, T>,
}

/// The memory where the items of a chunk are.
#[derive(Clone, Copy)]
pub(super) enum Location<'a, T> {
    /// The elements of a slot.
    Slot,
    /// The messages of a slot.
    Messages,
    /// The planes of the messages of a slot, for a device that unpacks them.
    Packed,
    /// The source's memory on the host.
    Lent(&'a [T]),
    /// The source's memory on the device that takes the chunk.
    OnDevice(DeviceMatrices<'a>),
}

impl<'a, T: Scalar> Run<'a, T> {
    pub(super) fn new(
        source: &'a dyn Source<T>,
        (layouts, items): (&[MatrixItems], Vec<Item>),
        options: &'a Options<'a, T>,
        assignment: Assignment,
        (schemes, hosts): (Vec<Scheme>, Vec<bool>),
        is_by_rows: bool,
    ) -> Self {
        let open_parts = layouts.iter().map(|layout| layout.partition.parts()).collect();
        let tally = Mutex::new(Tally { open_parts, matrices: 0, bytes: 0, retries: 0 });
        let (queue, start) = (Queue::new(assignment), Instant::now());
        let total_bytes = items.iter().map(|item| item.bytes).fold(0, u64::saturating_add);
        let is_in_place = items.iter().all(|item| item.device.is_some());
        Self {
            source,
            items,
            options,
            queue,
            schemes,
            hosts,
            is_in_place,
            is_by_rows,
            total_bytes,
            start,
            tally,
        }
    }

    /// Compresses all chunks on devices that have a worker for each stream; returns the batches of all. A panic of a
    /// source or a callback is resumed here, after the other threads have ended.
    pub(super) fn execute<I: Index, O: Index>(
        self,
        workers: Vec<Vec<&mut BoxedWorker<T, I, O>>>,
        host: &dyn HostCompressor<T, I, O>,
        policy: Policy,
        explanation: Option<Explanation>,
    ) -> (Vec<ResidentBatch<T, I, O>>, Report) {
        let run = &self;
        let joined: Vec<_> = thread::scope(|scope| {
            let mut workers = workers.into_iter().enumerate();
            let first = workers.next();
            let serve = |(index, workers)| scope.spawn(move || run.serve_device(index, workers, host));
            let threads: Vec<_> = workers.map(serve).collect();
            // The calling thread serves the first device.
            let first = first.map(|(index, workers)| Ok(run.serve_device(index, workers, host)));
            first.into_iter().chain(threads.into_iter().map(|thread| thread.join())).collect()
        });
        let (mut batches, mut devices) = (vec![], vec![]);
        for device in joined {
            let (batches_of_device, report) = device.unwrap_or_else(|panic| resume_unwind(panic));
            batches.extend(batches_of_device);
            devices.push(report);
        }
        let report = self.report(policy, &batches, devices, explanation);
        (batches, report)
    }

    fn report<I: Index, O: Index>(
        self,
        policy: Policy,
        batches: &[ResidentBatch<T, I, O>],
        devices: Vec<DeviceReport>,
        explanation: Option<Explanation>,
    ) -> Report {
        let seconds = self.start.elapsed().as_secs_f64();
        // Devices that compute in the host's memory may use `sfc` while another device has another scheme.
        let scheme =
            self.schemes.iter().copied().find(|&scheme| scheme != Scheme::Sfc).unwrap_or(Scheme::Sfc);
        let tally = self.tally.into_inner().unwrap_or_else(PoisonError::into_inner);
        Report {
            seconds,
            policy,
            parallelism: self.options.parallelism,
            explanation: explanation.map(|table| table.with_outcome(scheme, seconds)),
            items: tally.matrices,
            bytes_in: tally.bytes,
            bytes_out: batches.iter().map(ResidentBatch::bytes).sum(),
            nnz: batches.iter().map(|batch| batch.nnz() as u64).sum(),
            devices,
            retries: tally.retries,
            unfinished: matrices_of(self.queue.into_unfinished(), &self.items),
        }
    }

    /// Compresses chunks on a device that has a worker for each stream; returns its batches.
    fn serve_device<I: Index, O: Index>(
        &self,
        index: usize,
        mut workers: Vec<&mut BoxedWorker<T, I, O>>,
        host: &dyn HostCompressor<T, I, O>,
    ) -> (Vec<ResidentBatch<T, I, O>>, DeviceReport) {
        workers.truncate(self.most_streams(index));
        let streams = workers.len();
        let fillers = self.fillers(index, streams);
        // Each thread has a slot; with one thread of each kind, `slots` is enough for both.
        let count = self.options.slots.max(1) + (streams - 1) + (fillers - 1);
        let slots = Slots::new(count, workers[0].staging());
        let unpacks = workers[0].unpacks() && message::can_be_packed(self.schemes[index]);
        let device = ActiveDevice::new(self, index, workers);
        let threads = self.threads_of_filler(fillers);
        let filler = || {
            let (slots, host) = (slots.clone(), host.start());
            Filler { device: index, slots, threads, unpacks, host, elements: vec![] }
        };
        if self.is_in_place {
            self.serve_in_place(&device, streams, &filler);
            return device.finish();
        }
        let (to_device, filled) = channel();
        let filled = Arc::new(Mutex::new(filled));
        thread::scope(|scope| {
            let fill = |_| {
                let (filler, to_device) = (&filler, to_device.clone());
                scope.spawn(move || self.fill_slots(filler(), &to_device))
            };
            let mut threads: Vec<_> = (0..fillers).map(fill).collect();
            drop(to_device);
            for stream in 1..streams {
                let (device, filled) = (&device, filled.clone());
                threads.push(scope.spawn(move || device.serve(stream, || receive(&filled))));
            }
            device.serve(0, || receive(&filled));
            // Drops the chunks that are still queued, and frees their slots, for which the filling threads may wait.
            drop(filled);
            threads.into_iter().for_each(|thread| thread.join().unwrap_or_else(|panic| resume_unwind(panic)));
        });
        device.finish()
    }

    /// Compresses chunks in the memory of a device. There are no slots to fill (unless another device has failed), so
    /// each stream takes its chunks itself: starting and waking other threads takes as long as a GPU takes for 1 GB.
    fn serve_in_place<'h, I: Index, O: Index>(
        &self,
        device: &ActiveDevice<'_, T, I, O>,
        streams: usize,
        filler: &(impl Fn() -> Filler<'h, T, I, O> + Sync),
    ) {
        let serve = |stream| {
            let mut filler = filler();
            device.serve(stream, || self.next_filled(&mut filler));
        };
        thread::scope(|scope| {
            let serve = &serve;
            let threads: Vec<_> = (1..streams).map(|stream| scope.spawn(move || serve(stream))).collect();
            serve(0);
            threads.into_iter().for_each(|thread| thread.join().unwrap_or_else(|panic| resume_unwind(panic)));
        });
    }
}

/// The next chunk that is sent to a device.
fn receive<'a, T: Scalar, I: Index>(filled: &Mutex<Receiver<Filled<'a, T, I>>>) -> Option<Filled<'a, T, I>> {
    filled.lock().unwrap_or_else(PoisonError::into_inner).recv().ok()
}

//! A run of the engine: a thread that fills slots and one that compresses them, for each device.

use super::Options;
use super::chunk::{Assignment, Chunk, Item};
use super::device::ActiveDevice;
use super::handle::Part;
use super::queue::Queue;
use super::report::{DeviceReport, Progress, Report};
use super::source::Source;
use super::worker::Worker;
use crate::schedule::Policy;
use crate::scheme::Scheme;
use sparse_core::{Error, Index, Result, Scalar};
use std::panic::resume_unwind;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Instant;

/// The common data of the threads of a run.
pub(super) struct Run<'a, T: Scalar> {
    source: &'a dyn Source<T>,
    pub(super) items: Vec<Item>,
    pub(super) options: &'a Options<'a, T>,
    pub(super) queue: Queue,
    /// True for CSR.
    pub(super) is_by_rows: bool,
    start: Instant,
    tally: Mutex<Tally>,
}

/// The finished work, and the retries.
#[derive(Debug, Default)]
struct Tally {
    items: usize,
    bytes: u64,
    retries: usize,
}

/// A chunk whose elements are in a slot.
pub(super) struct Filled<T> {
    pub(super) chunk: Chunk,
    pub(super) slot: Vec<T>,
}

impl<'a, T: Scalar> Run<'a, T> {
    pub(super) fn new(
        source: &'a dyn Source<T>,
        items: Vec<Item>,
        options: &'a Options<'a, T>,
        assignment: Assignment,
        is_by_rows: bool,
    ) -> Self {
        let (queue, start, tally) = (Queue::new(assignment), Instant::now(), Mutex::default());
        Self { source, items, options, queue, is_by_rows, start, tally }
    }

    /// Compresses all chunks; returns the parts of all devices. A panic of a source or a callback goes on here, after the
    /// other threads have ended.
    pub(super) fn execute<I: Index, O: Index>(
        self,
        workers: &mut [Box<dyn Worker<T, I, O>>],
        policy: Policy,
    ) -> (Vec<Part<T, I, O>>, Report) {
        let run = &self;
        let joined: Vec<_> = thread::scope(|scope| {
            let mut threads = vec![];
            for (index, worker) in workers.iter_mut().enumerate() {
                let (to_device, filled) = channel();
                let (to_filler, free) = channel();
                (0..run.options.slots.max(1)).for_each(|_| to_filler.send(vec![]).expect("`free` exists"));
                let device = ActiveDevice::new(run, index, worker.as_mut());
                let filler = scope.spawn(move || run.fill_slots(index, &free, &to_device));
                threads.push((filler, scope.spawn(move || device.serve(&filled, to_filler))));
            }
            threads.into_iter().map(|(filler, device)| (filler.join(), device.join())).collect()
        });
        let (mut parts, mut devices) = (vec![], vec![]);
        for (filler, device) in joined {
            filler.unwrap_or_else(|panic| resume_unwind(panic));
            let (parts_of_device, report) = device.unwrap_or_else(|panic| resume_unwind(panic));
            parts.extend(parts_of_device);
            devices.push(report);
        }
        let report = self.report(policy, &parts, devices);
        (parts, report)
    }

    fn report<I: Index, O: Index>(
        self,
        policy: Policy,
        parts: &[Part<T, I, O>],
        devices: Vec<DeviceReport>,
    ) -> Report {
        let tally = self.tally.into_inner().unwrap_or_else(PoisonError::into_inner);
        Report {
            seconds: self.start.elapsed().as_secs_f64(),
            policy,
            scheme: Scheme::Sfc,
            items: tally.items,
            bytes_in: tally.bytes,
            bytes_out: parts.iter().map(Part::bytes).sum(),
            nnz: parts.iter().map(|part| part.nnz() as u64).sum(),
            devices,
            retries: tally.retries,
            unfinished: self.queue.into_unfinished(),
        }
    }

    /// Fills free slots with the chunks of a device and sends them there, until there are no more.
    fn fill_slots(&self, device: usize, free: &Receiver<Vec<T>>, to_device: &Sender<Filled<T>>) {
        let _guard = self.queue.stop_on_panic();
        while let Ok(mut slot) = free.recv() {
            loop {
                let Some(chunk) = self.take(device) else {
                    return;
                };
                match self.fill(&chunk, &mut slot) {
                    Ok(()) => {
                        if let Err(unsent) = to_device.send(Filled { chunk, slot }) {
                            return self.queue.give_back(unsent.0.chunk);
                        }
                        break;
                    }
                    Err((position, error)) => self.retry(chunk, position, error),
                }
            }
        }
    }

    fn take(&self, device: usize) -> Option<Chunk> {
        if self.has_ended() { None } else { self.queue.take(device) }
    }

    /// True if nothing more is to be compressed. Ends the run if the caller has asked for it.
    pub(super) fn has_ended(&self) -> bool {
        if self.options.cancel.is_some_and(|cancel| cancel.load(Ordering::Relaxed)) {
            self.queue.stop();
        }
        self.queue.is_stopped()
    }

    /// Copies the elements of a chunk to a slot, which grows as needed; an error names the item by its position in the
    /// chunk.
    fn fill(&self, chunk: &Chunk, slot: &mut Vec<T>) -> Result<(), (usize, Error)> {
        let elements = self.items[chunk.items[0]].elements;
        let needed = elements * chunk.items.len();
        if slot.len() < needed {
            slot.try_reserve_exact(needed - slot.len()).map_err(|_| {
                let needed = needed as u64 * size_of::<T>() as u64;
                (0, Error::OutOfMemory { needed, available: 0 })
            })?;
            slot.resize(needed, T::ZERO);
        }
        for (position, &item) in chunk.items.iter().enumerate() {
            let target = &mut slot[position * elements..][..elements];
            self.source.fill(item, target).map_err(|error| (position, error))?;
        }
        Ok(())
    }

    /// Gives the item that could not be filled to any device, once more, and the others of its chunk by themselves.
    fn retry(&self, mut chunk: Chunk, position: usize, error: Error) {
        if chunk.is_retry {
            return self.queue.fail(chunk.items, error);
        }
        let item = chunk.items.remove(position);
        self.count_retries(1);
        if !chunk.items.is_empty() {
            self.queue.give_back(chunk);
        }
        self.queue.give_back(Chunk { is_retry: true, ..Chunk::new(vec![item]) });
    }

    /// Counts matrices that are finished, and tells the caller.
    pub(super) fn finish(&self, items: &[usize]) {
        let mut tally = self.tally.lock().unwrap_or_else(PoisonError::into_inner);
        tally.items += items.len();
        tally.bytes += self.bytes(items);
        if let Some(progress) = self.options.progress {
            progress(Progress {
                items: tally.items,
                total_items: self.items.len(),
                bytes: tally.bytes,
                total_bytes: self.items.iter().map(|item| item.bytes).fold(0, u64::saturating_add),
                elapsed: self.start.elapsed(),
            });
        }
        drop(tally);
        self.queue.finish(items.len());
    }

    /// Opens matrices again that were finished, and whose device has lost them.
    pub(super) fn reopen(&self, items: Vec<usize>) {
        let mut tally = self.tally.lock().unwrap_or_else(PoisonError::into_inner);
        tally.items -= items.len();
        tally.bytes -= self.bytes(&items);
        tally.retries += items.len();
        drop(tally);
        self.queue.reopen(items);
    }

    /// Counts matrices that are given to a device once more.
    pub(super) fn count_retries(&self, items: usize) {
        self.tally.lock().unwrap_or_else(PoisonError::into_inner).retries += items;
    }

    /// Bytes of the elements of matrices.
    pub(super) fn bytes(&self, items: &[usize]) -> u64 {
        items.iter().map(|&item| self.items[item].bytes).sum()
    }
}

//! A run of the engine: for each device, threads that fill slots and threads that compress what is in them.

use super::Options;
use super::chunk::{Assignment, Chunk};
use super::device::ActiveDevice;
use super::handle::ResidentBatch;
use super::item::{self, Item, MatrixItems};
use super::message::{self, HostCompressor, MatrixCompressor};
use super::parallelism::Parallelism;
use super::pieces::write_pieces;
use super::queue::Queue;
use super::report::{DeviceReport, Progress, Report, Unfinished};
use super::slots::{Slots, TakenSlot};
use super::source::{DeviceMatrices, Source, resize};
use super::worker::{BoxedWorker, MOST_PINNED_BYTES, PORTION_BYTES, STAGED_BYTES};
use crate::explain::Explanation;
use crate::partition::Part;
use crate::schedule::Policy;
use crate::scheme::Scheme;
use sparse_core::{DenseView, Error, Index, Order, Result, Scalar};
use std::collections::HashSet;
use std::num::NonZero;
use std::panic::resume_unwind;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Instant;

/// Threads that write a slot together, where there are enough: a portion has four matrices of 1024² in f32.
const THREADS_OF_SLOT: usize = 4;

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
    /// True for CSR.
    pub(super) is_by_rows: bool,
    total_bytes: u64,
    start: Instant,
    tally: Mutex<Tally>,
}

/// The finished work, and the retries.
#[derive(Debug)]
struct Tally {
    /// The parts of each matrix that are not finished.
    open_parts: Vec<usize>,
    /// Matrices without open parts.
    matrices: usize,
    bytes: u64,
    retries: usize,
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

/// A thread that fills slots for a device.
struct Filler<'h, T: Scalar, I: Index, O: Index> {
    device: usize,
    slots: Arc<Slots<T, I>>,
    /// The threads that write a slot together.
    threads: usize,
    /// True if the device unpacks messages.
    unpacks: bool,
    host: Box<dyn MatrixCompressor<T, I, O> + 'h>,
    /// The elements of the matrix that the host compresses.
    elements: Vec<T>,
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
        Self { source, items, options, queue, schemes, hosts, is_by_rows, total_bytes, start, tally }
    }

    /// Compresses all chunks on devices that have a worker for each stream; returns the batches of all. A panic of a source or a callback goes on here, after
    /// the other threads have ended.
    pub(super) fn execute<I: Index, O: Index>(
        self,
        workers: Vec<Vec<&mut BoxedWorker<T, I, O>>>,
        host: &dyn HostCompressor<T, I, O>,
        policy: Policy,
        explanation: Option<Explanation>,
    ) -> (Vec<ResidentBatch<T, I, O>>, Report) {
        let run = &self;
        let joined: Vec<_> = thread::scope(|scope| {
            let serve = |(index, workers)| scope.spawn(move || run.serve_device(index, workers, host));
            let threads: Vec<_> = workers.into_iter().enumerate().map(serve).collect();
            threads.into_iter().map(|thread| thread.join()).collect()
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
        // Devices that compute in the host's memory may have sfc beside another one's scheme.
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
        // Every thread has a slot, of one thread of each kind both if there are two.
        let count = self.options.slots.max(1) + (streams - 1) + (fillers - 1);
        let slots = Slots::new(count, workers[0].staging());
        let unpacks = workers[0].unpacks() && message::can_be_packed(self.schemes[index]);
        let device = ActiveDevice::new(self, index, workers);
        let (to_device, filled) = channel();
        let filled = Arc::new(Mutex::new(filled));
        thread::scope(|scope| {
            let threads = self.threads_of_filler(fillers);
            let fill = |_| {
                let (slots, to_device) = (slots.clone(), to_device.clone());
                scope.spawn(move || {
                    let host = host.start();
                    self.fill_slots(
                        Filler { device: index, slots, threads, unpacks, host, elements: vec![] },
                        &to_device,
                    );
                })
            };
            let mut threads: Vec<_> = (0..fillers).map(fill).collect();
            drop(to_device);
            for stream in 1..streams {
                let (device, filled) = (&device, filled.clone());
                threads.push(scope.spawn(move || device.serve(stream, &filled)));
            }
            device.serve(0, &filled);
            // A thread that fills slots waits for one until nobody can send it any more.
            drop(filled);
            threads.into_iter().for_each(|thread| thread.join().unwrap_or_else(|panic| resume_unwind(panic)));
        });
        device.finish()
    }

    /// The streams of a device that can find work, at least one. Of the host's there is one where all threads compress one
    /// matrix after the other.
    fn most_streams(&self, index: usize) -> usize {
        if !self.hosts[index] {
            return usize::MAX;
        }
        if self.options.parallelism == Parallelism::IntraTask {
            return 1;
        }
        let portions = self.total_bytes.div_ceil(PORTION_BYTES).clamp(1, self.items.len().max(1) as u64);
        portions as usize
    }

    /// The number of threads that fill slots for a device: one for each stream, for a device behind a link one for every
    /// [`THREADS_OF_SLOT`] of its share of the host's threads, or as many as it has where they compress on the host; no
    /// more than there are items.
    fn fillers(&self, index: usize, streams: usize) -> usize {
        let fillers = match self.schemes[index] {
            Scheme::Sfc if self.hosts[index] => streams,
            Scheme::Sfc => (self.share_of_threads() / THREADS_OF_SLOT).max(streams),
            _ => {
                let compressing = self.schemes.iter().filter(|&&scheme| scheme != Scheme::Sfc).count();
                (available_threads() / compressing).max(streams)
            }
        };
        fillers.min(self.items.len().max(1))
    }

    /// The threads that write a slot together: a device's share of the host's threads, divided among its fillers.
    fn threads_of_filler(&self, fillers: usize) -> usize {
        (self.share_of_threads() / fillers).max(1)
    }

    /// The threads of the host for each device behind a link, or for the host where there is none.
    fn share_of_threads(&self) -> usize {
        available_threads() / self.hosts.iter().filter(|&&is_host| !is_host).count().max(1)
    }

    /// Fills free slots with the chunks of a device and sends them there, until there are no more.
    fn fill_slots<I: Index, O: Index>(
        &self,
        mut filler: Filler<'_, T, I, O>,
        to_device: &Sender<Filled<'a, T, I>>,
    ) {
        let _guard = self.queue.stop_on_panic();
        loop {
            let mut slot = filler.slots.take();
            let Some((chunk, location)) = self.fill_next(&mut filler, &mut slot) else {
                return;
            };
            if let Err(unsent) = to_device.send(Filled { chunk, slot, location }) {
                return self.queue.give_back(unsent.0.chunk);
            }
        }
    }

    /// Fills a slot with the next chunk of a device that the source can read, or finds it in the source's memory.
    fn fill_next<I: Index, O: Index>(
        &self,
        filler: &mut Filler<'_, T, I, O>,
        slot: &mut TakenSlot<T, I>,
    ) -> Option<(Chunk, Location<'a, T>)> {
        loop {
            let chunk = self.take(filler.device, &filler.slots)?;
            if let Some(matrices) = self.on_device(filler.device, &chunk) {
                return Some((chunk, Location::OnDevice(matrices)));
            }
            let filled = match self.schemes[filler.device] {
                Scheme::Sfc => match self.lend_directly(&chunk, &filler.slots) {
                    Some(lent) => Ok(Location::Lent(lent)),
                    None => self.fill(&chunk, filler.threads, slot).map(|()| Location::Slot),
                },
                scheme => self.encode(scheme, filler, &chunk, slot).and_then(|()| match filler.unpacks {
                    true => self.pack::<I, O>(scheme, &chunk, slot).map(|()| Location::Packed),
                    false => Ok(Location::Messages),
                }),
            };
            match filled {
                Ok(location) => return Some((chunk, location)),
                Err((position, error)) => self.retry(chunk, position, error),
            }
        }
    }

    fn take<I: Index>(&self, device: usize, slots: &Slots<T, I>) -> Option<Chunk> {
        if self.has_ended() {
            return None;
        }
        self.queue.take(device, |chunk| self.portion(device, chunk, slots))
    }

    /// The items of a chunk that a device takes at once.
    fn portion<I: Index>(&self, device: usize, chunk: &Chunk, slots: &Slots<T, I>) -> usize {
        if self.options.parallelism == Parallelism::IntraTask {
            return 1;
        }
        let item = &self.items[chunk.items[0]];
        let bytes = match self.hosts[device] {
            true => PORTION_BYTES,
            false if self.schemes[device] != Scheme::Sfc || item.device == Some(device) => u64::MAX,
            false if self.lend_directly(chunk, slots).is_some() => u64::MAX,
            false => STAGED_BYTES,
        };
        usize::try_from(bytes / item.weight()).unwrap_or(usize::MAX).max(1)
    }

    /// True if nothing more is to be compressed. Ends the run if the caller has asked for it.
    pub(super) fn has_ended(&self) -> bool {
        if self.options.cancel.is_some_and(|cancel| cancel.load(Ordering::Relaxed)) {
            self.queue.stop();
        }
        self.queue.is_stopped()
    }

    /// The elements of a chunk, if they lie in the memory of this device.
    fn on_device(&self, device: usize, chunk: &Chunk) -> Option<DeviceMatrices<'a>> {
        let items = || chunk.items.iter().map(|&item| &self.items[item]);
        if !items().all(|item| item.device == Some(device)) {
            return None;
        }
        item::on_device(self.source, items())
    }

    /// The elements of a chunk in the source's memory, if the device copies them as fast as those of a slot. Matrices
    /// whose slots are not pinned always are.
    fn lend_directly<I: Index>(&self, chunk: &Chunk, slots: &Slots<T, I>) -> Option<&'a [T]> {
        let is_large = self.items[chunk.items[0]].bytes > MOST_PINNED_BYTES;
        self.lend(chunk).filter(|lent| is_large || slots.is_direct(lent))
    }

    /// The elements of a chunk in the source's memory, if it has whole matrices there, one after the other.
    fn lend(&self, chunk: &Chunk) -> Option<&'a [T]> {
        let first = &self.items[chunk.items[0]];
        let is_next = |(&item, matrix): (&usize, usize)| {
            let item = &self.items[item];
            item.matrix == matrix && item.part == Part::whole(self.source.shape(matrix))
        };
        if !chunk.items.iter().zip(first.matrix..).all(is_next) {
            return None;
        }
        let lent = self.source.lend(first.matrix..first.matrix + chunk.items.len())?;
        (lent.len() == first.elements * chunk.items.len()).then_some(lent)
    }

    /// Copies the elements of a chunk to a slot, which grows as needed; an error names the item by its position in the
    /// chunk.
    fn fill<I: Index>(
        &self,
        chunk: &Chunk,
        threads: usize,
        slot: &mut TakenSlot<T, I>,
    ) -> Result<(), (usize, Error)> {
        let elements = self.items[chunk.items[0]].elements;
        // More than usize counts is more than there is.
        let needed = elements.saturating_mul(chunk.items.len());
        let target = slot.elements_mut(needed).map_err(|error| (0, error))?;
        if let [item] = chunk.items[..] {
            return self.fill_by_lines(item, target, threads).map_err(|error| (0, error));
        }
        write_pieces(target, elements, threads, |position, target| {
            self.fill_item(chunk.items[position], target).map_err(|error| (position, error))
        })
    }

    /// Copies the elements of an item, several threads some lines each if the source can be read so.
    fn fill_by_lines(&self, item: usize, elements: &mut [T], threads: usize) -> Result<()> {
        let Item { matrix, part, order, bytes, .. } = &self.items[item];
        if *bytes <= PORTION_BYTES || !self.source.is_divisible(*matrix) {
            return self.fill_item(item, elements);
        }
        let (lines, length) = match order {
            Order::RowMajor => (part.rows.len(), part.cols.len()),
            Order::ColMajor => (part.cols.len(), part.rows.len()),
        };
        let lines_of_piece = (PORTION_BYTES as usize / size_of::<T>() / length).max(1);
        write_pieces(elements, lines_of_piece * length, threads, |piece, elements| {
            let start = piece * lines_of_piece;
            let lines = start..lines.min(start + lines_of_piece);
            self.source.fill_part(*matrix, &part.lines(lines, *order), elements)
        })
    }

    fn fill_item(&self, item: usize, elements: &mut [T]) -> Result<()> {
        let Item { matrix, part, .. } = &self.items[item];
        self.source.fill_part(*matrix, part, elements)
    }

    /// Compresses the items of a chunk on the host, one by one, to the messages of a slot.
    fn encode<I: Index, O: Index>(
        &self,
        scheme: Scheme,
        Filler { host, elements, .. }: &mut Filler<'_, T, I, O>,
        chunk: &Chunk,
        slot: &mut TakenSlot<T, I>,
    ) -> Result<(), (usize, Error)> {
        let messages = slot.messages_mut(chunk.items.len());
        let lent = self.lend(chunk);
        for (position, (&item, message)) in chunk.items.iter().zip(messages).enumerate() {
            let mut encode = || {
                let Item { elements: len, order, .. } = self.items[item];
                let (rows, cols) = self.items[item].shape();
                self.check_extents::<I>(&self.items[item])?;
                let elements = match lent {
                    Some(lent) => &lent[position * len..][..len],
                    None => {
                        resize(elements, len)?;
                        self.fill_item(item, &mut elements[..len])?;
                        &elements[..len]
                    }
                };
                let ld = if order == Order::RowMajor { cols } else { rows };
                let matrix = DenseView::new(elements, rows, cols, ld, order)?;
                let matrix = if self.is_by_rows { matrix } else { matrix.transposed() };
                let block = host.compress(matrix, self.options.keep)?;
                message::encode(scheme, &self.message_part(item), &block, message)
            };
            encode().map_err(|error| (position, error))?;
        }
        Ok(())
    }

    /// Makes planes of the messages of a slot on this thread, so that those of the device's streams need not check them.
    fn pack<I: Index, O: Index>(
        &self,
        scheme: Scheme,
        chunk: &Chunk,
        slot: &mut TakenSlot<T, I>,
    ) -> Result<(), (usize, Error)> {
        let parts = chunk.items.iter().map(|&item| self.message_part(item));
        slot.pack::<O>(scheme, parts).map_err(|error| (0, error))
    }

    /// The part of an item in messages, which have rows: matrices that are compressed by columns travel as their
    /// transposes.
    pub(super) fn message_part(&self, item: usize) -> Part {
        let Part { rows, cols } = self.items[item].part.clone();
        if self.is_by_rows { Part { rows, cols } } else { Part { rows: cols, cols: rows } }
    }

    /// An error if an extent of the item does not fit `I`. A plan would name the extents of the transpose.
    pub(super) fn check_extents<I: Index>(&self, item: &Item) -> Result<()> {
        I::try_new("rows", item.shape().0)?;
        I::try_new("columns", item.shape().1)?;
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

    /// Counts items that are finished, and tells the caller.
    pub(super) fn finish(&self, items: &[usize]) {
        let mut tally = self.tally.lock().unwrap_or_else(PoisonError::into_inner);
        let Tally { open_parts, matrices, .. } = &mut *tally;
        for &item in items {
            let open_parts = &mut open_parts[self.items[item].matrix];
            *open_parts -= 1;
            *matrices += usize::from(*open_parts == 0);
        }
        tally.bytes += self.bytes(items);
        if let Some(progress) = self.options.progress {
            progress(Progress {
                items: tally.matrices,
                total_items: tally.open_parts.len(),
                bytes: tally.bytes,
                total_bytes: self.total_bytes,
                elapsed: self.start.elapsed(),
            });
        }
        drop(tally);
        self.queue.finish(items.len());
    }

    /// Opens items again that were finished, and whose device has lost them.
    pub(super) fn reopen(&self, items: Vec<usize>) {
        let mut tally = self.tally.lock().unwrap_or_else(PoisonError::into_inner);
        let Tally { open_parts, matrices, .. } = &mut *tally;
        for &item in &items {
            let open_parts = &mut open_parts[self.items[item].matrix];
            *matrices -= usize::from(*open_parts == 0);
            *open_parts += 1;
        }
        tally.bytes -= self.bytes(&items);
        tally.retries += items.len();
        drop(tally);
        self.queue.reopen(items);
    }

    /// Counts items that are given to a device once more.
    pub(super) fn count_retries(&self, items: usize) {
        self.tally.lock().unwrap_or_else(PoisonError::into_inner).retries += items;
    }

    /// Bytes of the elements of items.
    pub(super) fn bytes(&self, items: &[usize]) -> u64 {
        items.iter().map(|&item| self.items[item].bytes).sum()
    }
}

/// The threads of the host.
pub(super) fn available_threads() -> usize {
    thread::available_parallelism().map_or(1, NonZero::get)
}

/// The matrices of unfinished items, each with the first cause that one of its parts has.
fn matrices_of(unfinished: Vec<Unfinished>, items: &[Item]) -> Vec<Unfinished> {
    let mut seen = HashSet::new();
    let named = unfinished.into_iter().map(|Unfinished { items: parts, cause }| {
        let matrices = parts.into_iter().map(|item| items[item].matrix);
        Unfinished { items: matrices.filter(|&matrix| seen.insert(matrix)).collect(), cause }
    });
    named.filter(|unfinished| !unfinished.items.is_empty()).collect()
}

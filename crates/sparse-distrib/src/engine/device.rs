//! A device in a run: it compresses the chunks that are sent to it, and finds memory for them.

use super::chunk::Chunk;
use super::handle::ResidentBatch;
use super::ledger::Lease;
use super::message;
use super::report::DeviceReport;
use super::run::{Filled, Run, Slot};
use super::worker::{Resident, Worker, batch_bytes, peak_bytes};
use crate::scheme::Scheme;
use sparse_core::op::Keep;
use sparse_core::{BatchCsr, DenseBatchView, Error, Host, Index, Order, Result, Scalar};
use std::ops::Range;
use std::sync::mpsc::{Receiver, Sender};
use std::time::{Duration, Instant};

/// A device with the batches that it has finished.
pub(super) struct ActiveDevice<'r, T: Scalar, I: Index, O: Index> {
    run: &'r Run<'r, T>,
    index: usize,
    worker: &'r mut dyn Worker<T, I, O>,
    batches: Vec<ResidentBatch<T, I, O>>,
    report: DeviceReport,
}

/// Matrices of one shape, as a device gets them.
enum Input<'s, T: Scalar, I: Index, O: Index> {
    /// Their elements, which the device compresses.
    Dense(DenseBatchView<'s, T>),
    /// Their entries, which the host has found.
    Compressed(BatchCsr<T, Host, I, O>),
}

impl<T: Scalar, I: Index, O: Index> Input<'_, T, I, O> {
    fn send_to(&self, worker: &mut dyn Worker<T, I, O>, keep: Keep<T>) -> Result<Box<dyn Resident<T, I, O>>> {
        match self {
            Self::Dense(view) => worker.compress(*view, keep),
            Self::Compressed(batch) => worker.adopt(batch),
        }
    }
}

/// The items of a chunk that a device has not compressed when it failed, and its error.
struct DeviceFailure {
    rest: Vec<usize>,
    error: Error,
}

impl<'r, T: Scalar, I: Index, O: Index> ActiveDevice<'r, T, I, O> {
    pub(super) fn new(run: &'r Run<'r, T>, index: usize, worker: &'r mut dyn Worker<T, I, O>) -> Self {
        let report = DeviceReport::new(worker.name(), run.schemes[index]);
        Self { run, index, worker, batches: vec![], report }
    }

    /// Compresses filled chunks until there are no more or the device fails, and gives their slots back.
    pub(super) fn serve(
        mut self,
        filled: &Receiver<Filled<'_, T>>,
        free: Sender<Slot<T>>,
    ) -> (Vec<ResidentBatch<T, I, O>>, DeviceReport) {
        let _guard = self.run.queue.stop_on_panic();
        while let Ok(chunk) = filled.recv() {
            if self.run.has_ended() {
                self.run.queue.give_back(chunk.chunk);
                break;
            }
            let start = Instant::now();
            let result = self.compress(&chunk);
            self.report.busy_seconds += start.elapsed().as_secs_f64();
            if let Err(failure) = result {
                self.fail(failure);
                break;
            }
            // The thread that fills slots may have ended.
            let _ = free.send(chunk.slot);
        }
        drop(free);
        filled.iter().for_each(|Filled { chunk, .. }| self.run.queue.give_back(chunk));
        for batch in &self.batches {
            self.report.items += batch.items().len();
            self.report.bytes_in += self.run.bytes(batch.items());
            self.report.bytes_out += batch.bytes();
        }
        (self.batches, self.report)
    }

    /// Compresses a chunk, in halves where memory is short. What the device has no memory for goes to another.
    fn compress(&mut self, filled: &Filled<'_, T>) -> Result<(), DeviceFailure> {
        let chunk = &filled.chunk;
        let whole = 0..chunk.items.len();
        let mut ranges = vec![whole];
        while let Some(range) = ranges.pop() {
            match self.compress_items(filled, range.clone()) {
                Ok(()) => {}
                Err(Error::OutOfMemory { .. } | Error::IndexOverflow { .. }) if range.len() > 1 => {
                    self.report.splits += 1;
                    let middle = range.start + range.len() / 2;
                    ranges.extend([middle..range.end, range.start..middle]);
                }
                Err(error @ Error::OutOfMemory { .. }) => {
                    let refused = chunk.refused.clone();
                    let chunk = Chunk { refused, ..Chunk::new(vec![chunk.items[range.start]]) };
                    self.run.queue.refuse(chunk, self.index, error);
                }
                Err(error @ Error::IndexOverflow { .. }) => {
                    self.run.queue.fail(vec![chunk.items[range.start]], error);
                }
                Err(error) => {
                    ranges.push(range);
                    let rest = ranges.into_iter().flat_map(|range| chunk.items[range].to_vec()).collect();
                    return Err(DeviceFailure { rest, error });
                }
            }
        }
        Ok(())
    }

    /// Compresses a range of the items of a chunk to a batch.
    fn compress_items(&mut self, filled: &Filled<'_, T>, range: Range<usize>) -> Result<()> {
        let input = self.input(filled, range.clone())?;
        let lease = self.reserve_for(&input)?;
        let keep = self.run.options.keep;
        let mut result = input.send_to(self.worker, keep);
        // The account knows nothing of other users of the device.
        if is_out_of_memory(&result) {
            self.worker.trim();
            result = input.send_to(self.worker, keep);
        }
        if is_out_of_memory(&result) && self.spill(lease.bytes())? {
            result = input.send_to(self.worker, keep);
        }
        let batch =
            ResidentBatch::new(filled.chunk.items[range].to_vec(), result?, self.report.name.clone(), lease);
        self.run.finish(batch.items());
        self.batches.push(batch);
        Ok(())
    }

    /// A range of the items of a chunk, as the worker is to get them: by rows, transposed for CSC.
    fn input<'s>(&self, filled: &'s Filled<'_, T>, range: Range<usize>) -> Result<Input<'s, T, I, O>> {
        let (scheme, items) = (self.report.scheme, &filled.chunk.items);
        if scheme != Scheme::Sfc {
            let parts = items[range.clone()].iter().map(|&item| self.run.message_part(item));
            return Ok(Input::Compressed(message::decode(scheme, parts, &filled.slot.messages[range])?));
        }
        let item = &self.run.items[items[0]];
        self.run.check_extents::<I>(item)?;
        let elements = &filled.elements()[range.start * item.elements..range.end * item.elements];
        let ld = if item.order == Order::RowMajor { item.shape().1 } else { item.shape().0 };
        let view = DenseBatchView::new(elements, range.len(), item.elements, item.shape(), ld, item.order)?;
        Ok(Input::Dense(if self.run.is_by_rows { view } else { view.transposed() }))
    }

    /// Reserves memory for a compression: for as many entries as there may be, or else as there are.
    fn reserve_for(&mut self, input: &Input<'_, T, I, O>) -> Result<Lease> {
        let view = match input {
            Input::Dense(view) => view,
            Input::Compressed(batch) => return self.reserve(batch_bytes(batch)),
        };
        let (elements, lines) = (view.data(), view.count().saturating_mul(view.nrows().saturating_add(1)));
        let most = peak_bytes::<T, I, O>(lines, elements.len(), elements.len());
        if let Ok(lease) = self.worker.ledger().reserve(most, Duration::ZERO) {
            return Ok(lease);
        }
        let nnz = elements.iter().filter(|&&element| self.run.options.keep.keeps(element)).count();
        self.reserve(peak_bytes::<T, I, O>(lines, elements.len(), nnz))
    }

    /// Reserves memory: waits for others, frees the plan, then moves finished batches to the host.
    fn reserve(&mut self, bytes: u64) -> Result<Lease> {
        let ledger = self.worker.ledger().clone();
        if let Ok(lease) = ledger.reserve(bytes, self.run.options.patience) {
            return Ok(lease);
        }
        self.worker.trim();
        if let Ok(lease) = ledger.reserve(bytes, Duration::ZERO) {
            return Ok(lease);
        }
        self.spill(bytes.saturating_sub(ledger.available()))?;
        ledger.reserve(bytes, Duration::ZERO)
    }

    /// Moves the oldest batches to the host until the device has `wanted` bytes more. Does nothing, and returns false, if
    /// all of them together have less.
    fn spill(&mut self, wanted: u64) -> Result<bool> {
        let on_device = || self.batches.iter().filter(|batch| batch.is_on_device());
        let movable: u64 = on_device().map(ResidentBatch::bytes).sum();
        if self.worker.is_host() || !self.run.options.spill || movable < wanted {
            return Ok(false);
        }
        let mut moved = 0;
        for batch in self.batches.iter_mut().filter(|batch| batch.is_on_device()) {
            if moved >= wanted {
                break;
            }
            batch.move_to_host()?;
            moved += batch.bytes();
            self.report.spills += 1;
        }
        Ok(true)
    }

    /// Takes the device out of service: its batches are moved to the host, and what it has lost or not compressed is left
    /// to others.
    fn fail(&mut self, failure: DeviceFailure) {
        self.report.failure = Some(failure.error.to_string());
        if !self.worker.is_host() {
            for mut batch in std::mem::take(&mut self.batches) {
                let was_on_device = batch.is_on_device();
                if batch.move_to_host().is_ok() {
                    self.report.spills += usize::from(was_on_device);
                    self.batches.push(batch);
                } else {
                    self.run.reopen(batch.into_items());
                }
            }
        }
        self.run.count_retries(failure.rest.len());
        self.run.queue.give_back(Chunk::new(failure.rest));
        self.run.queue.retire(self.index);
    }
}

fn is_out_of_memory<R>(result: &Result<R>) -> bool {
    matches!(result, Err(Error::OutOfMemory { .. }))
}

//! A device in a run: it compresses the chunks that are sent to it, and finds memory for them.

use super::chunk::Chunk;
use super::handle::Part;
use super::ledger::Lease;
use super::report::DeviceReport;
use super::run::{Filled, Run};
use super::worker::{Worker, peak_bytes};
use sparse_core::{DenseBatchView, Error, Index, Order, Result, Scalar};
use std::ops::Range;
use std::sync::mpsc::{Receiver, Sender};
use std::time::{Duration, Instant};

/// A device with the parts that it has finished.
pub(super) struct ActiveDevice<'r, T: Scalar, I: Index, O: Index> {
    run: &'r Run<'r, T>,
    index: usize,
    worker: &'r mut dyn Worker<T, I, O>,
    parts: Vec<Part<T, I, O>>,
    report: DeviceReport,
}

/// The items of a chunk that a device has not compressed when it failed, and its error.
struct DeviceFailure {
    rest: Vec<usize>,
    error: Error,
}

impl<'r, T: Scalar, I: Index, O: Index> ActiveDevice<'r, T, I, O> {
    pub(super) fn new(run: &'r Run<'r, T>, index: usize, worker: &'r mut dyn Worker<T, I, O>) -> Self {
        let report = DeviceReport { name: worker.name().to_owned(), ..DeviceReport::default() };
        Self { run, index, worker, parts: vec![], report }
    }

    /// Compresses filled chunks until there are no more or the device fails, and gives their slots back.
    pub(super) fn serve(
        mut self,
        filled: &Receiver<Filled<T>>,
        free: Sender<Vec<T>>,
    ) -> (Vec<Part<T, I, O>>, DeviceReport) {
        let _guard = self.run.queue.stop_on_panic();
        while let Ok(Filled { chunk, slot }) = filled.recv() {
            if self.run.has_ended() {
                self.run.queue.give_back(chunk);
                break;
            }
            let start = Instant::now();
            let result = self.compress(&chunk, &slot);
            self.report.busy_seconds += start.elapsed().as_secs_f64();
            if let Err(failure) = result {
                self.fail(failure);
                break;
            }
            // The thread that fills slots may have ended.
            let _ = free.send(slot);
        }
        drop(free);
        filled.iter().for_each(|Filled { chunk, .. }| self.run.queue.give_back(chunk));
        for part in &self.parts {
            self.report.items += part.items().len();
            self.report.bytes_in += self.run.bytes(part.items());
            self.report.bytes_out += part.bytes();
        }
        (self.parts, self.report)
    }

    /// Compresses a chunk, in halves where memory is short. What the device has no memory for goes to another.
    fn compress(&mut self, chunk: &Chunk, slot: &[T]) -> Result<(), DeviceFailure> {
        let whole = 0..chunk.items.len();
        let mut ranges = vec![whole];
        while let Some(range) = ranges.pop() {
            let items = chunk.items[range.clone()].to_vec();
            match self.compress_items(items, &slot[self.elements_of(chunk, &range)]) {
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

    /// The elements of some items of a chunk in its slot.
    fn elements_of(&self, chunk: &Chunk, range: &Range<usize>) -> Range<usize> {
        let elements = self.run.items[chunk.items[0]].elements;
        range.start * elements..range.end * elements
    }

    /// Compresses items of one shape to a part.
    fn compress_items(&mut self, items: Vec<usize>, elements: &[T]) -> Result<()> {
        let view = self.view(&items, elements)?;
        let lease = self.reserve_for(view)?;
        let keep = self.run.options.keep;
        let mut result = self.worker.compress(view, keep);
        // The account knows nothing of other users of the device.
        if is_out_of_memory(&result) {
            self.worker.trim();
            result = self.worker.compress(view, keep);
        }
        if is_out_of_memory(&result) && self.spill(lease.bytes())? {
            result = self.worker.compress(view, keep);
        }
        let part = Part::new(items, result?, self.report.name.clone(), lease);
        self.run.finish(part.items());
        self.parts.push(part);
        Ok(())
    }

    /// The items as the worker is to compress them: transposed for CSC.
    fn view<'s>(&self, items: &[usize], elements: &'s [T]) -> Result<DenseBatchView<'s, T>> {
        let item = &self.run.items[items[0]];
        // A plan would name the extents of the transpose.
        I::try_new("rows", item.shape.0)?;
        I::try_new("columns", item.shape.1)?;
        let ld = if item.order == Order::RowMajor { item.shape.1 } else { item.shape.0 };
        let view = DenseBatchView::new(elements, items.len(), item.elements, item.shape, ld, item.order)?;
        Ok(if self.run.is_by_rows { view } else { view.transposed() })
    }

    /// Reserves memory for a compression: for as many entries as there may be, or else as there are.
    fn reserve_for(&mut self, view: DenseBatchView<'_, T>) -> Result<Lease> {
        let (elements, lines) = (view.data(), view.count().saturating_mul(view.nrows().saturating_add(1)));
        let most = peak_bytes::<T, I, O>(lines, elements.len(), elements.len());
        if let Ok(lease) = self.worker.ledger().reserve(most, Duration::ZERO) {
            return Ok(lease);
        }
        let nnz = elements.iter().filter(|&&element| self.run.options.keep.keeps(element)).count();
        self.reserve(peak_bytes::<T, I, O>(lines, elements.len(), nnz))
    }

    /// Reserves memory: waits for others, frees the plan, then moves finished parts to the host.
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

    /// Moves the oldest parts to the host until the device has `wanted` bytes more. Does nothing, and returns false, if
    /// all of them together have less.
    fn spill(&mut self, wanted: u64) -> Result<bool> {
        let on_device = || self.parts.iter().filter(|part| part.is_on_device());
        let movable: u64 = on_device().map(Part::bytes).sum();
        if self.worker.is_host() || !self.run.options.spill || movable < wanted {
            return Ok(false);
        }
        let mut moved = 0;
        for part in self.parts.iter_mut().filter(|part| part.is_on_device()) {
            if moved >= wanted {
                break;
            }
            part.move_to_host()?;
            moved += part.bytes();
            self.report.spills += 1;
        }
        Ok(true)
    }

    /// Takes the device out of service: its parts are moved to the host, and what it has lost or not compressed is left
    /// to others.
    fn fail(&mut self, failure: DeviceFailure) {
        self.report.failure = Some(failure.error.to_string());
        if !self.worker.is_host() {
            for mut part in std::mem::take(&mut self.parts) {
                let was_on_device = part.is_on_device();
                if part.move_to_host().is_ok() {
                    self.report.spills += usize::from(was_on_device);
                    self.parts.push(part);
                } else {
                    self.run.reopen(part.into_items());
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

//! A device in a run: its streams compress the chunks that it receives, within the device's memory.

use super::chunk::Chunk;
use super::handle::ResidentBatch;
use super::ledger::{Lease, Ledger};
use super::message::{self, PackedBatch};
use super::report::DeviceReport;
use super::run::{Filled, Location, Run};
use super::source::DeviceMatrices;
use super::worker::{BoxedWorker, Resident, Worker, batch_bytes, peak_bytes};
use crate::scheme::Scheme;
use sparse_core::op::Keep;
use sparse_core::{BatchCsr, DenseBatchView, Error, Host, Index, Order, Result, Scalar};
use std::borrow::Cow;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::{Duration, Instant};

/// A device with the batches that it has finished.
///
/// While one stream copies a chunk to the device, another compresses. A stream that runs out of memory waits until the
/// others pause, and then uses the device alone.
pub(super) struct ActiveDevice<'r, T: Scalar, I: Index, O: Index> {
    run: &'r Run<'r, T>,
    index: usize,
    scheme: Scheme,
    is_host: bool,
    ledger: Arc<Ledger>,
    streams: Vec<Mutex<&'r mut BoxedWorker<T, I, O>>>,
    /// Locked for reading by a stream that works beside others, for writing by one that works alone.
    turn: RwLock<()>,
    state: Mutex<State<T, I, O>>,
}

struct State<T: Scalar, I: Index, O: Index> {
    batches: Vec<ResidentBatch<T, I, O>>,
    report: DeviceReport,
    failures: Vec<DeviceFailure>,
    /// Streams that work, and the time since which at least one does.
    working: usize,
    working_since: Instant,
}

/// Matrices of one shape, in a form that a worker takes.
enum Input<'s, T: Scalar, I: Index, O: Index> {
    /// Dense elements, which the device compresses.
    Dense(DenseBatchView<'s, T>),
    /// Dense elements in the device's own memory.
    OnDevice(DeviceMatrices<'s>),
    /// Entries that the host has found.
    Compressed(BatchCsr<T, Host, I, O>),
    /// Entries in planes of messages, from which the device computes arrays.
    Packed(Cow<'s, PackedBatch<T, I>>),
}

impl<T: Scalar, I: Index, O: Index> Input<'_, T, I, O> {
    fn send_to(&self, worker: &mut dyn Worker<T, I, O>, keep: Keep<T>) -> Result<Box<dyn Resident<T, I, O>>> {
        match self {
            Self::Dense(view) => worker.compress(*view, keep),
            Self::OnDevice(matrices) => worker.compress_in_place(matrices, keep),
            Self::Compressed(batch) => worker.adopt(batch),
            Self::Packed(batch) => worker.unpack(batch),
        }
    }

    /// Bytes that the device may need at most.
    fn peak_bytes(&self) -> u64 {
        match self {
            Self::Dense(view) => {
                let lines = lines(view.count(), view.nrows());
                peak_bytes::<T, I, O>(lines, view.data().len(), view.data().len())
            }
            Self::OnDevice(matrices) => {
                let (rows, cols) = matrices.shape();
                let lines = lines(matrices.count(), rows);
                peak_bytes::<T, I, O>(lines, 0, matrices.count().saturating_mul(rows.saturating_mul(cols)))
            }
            Self::Compressed(batch) => batch_bytes(batch),
            Self::Packed(batch) => batch.peak_bytes::<O>(),
        }
    }
}

/// The offsets of the members of a batch.
fn lines(members: usize, rows: usize) -> usize {
    members.saturating_mul(rows.saturating_add(1))
}

/// The items of a chunk that a device has not compressed when it failed, and its error.
struct DeviceFailure {
    rest: Vec<usize>,
    error: Error,
}

impl<'r, T: Scalar, I: Index, O: Index> ActiveDevice<'r, T, I, O> {
    /// A device with a worker for each stream, at least one.
    pub(super) fn new(run: &'r Run<'r, T>, index: usize, workers: Vec<&'r mut BoxedWorker<T, I, O>>) -> Self {
        let scheme = run.schemes[index];
        let state = State {
            batches: vec![],
            report: DeviceReport::new(workers[0].name(), scheme),
            failures: vec![],
            working: 0,
            working_since: Instant::now(),
        };
        Self {
            run,
            index,
            scheme,
            is_host: workers[0].is_host(),
            ledger: workers[0].ledger().clone(),
            streams: workers.into_iter().map(Mutex::new).collect(),
            turn: RwLock::new(()),
            state: Mutex::new(state),
        }
    }

    /// Compresses filled chunks until there is no next; after the end of the run or a failure of the device it gives
    /// them back.
    pub(super) fn serve<'f>(&self, stream: usize, mut next: impl FnMut() -> Option<Filled<'f, T, I>>)
    where
        T: 'f,
    {
        let _guard = self.run.queue.stop_on_panic();
        while let Some(filled) = next() {
            if self.run.has_ended() || self.has_failed() {
                self.run.queue.give_back(filled.chunk);
                continue;
            }
            self.begin_work();
            let result = self.compress(stream, &filled);
            self.end_work();
            if let Err(failure) = result {
                self.run.queue.exclude(self.index);
                self.state().failures.push(failure);
            }
        }
    }

    /// The finished batches and the report, after all streams have ended.
    pub(super) fn finish(self) -> (Vec<ResidentBatch<T, I, O>>, DeviceReport) {
        let Self { run, index, is_host, state, .. } = self;
        let mut state = state.into_inner().unwrap_or_else(PoisonError::into_inner);
        if !state.failures.is_empty() {
            state.retire(run, index, is_host);
        }
        let State { batches, mut report, .. } = state;
        for batch in &batches {
            report.items += batch.items().len();
            report.bytes_in += run.bytes(batch.items());
            report.bytes_out += batch.bytes();
        }
        (batches, report)
    }

    fn has_failed(&self) -> bool {
        !self.state().failures.is_empty()
    }

    fn begin_work(&self) {
        let mut state = self.state();
        if state.working == 0 {
            state.working_since = Instant::now();
        }
        state.working += 1;
    }

    fn end_work(&self) {
        let mut state = self.state();
        state.working -= 1;
        if state.working == 0 {
            state.report.busy_seconds += state.working_since.elapsed().as_secs_f64();
        }
    }

    /// Compresses a chunk: beside the other streams if there is memory for it, else alone.
    fn compress(&self, stream: usize, filled: &Filled<'_, T, I>) -> Result<(), DeviceFailure> {
        if self.streams.len() > 1 {
            let _turn = self.turn.read().unwrap_or_else(PoisonError::into_inner);
            match self.compress_beside_others(stream, filled) {
                Ok(()) => return Ok(()),
                Err(Error::OutOfMemory { .. } | Error::IndexOverflow { .. }) => {}
                Err(error) => return Err(DeviceFailure { rest: filled.chunk.items.clone(), error }),
            }
        }
        let _turn = self.turn.write().unwrap_or_else(PoisonError::into_inner);
        self.compress_alone(stream, filled)
    }

    /// Compresses a chunk to a batch; fails if memory is short.
    fn compress_beside_others(&self, stream: usize, filled: &Filled<'_, T, I>) -> Result<()> {
        let all = 0..filled.chunk.items.len();
        let input = self.input(filled, all.clone())?;
        let lease = self.ledger.reserve(input.peak_bytes(), Duration::ZERO)?;
        let result = input.send_to(self.worker(stream).as_mut(), self.run.options.keep)?;
        self.add(filled, all, result, lease);
        Ok(())
    }

    /// Compresses a chunk, in halves where memory is short. Items that do not fit the device's memory go to another
    /// device.
    fn compress_alone(&self, stream: usize, filled: &Filled<'_, T, I>) -> Result<(), DeviceFailure> {
        let chunk = &filled.chunk;
        let whole = 0..chunk.items.len();
        let mut ranges = vec![whole];
        while let Some(range) = ranges.pop() {
            match self.compress_items(stream, filled, range.clone()) {
                Ok(()) => {}
                Err(Error::OutOfMemory { .. } | Error::IndexOverflow { .. }) if range.len() > 1 => {
                    self.state().report.splits += 1;
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
    fn compress_items(&self, stream: usize, filled: &Filled<'_, T, I>, range: Range<usize>) -> Result<()> {
        let input = self.input(filled, range.clone())?;
        let lease = self.reserve_for(&input)?;
        let send = || input.send_to(self.worker(stream).as_mut(), self.run.options.keep);
        let mut result = send();
        // The ledger does not count other users of the device.
        if is_out_of_memory(&result) {
            self.trim();
            result = send();
        }
        if is_out_of_memory(&result) && self.spill(lease.bytes())? {
            result = send();
        }
        self.add(filled, range, result?, lease);
        Ok(())
    }

    /// Adds the batch of a range of the items of a chunk.
    fn add(
        &self,
        filled: &Filled<'_, T, I>,
        range: Range<usize>,
        resident: Box<dyn Resident<T, I, O>>,
        lease: Lease,
    ) {
        let name = self.state().report.name.clone();
        let batch = ResidentBatch::new(filled.chunk.items[range].to_vec(), resident, name, lease);
        self.run.finish(batch.items());
        self.state().batches.push(batch);
    }

    /// The worker's input for a range of a chunk's items: by rows, transposed for CSC.
    fn input<'s>(&self, filled: &'s Filled<'_, T, I>, range: Range<usize>) -> Result<Input<'s, T, I, O>> {
        let items = &filled.chunk.items;
        self.run.check_extents::<I>(&self.run.items[items[0]])?;
        match filled.location {
            Location::Slot => self.dense(filled, filled.slot.elements(), range),
            Location::Lent(elements) => self.dense(filled, elements, range),
            Location::OnDevice(matrices) => {
                let matrices = matrices.members(range);
                Ok(Input::OnDevice(if self.run.is_by_rows { matrices } else { matrices.transposed() }))
            }
            Location::Messages => {
                let parts = items[range.clone()].iter().map(|&item| self.run.message_part(item));
                let messages = &filled.slot.messages()[range];
                Ok(Input::Compressed(message::decode(self.scheme, parts, messages)?))
            }
            Location::Packed => {
                let batch = filled.slot.packed();
                let is_whole = range.len() == items.len();
                let batch = if is_whole { Cow::Borrowed(batch) } else { Cow::Owned(batch.members(range)) };
                Ok(Input::Packed(batch))
            }
        }
    }

    /// The input of a range of a chunk's items, whose elements are stored item after item.
    fn dense<'s>(
        &self,
        filled: &Filled<'_, T, I>,
        elements: &'s [T],
        range: Range<usize>,
    ) -> Result<Input<'s, T, I, O>> {
        let item = &self.run.items[filled.chunk.items[0]];
        let elements = &elements[range.start * item.elements..range.end * item.elements];
        let ld = if item.order == Order::RowMajor { item.shape().1 } else { item.shape().0 };
        let view = DenseBatchView::new(elements, range.len(), item.elements, item.shape(), ld, item.order)?;
        Ok(Input::Dense(if self.run.is_by_rows { view } else { view.transposed() }))
    }

    /// Reserves memory for a compression: for the largest possible number of entries, or else for the actual number.
    fn reserve_for(&self, input: &Input<'_, T, I, O>) -> Result<Lease> {
        let view = match input {
            Input::Dense(view) => view,
            Input::OnDevice(_) | Input::Compressed(_) | Input::Packed(_) => {
                return self.reserve(input.peak_bytes());
            }
        };
        if let Ok(lease) = self.ledger.reserve(input.peak_bytes(), Duration::ZERO) {
            return Ok(lease);
        }
        let elements = view.data();
        let nnz = elements.iter().filter(|&&element| self.run.options.keep.keeps(element)).count();
        self.reserve(peak_bytes::<T, I, O>(lines(view.count(), view.nrows()), elements.len(), nnz))
    }

    /// Reserves memory: waits for others, frees the plans, then moves finished batches to the host.
    fn reserve(&self, bytes: u64) -> Result<Lease> {
        if let Ok(lease) = self.ledger.reserve(bytes, self.run.options.patience) {
            return Ok(lease);
        }
        self.trim();
        if let Ok(lease) = self.ledger.reserve(bytes, Duration::ZERO) {
            return Ok(lease);
        }
        self.spill(bytes.saturating_sub(self.ledger.available()))?;
        self.ledger.reserve(bytes, Duration::ZERO)
    }

    /// Frees the plans of all streams.
    fn trim(&self) {
        (0..self.streams.len()).for_each(|stream| self.worker(stream).trim());
    }

    /// Moves the oldest batches to the host until the device has `wanted` bytes more. Does nothing, and returns false,
    /// if all of them together have less.
    fn spill(&self, wanted: u64) -> Result<bool> {
        let State { batches, report, .. } = &mut *self.state();
        let on_device = batches.iter().filter(|batch| batch.is_on_device());
        let movable: u64 = on_device.map(ResidentBatch::bytes).sum();
        if self.is_host || !self.run.options.spill || movable < wanted {
            return Ok(false);
        }
        let mut moved = 0;
        for batch in batches.iter_mut().filter(|batch| batch.is_on_device()) {
            if moved >= wanted {
                break;
            }
            batch.move_to_host()?;
            moved += batch.bytes();
            report.spills += 1;
        }
        Ok(true)
    }

    fn worker(&self, stream: usize) -> MutexGuard<'_, &'r mut BoxedWorker<T, I, O>> {
        self.streams[stream].lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn state(&self) -> MutexGuard<'_, State<T, I, O>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T: Scalar, I: Index, O: Index> State<T, I, O> {
    /// Takes the device out of service: its batches are moved to the host, and items that it lost or did not compress
    /// are queued for others.
    fn retire(&mut self, run: &Run<'_, T>, index: usize, is_host: bool) {
        self.report.failure = self.failures.first().map(|failure| failure.error.to_string());
        if !is_host {
            for mut batch in std::mem::take(&mut self.batches) {
                let was_on_device = batch.is_on_device();
                if batch.move_to_host().is_ok() {
                    self.report.spills += usize::from(was_on_device);
                    self.batches.push(batch);
                } else {
                    run.reopen(batch.into_items());
                }
            }
        }
        for failure in self.failures.drain(..) {
            run.count_retries(failure.rest.len());
            run.queue.give_back(Chunk::new(failure.rest));
        }
        run.queue.retire(index);
    }
}

fn is_out_of_memory<R>(result: &Result<R>) -> bool {
    matches!(result, Err(Error::OutOfMemory { .. }))
}

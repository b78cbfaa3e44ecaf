//! Fills slots with the elements of chunks that the source does not lend.

use super::{Filled, Location, Run};
use crate::engine::chunk::Chunk;
use crate::engine::item::{self, Item};
use crate::engine::message::MatrixCompressor;
use crate::engine::parallelism::Parallelism;
use crate::engine::slots::{Slots, TakenSlot};
use crate::engine::source::DeviceMatrices;
use crate::engine::worker::{MAX_PINNED_BYTES, PORTION_BYTES, STAGED_BYTES};
use crate::engine::write_chunks::write_chunks;
use crate::partition::Part;
use crate::scheme::Scheme;
use sparse_core::{Error, Index, Order, Result, Scalar};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::Sender;

/// A thread that fills slots for a device.
pub(super) struct Filler<'h, T: Scalar, I: Index, O: Index> {
    pub(super) device: usize,
    pub(super) slots: Arc<Slots<T, I>>,
    /// The threads that write a slot together.
    pub(super) threads: usize,
    /// True if the device unpacks messages.
    pub(super) unpacks: bool,
    pub(super) host: Box<dyn MatrixCompressor<T, I, O> + 'h>,
    /// The elements of the matrix that the host compresses.
    pub(super) elements: Vec<T>,
}

impl<'a, T: Scalar> Run<'a, T> {
    /// Fills free slots with the chunks of a device and sends them there, until there are no more.
    pub(super) fn fill_slots<I: Index, O: Index>(
        &self,
        mut filler: Filler<'_, T, I, O>,
        to_device: &Sender<Filled<'a, T, I>>,
    ) {
        let _guard = self.queue.stop_on_panic();
        while let Some(filled) = self.next_filled(&mut filler) {
            if let Err(unsent) = to_device.send(filled) {
                return self.queue.give_back(unsent.0.chunk);
            }
        }
    }

    /// A free slot with the next chunk of a device.
    pub(super) fn next_filled<I: Index, O: Index>(
        &self,
        filler: &mut Filler<'_, T, I, O>,
    ) -> Option<Filled<'a, T, I>> {
        let mut slot = filler.slots.take();
        let (chunk, location) = self.fill_next(filler, &mut slot)?;
        Some(Filled { chunk, slot, location })
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

    /// The number of items of a chunk that a device takes at a time.
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

    /// True if nothing more is to be compressed. Ends the run if the caller has cancelled it.
    pub(crate) fn has_ended(&self) -> bool {
        if self.options.cancel.is_some_and(|cancel| cancel.load(Ordering::Relaxed)) {
            self.queue.stop();
        }
        self.queue.is_stopped()
    }

    /// The elements of a chunk, if they are in the memory of this device.
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
        let is_large = self.items[chunk.items[0]].bytes > MAX_PINNED_BYTES;
        self.lend(chunk).filter(|lent| is_large || slots.is_direct(lent))
    }

    /// The elements of a chunk in the source's memory, if it has whole matrices there, one after the other.
    pub(super) fn lend(&self, chunk: &Chunk) -> Option<&'a [T]> {
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
        // On overflow the allocation fails.
        let needed = elements.saturating_mul(chunk.items.len());
        let target = slot.elements_mut(needed).map_err(|error| (0, error))?;
        if let [item] = chunk.items[..] {
            return self.fill_by_lines(item, target, threads).map_err(|error| (0, error));
        }
        write_chunks(target, elements, threads, |position, target| {
            self.fill_item(chunk.items[position], target).map_err(|error| (position, error))
        })
    }

    /// Copies the elements of an item; several threads copy ranges of lines if the source is divisible.
    fn fill_by_lines(&self, item: usize, elements: &mut [T], threads: usize) -> Result<()> {
        let Item { matrix, part, order, bytes, .. } = &self.items[item];
        if *bytes <= PORTION_BYTES || !self.source.is_divisible(*matrix) {
            return self.fill_item(item, elements);
        }
        let (lines, length) = match order {
            Order::RowMajor => (part.rows.len(), part.cols.len()),
            Order::ColMajor => (part.cols.len(), part.rows.len()),
        };
        let lines_of_chunk = (PORTION_BYTES as usize / size_of::<T>() / length).max(1);
        write_chunks(elements, lines_of_chunk * length, threads, |position, elements| {
            let start = position * lines_of_chunk;
            let lines = start..lines.min(start + lines_of_chunk);
            self.source.fill_part(*matrix, &part.lines(lines, *order), elements)
        })
    }

    pub(super) fn fill_item(&self, item: usize, elements: &mut [T]) -> Result<()> {
        let Item { matrix, part, .. } = &self.items[item];
        self.source.fill_part(*matrix, part, elements)
    }
}

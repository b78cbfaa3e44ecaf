//! Slots: memory of the host for chunks on their way to a device, used again for later ones.

use super::message::PackedBatch;
use super::staging::Staging;
use super::worker::MAX_PINNED_BYTES;
use crate::partition::Part;
use crate::scheme::Scheme;
use sparse_core::backend::HostBuffer;
use sparse_core::reference::Reference;
use sparse_core::{Index, Result, Scalar};
use std::sync::{Arc, Condvar, Mutex, PoisonError};

/// Memory for a chunk: elements, or a message for each item, and the planes of all messages.
struct Slot<T, I> {
    elements: HostBuffer<T>,
    messages: Vec<Vec<u8>>,
    packed: PackedBatch<T, I>,
}

/// The slots of a device.
pub(super) struct Slots<T, I> {
    staging: Box<dyn Staging<T>>,
    free: Mutex<Vec<Slot<T, I>>>,
    returned: Condvar,
}

impl<T: Send + Sync + 'static, I> Default for Slot<T, I> {
    fn default() -> Self {
        Self { elements: Box::new(vec![]), messages: vec![], packed: PackedBatch::default() }
    }
}

impl<T: Scalar, I: Index> Slots<T, I> {
    /// Empty slots, whose elements will be in this memory.
    pub(super) fn new(count: usize, staging: Box<dyn Staging<T>>) -> Arc<Self> {
        let free = (0..count).map(|_| Slot::default()).collect();
        Arc::new(Self { staging, free: Mutex::new(free), returned: Condvar::new() })
    }

    /// True if the device copies these elements as fast as those of a slot.
    pub(super) fn is_direct(&self, elements: &[T]) -> bool {
        self.staging.is_direct(elements)
    }

    /// A free slot; waits for one.
    pub(super) fn take(self: &Arc<Self>) -> TakenSlot<T, I> {
        let mut free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            if let Some(slot) = free.pop() {
                return TakenSlot { slot, slots: self.clone() };
            }
            free = self.returned.wait(free).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

/// A slot in use, which is free again when this is dropped.
pub(super) struct TakenSlot<T: Scalar, I> {
    slot: Slot<T, I>,
    slots: Arc<Slots<T, I>>,
}

impl<T: Scalar, I: Index> TakenSlot<T, I> {
    pub(super) fn elements(&self) -> &[T] {
        &self.slot.elements
    }

    /// `len` elements, with arbitrary values.
    pub(super) fn elements_mut(&mut self, len: usize) -> Result<&mut [T]> {
        if self.slot.elements.len() < len {
            // Freed first, so that no slot ever has both.
            self.slot.elements = Box::new(vec![]);
            let is_pinned = (len as u64).saturating_mul(size_of::<T>() as u64) <= MAX_PINNED_BYTES;
            let staging: &dyn Staging<T> = if is_pinned { self.slots.staging.as_ref() } else { &Reference };
            self.slot.elements = staging.allocate(len)?;
        }
        Ok(&mut self.slot.elements[..len])
    }

    pub(super) fn messages(&self) -> &[Vec<u8>] {
        &self.slot.messages
    }

    /// `count` messages, with arbitrary bytes.
    pub(super) fn messages_mut(&mut self, count: usize) -> &mut [Vec<u8>] {
        let messages = &mut self.slot.messages;
        messages.resize_with(count.max(messages.len()), Vec::new);
        &mut messages[..count]
    }

    pub(super) fn packed(&self) -> &PackedBatch<T, I> {
        &self.slot.packed
    }

    /// Checks the messages of these parts, and makes one batch of their planes.
    pub(super) fn pack<O: Index>(&mut self, scheme: Scheme, parts: impl Iterator<Item = Part>) -> Result<()> {
        self.slot.packed.refill::<O>(scheme, parts, &self.slot.messages)
    }
}

impl<T: Scalar, I> Drop for TakenSlot<T, I> {
    fn drop(&mut self) {
        let slot = std::mem::take(&mut self.slot);
        self.slots.free.lock().unwrap_or_else(PoisonError::into_inner).push(slot);
        self.slots.returned.notify_one();
    }
}

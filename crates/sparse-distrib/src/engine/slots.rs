//! Slots: memory of the host for chunks on their way to a device, used again for later ones.

use std::ops::{Deref, DerefMut};
use std::sync::{Arc, Condvar, Mutex, PoisonError};

/// Memory for a chunk: elements, or a message for each item.
#[derive(Debug)]
pub(super) struct Slot<T> {
    pub(super) elements: Vec<T>,
    pub(super) messages: Vec<Vec<u8>>,
}

/// The slots of a device.
#[derive(Debug)]
pub(super) struct Slots<T> {
    free: Mutex<Vec<Slot<T>>>,
    returned: Condvar,
}

impl<T> Default for Slot<T> {
    fn default() -> Self {
        Self { elements: vec![], messages: vec![] }
    }
}

impl<T> Slots<T> {
    pub(super) fn new(count: usize) -> Arc<Self> {
        let free = (0..count).map(|_| Slot::default()).collect();
        Arc::new(Self { free: Mutex::new(free), returned: Condvar::new() })
    }

    /// A free slot; waits for one.
    pub(super) fn take(self: &Arc<Self>) -> TakenSlot<T> {
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
#[derive(Debug)]
pub(super) struct TakenSlot<T> {
    slot: Slot<T>,
    slots: Arc<Slots<T>>,
}

impl<T> Deref for TakenSlot<T> {
    type Target = Slot<T>;

    fn deref(&self) -> &Slot<T> {
        &self.slot
    }
}

impl<T> DerefMut for TakenSlot<T> {
    fn deref_mut(&mut self) -> &mut Slot<T> {
        &mut self.slot
    }
}

impl<T> Drop for TakenSlot<T> {
    fn drop(&mut self) {
        let slot = std::mem::take(&mut self.slot);
        self.slots.free.lock().unwrap_or_else(PoisonError::into_inner).push(slot);
        self.slots.returned.notify_one();
    }
}

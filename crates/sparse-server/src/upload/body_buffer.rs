//! Buffers of bodies that are received, which are not in the ledger: all together they take a bounded part of memory.
//!
//! A body for whose large buffer no bytes are left goes to its decoder or file sooner, and in smaller parts. So no
//! client waits for the bytes of another.

use std::ops::Deref;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Bytes of a small buffer, which each body may have, however many there are.
pub(super) const SMALL_BUFFER_BYTES: usize = 64 << 10;

/// Bytes of the large buffers of all bodies of this process. Before there was a limit, 900 clients that paused after
/// 1 MB each took 1.4 GB.
const LARGE_BUFFER_BYTES: usize = 32 << 20;

static LARGE_BUFFERS: Counter = Counter { bytes: AtomicUsize::new(0), capacity: LARGE_BUFFER_BYTES };

#[derive(Debug)]
struct Counter {
    bytes: AtomicUsize,
    capacity: usize,
}

impl Counter {
    /// Adds bytes, unless there are too many then.
    fn add(&self, more: usize) -> bool {
        let sum = |bytes: usize| bytes.checked_add(more).filter(|sum| *sum <= self.capacity);
        self.bytes.fetch_update(Ordering::Relaxed, Ordering::Relaxed, sum).is_ok()
    }

    fn remove(&self, bytes: usize) {
        self.bytes.fetch_sub(bytes, Ordering::Relaxed);
    }
}

/// Bytes of a body: few, or as many as its limit, which are counted.
#[derive(Debug)]
pub(crate) struct BodyBuffer {
    bytes: Vec<u8>,
    limit: usize,
    /// The bytes of a large buffer that are counted.
    counted: usize,
    counter: &'static Counter,
}

impl BodyBuffer {
    /// An empty buffer for at most `limit` bytes.
    pub(super) fn new(limit: usize) -> Self {
        Self::with_counter(limit, &LARGE_BUFFERS)
    }

    fn with_counter(limit: usize, counter: &'static Counter) -> Self {
        Self { bytes: vec![], limit, counted: 0, counter }
    }

    /// Appends bytes and returns true, or false if they are too many.
    #[must_use]
    pub(super) fn push(&mut self, more: &[u8]) -> bool {
        let length = self.bytes.len() + more.len();
        if length > self.limit || (length > SMALL_BUFFER_BYTES && !self.is_large()) {
            return false;
        }
        // A buffer that grows by itself is copied, and may be twice as long.
        let capacity = if self.counted > 0 { self.limit } else { self.limit.min(SMALL_BUFFER_BYTES) };
        self.bytes.reserve_exact(capacity - self.bytes.len());
        self.bytes.extend_from_slice(more);
        true
    }

    /// True if the buffer is large, which it becomes if its bytes can be counted.
    fn is_large(&mut self) -> bool {
        if self.counted == 0 && self.counter.add(self.limit) {
            self.counted = self.limit;
        }
        self.counted > 0
    }

    /// Removes all bytes. From then on the buffer has at most `limit`, if that is less than before.
    pub(super) fn clear(&mut self, limit: usize) {
        self.bytes.clear();
        self.limit = self.limit.min(limit);
        self.counter.remove(self.counted.saturating_sub(self.limit));
        self.counted = self.counted.min(self.limit);
        self.bytes.shrink_to(self.limit);
    }
}

/// Bytes that the ledger counts.
impl From<Vec<u8>> for BodyBuffer {
    fn from(bytes: Vec<u8>) -> Self {
        Self { limit: bytes.len(), bytes, counted: 0, counter: &LARGE_BUFFERS }
    }
}

impl Deref for BodyBuffer {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.bytes
    }
}

impl AsRef<[u8]> for BodyBuffer {
    fn as_ref(&self) -> &[u8] {
        self
    }
}

impl Drop for BodyBuffer {
    fn drop(&mut self) {
        self.counter.remove(self.counted);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::body::Bytes;

    #[test]
    fn large_buffers_are_counted_and_small_ones_are_always_there() {
        const LARGE: usize = 4 * SMALL_BUFFER_BYTES;
        let counter: &Counter =
            Box::leak(Box::new(Counter { bytes: AtomicUsize::new(0), capacity: 2 * LARGE }));
        let counted = || counter.bytes.load(Ordering::Relaxed);
        let new = || BodyBuffer::with_counter(LARGE, counter);
        let part = vec![7; SMALL_BUFFER_BYTES];
        let fill = |buffer: &mut BodyBuffer| (0..9).take_while(|_| buffer.push(&part)).count();
        let [mut first, mut second, mut third] = [new(), new(), new()];
        assert_eq!([&mut first, &mut second, &mut third].map(fill), [4, 4, 1]);
        assert_eq!((counted(), third.len()), (2 * LARGE, SMALL_BUFFER_BYTES));

        // It becomes a buffer of parts, and the other one is gone.
        first.clear(LARGE / 2);
        assert_eq!((counted(), fill(&mut first), fill(&mut third)), (LARGE + LARGE / 2, 2, 0));
        drop(second);
        assert_eq!((fill(&mut third), counted()), (3, LARGE + LARGE / 2));

        // The bytes are counted until the last user of them is gone.
        let bytes = Bytes::from_owner(third);
        let part = bytes.slice(1..);
        drop(bytes);
        assert_eq!((part.len(), counted()), (LARGE - 1, LARGE + LARGE / 2));
        drop(part);
        assert_eq!(counted(), LARGE / 2);
        drop(first);
        assert_eq!(counted(), 0);
    }
}

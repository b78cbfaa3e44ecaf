//! A pool of released memory for later allocations: a GPU's driver takes longer to allocate than most kernels run.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// An allocation of n bytes takes memory of at most n + n / `SLACK` bytes from the pool.
const SLACK: usize = 8;

/// Released memory, with its number of bytes. Commands of an in-order queue may still use it: those of its next owner
/// follow them.
#[derive(Debug)]
pub(crate) struct MemoryPool<M> {
    limit: usize,
    released: Arc<Mutex<Released<M>>>,
}

#[derive(Debug)]
struct Released<M> {
    bytes: usize,
    by_size: BTreeMap<usize, Vec<M>>,
}

impl<M> Clone for MemoryPool<M> {
    fn clone(&self) -> Self {
        Self { limit: self.limit, released: self.released.clone() }
    }
}

impl<M> MemoryPool<M> {
    /// An empty pool of at most `limit` bytes.
    pub(crate) fn new(limit: usize) -> Self {
        Self { limit, released: Arc::new(Mutex::new(Released { bytes: 0, by_size: BTreeMap::new() })) }
    }

    fn lock(&self) -> MutexGuard<'_, Released<M>> {
        self.released.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The smallest memory of at least `bytes`, if it is not much larger.
    pub(crate) fn take(&self, bytes: usize) -> Option<M> {
        let mut released = self.lock();
        let sizes = bytes..=bytes.saturating_add(bytes / SLACK);
        let (&size, of_size) = released.by_size.range_mut(sizes).next()?;
        let memory = of_size.pop();
        if of_size.is_empty() {
            released.by_size.remove(&size);
        }
        released.bytes -= size;
        memory
    }

    /// Adds memory of `bytes` bytes, or drops it if the pool would pass its limit.
    pub(crate) fn keep(&self, bytes: usize, memory: M) {
        let mut released = self.lock();
        if bytes <= self.limit - released.bytes {
            released.bytes += bytes;
            released.by_size.entry(bytes).or_default().push(memory);
        }
    }

    /// Drops all memory of the pool; true if there was any.
    pub(crate) fn release(&self) -> bool {
        let mut released = self.lock();
        released.bytes = 0;
        !std::mem::take(&mut released.by_size).is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_that_is_large_enough_is_taken_once() {
        let pool = MemoryPool::new(1 << 10);
        for bytes in [64, 128, 136, 128] {
            pool.keep(bytes, bytes);
        }
        assert_eq!(pool.take(121), Some(128));
        assert_eq!(pool.take(121), Some(128));
        assert_eq!(pool.take(121), Some(136));
        assert_eq!(pool.take(121), None);
        assert_eq!(pool.take(56), None, "more than an eighth would be left over");
        assert_eq!(pool.take(usize::MAX), None);
        assert_eq!(pool.take(64), Some(64));
    }

    #[test]
    fn no_more_is_kept_than_the_limit_and_all_is_released_at_once() {
        let pool = MemoryPool::new(48);
        let memory = Arc::new(());
        pool.keep(16, memory.clone());
        pool.keep(32, memory.clone());
        pool.keep(1, memory.clone());
        assert_eq!(Arc::strong_count(&memory), 3, "the block of 48 fits");
        assert!(pool.release());
        assert!(!pool.release());
        pool.keep(48, memory.clone());
        assert!(pool.take(48).is_some());
        assert_eq!(Arc::strong_count(&memory), 1);
    }
}

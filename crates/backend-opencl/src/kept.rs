//! Memory that was released, kept for the next allocation: a GPU's driver takes longer to give memory out than most
//! kernels run.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Of so many bytes that were asked for, one more may be given.
const SLACK: usize = 8;

/// What was released, of which so many bytes are kept. Commands of an in-order queue may still use it: those that take it
/// next follow them.
#[derive(Debug)]
pub(crate) struct Kept<M> {
    limit: usize,
    released: Arc<Mutex<Released<M>>>,
}

#[derive(Debug)]
struct Released<M> {
    bytes: usize,
    by_size: BTreeMap<usize, Vec<M>>,
}

impl<M> Clone for Kept<M> {
    fn clone(&self) -> Self {
        Self { limit: self.limit, released: self.released.clone() }
    }
}

impl<M> Kept<M> {
    /// Keeps `limit` bytes at most.
    pub(crate) fn new(limit: usize) -> Self {
        Self { limit, released: Arc::new(Mutex::new(Released { bytes: 0, by_size: BTreeMap::new() })) }
    }

    fn lock(&self) -> MutexGuard<'_, Released<M>> {
        self.released.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The least of at least `bytes`, if it is not much larger.
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

    /// Keeps it, unless there is no room.
    pub(crate) fn keep(&self, bytes: usize, memory: M) {
        let mut released = self.lock();
        if bytes <= self.limit - released.bytes {
            released.bytes += bytes;
            released.by_size.entry(bytes).or_default().push(memory);
        }
    }

    /// Releases all of it, and says whether there was any.
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
        let kept = Kept::new(1 << 10);
        for bytes in [64, 128, 136, 128] {
            kept.keep(bytes, bytes);
        }
        assert_eq!(kept.take(121), Some(128));
        assert_eq!(kept.take(121), Some(128));
        assert_eq!(kept.take(121), Some(136));
        assert_eq!(kept.take(121), None);
        assert_eq!(kept.take(56), None, "more than an eighth would be left over");
        assert_eq!(kept.take(usize::MAX), None);
        assert_eq!(kept.take(64), Some(64));
    }

    #[test]
    fn no_more_is_kept_than_the_limit_and_all_is_released_at_once() {
        let kept = Kept::new(48);
        let memory = Arc::new(());
        kept.keep(16, memory.clone());
        kept.keep(32, memory.clone());
        kept.keep(1, memory.clone());
        assert_eq!(Arc::strong_count(&memory), 3, "there is room for 48");
        assert!(kept.release());
        assert!(!kept.release());
        kept.keep(48, memory.clone());
        assert!(kept.take(48).is_some());
        assert_eq!(Arc::strong_count(&memory), 1);
    }
}

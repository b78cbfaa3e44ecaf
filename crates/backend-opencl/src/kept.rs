//! Memory that was released, kept for the next allocation: a GPU's driver takes longer to give memory out than most
//! kernels run.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Of so many bytes that were asked for, one more may be given.
const SLACK: usize = 8;

/// What was released, by its bytes. Commands of an in-order queue may still use it: those that take it next follow them.
#[derive(Debug)]
pub(crate) struct Kept<M>(Arc<Mutex<BTreeMap<usize, Vec<M>>>>);

impl<M> Clone for Kept<M> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<M> Default for Kept<M> {
    fn default() -> Self {
        Self(Arc::default())
    }
}

impl<M> Kept<M> {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<usize, Vec<M>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The least of at least `bytes`, if it is not much larger.
    pub(crate) fn take(&self, bytes: usize) -> Option<M> {
        let mut kept = self.lock();
        let (&size, of_size) = kept.range_mut(bytes..=bytes.saturating_add(bytes / SLACK)).next()?;
        let memory = of_size.pop();
        if of_size.is_empty() {
            kept.remove(&size);
        }
        memory
    }

    pub(crate) fn keep(&self, bytes: usize, memory: M) {
        self.lock().entry(bytes).or_default().push(memory);
    }

    /// Releases all of it, and says whether there was any.
    pub(crate) fn release(&self) -> bool {
        !std::mem::take(&mut *self.lock()).is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_that_is_large_enough_is_taken_once() {
        let kept = Kept::default();
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
    fn all_is_released_at_once() {
        let kept = Kept::default();
        let memory = Arc::new(());
        kept.keep(16, memory.clone());
        kept.keep(32, memory.clone());
        assert!(kept.release());
        assert!(!kept.release());
        assert_eq!(Arc::strong_count(&memory), 1);
    }
}

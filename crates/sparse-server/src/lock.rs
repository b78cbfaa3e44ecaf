//! Locks that a panic of another thread does not keep.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Locks a mutex, even after a thread that held it has panicked.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

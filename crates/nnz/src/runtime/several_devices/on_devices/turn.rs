//! The lock that serializes operations of a divided matrix and its vectors.

use sparse_core::{Error, Result};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The lock of a matrix and its vectors, whose operations all use one transport.
#[derive(Debug, Clone, Default)]
pub(super) struct Turn(Arc<Mutex<()>>);

impl Turn {
    /// Waits until no other thread runs an operation.
    pub(super) fn take(&self) -> MutexGuard<'_, ()> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Fails unless both locks are those of one matrix.
    pub(super) fn check(&self, op: &'static str, other: &Self) -> Result<()> {
        match Arc::ptr_eq(&self.0, &other.0) {
            true => Ok(()),
            false => {
                Err(Error::operands(op, "a vector on devices goes with the matrix that it was made for"))
            }
        }
    }
}

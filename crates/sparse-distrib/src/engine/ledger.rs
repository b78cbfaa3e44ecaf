//! An account of a device's memory: bytes are reserved before they are allocated.
//!
//! A reservation is for the peak of an operation; afterwards it shrinks to the memory of the result. The free memory
//! that a driver reports is not used: it may be reserved for other operations of the process.

use sparse_core::{Error, Result};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// The bytes of a device that may be used, and those that are reserved.
///
/// ```
/// use sparse_distrib::Ledger;
/// use std::time::Duration;
///
/// let ledger = Ledger::new(100);
/// let mut lease = ledger.reserve(80, Duration::ZERO)?;
/// assert!(ledger.reserve(50, Duration::ZERO).is_err()); // 20 are left
/// lease.settle(30);
/// let other = ledger.reserve(50, Duration::ZERO)?;
/// drop(lease);
/// assert_eq!((ledger.used(), other.bytes()), (50, 50));
/// # Ok::<(), sparse_core::Error>(())
/// ```
#[derive(Debug)]
pub struct Ledger {
    budget: u64,
    state: Mutex<State>,
    released: Condvar,
}

#[derive(Debug, Default)]
struct State {
    used: u64,
    /// Reservations of operations that run: they end or shrink soon.
    running: usize,
}

impl Ledger {
    /// An account of `budget` bytes.
    pub fn new(budget: u64) -> Arc<Self> {
        Arc::new(Self { budget, state: Mutex::default(), released: Condvar::new() })
    }

    /// Bytes that may be used in all.
    pub fn budget(&self) -> u64 {
        self.budget
    }

    /// Bytes that are reserved.
    pub fn used(&self) -> u64 {
        self.state().used
    }

    /// Bytes that are not reserved.
    pub fn available(&self) -> u64 {
        self.budget.saturating_sub(self.used())
    }

    /// Reserves bytes for an operation. While others run, waits for them up to `patience`.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`] if the bytes are not available.
    pub fn reserve(self: &Arc<Self>, bytes: u64, patience: Duration) -> Result<Lease> {
        let deadline = Instant::now() + patience;
        let mut state = self.state();
        loop {
            let available = self.budget.saturating_sub(state.used);
            if bytes <= available {
                state.used += bytes;
                state.running += 1;
                return Ok(Lease { ledger: self.clone(), bytes, running: true });
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if bytes > self.budget || state.running == 0 || left.is_zero() {
                return Err(Error::OutOfMemory { needed: bytes, available: Some(available) });
            }
            state = self.released.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Every change of the state is complete before its lock is released.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Reserved bytes of a device, released when dropped.
#[derive(Debug)]
pub struct Lease {
    ledger: Arc<Ledger>,
    bytes: u64,
    running: bool,
}

impl Lease {
    /// The reserved bytes.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Ends the operation: `bytes` of its reservation stay, those of its result.
    ///
    /// A result larger than the reservation is accounted for in full, even beyond the budget.
    pub fn settle(&mut self, bytes: u64) {
        let mut state = self.ledger.state();
        state.used = state.used - self.bytes + bytes;
        state.running -= usize::from(self.running);
        (self.bytes, self.running) = (bytes, false);
        self.ledger.released.notify_all();
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        self.settle(0);
    }
}

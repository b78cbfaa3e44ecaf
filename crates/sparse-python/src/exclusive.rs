//! Values that one thread uses at a time, while it may run handlers of Python's signals.

use pyo3::PyResult;
use pyo3::exceptions::PyRuntimeError;
use std::ops::{ControlFlow, Deref, DerefMut};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, ThreadId};
use std::time::Duration;

/// The time after which a thread that waits looks for signals.
const PERIOD: Duration = Duration::from_millis(50);

/// A value behind a lock that its own thread is refused a second time, and whose waiting threads look for signals.
pub(crate) struct Exclusive<T> {
    value: Mutex<T>,
    owner: Mutex<Option<ThreadId>>,
    freed: Condvar,
}

impl<T> Exclusive<T> {
    pub(crate) fn new(value: T) -> Self {
        Self { value: Mutex::new(value), owner: Mutex::new(None), freed: Condvar::new() }
    }

    /// The value, called `name` in errors, once no other thread uses it; call it without Python's lock.
    ///
    /// # Errors
    /// `RuntimeError` if the thread uses it already: a handler of a signal calls, and waiting would not end; or if
    /// `look` breaks.
    pub(crate) fn lock(
        &self,
        name: &str,
        look: &mut dyn FnMut() -> ControlFlow<()>,
    ) -> PyResult<Guard<'_, T>> {
        let this = thread::current().id();
        let mut owner = unpoisoned(self.owner.lock());
        while let Some(other) = *owner {
            if other == this {
                let text =
                    format!("{name} is at work in this thread, whose handler of a signal has called it");
                return Err(PyRuntimeError::new_err(text));
            }
            drop(self.freed.wait_timeout(owner, PERIOD));
            if look().is_break() {
                return Err(PyRuntimeError::new_err(format!("a signal ended the wait for {name}")));
            }
            owner = unpoisoned(self.owner.lock());
        }
        *owner = Some(this);
        drop(owner);
        Ok(Guard { value: unpoisoned(self.value.lock()), exclusive: self })
    }
}

/// The value of a lock, also after a panic of a thread that had it.
fn unpoisoned<G>(result: Result<G, PoisonError<G>>) -> G {
    result.unwrap_or_else(PoisonError::into_inner)
}

/// An [`Exclusive`] value in use.
pub(crate) struct Guard<'a, T> {
    value: MutexGuard<'a, T>,
    exclusive: &'a Exclusive<T>,
}

impl<T> Deref for Guard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.value
    }
}

impl<T> DerefMut for Guard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.value
    }
}

impl<T> Drop for Guard<'_, T> {
    fn drop(&mut self) {
        *unpoisoned(self.exclusive.owner.lock()) = None;
        self.exclusive.freed.notify_one();
    }
}

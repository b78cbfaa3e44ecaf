//! Python's signals during long work.

use pyo3::prelude::*;
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

/// The time between two looks, for each of which this thread waits for Python's lock.
const PERIOD: Duration = Duration::from_millis(50);

/// Looks for signals while work runs without Python's lock, so that Ctrl-C ends it.
pub(crate) struct Signals {
    last_look: Instant,
    raised: Option<PyErr>,
}

impl Signals {
    /// The result of `work`, which calls its argument from time to time and ends where that breaks; the exception that
    /// a handler of a signal has raised meanwhile.
    pub(crate) fn watch<R: Send>(
        py: Python<'_>,
        work: impl FnOnce(&mut dyn FnMut() -> ControlFlow<()>) -> PyResult<R> + Send,
    ) -> PyResult<R> {
        let mut signals = Self { last_look: Instant::now(), raised: None };
        let result = py.detach(|| work(&mut || signals.look()));
        signals.raised.map_or(result, Err)
    }

    fn look(&mut self) -> ControlFlow<()> {
        if self.last_look.elapsed() < PERIOD {
            return ControlFlow::Continue(());
        }
        self.last_look = Instant::now();
        match Python::attach(|py| py.check_signals()) {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => {
                self.raised = Some(error);
                ControlFlow::Break(())
            }
        }
    }
}

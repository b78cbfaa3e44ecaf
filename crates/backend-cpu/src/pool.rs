//! The threads of a backend, in the process that made it and in those forked from that.

use rayon::{ThreadPool, ThreadPoolBuilder};
use sparse_core::{Error, Result};
use std::sync::OnceLock;
use std::{mem, process};

/// A pool of threads. A forked process has none of the threads that its parent started, and starts its own.
#[derive(Debug)]
pub(crate) struct Pool {
    size: usize,
    process: u32,
    /// `None` only while it is dropped.
    threads: Option<ThreadPool>,
    /// The pool of the process that was forked from this one's; `None` in it if it could not start threads.
    of_child: OnceLock<Option<Box<Pool>>>,
}

impl Pool {
    /// Starts `size` threads.
    ///
    /// # Errors
    /// [`Error::Backend`] if the operating system refuses them.
    pub(crate) fn start(size: usize) -> Result<Self> {
        let threads = ThreadPoolBuilder::new()
            .num_threads(size)
            .thread_name(|k| format!("nnz-{k}"))
            .build()
            .map_err(|source| Error::Backend { backend: "cpu", source: Box::new(source) })?;
        Ok(Self { size, process: process::id(), threads: Some(threads), of_child: OnceLock::new() })
    }

    /// The number of threads.
    pub(crate) fn size(&self) -> usize {
        self.size
    }

    /// The threads of the calling process, which are started at its first call; `None` if it cannot start them.
    pub(crate) fn threads(&self) -> Option<&ThreadPool> {
        if self.process == process::id() {
            return self.threads.as_ref();
        }
        self.of_child.get_or_init(|| Self::start(self.size).ok().map(Box::new)).as_ref()?.threads()
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        if self.process != process::id() {
            // Nobody is left to be told to end, and a lock may be locked for ever.
            mem::forget(self.threads.take());
        }
    }
}

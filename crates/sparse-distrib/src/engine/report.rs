//! The report of a run, and its progress.

use super::parallelism::Parallelism;
use crate::explain::Explanation;
use crate::schedule::Policy;
use crate::scheme::Scheme;
use sparse_core::Error;
use std::fmt::Display;
use std::time::Duration;

/// A run's work and time.
#[derive(Debug)]
#[non_exhaustive]
pub struct Report {
    /// Wall time in seconds.
    pub seconds: f64,
    /// The policy that gave matrices to devices.
    pub policy: Policy,
    /// The division of the work among the threads or work-items of each device.
    pub parallelism: Parallelism,
    /// The model's predictions and the time that the run took, where the options have the rates.
    pub explanation: Option<Explanation>,
    /// Matrices that were compressed.
    pub items: usize,
    /// Bytes of the elements that were compressed.
    pub bytes_in: u64,
    /// Bytes of the compressed matrices.
    pub bytes_out: u64,
    /// Entries of the compressed matrices.
    pub nnz: u64,
    /// The devices, in the order of the engine.
    pub devices: Vec<DeviceReport>,
    /// Matrices that were given to a device or read from the source again.
    pub retries: usize,
    /// Matrices that are not compressed, and why.
    pub unfinished: Vec<Unfinished>,
}

/// The part of one device in a run.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct DeviceReport {
    /// The device's name.
    pub name: String,
    /// The form in which matrices reached it.
    pub scheme: Scheme,
    /// Matrices that it compressed, and parts of matrices that were cut.
    pub items: usize,
    /// Bytes of their elements.
    pub bytes_in: u64,
    /// Bytes of the compressed matrices.
    pub bytes_out: u64,
    /// Seconds in which it copied and compressed.
    pub busy_seconds: f64,
    /// Batches that were moved to the host because the device ran out of memory or failed.
    pub spills: usize,
    /// Number of times that a chunk was halved: because memory was short, or to find the matrix that does not fit the
    /// types.
    pub splits: usize,
    /// The error that took the device out of service.
    pub failure: Option<String>,
}

impl DeviceReport {
    /// The report of a device that has done nothing yet.
    pub(super) fn new(name: &str, scheme: Scheme) -> Self {
        Self {
            name: name.to_owned(),
            scheme,
            items: 0,
            bytes_in: 0,
            bytes_out: 0,
            busy_seconds: 0.0,
            spills: 0,
            splits: 0,
            failure: None,
        }
    }
}

/// Matrices that are not compressed.
#[derive(Debug)]
pub struct Unfinished {
    /// The positions of the matrices in the source.
    pub items: Vec<usize>,
    /// The reason.
    pub cause: Cause,
}

/// The reason why matrices are not compressed.
#[derive(Debug)]
pub enum Cause {
    /// The run was cancelled before.
    Cancelled,
    /// All devices have failed.
    NoDevice,
    /// The source, or every device, has refused these matrices.
    Error(Error),
}

impl Display for Cause {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Cancelled => f.write_str("the run was cancelled"),
            Self::NoDevice => f.write_str("all devices have failed"),
            Self::Error(error) => error.fmt(f),
        }
    }
}

/// The state of a run in progress.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Progress {
    /// Matrices that are compressed.
    pub items: usize,
    /// Matrices in all.
    pub total_items: usize,
    /// Bytes of the elements of those that are compressed.
    pub bytes: u64,
    /// Bytes of all elements.
    pub total_bytes: u64,
    /// Time since the start.
    pub elapsed: Duration,
}

impl Progress {
    /// Bytes of elements per second so far.
    ///
    /// ```
    /// use sparse_distrib::Progress;
    /// use std::time::Duration;
    ///
    /// let elapsed = Duration::from_secs(2);
    /// let half = Progress { items: 5, total_items: 10, bytes: 400, total_bytes: 800, elapsed };
    /// assert_eq!((half.rate(), half.remaining()), (200.0, Some(elapsed)));
    /// ```
    pub fn rate(&self) -> f64 {
        let seconds = self.elapsed.as_secs_f64();
        if seconds > 0.0 { self.bytes as f64 / seconds } else { 0.0 }
    }

    /// The time until the end at the present rate; `None` before the first matrix.
    pub fn remaining(&self) -> Option<Duration> {
        let left = (self.total_bytes - self.bytes) as f64 / self.rate();
        Duration::try_from_secs_f64(left).ok()
    }
}

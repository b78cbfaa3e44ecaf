//! Settings of a compression to a set.

#[cfg(doc)]
use super::MatrixSet;
use crate::runtime::Format;
use sparse_core::DType;
use sparse_distrib::schedule::Policy;
use sparse_distrib::{Parallelism, Partition, Progress, Scheme};
use std::fmt::{Debug, Formatter};
use std::sync::atomic::AtomicBool;

/// Settings of [`MatrixSet::compress`].
#[derive(Clone, Copy)]
pub struct MatrixSetOptions<'a> {
    /// CSR or CSC.
    pub format: Format,
    /// The type of values; elements are rounded to it as they are read.
    pub dtype: DType,
    /// The largest magnitude that is dropped; `None` drops zeros of either sign. NaN is never dropped.
    pub tolerance: Option<f64>,
    /// The policy that gives matrices to devices; without it the engine chooses.
    pub policy: Option<Policy>,
    /// The form in which matrices reach the devices; without it the one that is predicted to be the fastest, by rates
    /// of this machine that are measured once and stored. The CPU reads and compresses in place then.
    pub scheme: Option<Scheme>,
    /// The division of the matrices among the threads or work-items of a device.
    pub parallelism: Parallelism,
    /// Adds the predictions of all schemes to the report. The rates are then measured even if the choice does not need
    /// them.
    pub explain: bool,
    /// The parts that every matrix is cut into; `None` cuts only matrices that may fit no device's memory.
    pub partition: Option<Partition>,
    /// Bytes of each device's memory that may be used; without it nearly all that it has.
    pub memory: Option<u64>,
    /// Called as matrices are compressed, by one thread at a time.
    pub progress: Option<&'a (dyn Fn(Progress) + Sync)>,
    /// Ends the run when it becomes true; what was compressed before is in the set.
    pub cancel: Option<&'a AtomicBool>,
}

impl MatrixSetOptions<'_> {
    /// Options that store all elements except zeros.
    pub fn new(format: Format, dtype: DType) -> Self {
        Self {
            format,
            dtype,
            tolerance: None,
            policy: None,
            scheme: None,
            parallelism: Parallelism::Batch,
            explain: false,
            partition: None,
            memory: None,
            progress: None,
            cancel: None,
        }
    }
}

impl Debug for MatrixSetOptions<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        let mut debug = f.debug_struct("MatrixSetOptions");
        debug.field("format", &self.format).field("dtype", &self.dtype);
        debug.field("tolerance", &self.tolerance).field("policy", &self.policy).field("scheme", &self.scheme);
        debug.field("parallelism", &self.parallelism).field("explain", &self.explain);
        debug.field("partition", &self.partition);
        debug.field("memory", &self.memory).finish_non_exhaustive()
    }
}

//! Handlers of requests that are no operations: matrices, jobs, uploads and the server itself.

pub(crate) mod jobs;
pub(crate) mod matrices;
pub(crate) mod status;
#[cfg(unix)]
pub(crate) mod uploads;

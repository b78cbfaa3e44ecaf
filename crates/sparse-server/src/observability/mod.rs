//! Metrics, traces, and the requests that run or were slow.

pub(crate) mod metrics;
pub(crate) mod running_requests;
#[cfg(feature = "otel")]
pub(crate) mod traces;

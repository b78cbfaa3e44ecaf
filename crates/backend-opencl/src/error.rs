//! Errors of OpenCL calls.

use opencl3::error_codes::ClError;
use sparse_core::Error;

/// The runtime's answer to a failed call.
#[derive(Debug, thiserror::Error)]
#[error("{call}: {code}")]
struct CallFailed {
    call: String,
    code: ClError,
}

/// The error of a call that a backend made.
pub(crate) fn failed(backend: &'static str, call: impl Into<String>, code: impl Into<ClError>) -> Error {
    Error::Backend { backend, source: Box::new(CallFailed { call: call.into(), code: code.into() }) }
}

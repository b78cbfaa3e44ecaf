//! What OpenCL says to a call, as an error.

use opencl3::error_codes::ClError;
use sparse_core::Error;

/// What the runtime said to a call.
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

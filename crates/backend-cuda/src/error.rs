//! Errors of CUDA calls.

use cudarc::driver::result::DriverError;
use sparse_core::Error;

/// The backend's name.
pub(crate) const NAME: &str = "cuda";

/// The library's answer to a failed call.
#[derive(Debug, thiserror::Error)]
#[error("{call}: {error}")]
struct CallFailed {
    call: String,
    error: String,
}

/// The error of a call.
pub(crate) fn failed(call: impl Into<String>) -> impl FnOnce(DriverError) -> Error {
    |code| backend_error(CallFailed { call: call.into(), error: name_of(code) })
}

/// The driver's own name of an error: a driver that is newer than the bindings has codes that they cannot print.
pub(crate) fn name_of(error: DriverError) -> String {
    match error.error_name() {
        Ok(name) => name.to_string_lossy().into_owned(),
        Err(_) => format!("error {}", error.0 as u32),
    }
}

/// An error of this backend.
pub(crate) fn backend_error(source: impl std::error::Error + Send + Sync + 'static) -> Error {
    Error::Backend { backend: NAME, source: Box::new(source) }
}

//! Failed calls of foreign libraries.

use sparse_core::Error;
use std::fmt::Debug;

/// A library's answer to a failed call.
#[derive(Debug, thiserror::Error)]
#[error("{call}: {code:?}")]
struct CallFailed<S: Debug> {
    call: &'static str,
    code: S,
}

/// The error of a call of `library`.
pub(crate) fn failed<S>(library: &'static str, call: &'static str, code: S) -> Error
where
    S: Debug + Send + Sync + 'static,
{
    Error::Backend { backend: library, source: Box::new(CallFailed { call, code }) }
}

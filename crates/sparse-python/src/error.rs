//! Errors as Python's exceptions.

use nnz::{Error, Format};
use pyo3::exceptions::{
    PyMemoryError, PyNotImplementedError, PyOverflowError, PyRuntimeError, PyTypeError, PyValueError,
};
use pyo3::{PyErr, PyResult};
use std::io;

/// The exception of an error, with its message.
pub(crate) fn exception(error: Error) -> PyErr {
    let message = error.to_string();
    match error {
        Error::Unsupported { .. } => PyNotImplementedError::new_err(message),
        Error::OutOfMemory { .. } => PyMemoryError::new_err(message),
        Error::IndexOverflow { .. } => PyOverflowError::new_err(message),
        // `FileNotFoundError`, `PermissionError` and others, by its kind.
        Error::Io { source, .. } => io::Error::new(source.kind(), message).into(),
        Error::Format { .. }
        | Error::Shape { .. }
        | Error::Operands { .. }
        | Error::PlanMismatch { .. }
        | Error::ValueOverflow { .. }
        | Error::UnknownName { .. }
        | Error::Singular { .. }
        | Error::File { .. } => PyValueError::new_err(message),
        _ => PyRuntimeError::new_err(message),
    }
}

/// The format of a name.
pub(crate) fn format_named(name: &str) -> PyResult<Format> {
    name.parse().map_err(exception)
}

/// The exception for an array of another type than `right` says.
pub(crate) fn wrong_type(name: &str, found: &impl std::fmt::Display, right: &str) -> PyErr {
    PyTypeError::new_err(format!("{name} is {found} where {right} is needed"))
}

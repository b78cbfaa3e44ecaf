//! Failures as a status and a text.

use sparse_core::Error;
use std::cell::RefCell;
use std::ffi::{CString, c_char};
use std::fmt::Display;

/// `nnz_status` of `nnz.h`.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    /// No failure.
    Ok = 0,
    /// A pointer is null that must not be.
    Null = 1,
    /// Memory that the device cannot use, that is not aligned, or that an operand and the result share.
    WrongMemory = 2,
    /// The arrays are not a valid matrix.
    Format = 3,
    /// Shapes do not fit together.
    Shape = 4,
    /// A size does not fit its type.
    Overflow = 5,
    /// The library, the queue or the device does not support it.
    Unsupported = 6,
    /// The device has too little memory.
    OutOfMemory = 7,
    /// A library, a compiler or a device failed.
    Runtime = 8,
}

/// The reason why a call failed.
#[derive(Debug)]
pub(crate) struct Failure {
    status: Status,
    message: String,
}

impl Failure {
    pub(crate) fn null(what: &str) -> Self {
        Self { status: Status::Null, message: format!("{what} is null") }
    }

    /// Memory that cannot be used.
    pub(crate) fn memory(what: &str, error: &impl Display) -> Self {
        Self { status: Status::WrongMemory, message: format!("{what}: {error}") }
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let status = match error {
            Error::Format { .. } => Status::Format,
            Error::Shape { .. } | Error::PlanMismatch { .. } => Status::Shape,
            Error::IndexOverflow { .. } | Error::ValueOverflow { .. } => Status::Overflow,
            Error::WrongContext { .. } => Status::WrongMemory,
            Error::Unsupported { .. } => Status::Unsupported,
            Error::OutOfMemory { .. } => Status::OutOfMemory,
            _ => Status::Runtime,
        };
        Self { status, message: error.to_string() }
    }
}

thread_local! {
    static MESSAGE: RefCell<CString> = RefCell::default();
}

/// The text of the last failure on this thread.
pub(crate) fn message() -> *const c_char {
    MESSAGE.with_borrow(|message| message.as_ptr())
}

/// Does the work of a call, and stores the message of a failure.
pub(crate) fn reported(work: impl FnOnce() -> Result<(), Failure>) -> Status {
    match work() {
        Ok(()) => Status::Ok,
        Err(Failure { status, message }) => {
            let text = CString::new(message.replace('\0', " ")).unwrap_or_default();
            MESSAGE.set(text);
            status
        }
    }
}

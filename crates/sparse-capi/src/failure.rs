//! Failures as a status and a text.

use nnz::Error;
use std::any::Any;
use std::cell::RefCell;
use std::ffi::{CString, c_char};
use std::fmt::Display;
use std::panic::{AssertUnwindSafe, catch_unwind};

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
    /// A size or a number does not fit its type.
    Overflow = 5,
    /// The library, the queue or the device does not support it.
    Unsupported = 6,
    /// The device has too little memory.
    OutOfMemory = 7,
    /// A library, a compiler or a device failed.
    Runtime = 8,
    /// A file cannot be read, or breaks its format.
    File = 9,
    /// A row has no diagonal or pivot to divide by.
    Singular = 10,
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

    /// Operands that do not go together; `message` names the function that changes them.
    pub(crate) fn unsupported(message: String) -> Self {
        Self { status: Status::Unsupported, message }
    }

    /// A panic.
    fn bug(panic: &(dyn Any + Send)) -> Self {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| panic.downcast_ref().copied()).unwrap_or("a panic");
        Self { status: Status::Runtime, message: format!("a bug of nnz: {text}") }
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
            Error::IndexOverflow { .. } | Error::ValueOverflow { .. } | Error::Operands { .. } => {
                Status::Overflow
            }
            Error::WrongContext { .. } => Status::WrongMemory,
            Error::Unsupported { .. } => Status::Unsupported,
            Error::OutOfMemory { .. } => Status::OutOfMemory,
            Error::Singular { .. } => Status::Singular,
            Error::File { .. } | Error::Io { .. } => Status::File,
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

/// Does the work of a call, and stores the message of a failure. A panic, which is a bug of this library, is one too:
/// it must not reach C.
pub(crate) fn reported(work: impl FnOnce() -> Result<(), Failure>) -> Status {
    // Values that a panic leaves behind are used again only through methods that are sound in any state.
    match catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| Err(Failure::bug(&*panic))) {
        Ok(()) => Status::Ok,
        Err(Failure { status, message }) => {
            let text = CString::new(message.replace('\0', " ")).unwrap_or_default();
            MESSAGE.set(text);
            status
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::CStr;

    #[test]
    fn a_panic_is_a_failure_with_its_message() {
        std::panic::set_hook(Box::new(|_| ()));
        let number = || panic!("number {}", std::hint::black_box(7));
        type Work = fn() -> Result<(), Failure>;
        let cases: [(Work, &str); 2] =
            [(|| panic!("plain"), "a bug of nnz: plain"), (number, "a bug of nnz: number 7")];
        for (work, text) in cases {
            assert_eq!(reported(work), Status::Runtime);
            // SAFETY: the text ends with a zero, and no other call of this thread fails meanwhile.
            assert_eq!(unsafe { CStr::from_ptr(message()) }.to_str(), Ok(text));
        }
    }
}

//! The one error type of the workspace.

use crate::scalar::c64;
use std::fmt::{Debug, Display, Formatter};
use std::path::PathBuf;

/// The result of every fallible operation of the workspace.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// An error: the failure, its place, and what would be right.
///
/// `Debug` is the same text as `Display`, since a program whose `main` returns a [`Result`] prints the former.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The arrays of a matrix break an invariant of its format.
    #[error("{format}: {reason}")]
    Format {
        /// The format whose invariant is broken: `csr`, `coo`, …
        format: &'static str,
        /// Position and violation, for example `row 17: column 42 is not below 40`.
        reason: String,
    },
    /// The shapes of two operands do not fit together.
    #[error("{op}: {reason}")]
    Shape {
        /// The operation.
        op: &'static str,
        /// The two sizes that disagree.
        reason: String,
    },
    /// Operands whose types or devices are known at run time do not fit together.
    #[error("{op}: {reason}")]
    Operands {
        /// The operation.
        op: &'static str,
        /// The types and devices that disagree, and the calls that would make them agree.
        reason: String,
    },
    /// A size or an index does not fit its type.
    #[error("{what} = {value} does not fit {target}")]
    IndexOverflow {
        /// The quantity that overflowed, with its operands.
        what: String,
        /// The value that does not fit.
        value: u128,
        /// The type, or the limit, that it had to fit.
        target: &'static str,
    },
    /// A finite value would become infinite in a conversion of the value type.
    #[error("entry {position}: {value} does not fit {target}")]
    ValueOverflow {
        /// The position of the entry among the stored entries.
        position: usize,
        /// The value, as text.
        value: String,
        /// The type that it had to fit.
        target: &'static str,
    },
    /// A plan was run with a matrix of another pattern.
    #[error("{op}: {reason}")]
    PlanMismatch {
        /// The operation of the plan.
        op: &'static str,
        /// The two patterns: the plan's and the matrix's.
        reason: String,
    },
    /// An operand lives in another context than the backend.
    #[error("{op}: {operand} lives in context {found}, the backend in context {expected}")]
    WrongContext {
        /// The operation.
        op: &'static str,
        /// The operand that is in another context.
        operand: &'static str,
        /// The context of the backend.
        expected: u64,
        /// The context of the operand.
        found: u64,
    },
    /// The backend, device or algorithm does not support the request.
    #[error("{what} is not supported: {reason}")]
    Unsupported {
        /// The request.
        what: String,
        /// The reason, and what is supported instead.
        reason: String,
    },
    /// A name cannot be parsed.
    #[error("unknown {kind} `{name}`: one of {known}")]
    UnknownName {
        /// The kind of what is named: `format`, `type`, …
        kind: &'static str,
        /// The name.
        name: String,
        /// The names that are known.
        known: String,
    },
    /// A matrix or one of its rows cannot be eliminated: a diagonal or pivot is missing, zero or of the wrong sign.
    #[error("{op}: {}{reason}", row.map(|row| format!("row {row}: ")).unwrap_or_default())]
    Singular {
        /// The operation.
        op: &'static str,
        /// The row, counted from 0, if it is known.
        row: Option<usize>,
        /// The diagonal or pivot that was found, and what is needed.
        reason: String,
    },
    /// Memory of the host or of a device does not suffice; the backend stays usable.
    #[error("out of memory: {needed} bytes needed{}", available.map(|n| format!(", {n} available")).unwrap_or_default())]
    OutOfMemory {
        /// Bytes that the operation needs.
        needed: u64,
        /// Bytes that are available, if that is known.
        available: Option<u64>,
    },
    /// A file violates its format.
    #[error("{}: {}{reason}", path.display(), line.map(|n| format!("line {n}: ")).unwrap_or_default())]
    File {
        /// The file that was read.
        path: PathBuf,
        /// The line, counted from 1, for text files.
        line: Option<u64>,
        /// The violation, and what would be right.
        reason: String,
    },
    /// The operating system failed to read or write a file.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The operating system's reason.
        source: std::io::Error,
    },
    /// A driver, compiler or runtime library failed.
    #[error("{backend}: {source}")]
    Backend {
        /// The backend whose library failed.
        backend: &'static str,
        /// The library's complete message.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
}

impl Error {
    /// A broken invariant of `format`.
    pub fn format(format: &'static str, reason: impl Display) -> Self {
        Self::Format { format, reason: reason.to_string() }
    }

    /// Operands of `op` whose shapes do not fit.
    pub fn shape(op: &'static str, reason: impl Display) -> Self {
        Self::Shape { op, reason: reason.to_string() }
    }

    /// Operands of `op` whose types or devices do not fit.
    pub fn operands(op: &'static str, reason: impl Display) -> Self {
        Self::Operands { op, reason: reason.to_string() }
    }

    /// A row of `op` that cannot be eliminated.
    pub fn singular(op: &'static str, row: usize, reason: impl Display) -> Self {
        Self::Singular { op, row: Some(row), reason: reason.to_string() }
    }

    /// A matrix that `op` cannot eliminate, where no row of it is to be named.
    pub fn singular_matrix(op: &'static str, reason: impl Display) -> Self {
        Self::Singular { op, row: None, reason: reason.to_string() }
    }

    /// Memory of the host that does not suffice for `len` elements.
    pub fn out_of_memory<T>(len: usize) -> Self {
        let needed = (len as u64).saturating_mul(size_of::<T>() as u64);
        Self::OutOfMemory { needed, available: None }
    }

    /// A name that is none of the known ones.
    pub fn unknown_name(kind: &'static str, name: &str, known: &[&str]) -> Self {
        Self::UnknownName { kind, name: name.into(), known: known.join(", ") }
    }

    /// Something that cannot be done, with the reason.
    pub fn unsupported(what: impl Display, reason: impl Display) -> Self {
        Self::Unsupported { what: what.to_string(), reason: reason.to_string() }
    }
}

impl Debug for Error {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        Display::fmt(self, f)
    }
}

/// `a * b`, or an error that names the operands.
///
/// ```
/// # use sparse_core::error::checked_product;
/// assert_eq!(checked_product("rows x columns", 3, 4)?, 12);
/// assert!(checked_product("rows x columns", usize::MAX, 2).is_err());
/// # Ok::<(), sparse_core::Error>(())
/// ```
///
/// # Errors
/// [`Error::IndexOverflow`] if the product does not fit `usize`.
pub fn checked_product(what: &str, a: usize, b: usize) -> Result<usize> {
    a.checked_mul(b).ok_or_else(|| Error::IndexOverflow {
        what: format!("{what} ({a} x {b})"),
        value: a as u128 * b as u128,
        target: "usize",
    })
}

/// An error of `op` unless a matrix of this shape is square.
///
/// ```
/// # use sparse_core::error::check_square;
/// assert!(check_square("cg", (3, 3)).is_ok());
/// let error = check_square("cg", (2, 3)).unwrap_err();
/// assert_eq!(error.to_string(), "cg: a square matrix is needed, this one is 2 x 3");
/// ```
///
/// # Errors
/// [`Error::Shape`] unless there are as many rows as columns.
pub fn check_square(op: &'static str, (rows, cols): (usize, usize)) -> Result<()> {
    if rows == cols {
        return Ok(());
    }
    Err(Error::shape(op, format_args!("a square matrix is needed, this one is {rows} x {cols}")))
}

/// A number for a message, in the fewest digits that identify it.
///
/// ```
/// # use sparse_core::{c64, error::show_number};
/// assert_eq!(show_number(1e300.into()), "1e300");
/// assert_eq!(show_number(c64::new(0.5, -1e300)), "0.5-1e300i");
/// ```
pub fn show_number(value: c64) -> String {
    if value.im == 0.0 { format!("{:?}", value.re) } else { format!("{:?}{:+?}i", value.re, value.im) }
}

/// An error unless a vector of `elements` elements can be addressed.
///
/// # Errors
/// [`Error::IndexOverflow`] if the vector has more than `isize::MAX` bytes; `what` names the elements.
pub(crate) fn check_allocation<T>(what: &str, elements: usize) -> Result<()> {
    let bytes = elements as u128 * size_of::<T>() as u128;
    if bytes > isize::MAX as u128 {
        let what = format!("the number of bytes of {what}");
        return Err(Error::IndexOverflow { what, value: bytes, target: "isize" });
    }
    Ok(())
}

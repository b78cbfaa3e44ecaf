//! Pointers of the caller: reading and writing through them, and passing handles to C and back.

use crate::Matrix;
use crate::failure::{Failure, Status, reported};
use nnz::Error;
use std::ffi::{CStr, c_char};

/// The referent of a pointer; an error if it is null.
///
/// # Safety
/// It is null, or points to a value that no code writes.
pub(crate) unsafe fn given<'a, T>(what: &str, pointer: *const T) -> Result<&'a T, Failure> {
    // SAFETY: the caller promises what is asked.
    unsafe { pointer.as_ref() }.ok_or_else(|| Failure::null(what))
}

/// Writes a result through a pointer of the caller's.
///
/// # Safety
/// `target` is null or may be written.
pub(crate) unsafe fn put<T>(
    what: &str,
    target: *mut T,
    make: impl FnOnce() -> Result<T, Failure>,
) -> Result<(), Failure> {
    if target.is_null() {
        return Err(Failure::null(what));
    }
    let made = make()?;
    // SAFETY: the caller promises what is asked.
    unsafe { target.write(made) };
    Ok(())
}

/// Writes a new matrix, for C to own, through a pointer of the caller's.
///
/// # Safety
/// `target` is null or may be written.
pub(crate) unsafe fn put_matrix(
    target: *mut *mut Matrix,
    make: impl FnOnce() -> Result<nnz::Matrix, Failure>,
) -> Status {
    // SAFETY: the caller promises what is asked.
    reported(|| unsafe { put("matrix", target, || Ok(boxed(Matrix(make()?)))) })
}

/// Moves a value to the heap, for C to own by a pointer.
pub(crate) fn boxed<T>(value: T) -> *mut T {
    Box::into_raw(Box::new(value))
}

/// Drops a value that C owned.
///
/// # Safety
/// `value` is null or came from [`boxed`], and is used no more.
pub(crate) unsafe fn dropped<T>(value: *mut T) {
    if !value.is_null() {
        // SAFETY: the caller promises what is asked.
        let value = unsafe { Box::from_raw(value) };
        reported(|| {
            drop(value);
            Ok(())
        });
    }
}

/// A path of the caller's.
///
/// # Safety
/// `path` is null or ends with a zero, and stays as long as the result.
pub(crate) unsafe fn given_path<'a>(path: *const c_char) -> Result<&'a str, Failure> {
    // SAFETY: the caller promises what is asked.
    let path = unsafe {
        given("path", path)?;
        CStr::from_ptr(path)
    };
    Ok(path.to_str().map_err(|error| Error::unsupported("a path that is not UTF-8", error))?)
}

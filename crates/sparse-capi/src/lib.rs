//! The C library of [nnz](https://docs.rs/nnz): SpMV, SpMM and dense → CSR on a SYCL queue of the caller's.
//!
//! `include/nnz.h` is the interface and its documentation. `examples/host.cpp` is a program that uses it. No error
//! passes the interface as anything but a [`Status`]; what was wrong is a text of the calling thread's.

mod failure;
mod matrix;

pub use failure::Status;
pub use matrix::{Arrays, Type};

use backend_opencl::Device as Accelerator;
use backend_opencl::sycl::on_queue;
use failure::{Failure, reported};
use matrix::{Dense, Products, compressed, over};
use std::ffi::{c_char, c_void};

/// `nnz_device`: the device of a queue.
#[derive(Debug)]
pub struct Device(Accelerator);

/// `nnz_matrix`: a matrix with its plans.
#[expect(missing_debug_implementations, reason = "it is opaque")]
pub struct Matrix(Box<dyn Products>);

/// What a pointer points to.
///
/// # Safety
/// It is null, or points to a value that nobody writes.
unsafe fn given<'a, T>(what: &str, pointer: *const T) -> Result<&'a T, Failure> {
    // SAFETY: the caller promises what is asked.
    unsafe { pointer.as_ref() }.ok_or_else(|| Failure::null(what))
}

/// Puts a result where the caller has room for it.
///
/// # Safety
/// `room` is null or may be written.
unsafe fn put<T>(what: &str, room: *mut T, make: impl FnOnce() -> Result<T, Failure>) -> Result<(), Failure> {
    if room.is_null() {
        return Err(Failure::null(what));
    }
    let made = make()?;
    // SAFETY: the caller promises what is asked.
    unsafe { room.write(made) };
    Ok(())
}

/// `nnz_message`.
#[unsafe(no_mangle)]
pub extern "C" fn nnz_message() -> *const c_char {
    failure::message()
}

/// `nnz_open`.
///
/// # Safety
/// `queue` is null or points to a `sycl::queue`; `device` is null or may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nnz_open(queue: *const c_void, device: *mut *mut Device) -> Status {
    // SAFETY: the caller promises what is asked.
    reported(|| unsafe {
        put("device", device, || {
            given("queue", queue)?;
            Ok(Box::into_raw(Box::new(Device(on_queue(queue)?))))
        })
    })
}

/// `nnz_close`.
///
/// # Safety
/// `device` is null or came from `nnz_open`, and is used no more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nnz_close(device: *mut Device) {
    if !device.is_null() {
        // SAFETY: the caller promises what is asked.
        drop(unsafe { Box::from_raw(device) });
    }
}

/// `nnz_borrow_csr`.
///
/// # Safety
/// The pointers are what `nnz.h` asks for, or null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nnz_borrow_csr(
    device: *const Device,
    csr: *const Arrays,
    matrix: *mut *mut Matrix,
) -> Status {
    // SAFETY: the caller promises what is asked.
    reported(|| unsafe {
        put("matrix", matrix, || {
            let made = over(&given("device", device)?.0, given("csr", csr)?)?;
            Ok(Box::into_raw(Box::new(Matrix(made))))
        })
    })
}

/// `nnz_dense_to_csr`.
///
/// # Safety
/// The pointers are what `nnz.h` asks for, or null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nnz_dense_to_csr(
    device: *const Device,
    scalar: Type,
    rows: usize,
    cols: usize,
    dense: *const c_void,
    step: usize,
    matrix: *mut *mut Matrix,
) -> Status {
    // SAFETY: the caller promises what is asked.
    reported(|| unsafe {
        put("matrix", matrix, || {
            let dense = Dense { pointer: dense, step };
            let made = compressed(&given("device", device)?.0, scalar, (rows, cols), dense)?;
            Ok(Box::into_raw(Box::new(Matrix(made))))
        })
    })
}

/// `nnz_arrays`.
///
/// # Safety
/// `matrix` is null or alive; `csr` is null or may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nnz_arrays(matrix: *const Matrix, csr: *mut Arrays) -> Status {
    // SAFETY: the caller promises what is asked.
    reported(|| unsafe { put("csr", csr, || Ok(given("matrix", matrix)?.0.arrays())) })
}

/// `nnz_spmv`.
///
/// # Safety
/// The pointers are what `nnz.h` asks for, or null, and nobody else uses `matrix` meanwhile.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nnz_spmv(
    matrix: *mut Matrix,
    alpha: f64,
    x: *const c_void,
    beta: f64,
    y: *mut c_void,
) -> Status {
    // SAFETY: the caller promises what is asked.
    reported(|| unsafe {
        let matrix = matrix.as_mut().ok_or_else(|| Failure::null("matrix"))?;
        matrix.0.spmv(alpha, x, beta, y)
    })
}

/// `nnz_spmm`.
///
/// # Safety
/// The pointers are what `nnz.h` asks for, or null, and nobody else uses `matrix` meanwhile.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nnz_spmm(
    matrix: *mut Matrix,
    columns: usize,
    alpha: f64,
    b: *const c_void,
    b_step: usize,
    beta: f64,
    c: *mut c_void,
    c_step: usize,
) -> Status {
    // SAFETY: the caller promises what is asked.
    reported(|| unsafe {
        let matrix = matrix.as_mut().ok_or_else(|| Failure::null("matrix"))?;
        let (b, c) = (Dense { pointer: b, step: b_step }, Dense { pointer: c, step: c_step });
        matrix.0.spmm(columns, alpha, b, beta, c)
    })
}

/// `nnz_release`.
///
/// # Safety
/// `matrix` is null or came from this library, and is used no more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nnz_release(matrix: *mut Matrix) {
    if !matrix.is_null() {
        // SAFETY: the caller promises what is asked.
        drop(unsafe { Box::from_raw(matrix) });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::CStr;
    use std::ptr::{null, null_mut};

    fn message() -> String {
        // SAFETY: the text ends with a zero, and no other call of this thread has failed meanwhile.
        unsafe { CStr::from_ptr(nnz_message()) }.to_string_lossy().into_owned()
    }

    #[test]
    fn a_null_pointer_is_named() {
        let mut device = null_mut();
        // SAFETY: null pointers are allowed.
        let calls = unsafe {
            [
                (nnz_open(null(), null_mut()), message(), "device is null"),
                (nnz_open(null(), &raw mut device), message(), "queue is null"),
                (nnz_borrow_csr(null(), null(), null_mut()), message(), "matrix is null"),
                (nnz_arrays(null(), null_mut()), message(), "csr is null"),
                (nnz_spmv(null_mut(), 1.0, null(), 0.0, null_mut()), message(), "matrix is null"),
            ]
        };
        for (status, found, expected) in calls {
            assert_eq!((status, found.as_str()), (Status::Null, expected));
        }
        assert!(device.is_null());
        // SAFETY: as above.
        unsafe {
            nnz_close(null_mut());
            nnz_release(null_mut());
        }
    }
}

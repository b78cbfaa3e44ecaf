//! The C library of [nnz](https://docs.rs/nnz): SpMV, SpMM and dense → CSR in the caller's memory, on the CPU or on a
//! caller's SYCL queue.
//!
//! `include/nnz.h` is the interface and its documentation. `examples/spmv.c` uses it on the CPU, `examples/host.cpp` on
//! a SYCL queue, which takes the feature `sycl`. Every error passes the interface as a [`Status`]; its message is
//! stored for the calling thread.

mod failure;
mod matrix;
mod memory;
#[cfg(feature = "sycl")]
mod sycl;

pub use failure::Status;
pub use matrix::{Arrays, Type};

use backend_cpu::{Cpu, Simd};
use failure::{Failure, reported};
use matrix::{Dense, Matrices, Products};
use std::ffi::{c_char, c_void};

/// `nnz_device`: the CPU, or the device of a queue.
#[derive(Debug)]
pub struct Device(Box<dyn Matrices>);

/// `nnz_matrix`: a matrix with its plans.
#[expect(missing_debug_implementations, reason = "it is opaque")]
pub struct Matrix(Box<dyn Products>);

/// The referent of a pointer; an error if it is null.
///
/// # Safety
/// It is null, or points to a value that nobody writes.
unsafe fn given<'a, T>(what: &str, pointer: *const T) -> Result<&'a T, Failure> {
    // SAFETY: the caller promises what is asked.
    unsafe { pointer.as_ref() }.ok_or_else(|| Failure::null(what))
}

/// Writes a result through a pointer of the caller's.
///
/// # Safety
/// `target` is null or may be written.
unsafe fn put<T>(
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

/// Moves a value to the heap, for C to own by a pointer.
fn boxed<T>(value: T) -> *mut T {
    Box::into_raw(Box::new(value))
}

/// `nnz_message`.
#[unsafe(no_mangle)]
pub extern "C" fn nnz_message() -> *const c_char {
    failure::message()
}

/// `nnz_open_cpu`.
///
/// # Safety
/// `device` is null or may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nnz_open_cpu(threads: usize, device: *mut *mut Device) -> Status {
    // SAFETY: the caller promises what is asked.
    reported(|| unsafe {
        put("device", device, || {
            let cpu = if threads == 0 { Cpu::new()? } else { Cpu::with(threads, Simd::detect())? };
            Ok(boxed(Device(Box::new(cpu))))
        })
    })
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
            Ok(boxed(Device(sycl::open(queue)?)))
        })
    })
}

/// The substitute for SYCL in a library without it.
#[cfg(not(feature = "sycl"))]
mod sycl {
    use super::{Failure, Matrices, c_void};
    use sparse_core::Error;

    /// An error.
    ///
    /// # Safety
    /// Always safe; the other `open` is not.
    pub(crate) unsafe fn open(_: *const c_void) -> Result<Box<dyn Matrices>, Failure> {
        Err(Error::unsupported("a SYCL queue", "the library was built without its feature `sycl`").into())
    }
}

/// `nnz_close`.
///
/// # Safety
/// `device` is null or came from this library, and is used no more.
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
            let made = given("device", device)?.0.borrow_csr(given("csr", csr)?)?;
            Ok(boxed(Matrix(made)))
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
            let made = given("device", device)?.0.dense_to_csr(scalar, (rows, cols), dense)?;
            Ok(boxed(Matrix(made)))
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

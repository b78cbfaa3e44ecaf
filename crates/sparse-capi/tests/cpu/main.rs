//! The functions of `nnz.h` on the CPU: their results and refusals.

mod arrays_of_the_caller;
mod made;
mod solve;

use nnz::{DType, Scalar, c32, c64};
use nnz_capi::*;
use std::ffi::{CStr, CString, c_void};
use std::ptr::{null, null_mut};

const F32: Type = 0;
const F64: Type = 1;
const C64: Type = 3;
const F16: Type = 4;
const I64: Index = 1;

/// `1 0 2; 0 0 3; 4 5 0`, row 0 out of order.
static OFFSETS: [i32; 4] = [0, 2, 3, 5];
static INDICES: [i32; 5] = [2, 0, 2, 0, 1];
static VALUES: [f64; 5] = [2.0, 1.0, 3.0, 4.0, 5.0];

/// The matrix with other values.
fn arrays(values: *const f64) -> Arrays {
    let (offsets, indices) = (OFFSETS.as_ptr(), INDICES.as_ptr());
    Arrays { scalar: F64, rows: 3, cols: 3, nnz: 5, offsets, indices, values: values.cast() }
}

/// The CPU with one thread; closed when dropped.
struct Cpu(*mut Device);

impl Cpu {
    fn open() -> Self {
        let mut device = null_mut();
        // SAFETY: the pointer may be written.
        assert_eq!(unsafe { nnz_open_cpu(1, &raw mut device) }, Status::Ok);
        Self(device)
    }
}

impl Drop for Cpu {
    fn drop(&mut self) {
        // SAFETY: the device is open.
        unsafe { nnz_close(self.0) }
    }
}

fn message() -> String {
    // SAFETY: the text ends with a zero, and no other call of this thread fails meanwhile.
    unsafe { CStr::from_ptr(nnz_message()) }.to_string_lossy().into_owned()
}

/// Borrows arrays, which outlive the matrix.
fn borrow(device: &Cpu, csr: &Arrays) -> (Status, *mut Matrix) {
    let mut matrix = null_mut();
    // SAFETY: the device is open, and tests pass arrays of the given lengths or ones that are refused before they are
    // read.
    let status = unsafe { nnz_borrow_csr(device.0, csr, &raw mut matrix) };
    (status, matrix)
}

fn address<T>(slice: &[T]) -> *const c_void {
    slice.as_ptr().cast()
}

/// A matrix that is released when it is dropped.
struct Owned(*mut Matrix);

impl Owned {
    /// The matrix that `make` writes.
    fn made(make: impl FnOnce(*mut *mut Matrix) -> Status) -> Self {
        let mut matrix = null_mut();
        assert_eq!(make(&raw mut matrix), Status::Ok, "{}", message());
        Self(matrix)
    }

    /// The matrix of the tests, over its static arrays.
    fn example() -> Self {
        let device = Cpu::open();
        // SAFETY: the device is open, and the arrays live for ever.
        Self::made(|matrix| unsafe { nnz_borrow_csr(device.0, &arrays(VALUES.as_ptr()), matrix) })
    }

    fn convert(&self, format: MatrixFormat) -> Self {
        // SAFETY: the matrix is alive.
        Self::made(|made| unsafe { nnz_convert(self.0, format, made) })
    }

    fn info(&self) -> Info {
        let mut info = Info { format: 9, scalar: 9, index: 9, offset: 9, rows: 0, cols: 0, nnz: 0, bytes: 0 };
        // SAFETY: the matrix is alive, and the struct may be written.
        assert_eq!(unsafe { nnz_describe(self.0, &raw mut info) }, Status::Ok);
        info
    }

    /// All elements of a 3 x 3 matrix.
    fn dense<T: Scalar>(&self) -> [T; 9] {
        let mut dense = [T::ZERO; 9];
        // SAFETY: the matrix is alive, and the 3 x 3 elements may be written.
        let status = unsafe { nnz_to_dense(self.0, 3, dense.as_mut_ptr().cast()) };
        assert_eq!(status, Status::Ok, "{}", message());
        dense
    }
}

impl Drop for Owned {
    fn drop(&mut self) {
        // SAFETY: the matrix came from the library, and is used no more.
        unsafe { nnz_release(self.0) }
    }
}

fn complex(re: f64, im: f64) -> Complex {
    Complex { re, im }
}

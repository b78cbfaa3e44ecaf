//! The C library of [nnz](https://docs.rs/nnz): sparse matrices in the caller's memory, on the CPU or on a caller's
//! SYCL queue.
//!
//! `include/nnz.h` is the interface and its documentation. `examples/spmv.c`, `examples/solve.c`,
//! `examples/newton.c` and `examples/spgemm.c` use it on the CPU, `examples/host.cpp` on a SYCL queue, which takes the
//! feature `sycl`. Behind it is the run-time layer of the crate `nnz`: a handle is an [`nnz::Matrix`], an
//! [`nnz::Device`], an [`nnz::MatrixSpgemmPlan`] or an [`nnz::Solver`], and an operand an [`nnz::Vector`] over the
//! caller's array. Every error passes the interface as a [`Status`]; its message is stored for the calling thread.

mod derived;
mod failure;
mod matrix;
mod memory;
mod names;
mod pointers;
mod product;
mod solve_plan;
mod spgemm_plan;
#[cfg_attr(not(feature = "sycl"), path = "no_sycl.rs")]
mod sycl;

pub use derived::*;
pub use failure::Status;
pub use matrix::{Arrays, Coordinates, Info, WideArrays};
pub use names::{Index, MatrixFormat, Operation, PreconditionedBy, SampledBy, SolveMethod, Triangle, Type};
pub use product::{Complex, Solution, SolverOptions};
pub use solve_plan::*;
pub use spgemm_plan::*;

use failure::reported;
use memory::Dense;
use nnz::op::Op;
use nnz::{Cpu, Format, Simd};
use pointers::{boxed, dropped, given, given_path, put, put_matrix};
use std::ffi::{c_char, c_int, c_void};

/// `nnz_device`: the CPU, or the device of a queue.
#[derive(Debug)]
pub struct Device(nnz::Device);

/// `nnz_matrix`: a matrix with its plans.
#[derive(Debug)]
pub struct Matrix(nnz::Matrix);

/// `nnz_message`.
#[unsafe(no_mangle)]
pub extern "C" fn nnz_message() -> *const c_char {
    failure::message()
}

/// `nnz_version`.
#[unsafe(no_mangle)]
pub extern "C" fn nnz_version() -> *const c_char {
    concat!(env!("CARGO_PKG_VERSION"), "\0").as_ptr().cast()
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
            Ok(boxed(Device(nnz::Device::Cpu(cpu))))
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

/// `nnz_close`.
///
/// # Safety
/// `device` is null or came from this library, and is used no more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nnz_close(device: *mut Device) {
    // SAFETY: the caller promises what is asked.
    unsafe { dropped(device) }
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
    unsafe {
        put_matrix(matrix, || {
            let device = given("device", device)?;
            matrix::borrow_csr(&device.0, &(*given("csr", csr)?).into())
        })
    }
}

/// `nnz_borrow_wide_csr`.
///
/// # Safety
/// The pointers are what `nnz.h` asks for, or null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nnz_borrow_wide_csr(
    device: *const Device,
    csr: *const WideArrays,
    matrix: *mut *mut Matrix,
) -> Status {
    // SAFETY: the caller promises what is asked.
    unsafe { put_matrix(matrix, || matrix::borrow_csr(&given("device", device)?.0, given("csr", csr)?)) }
}

/// `nnz_copy_coo`.
///
/// # Safety
/// The pointers are what `nnz.h` asks for, or null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nnz_copy_coo(
    device: *const Device,
    coo: *const Coordinates,
    matrix: *mut *mut Matrix,
) -> Status {
    // SAFETY: the caller promises what is asked.
    unsafe { put_matrix(matrix, || matrix::copy_coo(&given("device", device)?.0, given("coo", coo)?)) }
}

/// `nnz_read`.
///
/// # Safety
/// The pointers are what `nnz.h` asks for, or null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nnz_read(
    device: *const Device,
    path: *const c_char,
    matrix: *mut *mut Matrix,
) -> Status {
    // SAFETY: the caller promises what is asked.
    unsafe {
        put_matrix(matrix, || {
            let device = given("device", device)?;
            Ok(nnz::Matrix::read(&device.0, given_path(path)?)?)
        })
    }
}

/// `nnz_write`.
///
/// # Safety
/// The pointers are what `nnz.h` asks for, or null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nnz_write(matrix: *const Matrix, path: *const c_char) -> Status {
    // SAFETY: the caller promises what is asked.
    reported(|| unsafe { Ok(given("matrix", matrix)?.0.write(given_path(path)?)?) })
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
    unsafe {
        put_matrix(matrix, || {
            let device = &given("device", device)?.0;
            let dense = Dense { name: "dense", pointer: dense, step };
            let dense = dense.as_matrix((device, names::dtype(scalar)?), (rows, cols))?;
            let made = dense.to_sparse(Format::Csr, None)?;
            device.synchronize()?;
            Ok(made)
        })
    }
}

/// `nnz_describe`.
///
/// # Safety
/// `matrix` is null or alive; `info` is null or may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nnz_describe(matrix: *const Matrix, info: *mut Info) -> Status {
    // SAFETY: the caller promises what is asked.
    reported(|| unsafe { put("info", info, || matrix::info(&given("matrix", matrix)?.0)) })
}

/// `nnz_arrays`.
///
/// # Safety
/// `matrix` is null or alive; `csr` is null or may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nnz_arrays(matrix: *const Matrix, csr: *mut Arrays) -> Status {
    // SAFETY: the caller promises what is asked.
    reported(|| unsafe { put("csr", csr, || matrix::arrays(&given("matrix", matrix)?.0)) })
}

/// `nnz_wide_arrays`.
///
/// # Safety
/// `matrix` is null or alive; `csr` is null or may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nnz_wide_arrays(matrix: *const Matrix, csr: *mut WideArrays) -> Status {
    // SAFETY: the caller promises what is asked.
    reported(|| unsafe { put("csr", csr, || matrix::wide_arrays(&given("matrix", matrix)?.0)) })
}

/// `nnz_to_dense`.
///
/// # Safety
/// The pointers are what `nnz.h` asks for, or null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nnz_to_dense(matrix: *const Matrix, step: usize, dense: *mut c_void) -> Status {
    // SAFETY: the caller promises what is asked.
    reported(|| unsafe {
        let matrix = given("matrix", matrix)?;
        product::to_dense(&matrix.0, Dense { name: "dense", pointer: dense, step })
    })
}

/// `nnz_spmv`.
///
/// # Safety
/// The pointers are what `nnz.h` asks for, or null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nnz_spmv(
    matrix: *const Matrix,
    alpha: f64,
    x: *const c_void,
    beta: f64,
    y: *mut c_void,
) -> Status {
    // SAFETY: the caller promises what is asked.
    reported(|| unsafe {
        product::spmv(&given("matrix", matrix)?.0, Op::None, (alpha.into(), x), (beta.into(), y))
    })
}

/// `nnz_spmv_op`.
///
/// # Safety
/// The pointers are what `nnz.h` asks for, or null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nnz_spmv_op(
    matrix: *const Matrix,
    op: Operation,
    alpha: Complex,
    x: *const c_void,
    beta: Complex,
    y: *mut c_void,
) -> Status {
    // SAFETY: the caller promises what is asked.
    reported(|| unsafe {
        let matrix = given("matrix", matrix)?;
        product::spmv(&matrix.0, names::op(op)?, (alpha.into(), x), (beta.into(), y))
    })
}

/// `nnz_spmm`.
///
/// # Safety
/// The pointers are what `nnz.h` asks for, or null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nnz_spmm(
    matrix: *const Matrix,
    columns: usize,
    alpha: f64,
    b: *const c_void,
    b_step: usize,
    beta: f64,
    c: *mut c_void,
    c_step: usize,
) -> Status {
    let (alpha, beta) = (Complex { re: alpha, im: 0.0 }, Complex { re: beta, im: 0.0 });
    // SAFETY: the caller promises what is asked.
    unsafe { nnz_spmm_op(matrix, 0, columns, alpha, b, b_step, beta, c, c_step) }
}

/// `nnz_spmm_op`.
///
/// # Safety
/// The pointers are what `nnz.h` asks for, or null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nnz_spmm_op(
    matrix: *const Matrix,
    op: Operation,
    columns: usize,
    alpha: Complex,
    b: *const c_void,
    b_step: usize,
    beta: Complex,
    c: *mut c_void,
    c_step: usize,
) -> Status {
    // SAFETY: the caller promises what is asked.
    reported(|| unsafe {
        let matrix = given("matrix", matrix)?;
        let b = Dense { name: "B", pointer: b, step: b_step };
        let c = Dense { name: "C", pointer: c, step: c_step };
        product::spmm(&matrix.0, (names::op(op)?, columns), (alpha.into(), b), (beta.into(), c))
    })
}

/// `nnz_trisolve`.
///
/// # Safety
/// The pointers are what `nnz.h` asks for, or null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nnz_trisolve(
    matrix: *const Matrix,
    triangle: Triangle,
    unit_diagonal: c_int,
    op: Operation,
    columns: usize,
    b: *const c_void,
    b_step: usize,
    x: *mut c_void,
    x_step: usize,
) -> Status {
    // SAFETY: the caller promises what is asked.
    reported(|| unsafe {
        let matrix = given("matrix", matrix)?;
        let system = names::triangle(triangle)?.with_op(names::op(op)?);
        let system = if unit_diagonal != 0 { system.unit_diagonal() } else { system };
        let b = Dense { name: "B", pointer: b, step: b_step };
        let x = Dense { name: "X", pointer: x, step: x_step };
        product::trisolve(&matrix.0, (system, columns), (b, x))
    })
}

/// `nnz_sddmm`.
///
/// # Safety
/// The pointers are what `nnz.h` asks for, or null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nnz_sddmm(
    matrix: *const Matrix,
    sampling: SampledBy,
    inner: usize,
    alpha: Complex,
    u: *const c_void,
    u_step: usize,
    v: *const c_void,
    v_step: usize,
    beta: Complex,
    c: *mut c_void,
) -> Status {
    // SAFETY: the caller promises what is asked.
    reported(|| unsafe {
        let matrix = given("matrix", matrix)?;
        let u = Dense { name: "U", pointer: u, step: u_step };
        let v = Dense { name: "V", pointer: v, step: v_step };
        let product = (names::sampling(sampling)?, inner);
        product::sddmm(&matrix.0, product, (alpha.into(), u, v), (beta.into(), c))
    })
}

/// `nnz_solve`.
///
/// # Safety
/// The pointers are what `nnz.h` asks for, or null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nnz_solve(
    matrix: *const Matrix,
    options: *const SolverOptions,
    b: *const c_void,
    x: *mut c_void,
    solution: *mut Solution,
) -> Status {
    // SAFETY: the caller promises what is asked.
    reported(|| unsafe {
        put("solution", solution, || {
            product::solve(&given("matrix", matrix)?.0, given("options", options)?, b, x)
        })
    })
}

/// `nnz_release`.
///
/// # Safety
/// `matrix` is null or came from this library, and is used no more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nnz_release(matrix: *mut Matrix) {
    // SAFETY: the caller promises what is asked.
    unsafe { dropped(matrix) }
}

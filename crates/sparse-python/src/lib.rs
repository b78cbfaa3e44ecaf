//! The module `nnz._native`: what the Python package `nnz` calls.
//!
//! `python/nnz` has the classes that users see, in Python, over SciPy's. The functions here take NumPy's arrays where
//! they lie and compute on the run-time layer of the crate `nnz`, with Python's lock released. What they do not take
//! (other types, arrays with gaps) is an error that the Python classes avoid: they leave it to SciPy.

mod arrays;
mod device;
mod device_array;
mod dlpack;
mod error;
mod exclusive;
mod factor;
mod file;
mod host;
mod matrix;
mod matrix_set;
mod operand;
mod operations;
mod plan;
mod product;
mod signals;
mod solve;
mod types;

use std::sync::atomic::{AtomicU64, Ordering};

/// Results in Python's arrays are freed by this library, too.
#[cfg(target_os = "linux")]
#[global_allocator]
static ALLOCATOR: recycler::Recycler<{ 128 << 10 }> = recycler::Recycler;

/// The number of operations that ran here.
static CALLS: AtomicU64 = AtomicU64::new(0);

/// Counts an operation, so that tests see that it was not SciPy's.
fn count() {
    CALLS.fetch_add(1, Ordering::Relaxed);
}

#[pyo3::pymodule(gil_used = false)]
mod _native {
    #[pymodule_export]
    use super::device::devices;
    #[pymodule_export]
    use super::device_array::DeviceArray;
    #[pymodule_export]
    use super::factor::Factors;
    #[pymodule_export]
    use super::file::{read, write};
    #[pymodule_export]
    use super::host::{coo_to_compressed, csr_multiply, csr_sort, csr_to_csc};
    #[pymodule_export]
    use super::matrix::Matrix;
    #[pymodule_export]
    use super::matrix_set::MatrixSet;
    #[pymodule_export]
    use super::operations::{
        add, cast, combine, convert, copy, diagonal, multiply_elements, multiply_sparse,
        multiply_sparse_to_npz, prune, reduce, scale, scale_lines, select,
    };
    #[pymodule_export]
    use super::plan::{Plan, delay, stream, synchronize};
    #[pymodule_export]
    use super::product::{csr_matmat, csr_matvec, csr_todense, empty};
    #[pymodule_export]
    use super::solve::{Preconditioner, Solver, lsqr, solve};

    /// The number of operations that ran in this library.
    #[pyo3::pyfunction]
    fn calls() -> u64 {
        super::CALLS.load(super::Ordering::Relaxed)
    }
}

//! Operations on NumPy's arrays that make a matrix: conversions, sorting, sparse products.

use crate::arrays::{Arrays, parts};
use crate::count;
use crate::device::host;
use crate::error::exception;
use crate::product::cpu;
use crate::types::with_types;
use nnz::{Col, Format, Row};
use pyo3::prelude::*;
use pyo3::types::PyTuple;

/// `indptr`, `indices` and `data` of CSR (of CSC, if `csc`) from rows, columns and values, with duplicates summed.
#[pyfunction]
pub(crate) fn coo_to_compressed<'py>(
    py: Python<'py>,
    coo: Arrays<'py>,
    csc: bool,
) -> PyResult<Bound<'py, PyTuple>> {
    count();
    let cpu = cpu(host()?).map_err(exception)?;
    with_types!(coo.dtype()?, coo.index()?, T, I => {
        // SAFETY: as in `product::matvec`.
        let (rows, cols, values) = unsafe { coo.slices::<T, I>(Format::Coo)? };
        if csc {
            let csc = py.detach(|| cpu.compress_coo::<Col, T, I>(coo.0, rows, cols, values));
            parts(py, csc.map_err(exception)?.into_parts())
        } else {
            let csr = py.detach(|| cpu.compress_coo::<Row, T, I>(coo.0, rows, cols, values));
            parts(py, csr.map_err(exception)?.into_parts())
        }
    })
}

/// The arrays of CSC from those of CSR, and with rows and columns exchanged the other way.
#[pyfunction]
pub(crate) fn csr_to_csc<'py>(py: Python<'py>, csr: Arrays<'py>) -> PyResult<Bound<'py, PyTuple>> {
    count();
    let cpu = cpu(host()?).map_err(exception)?;
    with_types!(csr.dtype()?, csr.index()?, T, I => {
        // SAFETY: as in `product::matvec`.
        let (offsets, indices, values) = unsafe { csr.slices::<T, I>(Format::Csr)? };
        let csc = py.detach(|| cpu.csr_to_csc(csr.0, offsets, indices, values)).map_err(exception)?;
        parts(py, csc.into_parts())
    })
}

/// Sorts the entries of each row of CSR by column where they lie; duplicates stay.
#[pyfunction]
pub(crate) fn csr_sort(py: Python<'_>, csr: Arrays<'_>) -> PyResult<()> {
    count();
    let cpu = cpu(host()?).map_err(exception)?;
    with_types!(csr.dtype()?, csr.index()?, T, I => {
        // SAFETY: as in `product::matvec`, and the caller of Python gave indices and values to be sorted.
        let (offsets, indices, values) = unsafe { csr.slices_mut::<T, I>()? };
        py.detach(|| cpu.sort_csr(csr.0, offsets, indices, values)).map_err(exception)
    })
}

/// The arrays of A·B of two matrices in CSR of one type, without elements that come out as zero, which SciPy leaves out.
#[pyfunction]
pub(crate) fn csr_multiply<'py>(
    py: Python<'py>,
    a: Arrays<'py>,
    b: Arrays<'py>,
) -> PyResult<Bound<'py, PyTuple>> {
    count();
    let cpu = cpu(host()?).map_err(exception)?;
    a.require_types_of(&b)?;
    with_types!(a.dtype()?, a.index()?, T, I => {
        // SAFETY: as in `product::matvec`.
        let (left, right) = unsafe { (a.slices::<T, I>(Format::Csr)?, b.slices::<T, I>(Format::Csr)?) };
        let product = py.detach(|| cpu.without_zeros(cpu.multiply_csr(a.0, left, b.0, right)?));
        parts(py, product.map_err(exception)?.into_parts())
    })
}

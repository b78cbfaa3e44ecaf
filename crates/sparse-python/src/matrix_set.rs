//! Dense matrices of any shapes, which the engine compresses on one device or several.

use crate::arrays::slice;
use crate::count;
use crate::device::open;
use crate::error::exception;
use crate::matrix::Matrix;
use crate::operand::{Operand, value_type};
use crate::types::{dtype_of, named, with_values};
use nnz::distrib::{NpySource, Progress, Report};
use nnz::foreign::ForeignArray;
use nnz::{DenseStack, Device, Error, Format, MatrixSetOptions, Result};
use numpy::PyUntypedArrayMethods;
use pyo3::prelude::*;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

/// Compressed matrices of any shapes, each in the memory of the device that compressed it.
#[pyclass(frozen, module = "nnz._native")]
pub(crate) struct MatrixSet(nnz::MatrixSet);

/// Stacks of dense matrices in memory, or `.npy` files of them.
#[derive(FromPyObject)]
pub(crate) enum Dense<'py> {
    Arrays(Vec<Operand<'py>>),
    Files(Vec<PathBuf>),
}

#[pymethods]
impl MatrixSet {
    /// The elements that are not zero, or above `tolerance`, of all matrices as values of the type `dtype`, on all
    /// `devices`. `progress` is called with the matrices that are done and with their number; an exception of its ends
    /// the run.
    #[staticmethod]
    #[pyo3(signature = (dense, dtype, tolerance, devices, progress=None))]
    fn compress<'py>(
        py: Python<'py>,
        dense: Dense<'py>,
        dtype: char,
        tolerance: Option<f64>,
        devices: Vec<String>,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<Self> {
        count();
        let devices = py.detach(|| devices.iter().map(|name| open(name)).collect::<PyResult<Vec<_>>>())?;
        let (cancelled, raised) = (AtomicBool::new(false), Mutex::new(None));
        let call = |state: Progress| {
            let Some(progress) = &progress else { return };
            Python::attach(|py| {
                if let Err(error) = progress.call1(py, (state.items, state.total_items)) {
                    cancelled.store(true, Ordering::Relaxed);
                    raised.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
                }
            });
        };
        let options = MatrixSetOptions {
            tolerance,
            progress: Some(&call),
            cancel: Some(&cancelled),
            ..MatrixSetOptions::new(Format::Csr, named(dtype)?)
        };
        let compressed = match dense {
            Dense::Files(paths) => {
                py.detach(|| nnz::MatrixSet::compress(&devices, &NpySource::open_all(paths)?, &options))
            }
            Dense::Arrays(arrays) => {
                let described = arrays.iter().map(described).collect::<PyResult<Vec<_>>>()?;
                py.detach(|| {
                    // SAFETY: `arrays` owns references to the memory; that no other thread writes it meanwhile is asked
                    // of programs, as NumPy does. Arrays of a GPU are in order with the stream of their device, and
                    // their memory ends at a multiple of 16 bytes, as that of all allocations of CUDA.
                    let stacks =
                        described.iter().map(|(device, array)| unsafe { DenseStack::borrow(device, array) });
                    nnz::MatrixSet::compress_stacks(&devices, &stacks.collect::<Result<Vec<_>>>()?, &options)
                })
            }
        };
        if let Some(error) = raised.into_inner().unwrap_or_else(PoisonError::into_inner) {
            return Err(error);
        }
        let (set, report) = compressed.map_err(exception)?;
        complete(report).map_err(exception)?;
        Ok(Self(set))
    }

    fn __len__(&self) -> usize {
        self.0.len()
    }

    /// (rows, columns) of matrix `k`.
    fn shape(&self, k: usize) -> Option<(usize, usize)> {
        self.0.shape(k)
    }

    /// The number of entries of matrix `k`.
    fn nnz(&self, k: usize) -> Option<usize> {
        self.0.nnz(k)
    }

    /// The name of the device that has matrix `k`.
    fn placement(&self, k: usize) -> Option<String> {
        self.0.placement(k).map(Into::into)
    }

    #[getter]
    fn nbytes(&self) -> u64 {
        self.0.bytes()
    }

    /// A copy of matrix `k` on a device.
    fn get(&self, py: Python<'_>, k: usize, device: &str) -> PyResult<Matrix> {
        count();
        py.detach(|| self.0.get(k, &open(device)?).map(Matrix).map_err(exception))
    }

    /// Copies of all matrices, which are of one shape, as a batch on a device.
    fn to_batch(&self, py: Python<'_>, device: &str) -> PyResult<Matrix> {
        count();
        py.detach(|| self.0.to_batch(&open(device)?).map(Matrix).map_err(exception))
    }

    /// Writes all matrices to a folder of `.npz` files.
    fn write(&self, py: Python<'_>, folder: PathBuf) -> PyResult<()> {
        count();
        py.detach(|| self.0.write_folder(folder)).map_err(exception)
    }
}

/// An error that names the first matrices that were not compressed.
fn complete(report: Report) -> Result<()> {
    match report.unfinished.into_iter().next() {
        None => Ok(()),
        Some(unfinished) => {
            let first = unfinished.items.first().copied().unwrap_or_default();
            Err(Error::operands("compress", format_args!("matrix {first}: {}", unfinished.cause)))
        }
    }
}

/// The device and the description of an array in C order.
fn described(array: &Operand<'_>) -> PyResult<(Device, ForeignArray)> {
    match array {
        Operand::Device(array) => {
            let shared = &array.get().0;
            let dtype = value_type("the stack", shared)?;
            Ok((shared.device().clone(), shared.described(dtype).map_err(exception)?))
        }
        Operand::Host(array) => with_values!(dtype_of("the stack", array)?, T => {
            // SAFETY: no element is read here.
            let elements = unsafe { slice::<T>("the stack", array)? };
            let described = ForeignArray::on_host(elements.as_ptr(), array.shape(), None);
            Ok((crate::device::host()?.clone(), described))
        }),
    }
}

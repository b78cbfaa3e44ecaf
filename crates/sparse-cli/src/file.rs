//! Matrix files: their types, and how matrices are written.

use crate::failure::usage;
use anyhow::{Context as _, Result};
use nnz::error::checked_product;
use nnz::io::{self, FileKind, MatrixFile, Output, npy};
use nnz::op::Operations;
use nnz::reference::Reference;
use nnz::{Accumulator, Csr, DType, Dense, Error, Host, Index, Matrix, Order};
use std::path::Path;

/// The type that a matrix is read as: that of `--dtype`, or the file's own.
pub(crate) fn dtype_of(file: &MatrixFile, asked: Option<DType>) -> Result<DType> {
    match asked {
        Some(dtype) => Ok(dtype),
        None => Ok(file.value_type()?),
    }
}

/// Fails early where the name of a file to be written says no known kind, or where it cannot be written.
pub(crate) fn check_output(path: &Path) -> Result<()> {
    FileKind::of(path).map_err(usage)?;
    Ok(Output::from(path).check()?)
}

/// Writes a matrix to a file of the kind that its name says; to `.npy` as a dense array in C order.
pub(crate) fn write<T: Accumulator, I: Index, O: Index>(path: &Path, a: &Csr<T, Host, I, O>) -> Result<()> {
    if FileKind::of(path)? != FileKind::Npy {
        return Ok(io::write_csr(path, a)?);
    }
    let mut dense = zeros::<T>(a.rows(), a.cols()).with_context(|| format!("writing {}", path.display()))?;
    Reference.to_dense(a, dense.as_view_mut())?;
    Ok(npy::write(path, dense.data(), &[a.rows(), a.cols()], Order::RowMajor)?)
}

/// A dense matrix of zeros; too large a one is an error.
fn zeros<T: Accumulator>(rows: usize, cols: usize) -> nnz::Result<Dense<T>> {
    let len = checked_product("rows x columns", rows, cols)?;
    let mut data = Vec::new();
    data.try_reserve_exact(len).map_err(|_| {
        let needed = len as u64 * size_of::<T>() as u64;
        Error::unsupported(format_args!("a dense matrix of {needed} bytes"), "there is not so much memory")
    })?;
    data.resize(len, T::ZERO);
    Dense::new(data, rows, cols, Order::RowMajor)
}

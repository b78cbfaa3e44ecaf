//! Files of matrices whose types are known when they are read.

use super::Matrix;
use crate::Device;
use crate::io::MatrixFile;
use sparse_core::{DType, Error, Result, Scalar, c32, c64};
use std::path::Path;

/// Files.
impl Matrix {
    /// Reads a matrix file to CSR: `.mtx`, `.mtx.gz`, `.npz` or `.npy`.
    ///
    /// Values have the file's own type, `f64` where it does not name one. Indices and offsets have 32 bits where these
    /// suffice, else 64. Duplicates are added.
    ///
    /// # Errors
    /// Those of [`MatrixFile::open`] and [`MatrixFile::read_csr`], and of [`from_typed`](Self::from_typed).
    ///
    /// ```
    /// # use nnz::prelude::*;
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("a.mtx");
    /// std::fs::write(&path, "%%MatrixMarket matrix coordinate real general\n2 3 2\n1 1 5\n2 3 7\n")?;
    /// let a = Matrix::read(&"cpu".parse()?, &path)?;
    /// assert_eq!((a.shape(), a.nnz(), a.dtype()), ((2, 3), 2, DType::F64));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn read(device: &Device, path: impl AsRef<Path>) -> Result<Self> {
        let file = MatrixFile::open(path)?;
        match file.value_type()? {
            DType::F32 => read_as::<f32>(device, &file),
            DType::F64 => read_as::<f64>(device, &file),
            DType::C32 => read_as::<c32>(device, &file),
            DType::C64 => read_as::<c64>(device, &file),
            half @ (DType::F16 | DType::Bf16) => {
                Err(Error::unsupported(half, "files have values of f32, f64, c32 and c64"))
            }
        }
    }
}

/// Reads with 32-bit indices where they suffice.
fn read_as<T: Scalar>(device: &Device, file: &MatrixFile) -> Result<Matrix> {
    match file.read_csr::<T, i32, i32>() {
        Err(Error::IndexOverflow { .. }) => Matrix::from_typed(device, file.read_csr::<T, i64, i64>()?),
        narrow => Matrix::from_typed(device, narrow?),
    }
}

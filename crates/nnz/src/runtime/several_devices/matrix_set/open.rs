//! Sets from folders.

use super::MatrixSet;
use crate::device::HostBackend;
use sparse_core::op::DenseToCsrKernel;
use sparse_core::{BatchCsr, Col, DType, Error, Result, Row, Scalar, with_dtype};
use sparse_device::Device as Accelerator;
use sparse_distrib::Handle;
use sparse_io::npz::NpzFormat;
use sparse_io::parts::{MANIFEST, PartSet};
use sparse_io::{FileKind, MatrixFile};
use std::path::{Path, PathBuf};

impl MatrixSet {
    /// The matrices of a folder, in the host's memory. [`move_to`](Self::move_to) brings them to a device.
    ///
    /// A folder with a manifest ([`parts`](sparse_io::parts)), as [`write_folder`](Self::write_folder) and
    /// `nnz distribute` make it, has matrices in CSR or CSC; those that were written in blocks keep their
    /// [`partition`](Self::partition). Of any other folder all `.mtx`, `.mtx.gz`, `.npz` and `.npy` files are read, in
    /// the order of their names: each is a matrix, or an `.npz` file a batch in CSR. Values get the smallest type that
    /// represents those of all files, rows are sorted, and duplicates added.
    ///
    /// ```
    /// use nnz::{MatrixSet, prelude::*};
    ///
    /// # let folder = tempfile::tempdir()?;
    /// # let path = |name: &str| folder.path().join(name);
    /// let cpu = Device::host()?;
    /// Matrix::from_typed(&cpu, Csr::<f64>::identity(2)?)?.write(&path("a.npz"))?;
    /// std::fs::write(path("b.mtx"), "%%MatrixMarket matrix coordinate real general\n1 3 1\n1 2 7\n")?;
    /// let set = MatrixSet::open(folder.path())?;
    /// assert_eq!((set.len(), set.shape(1), set.nnz(1)), (2, Some((1, 3)), Some(1)));
    ///
    /// set.write_folder(path("set"))?;
    /// let again = MatrixSet::open(path("set"))?;
    /// assert_eq!(again.get(1, &cpu)?.to_dense()?.values().to_vec::<f64>()?, [0.0, 7.0, 0.0]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`Io`](Error::Io) if the folder or a file cannot be read; [`File`](Error::File), with the name of the file and,
    /// of text, the line, if the folder has no matrices or a file is not sound or not what the manifest says;
    /// [`IndexOverflow`](Error::IndexOverflow) for a matrix that needs 64-bit indices.
    pub fn open(folder: impl AsRef<Path>) -> Result<Self> {
        let folder = folder.as_ref();
        if folder.join(MANIFEST).exists() || !folder.is_dir() {
            let set = PartSet::open(folder)?;
            return with_dtype!(set.dtype(), T => open_parts::<T>(&set));
        }
        let files: Vec<_> = matrix_files(folder)?.iter().map(MatrixFile::open).collect::<Result<_>>()?;
        let types = files.iter().map(MatrixFile::value_type).collect::<Result<Vec<_>>>()?;
        with_dtype!(DType::common(types), T => open_files::<T>(&files))
    }
}

/// The matrices of a folder of parts.
fn open_parts<T: Scalar>(set: &PartSet) -> Result<MatrixSet>
where
    HostBackend: DenseToCsrKernel<T, i32, i32>,
    Accelerator: DenseToCsrKernel<T, i32, i32>,
{
    match set.format() {
        NpzFormat::Csc => Ok(MatrixSet::new(Handle::<Col, T>::read(set)?)),
        NpzFormat::Csr | NpzFormat::Coo => Ok(MatrixSet::new(Handle::<Row, T>::read(set)?)),
    }
}

/// The matrices of files, one after the other.
fn open_files<T: Scalar>(files: &[MatrixFile]) -> Result<MatrixSet>
where
    HostBackend: DenseToCsrKernel<T, i32, i32>,
    Accelerator: DenseToCsrKernel<T, i32, i32>,
{
    let batch = |file: &MatrixFile| -> Result<BatchCsr<T>> {
        let batch = match file.batch_format()? {
            Some(_) => file.read_batch::<Row, T, i32, i32>(),
            None => file.read_csr().and_then(|matrix| BatchCsr::from_members(&[&matrix])),
        };
        batch.map_err(|error| with_path(file.path(), error))
    };
    let batches: Vec<_> = files.iter().map(batch).collect::<Result<_>>()?;
    Ok(MatrixSet::new(Handle::from_batches(batches)))
}

/// The files of a folder whose names are those of matrices, in order.
fn matrix_files(folder: &Path) -> Result<Vec<PathBuf>> {
    let read = || -> std::io::Result<Vec<PathBuf>> {
        std::fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect()
    };
    let mut paths = read().map_err(|source| Error::Io { path: folder.into(), source })?;
    paths.retain(|path| FileKind::of(path).is_ok());
    paths.sort();
    if paths.is_empty() {
        let reason = format!("the folder has no {MANIFEST} and no .mtx, .mtx.gz, .npz or .npy file");
        return Err(Error::File { path: folder.into(), line: None, reason });
    }
    Ok(paths)
}

/// The error with the name of the file, unless it has one.
fn with_path(path: &Path, error: Error) -> Error {
    match error {
        Error::Format { .. } | Error::Shape { .. } => {
            Error::File { path: path.into(), line: None, reason: error.to_string() }
        }
        other => other,
    }
}

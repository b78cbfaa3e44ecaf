//! Sets of dense matrices that several devices have compressed to CSR or CSC and store.

mod any_handle;
mod compress;
mod open;
mod options;
mod preparation;
mod workers;

use crate::Device;
use crate::runtime::Matrix;
use any_handle::AnyHandle;
pub use options::MatrixSetOptions;
use sparse_core::{Error, Result};
use sparse_distrib::Partition;
use std::fmt::{Debug, Formatter};
use std::path::Path;

/// Compressed matrices, possibly of unequal shapes, each in the memory of the device that compressed it, with 32-bit
/// indices and offsets. Dropping the set frees them.
///
/// Dense data are read matrix by matrix, so they may be larger than any memory.
///
/// ```
/// use nnz::{MatrixSet, MatrixSetOptions, distrib::NpySource, prelude::*};
///
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("stack.npy");
/// // Two 2 x 2 matrices in one array.
/// nnz::io::npy::write(&path, &[1.0, 0.0, 0.0, 2.0, 0.0, 0.0, 3.0, 0.0], &[2, 2, 2], Order::RowMajor)?;
/// let cpu = Device::host()?;
/// let options = MatrixSetOptions::new(Format::Csr, DType::F64);
/// let (set, report) = MatrixSet::compress(&[cpu.clone()], &NpySource::open(&path)?, &options)?;
/// assert_eq!((set.len(), report.nnz, set.placement(1)), (2, 3, Some("cpu")));
/// assert_eq!((set.shape(1), set.shape(2)), (Some((2, 2)), None));
///
/// let second = set.get(1, &cpu)?;
/// let x = Vector::from_slice(&cpu, &[1.0, 1.0])?;
/// assert_eq!(second.matvec(&x)?.to_vec::<f64>()?, [0.0, 3.0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct MatrixSet(Box<dyn AnyHandle>);

impl MatrixSet {
    fn new(handle: impl AnyHandle + 'static) -> Self {
        Self(Box::new(handle))
    }

    /// The number of matrices, compressed or not.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// True if there are no matrices.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// (rows, columns) of a matrix; `None` if there is no such matrix.
    pub fn shape(&self, item: usize) -> Option<(usize, usize)> {
        (item < self.len()).then(|| self.0.shape(item))
    }

    /// The number of entries of a matrix; `None` if it was not compressed.
    pub fn nnz(&self, item: usize) -> Option<usize> {
        self.0.nnz(item)
    }

    /// The parts that a matrix was cut into: one if it is whole. `None` if there is no such matrix.
    pub fn partition(&self, item: usize) -> Option<Partition> {
        (item < self.len()).then(|| self.0.partition(item))
    }

    /// The name of the device that stores a matrix, such as `cuda:0`, or `host`; `None` if it was not compressed. For a
    /// matrix in parts, the device of the first part.
    pub fn placement(&self, item: usize) -> Option<&str> {
        self.0.placement(item)
    }

    /// Bytes of all compressed matrices.
    pub fn bytes(&self) -> u64 {
        self.0.bytes()
    }

    /// A copy of a matrix in the memory of `device`.
    ///
    /// # Errors
    /// [`Shape`](Error::Shape) if there is no such matrix or it was not compressed; what a device's runtime reports.
    pub fn get(&self, item: usize, device: &Device) -> Result<Matrix> {
        self.0.get(item, device)
    }

    /// A copy of part `index` of a matrix's [`partition`](Self::partition) in the memory of `device`, with local
    /// indices.
    ///
    /// # Errors
    /// As for [`get`](Self::get).
    pub fn get_part(&self, item: usize, index: usize, device: &Device) -> Result<Matrix> {
        self.0.get_part(item, index, device)
    }

    /// Writes all matrices to a folder of `.npz` parts and a manifest ([`parts`](sparse_io::parts)), which is made if
    /// it is not there: a batch if they have one shape, else the blocks of a diagonal. Only one part is in memory at a
    /// time.
    ///
    /// ```
    /// use nnz::{MatrixSet, MatrixSetOptions, distrib::NpySource, prelude::*};
    ///
    /// # let folder = tempfile::tempdir()?;
    /// # let path = |name: &str| folder.path().join(name);
    /// nnz::io::npy::write(&path("wide.npy"), &[1.0, 0.0, 2.0], &[1, 3], Order::RowMajor)?;
    /// nnz::io::npy::write(&path("tall.npy"), &[0.0, 3.0], &[2, 1], Order::RowMajor)?;
    /// let source = NpySource::open_all([path("wide.npy"), path("tall.npy")])?;
    /// let cpu = Device::host()?;
    /// let options = MatrixSetOptions::new(Format::Csr, DType::F64);
    /// let (set, _) = MatrixSet::compress(&[cpu.clone()], &source, &options)?;
    /// set.write_folder(path("set"))?;
    /// let both = Matrix::read_csr(&cpu, &nnz::io::MatrixFile::open(path("set"))?, DType::F64)?;
    /// assert_eq!((both.shape(), both.nnz()), ((3, 4), 3));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`Shape`](Error::Shape) if a matrix was not compressed; [`Io`](Error::Io) if a file cannot be written;
    /// [`Unsupported`](Error::Unsupported) for values that no file has.
    pub fn write_folder(&self, folder: impl AsRef<Path>) -> Result<()> {
        self.0.write_folder(folder.as_ref())
    }

    /// Writes one matrix, in the parts of its [`partition`](Self::partition), to a folder as
    /// [`write_folder`](Self::write_folder) makes it.
    ///
    /// # Errors
    /// As for [`write_folder`](Self::write_folder).
    pub fn write_blocks(&self, item: usize, folder: impl AsRef<Path>) -> Result<()> {
        if item >= self.len() {
            let reason = format!("matrix {item} of a set of {}", self.len());
            return Err(Error::shape("write_blocks", reason));
        }
        self.0.write_blocks(item..item + 1, folder.as_ref())
    }

    /// Writes all matrices, in the parts of the [`partition`](Self::partition) that all have, to one folder. A set of
    /// one matrix is written as [`write_blocks`](Self::write_blocks) does; of several, other commands read the blocks
    /// of a diagonal.
    ///
    /// ```
    /// use nnz::{MatrixSet, MatrixSetOptions, distrib::NpySource, prelude::*};
    ///
    /// # let folder = tempfile::tempdir()?;
    /// # let path = |name: &str| folder.path().join(name);
    /// nnz::io::npy::write(&path("stack.npy"), &[1.0, 0.0, 0.0, 2.0], &[2, 2, 1], Order::RowMajor)?;
    /// let cpu = Device::host()?;
    /// let partition = Some("row:2".parse()?);
    /// let options = MatrixSetOptions { partition, ..MatrixSetOptions::new(Format::Csr, DType::F64) };
    /// let source = NpySource::open(path("stack.npy"))?;
    /// let (set, _) = MatrixSet::compress(&[cpu.clone()], &source, &options)?;
    /// set.write_all_blocks(path("set"))?; // four blocks of 1 x 1
    /// let all = Matrix::read_csr(&cpu, &nnz::io::MatrixFile::open(path("set"))?, DType::F64)?;
    /// assert_eq!((all.shape(), all.nnz()), ((4, 2), 2));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As for [`write_folder`](Self::write_folder), and [`Shape`](Error::Shape) if a matrix has another partition than
    /// the first.
    pub fn write_all_blocks(&self, folder: impl AsRef<Path>) -> Result<()> {
        self.0.write_blocks(0..self.len(), folder.as_ref())
    }

    /// Copies of all matrices as one batch in the memory of `device`: of matrices of one shape.
    ///
    /// # Errors
    /// [`Shape`](Error::Shape) if shapes differ or a matrix was not compressed; what a device's runtime reports.
    pub fn to_batch(&self, device: &Device) -> Result<Matrix> {
        self.0.to_batch(device)
    }

    /// Moves all matrices to the memory of one device.
    ///
    /// # Errors
    /// [`OutOfMemory`](Error::OutOfMemory), or what a device's runtime reports; matrices that were moved before the
    /// error stay there.
    pub fn move_to(&mut self, device: &Device) -> Result<()> {
        self.0.move_to(device)
    }
}

impl Debug for MatrixSet {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

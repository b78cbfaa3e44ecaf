//! Matrices that are written chunk by chunk, since all of their entries may be more than the memory holds.

use super::write::{description, start_array, to_i64, write_archive};
use crate::npy;
use crate::output::Output;
use sparse_core::{Axis, Compressed, Error, Host, Index, Order, Result, Scalar};
use std::fs::File;
use std::io::{self, BufWriter, Seek, Write};
use std::marker::PhantomData;

/// Writes a CSR matrix chunk of rows by chunk of rows, or a CSC matrix by chunks of columns.
///
/// Entries wait in temporary files beside the output, since an archive has all values after all indices. The memory
/// holds 8 bytes for each row. The file is that of [`write_csr`](super::write_csr) with row pointers of 64 bits.
///
/// ```
/// use sparse_core::{Csr, Row};
/// use sparse_io::npz::{self, ChunkWriter};
///
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("a.npz");
/// let chunk = Csr::<f64>::identity(3)?;
/// let mut writer = ChunkWriter::<Row, f64, i32>::new(&path, 3)?;
/// writer.append(&chunk)?;
/// writer.append(&chunk)?;
/// writer.finish()?;
/// let whole = npz::read(&path)?;
/// assert_eq!((whole.rows, whole.cols, whole.values.len()), (6, 3, 6));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct ChunkWriter<'a, A, T, I> {
    output: Output<'a>,
    minor: usize,
    offsets: Vec<i64>,
    indices: BufWriter<File>,
    values: BufWriter<File>,
    types: PhantomData<(A, T, I)>,
}

impl<'a, A: Axis, T: Scalar, I: Index> ChunkWriter<'a, A, T, I> {
    /// A matrix without rows yet, each of `minor` columns; of CSC, without columns of `minor` rows.
    ///
    /// # Errors
    /// [`Error::Io`] if no file can be made in the folder of the output; [`Error::Unsupported`] for `f16` and `bf16`.
    pub fn new(output: impl Into<Output<'a>>, minor: usize) -> Result<Self> {
        let output = output.into();
        npy::header::<T>(&[0], Order::RowMajor)?;
        let [indices, values] = [output.scratch()?, output.scratch()?].map(BufWriter::new);
        Ok(Self { output, minor, offsets: vec![0], indices, values, types: PhantomData })
    }

    /// Appends rows of CSR, or columns of CSC.
    ///
    /// # Errors
    /// [`Error::Shape`] if they have another length; [`Error::Io`] if they cannot be written.
    pub fn append<O: Index>(&mut self, chunk: &Compressed<A, T, Host, I, O>) -> Result<()> {
        let found = chunk.pattern().minor();
        if found != self.minor {
            let reason = format!("a chunk has rows of length {found} where {} is needed", self.minor);
            return Err(Error::shape("npz", reason));
        }
        let before = self.nnz();
        self.offsets.extend(chunk.offsets()[1..].iter().map(|at| before + at.as_usize() as i64));
        let mut write = || {
            self.indices.write_all(bytemuck::cast_slice(chunk.indices()))?;
            self.values.write_all(bytemuck::cast_slice(chunk.values()))
        };
        write().map_err(|source| self.output.error(source))
    }

    /// Writes the file of all chunks.
    ///
    /// # Errors
    /// [`Error::Io`] if it cannot be written; an old file then stays as it was.
    pub fn finish(self) -> Result<()> {
        let nnz = self.nnz() as usize;
        let (rows, cols) = A::swap(self.offsets.len() - 1, self.minor);
        let shape = to_i64("shape", &[rows, cols])?;
        let value_header = npy::header::<T>(&[nnz], Order::RowMajor)?;
        let rewind = |file: BufWriter<File>| {
            let mut file = file.into_inner().map_err(io::IntoInnerError::into_error)?;
            file.rewind()?;
            Ok(file)
        };
        let written = [rewind(self.indices), rewind(self.values)];
        let [indices, values] = written.map(|file| file.map_err(|source| self.output.error(source)));
        let (mut indices, mut values) = (indices?, values?);
        write_archive(self.output, |zip| {
            start_array(zip, "indices", &npy::index_header::<I>(vec![nnz]), (nnz * size_of::<I>()) as u64)?;
            io::copy(&mut indices, zip)?;
            start_array(zip, "data", &value_header, (nnz * size_of::<T>()) as u64)?;
            io::copy(&mut values, zip)?;
            let offsets = ("indptr", npy::indices_to_bytes(&self.offsets));
            for (key, (header, data)) in [offsets].iter().chain(&description(A::FORMAT, &shape)) {
                start_array(zip, key, header, data.len() as u64)?;
                zip.write_all(data)?;
            }
            Ok(())
        })
    }

    /// The number of entries up to now.
    fn nnz(&self) -> i64 {
        self.offsets[self.offsets.len() - 1]
    }
}

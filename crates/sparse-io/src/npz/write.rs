//! Writes CSR, CSC and COO.

use super::deferred_error_writer::DeferredErrorWriter;
use crate::npy::{self, ArrayBytes};
use crate::output::Output;
use sparse_core::{Axis, Compressed, Coo, Csc, Csr, Host, Index, Order, Result, Scalar};
use std::fs::File;
use std::io::{self, BufWriter, Write};
use zip::ZipWriter;
use zip::write::SimpleFileOptions;

/// Writes a CSR matrix.
///
/// # Errors
/// [`Error::Io`](sparse_core::Error::Io) if the file cannot be written;
/// [`Error::Unsupported`](sparse_core::Error::Unsupported) for `f16` and `bf16`.
pub fn write_csr<'a, T: Scalar, I: Index, O: Index>(
    output: impl Into<Output<'a>>,
    matrix: &Csr<T, Host, I, O>,
) -> Result<()> {
    write_compressed(output, matrix)
}

/// Writes a CSC matrix.
///
/// # Errors
/// As for [`write_csr`].
pub fn write_csc<'a, T: Scalar, I: Index, O: Index>(
    output: impl Into<Output<'a>>,
    matrix: &Csc<T, Host, I, O>,
) -> Result<()> {
    write_compressed(output, matrix)
}

/// Writes a COO matrix, in the order of its entries.
///
/// # Errors
/// As for [`write_csr`].
pub fn write_coo<'a, T: Scalar, I: Index>(
    output: impl Into<Output<'a>>,
    matrix: &Coo<T, Host, I>,
) -> Result<()> {
    let rows = npy::indices_to_bytes(matrix.row_idx());
    let cols = npy::indices_to_bytes(matrix.col_idx());
    let shape = [matrix.nrows(), matrix.ncols()];
    write_arrays(output.into(), "coo", &shape, &[("row", rows), ("col", cols)], matrix.values())
}

pub(super) fn to_i64(what: &str, sizes: &[usize]) -> Result<Vec<i64>> {
    sizes.iter().map(|&size| i64::try_new(what, size)).collect()
}

/// Writes a CSR or a CSC matrix.
///
/// # Errors
/// As for [`write_csr`].
pub fn write_compressed<'a, A: Axis, T: Scalar, I: Index, O: Index>(
    output: impl Into<Output<'a>>,
    matrix: &Compressed<A, T, Host, I, O>,
) -> Result<()> {
    let indices = npy::indices_to_bytes(matrix.indices());
    let offsets = npy::indices_to_bytes(matrix.offsets());
    let shape = [matrix.nrows(), matrix.ncols()];
    write_arrays(
        output.into(),
        A::FORMAT,
        &shape,
        &[("indices", indices), ("indptr", offsets)],
        matrix.values(),
    )
}

pub(super) fn write_arrays<T: Scalar>(
    output: Output<'_>,
    format: &str,
    shape: &[usize],
    indices: &[(&str, ArrayBytes<'_>)],
    values: &[T],
) -> Result<()> {
    let shape = to_i64("shape", shape)?;
    let data = ("data", npy::values_to_bytes(values, &[values.len()], Order::RowMajor)?);
    write_archive(output, |zip| {
        for (key, (header, data)) in indices.iter().chain([&data]).chain(&description(format, &shape)) {
            start_array(zip, key, header, data.len() as u64)?;
            zip.write_all(data)?;
        }
        Ok(())
    })
}

/// The arrays that describe a matrix.
pub(super) fn description<'a>(format: &'a str, shape: &'a [i64]) -> [(&'static str, ArrayBytes<'a>); 3] {
    [
        ("format", npy::text_to_bytes(format)),
        ("shape", npy::indices_to_bytes(shape)),
        // SciPy reads a sparse array (not a matrix, whose `*` is the matrix product) if this key is true.
        ("_is_array", npy::true_to_bytes()),
    ]
}

/// The archive of a file that is being written.
pub(super) type ArchiveWriter<'a, 'file> = ZipWriter<&'a mut DeferredErrorWriter<&'file mut BufWriter<File>>>;

/// Writes an archive of the arrays that `write_arrays` writes.
pub(super) fn write_archive(
    output: Output<'_>,
    write_arrays: impl FnOnce(&mut ArchiveWriter<'_, '_>) -> io::Result<()>,
) -> Result<()> {
    output.write(|file| {
        let mut file = DeferredErrorWriter::new(file);
        let mut zip = ZipWriter::new(&mut file);
        write_arrays(&mut zip)?;
        zip.finish()?;
        file.finish()
    })
}

/// Starts the array `key`, which `data_bytes` bytes of data follow.
pub(super) fn start_array(
    zip: &mut ArchiveWriter<'_, '_>,
    key: &str,
    header: &[u8],
    data_bytes: u64,
) -> io::Result<()> {
    let large = data_bytes > zip::ZIP64_BYTES_THR / 2;
    zip.start_file(format!("{key}.npy"), SimpleFileOptions::default().large_file(large))?;
    zip.write_all(header)
}

//! Writing: numbers as short as they can be read back to the same bits.

use crate::source::has_extension;
use flate2::{Compression, write::GzEncoder};
use sparse_core::{Coo, Csr, DType, Dense, Error, Host, Index, Matrix, Result, Scalar};
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

/// Writes a coordinate file, row by row; packed if the name ends in `.gz`.
///
/// # Errors
/// [`Error::Io`] if the file cannot be written.
pub fn write_csr<T: Scalar, I: Index, O: Index>(
    path: impl AsRef<Path>,
    matrix: &Csr<T, Host, I, O>,
) -> Result<()> {
    write_coordinates::<T>(path.as_ref(), matrix, matrix.triplets())
}

/// Writes a coordinate file, in the order of the entries; packed if the name ends in `.gz`.
///
/// # Errors
/// [`Error::Io`] if the file cannot be written.
pub fn write_coo<T: Scalar, I: Index>(path: impl AsRef<Path>, matrix: &Coo<T, Host, I>) -> Result<()> {
    write_coordinates::<T>(path.as_ref(), matrix, matrix.triplets())
}

/// Writes an array file; packed if the name ends in `.gz`.
///
/// # Errors
/// [`Error::Io`] if the file cannot be written.
pub fn write_dense<T: Scalar>(path: impl AsRef<Path>, matrix: &Dense<T>) -> Result<()> {
    let (rows, cols) = (matrix.rows(), matrix.cols());
    to_file(path.as_ref(), |out| {
        writeln!(out, "%%MatrixMarket matrix array {} general\n{rows} {cols}", field_of::<T>())?;
        for col in 0..cols {
            for row in 0..rows {
                write_value(out, matrix.as_view().at(row, col))?;
                writeln!(out)?;
            }
        }
        Ok(())
    })
}

fn write_coordinates<T: Scalar>(
    path: &Path,
    matrix: &impl Matrix,
    triplets: impl Iterator<Item = (usize, usize, T)>,
) -> Result<()> {
    to_file(path, |out| {
        writeln!(out, "%%MatrixMarket matrix coordinate {} general", field_of::<T>())?;
        writeln!(out, "{} {} {}", matrix.rows(), matrix.cols(), matrix.nnz())?;
        for (row, col, value) in triplets {
            write!(out, "{} {} ", row + 1, col + 1)?;
            write_value(out, value)?;
            writeln!(out)?;
        }
        Ok(())
    })
}

fn field_of<T: Scalar>() -> &'static str {
    if T::DTYPE.is_complex() { "complex" } else { "real" }
}

/// The shortest decimal numbers that are read back to the same bits.
fn write_value<T: Scalar>(out: &mut dyn Write, value: T) -> io::Result<()> {
    let value = value.to_c64();
    match T::DTYPE {
        DType::F64 => write!(out, "{:?}", value.re),
        DType::C64 => write!(out, "{:?} {:?}", value.re, value.im),
        DType::C32 => write!(out, "{:?} {:?}", value.re as f32, value.im as f32),
        DType::F32 | DType::F16 | DType::Bf16 => write!(out, "{:?}", value.re as f32),
    }
}

fn to_file(path: &Path, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<()> {
    let write_all = || {
        let mut file = BufWriter::new(File::create(path)?);
        if has_extension(path, "gz") {
            let mut packed = GzEncoder::new(&mut file, Compression::default());
            write(&mut packed)?;
            packed.finish()?;
        } else {
            write(&mut file)?;
        }
        file.flush()
    };
    write_all().map_err(|source| Error::Io { path: path.into(), source })
}

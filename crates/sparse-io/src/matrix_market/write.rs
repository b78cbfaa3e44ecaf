//! Writing: the shortest numbers that are read back to the same bits.

use crate::output::Output;
use crate::parallel;
use crate::source::has_extension;
use flate2::{Compression, write::GzEncoder};
use sparse_core::{Coo, Csr, DType, Dense, Host, Index, Result, Scalar, SparseFormat};
use std::io::{self, Write};

/// Entries that all threads turn to text at a time.
const ENTRIES: usize = 1 << 16;

/// Entries of a text, which one thread makes.
const ENTRIES_OF_TEXT: usize = 1 << 12;

/// Bytes of a line that most lines do not exceed.
const BYTES_OF_LINE: usize = 40;

/// Writes a coordinate file, row by row; compressed if the name ends in `.gz`.
///
/// ```
/// use sparse_core::Csr;
///
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("identity.mtx");
/// sparse_io::matrix_market::write_csr(&path, &Csr::<f64>::identity(2)?)?;
/// assert!(std::fs::read_to_string(&path)?.starts_with("%%MatrixMarket matrix coordinate real general\n"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// [`Error::Io`](sparse_core::Error::Io) if the file cannot be written.
pub fn write_csr<'a, T: Scalar, I: Index, O: Index>(
    output: impl Into<Output<'a>>,
    matrix: &Csr<T, Host, I, O>,
) -> Result<()> {
    write_coordinates::<T>(output.into(), matrix, matrix.triplets())
}

/// Writes a coordinate file, in the order of the entries; compressed if the name ends in `.gz`.
///
/// ```
/// use sparse_core::Coo;
/// use sparse_io::matrix_market;
///
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("a.mtx.gz");
/// let a = Coo::<f64>::from_triplets(2, 2, [(1, 0, 4.0), (0, 1, 1.0)])?;
/// matrix_market::write_coo(&path, &a)?;
/// assert!(matrix_market::read_coo::<f64, i32>(&path)?.triplets().eq(a.triplets()));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// [`Error::Io`](sparse_core::Error::Io) if the file cannot be written.
pub fn write_coo<'a, T: Scalar, I: Index>(
    output: impl Into<Output<'a>>,
    matrix: &Coo<T, Host, I>,
) -> Result<()> {
    write_coordinates::<T>(output.into(), matrix, matrix.triplets())
}

/// Writes an array file; compressed if the name ends in `.gz`.
///
/// # Errors
/// [`Error::Io`](sparse_core::Error::Io) if the file cannot be written.
pub fn write_dense<'a, T: Scalar>(output: impl Into<Output<'a>>, matrix: &Dense<T>) -> Result<()> {
    let (rows, cols) = (matrix.nrows(), matrix.ncols());
    write_text(output.into(), |out| {
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
    output: Output<'_>,
    matrix: &impl SparseFormat,
    mut triplets: impl Iterator<Item = (usize, usize, T)>,
) -> Result<()> {
    write_text(output, |out| {
        writeln!(out, "%%MatrixMarket matrix coordinate {} general", field_of::<T>())?;
        writeln!(out, "{} {} {}", matrix.nrows(), matrix.ncols(), matrix.nnz())?;
        loop {
            let entries: Vec<_> = triplets.by_ref().take(ENTRIES).collect();
            if entries.is_empty() {
                return Ok(());
            }
            let texts = parallel::map(entries.chunks(ENTRIES_OF_TEXT).collect(), &|entries| lines(entries));
            texts.into_iter().try_for_each(|text| out.write_all(&text?))?;
        }
    })
}

/// The lines of some entries.
fn lines<T: Scalar>(entries: &[(usize, usize, T)]) -> io::Result<Vec<u8>> {
    let mut text = Vec::with_capacity(entries.len() * BYTES_OF_LINE);
    for &(row, col, value) in entries {
        write!(text, "{} {} ", row + 1, col + 1)?;
        write_value(&mut text, value)?;
        text.push(b'\n');
    }
    Ok(text)
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

/// Writes a text, compressed if the name ends in `.gz`.
fn write_text(output: Output<'_>, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<()> {
    let packs = matches!(output, Output::Path(path) if has_extension(path, "gz"));
    output.write(|file| {
        if !packs {
            return write(file);
        }
        let mut packed = GzEncoder::new(file, Compression::default());
        write(&mut packed)?;
        packed.finish().map(drop)
    })
}

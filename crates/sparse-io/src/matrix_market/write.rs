//! Writing: the shortest numbers that are read back to the same bits.

use crate::output::Output;
use crate::parallel;
use crate::source::has_extension;
use flate2::{Compression, write::GzEncoder};
use sparse_core::{Coo, Csr, DType, Dense, Host, Index, Result, Scalar, SparseFormat};
use std::io::{self, Write};
use std::ops::Range;

/// Entries that all threads turn to text at a time.
const ENTRIES: usize = 1 << 16;

/// Entries whose text one thread makes.
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
    write_coordinates::<T>(output.into(), matrix, &|entries| lines_of_csr(matrix, entries))
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
    let (rows, cols, values) = (matrix.row_idx(), matrix.col_idx(), matrix.values());
    write_coordinates::<T>(output.into(), matrix, &|entries| {
        let mut lines = Lines::new(entries.len());
        for entry in entries {
            lines.push(rows[entry].as_usize(), cols[entry].as_usize(), values[entry]);
        }
        lines.text
    })
}

/// Writes an array file; compressed if the name ends in `.gz`.
///
/// # Errors
/// [`Error::Io`](sparse_core::Error::Io) if the file cannot be written.
pub fn write_dense<'a, T: Scalar>(output: impl Into<Output<'a>>, matrix: &Dense<T>) -> Result<()> {
    let (rows, cols) = (matrix.nrows(), matrix.ncols());
    write_text(output.into(), |out| {
        writeln!(out, "%%MatrixMarket matrix array {} general\n{rows} {cols}", field_of::<T>())?;
        write_lines(out, rows * cols, &|elements| {
            let mut lines = Lines::new(elements.len());
            elements.for_each(|k| lines.push_value(matrix.as_view().at(k % rows, k / rows)));
            lines.text
        })
    })
}

fn write_coordinates<T: Scalar>(
    output: Output<'_>,
    matrix: &impl SparseFormat,
    lines: &(dyn Fn(Range<usize>) -> Vec<u8> + Sync),
) -> Result<()> {
    let (rows, cols, nnz) = (matrix.nrows(), matrix.ncols(), matrix.nnz());
    write_text(output, |out| {
        writeln!(out, "%%MatrixMarket matrix coordinate {} general", field_of::<T>())?;
        writeln!(out, "{rows} {cols} {nnz}")?;
        write_lines(out, nnz, lines)
    })
}

/// Writes a line for each of `count` entries. One thread writes the text of some while the others make the next.
fn write_lines(
    out: &mut (dyn Write + Send),
    count: usize,
    lines: &(dyn Fn(Range<usize>) -> Vec<u8> + Sync),
) -> io::Result<()> {
    let texts = |start: usize| {
        let end = count.min(start + ENTRIES);
        let starts = (start..end).step_by(ENTRIES_OF_TEXT);
        parallel::map(starts.map(|start| start..end.min(start + ENTRIES_OF_TEXT)).collect(), lines)
    };
    let (mut start, mut made) = (0, texts(0));
    while !made.is_empty() {
        start += ENTRIES;
        let write = || made.iter().try_for_each(|text| out.write_all(text));
        let (written, next) = parallel::join(write, || texts(start));
        written?;
        made = next;
    }
    Ok(())
}

/// The lines of a range of the entries of a matrix in CSR.
fn lines_of_csr<T: Scalar, I: Index, O: Index>(
    matrix: &Csr<T, Host, I, O>,
    entries: Range<usize>,
) -> Vec<u8> {
    let offsets = matrix.offsets();
    let mut lines = Lines::new(entries.len());
    let mut row = offsets.partition_point(|offset| offset.as_usize() <= entries.start) - 1;
    for entry in entries {
        while offsets[row + 1].as_usize() <= entry {
            row += 1;
        }
        lines.push(row, matrix.indices()[entry].as_usize(), matrix.values()[entry]);
    }
    lines.text
}

/// The text of entries, a line each.
struct Lines {
    text: Vec<u8>,
    integers: itoa::Buffer,
    floats: zmij::Buffer,
}

impl Lines {
    fn new(entries: usize) -> Self {
        Self {
            text: Vec::with_capacity(entries * BYTES_OF_LINE),
            integers: itoa::Buffer::new(),
            floats: zmij::Buffer::new(),
        }
    }

    fn push<T: Scalar>(&mut self, row: usize, col: usize, value: T) {
        for index in [row, col] {
            self.text.extend_from_slice(self.integers.format(index + 1).as_bytes());
            self.text.push(b' ');
        }
        self.push_value(value);
    }

    /// The shortest decimal numbers that are read back to the same bits, and the end of the line.
    fn push_value<T: Scalar>(&mut self, value: T) {
        let value = value.to_c64();
        let is_double = matches!(T::DTYPE, DType::F64 | DType::C64);
        self.push_part(value.re, is_double);
        if T::DTYPE.is_complex() {
            self.text.push(b' ');
            self.push_part(value.im, is_double);
        }
        self.text.push(b'\n');
    }

    fn push_part(&mut self, part: f64, is_double: bool) {
        let digits = if is_double { self.floats.format(part) } else { self.floats.format(part as f32) };
        self.text.extend_from_slice(digits.as_bytes());
    }
}

fn field_of<T: Scalar>() -> &'static str {
    if T::DTYPE.is_complex() { "complex" } else { "real" }
}

/// Writes a text, compressed if the name ends in `.gz`.
fn write_text(
    output: Output<'_>,
    write: impl FnOnce(&mut (dyn Write + Send)) -> io::Result<()>,
) -> Result<()> {
    let packs = matches!(output, Output::Path(path) | Output::Temporary(path) if has_extension(path, "gz"));
    output.write(|file| {
        if !packs {
            return write(file);
        }
        let mut packed = GzEncoder::new(file, Compression::default());
        write(&mut packed)?;
        packed.finish().map(drop)
    })
}

//! Matrix Market files: coordinate and array, plain or `.gz`.
//!
//! Files are mapped, cut at line ends and parsed by all threads. `docs/matrix-market.md` lists what is accepted and
//! what is refused.
//!
//! | step of reading | module |
//! |---|---|
//! | open: a mapped file, or the data lines of a `.gz` file or pipe | `stream`, which collects them by `data_lines` |
//! | the banner and the size line | `header` |
//! | the lines of a coordinate file, in parts; checks of the header's claims and of symmetry | `entries` |
//! | a plain line, as in nearly all files; a short one by words of eight bytes | `plain_lines`; `short_line`, `word` |
//! | any other line, and the errors of wrong ones | `entries`, by the cursor of `token` |
//! | a decimal number | `decimal` |
//! | the elements of an array file | `array` |
//! | the result | `csr`, `coo`; `triplets` has the arrays that threads fill |
//! | bytes that arrive over time, as at the server: lines in blocks, parsed meanwhile | `decoder`, with `collector` and `blocks` |
//! | the part of a file that one of several processes reads | `partition` |
//! | integers that the type of values would round | `integers` |
//!
//! `write` writes files.

mod array;
mod blocks;
mod collector;
mod coo;
mod csr;
mod data_lines;
mod decimal;
mod decoder;
mod entries;
mod header;
mod integers;
mod partition;
mod plain_lines;
mod short_line;
mod stream;
mod token;
mod triplets;
mod word;
mod write;

pub(crate) use decoder::TextDecoder;
pub use header::{Field, Layout, MatrixInfo, Symmetry};
pub use partition::{EntryPartition, check_partitionable, read_partition};
pub(crate) use stream::{open_text, read_text, unpack_text};
pub use write::{write_coo, write_csr, write_dense};

use crate::any::RoundedIntegers;
use crate::csr_from_entries::{csr_from_triplets, nonzeros};
use crate::source::Text;
use header::Header;
use sparse_core::{Coo, Csr, DType, Dense, Error, Host, Index, Result, Scalar};
use std::path::Path;

/// The least number of bytes of a part.
const PART_BYTES: usize = 64 << 10;
/// Parts per thread, so that a delayed thread leaves its rest to the others.
const PARTS_PER_THREAD: usize = 8;

/// Reads the banner and the size line.
///
/// ```
/// use sparse_core::Csr;
/// use sparse_io::matrix_market::{self, Symmetry};
///
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("identity.mtx");
/// matrix_market::write_csr(&path, &Csr::<f64>::identity(3)?)?;
/// let header = matrix_market::read_header(&path)?;
/// assert_eq!((header.rows, header.symmetry), (3, Symmetry::General));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// [`Error::Io`] if the file cannot be read; [`Error::File`], with the line, if the header is not sound.
pub fn read_header(path: impl AsRef<Path>) -> Result<MatrixInfo> {
    with_text(path.as_ref(), header_of)
}

/// Reads a file to CSR: rows sorted, duplicates added in the order of the file, explicit zeros stored. Zeros of an
/// array file are dropped.
///
/// # Errors
/// [`Error::Io`] if the file cannot be read; [`Error::File`], with the line, if it is not sound, if it is complex and
/// `T` is not, or if a finite value does not fit `T`; [`Error::IndexOverflow`] if an extent does not fit `I` or the
/// number of entries does not fit `O`.
pub fn read_csr<T: Scalar, I: Index, O: Index>(path: impl AsRef<Path>) -> Result<Csr<T, Host, I, O>> {
    with_text(path.as_ref(), csr_of)
}

/// Reads a file to COO: entries in the order of the file, mirror images after their originals, duplicates stored. Zeros
/// of an array file are dropped.
///
/// # Errors
/// As for [`read_csr`].
pub fn read_coo<T: Scalar, I: Index>(path: impl AsRef<Path>) -> Result<Coo<T, Host, I>> {
    with_text(path.as_ref(), coo_of)
}

/// Reads an array file to a dense, column-major matrix.
///
/// ```
/// use sparse_core::{Dense, Order};
/// use sparse_io::matrix_market;
///
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("dense.mtx");
/// let a = Dense::new(vec![1.0, 2.0, 3.0, 4.0], 2, 2, Order::RowMajor)?;
/// matrix_market::write_dense(&path, &a)?;
/// let read: Dense<f64> = matrix_market::read_dense(&path)?;
/// assert_eq!(read.data(), &[1.0, 3.0, 2.0, 4.0]); // column by column, as in the file
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// As for [`read_csr`]; [`Error::Unsupported`] for a coordinate file.
pub fn read_dense<T: Scalar>(path: impl AsRef<Path>) -> Result<Dense<T>> {
    with_text(path.as_ref(), dense_of)
}

/// Reads the bytes of a file, as [`read_csr`] does.
///
/// ```
/// use sparse_core::Csr;
/// use sparse_io::matrix_market;
///
/// let text = b"%%MatrixMarket matrix coordinate real symmetric\n2 2 2\n1 1 4\n2 1 1\n";
/// let a: Csr<f64> = matrix_market::parse_csr(text)?;
/// assert!(a.triplets().eq([(0, 0, 4.0), (0, 1, 1.0), (1, 0, 1.0)]));
///
/// let broken = b"%%MatrixMarket matrix coordinate real general\n2 2 1\n3 1 4\n";
/// let error = matrix_market::parse_csr::<f64, i32, i32>(broken).unwrap_err();
/// assert!(error.to_string().contains("line 3"), "{error}");
/// # Ok::<(), sparse_core::Error>(())
/// ```
///
/// # Errors
/// As for [`read_csr`].
pub fn parse_csr<T: Scalar, I: Index, O: Index>(bytes: &[u8]) -> Result<Csr<T, Host, I, O>> {
    csr_of(Text::in_memory(bytes))
}

/// Reads the bytes of a file, as [`read_coo`] does.
///
/// ```
/// use sparse_core::Coo;
/// use sparse_io::matrix_market;
///
/// let text = b"%%MatrixMarket matrix coordinate real general\n2 2 2\n2 1 4\n1 2 1\n";
/// let a: Coo<f64> = matrix_market::parse_coo(text)?;
/// assert!(a.triplets().eq([(1, 0, 4.0), (0, 1, 1.0)]));
/// # Ok::<(), sparse_core::Error>(())
/// ```
///
/// # Errors
/// As for [`read_coo`].
pub fn parse_coo<T: Scalar, I: Index>(bytes: &[u8]) -> Result<Coo<T, Host, I>> {
    coo_of(Text::in_memory(bytes))
}

/// Reads the bytes of a file, as [`read_dense`] does.
///
/// ```
/// use sparse_core::Dense;
/// use sparse_io::matrix_market;
///
/// let text = b"%%MatrixMarket matrix array real general\n2 2\n1\n2\n3\n4\n";
/// let a: Dense<f64> = matrix_market::parse_dense(text)?;
/// assert_eq!(a.as_view().at(0, 1), 3.0);
/// # Ok::<(), sparse_core::Error>(())
/// ```
///
/// # Errors
/// As for [`read_dense`].
pub fn parse_dense<T: Scalar>(bytes: &[u8]) -> Result<Dense<T>> {
    dense_of(Text::in_memory(bytes))
}

fn with_text<R>(path: &Path, parse: impl FnOnce(Text<'_>) -> Result<R>) -> Result<R> {
    parse(open_text(path)?.text(path))
}

/// Reads the banner and the size line of a text.
pub(crate) fn header_of(text: Text<'_>) -> Result<MatrixInfo> {
    Ok(header::parse(&text)?.info)
}

/// The integers of a text that `dtype` does not represent.
pub(crate) fn rounded_integers(text: Text<'_>, dtype: DType) -> Result<Option<RoundedIntegers>> {
    Ok(integers::rounded(text, header::parse(&text)?, parts(&text), dtype))
}

/// A text as CSR.
pub(crate) fn csr_of<T: Scalar, I: Index, O: Index>(text: Text<'_>) -> Result<Csr<T, Host, I, O>> {
    let header = header_for::<T>(&text)?;
    match header.info.layout {
        Layout::Coordinate => csr::read(text, header, parts(&text)),
        Layout::Array => {
            let dense = array::read::<T>(text, header)?;
            csr_from_triplets(dense.nrows(), dense.ncols(), dense.data().len(), || nonzeros(&dense))
        }
    }
}

/// A text as COO.
pub(crate) fn coo_of<T: Scalar, I: Index>(text: Text<'_>) -> Result<Coo<T, Host, I>> {
    let header = header_for::<T>(&text)?;
    match header.info.layout {
        Layout::Coordinate => coo::read(text, header, parts(&text)),
        Layout::Array => {
            let dense = array::read::<T>(text, header)?;
            Coo::<T, Host, I>::from_triplets(dense.nrows(), dense.ncols(), nonzeros(&dense))
        }
    }
}

fn dense_of<T: Scalar>(text: Text<'_>) -> Result<Dense<T>> {
    let header = header_for::<T>(&text)?;
    match header.info.layout {
        Layout::Array => array::read(text, header),
        Layout::Coordinate => Err(Error::unsupported(
            format_args!("reading {} as a dense matrix", text.path.display()),
            "it is a coordinate file; read it as a sparse matrix",
        )),
    }
}

/// The header of a text for reading into `T`.
fn header_for<T: Scalar>(text: &Text<'_>) -> Result<Header> {
    let header = header::parse(text)?;
    if header.info.field == Field::Complex && !T::DTYPE.is_complex() {
        let reason = format!("the values are complex and cannot be read as {}; ask for c32 or c64", T::DTYPE);
        return Err(text.error(0, reason));
    }
    Ok(header)
}

/// The number of parts in which a text is read.
fn parts(text: &Text<'_>) -> usize {
    (text.bytes.len() / PART_BYTES).clamp(1, PARTS_PER_THREAD * rayon::current_num_threads())
}

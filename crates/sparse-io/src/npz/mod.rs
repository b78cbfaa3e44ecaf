//! SciPy's `.npz` files of sparse matrices, with the keys of `scipy.sparse.save_npz`; and batches, with keys of this
//! workspace's own. CSR, CSC and COO are read and written, BSR and DIA are read as coordinates.

mod any_sparse;
mod archive;
mod batch;
mod chunks;
mod deferred_error_writer;
mod expanded;
mod rows;
mod stream;
mod write;

pub use any_sparse::{AnySparse, NpzFormat};
pub use batch::{AnyBatch, read_batch, write_batch};
pub(crate) use batch::{batch_format, parse_batch_file};
pub use chunks::ChunkWriter;
pub(crate) use rows::{CsrFile, check_array};
pub(crate) use stream::NpzDecoder;
pub use write::{write_compressed, write_coo, write_csc, write_csr};

use crate::any::RoundedIntegers;
use crate::npy;
use crate::parallel::join;
use crate::source::open;
use archive::{Archive, DESCRIPTION_BYTES};
use expanded::Expanded;
use sparse_core::{DType, Error, Result};
use std::io::{Read, Seek};
use std::path::Path;

/// Reads a file written by `scipy.sparse.save_npz` or this module.
///
/// ```
/// use sparse_core::{Csr, DType};
/// use sparse_io::npz::{self, NpzFormat};
///
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("a.npz");
/// npz::write_csr(&path, &Csr::<f32>::identity(3)?)?;
/// let any = npz::read(&path)?;
/// assert_eq!((any.format, any.dtype(), any.rows), (NpzFormat::Csr, DType::F32, 3));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// [`Error::Io`] if the file cannot be read; [`Error::File`] if it is not a sound archive of the arrays of a
/// matrix in one of SciPy's formats.
pub fn read(path: impl AsRef<Path>) -> Result<AnySparse> {
    let path = path.as_ref();
    parse_file(path, &open(path)?)
}

/// Reads a matrix from the bytes of a file.
///
/// # Errors
/// As for [`read`].
pub fn parse(bytes: &[u8]) -> Result<AnySparse> {
    parse_file(Path::new("<memory>"), bytes)
}

/// Reads a matrix from the bytes of the file at `path`: of a batch the block-diagonal one.
pub(crate) fn parse_matrix(path: &Path, bytes: &[u8]) -> Result<AnySparse> {
    let format =
        batch_format(bytes).map_err(|reason| Error::File { path: path.into(), line: None, reason })?;
    match format {
        Some(_) => parse_batch_file(path, bytes)?.into_block_diagonal(),
        None => parse_file(path, bytes),
    }
}

/// Reads a matrix from the bytes of the file at `path`.
pub(crate) fn parse_file(path: &Path, bytes: &[u8]) -> Result<AnySparse> {
    parse_archive(bytes).map_err(|reason| Error::File { path: path.into(), line: None, reason })
}

fn parse_archive(bytes: &[u8]) -> Result<AnySparse, String> {
    let mut archive = Archive::open(bytes)?;
    if let Some(format) = Expanded::of(&mut archive)? {
        return format.read(&mut archive);
    }
    let (format, [rows, cols]) = described(&mut archive)?;
    let (major, minor) = format.index_keys();
    let (indices, values) = join(
        || {
            let mut archive = Archive::open(bytes)?;
            Ok::<_, String>((archive.indices(major)?, archive.indices(minor)?))
        },
        || Archive::open(bytes)?.values(),
    );
    let (major, minor) = indices?;
    Ok(AnySparse { format, rows, cols, major, minor, values: values? })
}

/// The format and the shape of the matrix in an archive, whose arrays claim the lengths that these need.
fn described(archive: &mut Archive<impl Read + Seek>) -> Result<(NpzFormat, [usize; 2]), String> {
    let format = archive.describe("format", |array| NpzFormat::from_name(&array.text()?))?;
    let shape @ [rows, cols] = archive.shape()?;
    let (major, minor) = format.index_keys();
    let entries = archive.length("data")?;
    let offsets = match format {
        NpzFormat::Csr => rows.saturating_add(1),
        NpzFormat::Csc => cols.saturating_add(1),
        NpzFormat::Coo => entries,
    };
    let matrix = format!("a {} matrix of shape {shape:?} with {entries} entries", format.name());
    archive.check_lengths(&matrix, &[(minor, entries), (major, offsets)])?;
    Ok((format, shape))
}

/// The type of the values of a file.
pub(crate) fn value_type(bytes: &[u8]) -> Result<DType, String> {
    let head = Archive::open(bytes)?.head("data")?;
    npy::value_type(&head).map_err(|reason| format!("`data`: {reason}"))
}

/// The integers of a file, of one matrix or of a batch, that `dtype` does not represent.
pub(crate) fn rounded_integers(bytes: &[u8], dtype: DType) -> Result<Option<RoundedIntegers>, String> {
    let mut archive = Archive::open(bytes)?;
    if !npy::holds_integers(&archive.head("data")?)? {
        return Ok(None);
    }
    match batch::format_in(&mut archive)? {
        Some(_) => batch::described(&mut archive).map(drop)?,
        None => match Expanded::of(&mut archive)? {
            Some(format) => return Ok(format.read(&mut archive)?.values.integers_rounded_by(dtype)),
            None => described(&mut archive).map(drop)?,
        },
    }
    Ok(archive.values()?.integers_rounded_by(dtype))
}

/// Rows, columns and entries of the matrix in a file, of a batch those of the block-diagonal one, of blocks and
/// diagonals all elements.
pub(crate) fn claim(bytes: &[u8]) -> Result<(usize, usize, usize), String> {
    let mut archive = Archive::open(bytes)?;
    if batch::format_in(&mut archive)?.is_some() {
        let shape @ [count, rows, cols] = archive.shape()?;
        let all = |extent: usize| {
            extent
                .checked_mul(count)
                .ok_or_else(|| format!("a batch of shape {shape:?} is too large to count"))
        };
        return Ok((all(rows)?, all(cols)?, archive.length("data")?));
    }
    if Expanded::of(&mut archive)?.is_none() {
        archive.describe("format", |array| NpzFormat::from_name(&array.text()?))?;
    }
    let [rows, cols] = archive.shape()?;
    Ok((rows, cols, archive.elements("data")?))
}

/// True if a file has the offsets of rows: of a matrix in CSR, or of a batch of such.
pub(crate) fn has_row_offsets(bytes: &[u8]) -> Result<bool, String> {
    Archive::open(bytes)?.describe("format", |array| {
        let name = array.text()?;
        Ok(*name == *NpzFormat::Csr.name().as_bytes() || batch::format_of(&name) == Some(NpzFormat::Csr))
    })
}

/// True if a file has a matrix in diagonals, of which each coordinate is in at most one.
pub(crate) fn has_diagonals(bytes: &[u8]) -> Result<bool, String> {
    Ok(Expanded::of(&mut Archive::open(bytes)?)? == Some(Expanded::Dia))
}

/// Entries of the matrix or the batch in a file, and offsets; with these the indices of blocks and of diagonals.
pub(crate) fn claimed_lengths(bytes: &[u8]) -> Result<(usize, usize), String> {
    let mut archive = Archive::open(bytes)?;
    let mut offsets = 0_usize;
    let keys: &[_] = match Expanded::of(&mut archive)? {
        Some(_) => &["indptr", "indices", "offsets"],
        None => &["indptr", "member_ptr"],
    };
    for key in keys {
        if archive.has(key) {
            offsets = offsets.saturating_add(archive.length(key)?);
        }
    }
    Ok((archive.elements("data")?, offsets))
}

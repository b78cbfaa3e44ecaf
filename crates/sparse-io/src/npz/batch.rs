//! Batches of matrices in `.npz` files.
//!
//! SciPy has no such files; the keys are this workspace's own. `format` is `batch_csr` or `batch_csc`, `shape` has the
//! number of members and the extents of each; `member_ptr` has the first entry of each member in `indices` and `data`;
//! `indptr` has the offsets of all members, one after the other, each starting at 0.

use super::write::{to_i64, write_arrays};
use super::{AnySparse, Archive, NpzFormat};
use crate::any::{AnyIndices, AnyValues};
use crate::npy;
use crate::output::Output;
use crate::source::open;
use sparse_core::{Axis, BatchCompressed, Col, Error, Host, Index, Result, Row, Scalar};
use std::io::{Read, Seek};
use std::path::Path;

/// A batch from a file: its types are known only at run time, its arrays not yet checked.
#[derive(Debug, Clone, PartialEq)]
pub struct AnyBatch {
    /// CSR or CSC.
    pub format: NpzFormat,
    /// The number of members.
    pub count: usize,
    /// The number of rows of each member.
    pub rows: usize,
    /// The number of columns of each member.
    pub cols: usize,
    /// The first entry of each member, and nnz.
    pub member_ptr: AnyIndices,
    /// The offsets of all members, each starting at 0.
    pub offsets: AnyIndices,
    /// Columns (CSR); rows (CSC).
    pub indices: AnyIndices,
    /// One value per entry.
    pub values: AnyValues,
}

impl AnyBatch {
    /// The batch, compressed along the axis of its format.
    ///
    /// # Errors
    /// [`Error::Format`] if the file has the other axis; those of [`BatchCompressed::new`], of
    /// [`AnyValues::into_typed`] and of [`AnyIndices::into_typed`].
    pub fn into_typed<A: Axis, T: Scalar, I: Index, O: Index>(
        self,
    ) -> Result<BatchCompressed<A, T, Host, I, O>> {
        if format_of(A::BATCH_FORMAT.as_bytes()) != Some(self.format) {
            return Err(Error::format(A::BATCH_FORMAT, "the file has the other axis"));
        }
        let member_ptr: Vec<i64> = self.member_ptr.into_typed("member_ptr")?;
        if member_ptr.len().checked_sub(1) != Some(self.count) {
            let reason =
                format!("member_ptr has {} elements, the shape {} members", member_ptr.len(), self.count);
            return Err(Error::format(A::BATCH_FORMAT, reason));
        }
        BatchCompressed::new(
            (self.rows, self.cols),
            member_ptr.into_iter().map(Index::as_usize).collect(),
            self.offsets.into_typed("indptr")?,
            self.indices.into_typed("indices")?,
            self.values.into_typed()?,
        )
    }

    /// The block-diagonal matrix of the members, compressed along their axis, with indices of 64 bits.
    ///
    /// ```
    /// use sparse_core::{BatchCsr, Coo};
    /// use sparse_io::npz;
    ///
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("batch.npz");
    /// let two = BatchCsr::<f64>::new((1, 2), vec![0, 1, 2], vec![0, 1, 0, 1], vec![1, 0], vec![1.0, 2.0])?;
    /// npz::write_batch(&path, &two)?;
    /// let all: Coo<f64> = npz::read_batch(&path)?.into_block_diagonal()?.into_coo()?;
    /// assert!(all.triplets().eq([(0, 1, 1.0), (1, 2, 2.0)]));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`into_typed`](Self::into_typed); [`Error::IndexOverflow`] if the extents do not fit 64 bits.
    pub fn into_block_diagonal(self) -> Result<AnySparse> {
        fn along<A: Axis, T: Scalar>(batch: AnyBatch, wrap: fn(Vec<T>) -> AnyValues) -> Result<AnySparse> {
            let format = batch.format;
            let matrix = batch.into_typed::<A, T, i64, i64>()?.to_block_diagonal()?;
            let (rows, cols) = (matrix.nrows(), matrix.ncols());
            let (offsets, indices, values) = matrix.into_parts();
            let (major, minor) = (AnyIndices::I64(offsets), AnyIndices::I64(indices));
            Ok(AnySparse { format, rows, cols, major, minor, values: wrap(values) })
        }
        fn typed<T: Scalar>(batch: AnyBatch, wrap: fn(Vec<T>) -> AnyValues) -> Result<AnySparse> {
            match batch.format {
                NpzFormat::Csc => along::<Col, T>(batch, wrap),
                NpzFormat::Csr | NpzFormat::Coo => along::<Row, T>(batch, wrap),
            }
        }
        match self.values {
            AnyValues::F32(_) => typed(self, AnyValues::F32),
            AnyValues::C32(_) => typed(self, AnyValues::C32),
            AnyValues::C64(_) => typed(self, AnyValues::C64),
            AnyValues::F64(_) | AnyValues::I64(_) | AnyValues::U64(_) => typed(self, AnyValues::F64),
        }
    }
}

/// The format of the members of a batch, if `name` is that of a batch.
pub(super) fn format_of(name: &[u8]) -> Option<NpzFormat> {
    [(Row::BATCH_FORMAT, NpzFormat::Csr), (Col::BATCH_FORMAT, NpzFormat::Csc)]
        .into_iter()
        .find_map(|(batch, format)| (batch.as_bytes() == name).then_some(format))
}

/// The format of the members, if the file contains a batch.
pub(crate) fn batch_format(bytes: &[u8]) -> Result<Option<NpzFormat>, String> {
    format_in(&mut Archive::open(bytes)?)
}

/// The format of the members, if the archive contains a batch.
pub(super) fn format_in(archive: &mut Archive<impl Read + Seek>) -> Result<Option<NpzFormat>, String> {
    archive.describe("format", |array| Ok(format_of(&array.text()?)))
}

/// The format of the members, their number and extents, in an archive whose arrays claim the lengths that these need.
pub(super) fn described(archive: &mut Archive<impl Read + Seek>) -> Result<(NpzFormat, [usize; 3]), String> {
    let format = archive.describe("format", |array| {
        let name = array.text()?;
        let unknown = || format!("`{}` is neither batch_csr nor batch_csc", name.escape_ascii());
        format_of(&name).ok_or_else(unknown)
    })?;
    let shape @ [count, rows, cols] = archive.shape()?;
    let entries = archive.length("data")?;
    let lines = if format == NpzFormat::Csc { cols } else { rows };
    let offsets = lines.saturating_add(1).saturating_mul(count);
    let batch = format!("a batch of shape {shape:?} with {entries} entries");
    let lengths = [("member_ptr", count.saturating_add(1)), ("indptr", offsets), ("indices", entries)];
    archive.check_lengths(&batch, &lengths)?;
    Ok((format, shape))
}

/// Reads a file written by [`write_batch`].
///
/// # Errors
/// [`Error::Io`] if the file cannot be read; [`Error::File`] if it is not a sound archive of the arrays of a batch.
pub fn read_batch(path: impl AsRef<Path>) -> Result<AnyBatch> {
    let path = path.as_ref();
    parse_batch_file(path, &open(path)?)
}

/// Reads a batch from the bytes of the file at `path`.
pub(crate) fn parse_batch_file(path: &Path, bytes: &[u8]) -> Result<AnyBatch> {
    parse_archive(bytes).map_err(|reason| Error::File { path: path.into(), line: None, reason })
}

fn parse_archive(bytes: &[u8]) -> Result<AnyBatch, String> {
    let mut archive = Archive::open(bytes)?;
    let (format, [count, rows, cols]) = described(&mut archive)?;
    Ok(AnyBatch {
        format,
        count,
        rows,
        cols,
        member_ptr: archive.indices("member_ptr")?,
        offsets: archive.indices("indptr")?,
        indices: archive.indices("indices")?,
        values: archive.values()?,
    })
}

/// Writes a batch.
///
/// ```
/// use sparse_core::{BatchCsr, Row};
/// use sparse_io::npz;
///
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("batch.npz");
/// let two = BatchCsr::<f64>::new((1, 2), vec![0, 1, 3], vec![0, 1, 0, 2], vec![1, 0, 1], vec![1.0, 2.0, 3.0])?;
/// npz::write_batch(&path, &two)?;
/// let read = npz::read_batch(&path)?.into_typed::<Row, f64, i32, i32>()?;
/// assert_eq!(read.member_ptr(), &[0, 1, 3]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// As for [`write_csr`](super::write_csr).
pub fn write_batch<'a, A: Axis, T: Scalar, I: Index, O: Index>(
    output: impl Into<Output<'a>>,
    batch: &BatchCompressed<A, T, Host, I, O>,
) -> Result<()> {
    let (rows, cols) = batch.member_shape();
    let starts = to_i64("member_ptr", batch.member_ptr())?;
    let indices = [
        ("member_ptr", npy::indices_to_bytes(&starts)),
        ("indptr", npy::indices_to_bytes(batch.offsets())),
        ("indices", npy::indices_to_bytes(batch.indices())),
    ];
    write_arrays(output.into(), A::BATCH_FORMAT, &[batch.count(), rows, cols], &indices, batch.values())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::npz::parse;
    use sparse_core::{BatchCsc, BatchCsr};

    fn written(batch: &BatchCsr<f64>) -> Vec<u8> {
        let path = tempfile::NamedTempFile::new().unwrap().into_temp_path();
        write_batch(&path, batch).unwrap();
        std::fs::read(&path).unwrap()
    }

    fn batch() -> BatchCsr<f64> {
        let (offsets, indices) = (vec![0, 1, 1, 0, 0, 2], vec![2, 0, 1]);
        BatchCsr::new((2, 3), vec![0, 1, 3], offsets, indices, vec![1.0, 2.0, 3.0]).unwrap()
    }

    #[test]
    fn a_batch_stands_in_its_keys() {
        let found = parse_archive(&written(&batch())).unwrap();
        assert_eq!((found.format, found.count, found.rows, found.cols), (NpzFormat::Csr, 2, 2, 3));
        assert_eq!(found.member_ptr, AnyIndices::I64(vec![0, 1, 3]));
        assert_eq!(found.offsets, AnyIndices::I32(vec![0, 1, 1, 0, 0, 2]));
        assert_eq!(found.indices, AnyIndices::I32(vec![2, 0, 1]));
        assert_eq!(found.values, AnyValues::F64(vec![1.0, 2.0, 3.0]));
    }

    #[test]
    fn a_batch_is_read_back() {
        let bytes = written(&batch());
        assert_eq!(batch_format(&bytes), Ok(Some(NpzFormat::Csr)));
        let found: BatchCsr<f64> = parse_archive(&bytes).unwrap().into_typed().unwrap();
        assert_eq!((found.count(), found.member_shape()), (2, (2, 3)));
        assert_eq!(found.member_ptr(), batch().member_ptr());
        assert_eq!(found.values(), batch().values());
    }

    #[test]
    fn what_contradicts_itself_is_refused() {
        let found = parse_archive(&written(&batch())).unwrap();
        let refused = |batch: AnyBatch| batch.into_typed::<Row, f64, i32, i32>().is_err();
        assert!(found.clone().into_typed::<Col, f64, i32, i32>().map(|_: BatchCsc<f64>| ()).is_err());
        assert!(refused(AnyBatch { count: 1, ..found.clone() }));
        assert!(refused(AnyBatch { cols: 2, ..found.clone() }));
        assert!(refused(AnyBatch { member_ptr: AnyIndices::I32(vec![]), ..found }));
    }

    #[test]
    fn a_batch_is_not_one_matrix() {
        let error = parse(&written(&batch())).unwrap_err().to_string();
        assert!(error.contains("`batch_csr` is a batch of matrices, not one matrix"), "{error}");
    }
}

//! CSR matrices whose rows are read from a file without its other rows in memory.

use super::{Archive, Expanded, NpzFormat, described};
use crate::any::{AnyIndices, AnyValues};
use crate::npy::{self, RawArray};
use sparse_core::{DType, Error, Result};
use std::fs::File;
use std::io::{BufReader, Read, Seek, SeekFrom, copy, sink};
use std::ops::Range;
use std::path::{Path, PathBuf};
use zip::CompressionMethod;

/// The arrays of a CSR matrix.
const KEYS: [&str; 3] = ["indptr", "indices", "data"];

/// An `.npz` file of one CSR matrix, of which only headers were read. Nothing of it stays in memory.
#[derive(Debug)]
pub(crate) struct CsrFile {
    path: PathBuf,
    pub(crate) shape: (usize, usize),
    pub(crate) nnz: usize,
    pub(crate) dtype: DType,
    pub(crate) has_integers: bool,
}

impl CsrFile {
    /// Opens a file.
    ///
    /// # Errors
    /// [`Error::Unsupported`] if it has another matrix than CSR; those of [`read`](super::read).
    pub(crate) fn open(path: &Path) -> Result<Self> {
        let mut archive = archive_of(path)?;
        let error = |reason| file_error(path, reason);
        let unsupported = |format| {
            let reason = "the rows of csr alone can be read apart; SciPy converts it: \
                          save_npz(file, load_npz(file).tocsr())";
            Error::unsupported(format_args!("{}: {format}", path.display()), reason)
        };
        if let Some(format) = Expanded::of(&mut archive).map_err(error)? {
            return Err(unsupported(format.name()));
        }
        let (format, [rows, cols]) = described(&mut archive).map_err(error)?;
        if format != NpzFormat::Csr {
            return Err(unsupported(format.name()));
        }
        let head = archive.head("data").map_err(error)?;
        Ok(Self {
            path: path.into(),
            shape: (rows, cols),
            nnz: npy::vector_length(&head).map_err(error)?,
            dtype: npy::value_type(&head).map_err(error)?,
            has_integers: npy::holds_integers(&head).map_err(error)?,
        })
    }

    /// Some of the row offsets.
    pub(crate) fn offsets(&self, range: Range<usize>) -> Result<Vec<i64>> {
        self.read("indptr", range, |array| array.indices())?.into_typed("indptr")
    }

    /// The columns of some entries.
    pub(crate) fn columns(&self, entries: Range<usize>) -> Result<AnyIndices> {
        self.read("indices", entries, |array| array.indices())
    }

    /// The values of some entries.
    pub(crate) fn values(&self, entries: Range<usize>) -> Result<AnyValues> {
        self.read("data", entries, |array| array.values())
    }

    /// The arrays that have a checksum each.
    pub(crate) fn arrays(&self) -> impl Iterator<Item = (&Path, &'static str)> {
        KEYS.into_iter().map(|key| (&*self.path, key))
    }

    fn read<A>(
        &self,
        key: &str,
        range: Range<usize>,
        interpret: impl Fn(&RawArray<'_>) -> Result<A, String>,
    ) -> Result<A> {
        let read = archive_of(&self.path)?.read_range(key, range, interpret);
        read.map_err(|reason| self.error(reason))
    }

    /// An error of this file.
    pub(crate) fn error(&self, reason: impl Into<String>) -> Error {
        file_error(&self.path, reason.into())
    }
}

/// Reads an array of an `.npz` file to its end, where its checksum is compared.
pub(crate) fn check_array(path: &Path, key: &str) -> Result<()> {
    let read = archive_of(path)?.skip_to_end(key);
    read.map_err(|reason| file_error(path, reason))
}

impl<R: Read + Seek> Archive<R> {
    /// Elements of the 1-D array `key`. In an uncompressed array, a seek skips the elements before them. A compressed
    /// array is read from its start to its end, so that its checksum is compared.
    fn read_range<A>(
        &mut self,
        key: &str,
        range: Range<usize>,
        interpret: impl Fn(&RawArray<'_>) -> Result<A, String>,
    ) -> Result<A, String> {
        let named = |reason: String| format!("`{key}`: {reason}");
        let head = self.head(key)?;
        let (array, bytes) = RawArray::of_range(&head, range, self.limit).map_err(named)?;
        let (start, length) = (bytes.start as u64, bytes.len() as u64);
        let mut data = vec![];
        let io_error = |error: std::io::Error| named(error.to_string());
        if self.member(key)?.compression() == CompressionMethod::Stored {
            let stored = self.zip.by_name_seek(&format!("{key}.npy"));
            let mut stored = stored.map_err(|error| named(error.to_string()))?;
            stored.seek(SeekFrom::Start(start)).map_err(io_error)?;
            stored.take(length).read_to_end(&mut data).map_err(io_error)?;
        } else {
            let mut packed = self.member(key)?;
            copy(&mut packed.by_ref().take(start), &mut sink()).map_err(io_error)?;
            packed.by_ref().take(length).read_to_end(&mut data).map_err(io_error)?;
            copy(&mut packed, &mut sink()).map_err(io_error)?;
        }
        interpret(&array.with_data(data)).map_err(named)
    }

    fn skip_to_end(&mut self, key: &str) -> Result<(), String> {
        copy(&mut self.member(key)?, &mut sink()).map(drop).map_err(|error| format!("`{key}`: {error}"))
    }
}

fn archive_of(path: &Path) -> Result<Archive<BufReader<File>>> {
    let io_error = |source| Error::Io { path: path.into(), source };
    let file = File::open(path).map_err(io_error)?;
    let length = file.metadata().map_err(io_error)?.len();
    let archive = Archive::new(BufReader::new(file), usize::try_from(length).unwrap_or(usize::MAX));
    archive.map_err(|reason| file_error(path, reason))
}

fn file_error(path: &Path, reason: String) -> Error {
    Error::File { path: path.into(), line: None, reason }
}

//! Sources of bytes: a mapped file, a stream, or memory.

use memmap2::Mmap;
use sparse_core::{Error, Result};
use std::fs::File;
use std::io::Read;
use std::ops::Deref;
use std::path::Path;

/// Bytes to which any compressed file may expand.
const EXPANDED_BYTES: usize = 1 << 30;
/// The expansion factor allowed to larger compressed files. Matrices in text shrink to a fifth or so.
const EXPANSION: usize = 200;

/// The bytes of a file.
#[derive(Debug)]
pub(crate) enum Bytes {
    Mapped(Mmap),
    Owned(Vec<u8>),
}

impl Deref for Bytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Self::Mapped(map) => map,
            Self::Owned(bytes) => bytes,
        }
    }
}

/// The bytes of the file at `path`, mapped if possible.
pub(crate) fn open(path: &Path) -> Result<Bytes> {
    map_or_read(path).map_err(|source| Error::Io { path: path.into(), source })
}

fn map_or_read(path: &Path) -> std::io::Result<Bytes> {
    let mut file = File::open(path)?;
    let metadata = file.metadata()?;
    if !metadata.is_file() || metadata.len() == 0 {
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes)?;
        return Ok(Bytes::Owned(bytes));
    }
    // SAFETY: the mapping is private and only read. As for every reader of mapped files, no process may shorten or
    // rewrite the file meanwhile; the crate's documentation says so.
    unsafe { Mmap::map(&file) }.map(Bytes::Mapped)
}

/// Lines of a text that were left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Skipped {
    /// The byte of the text before which they were.
    pub(crate) at: usize,
    /// Number of lines left out so far.
    pub(crate) lines: u64,
}

/// The bytes of a file, and the lines that were left out.
#[derive(Debug)]
pub(crate) struct Contents {
    pub(crate) bytes: Bytes,
    pub(crate) skipped: Vec<Skipped>,
}

impl From<Bytes> for Contents {
    fn from(bytes: Bytes) -> Self {
        Self { bytes, skipped: Vec::new() }
    }
}

impl Contents {
    /// The text, in the file at `path`.
    pub(crate) fn text<'a>(&'a self, path: &'a Path) -> Text<'a> {
        Text { path, bytes: &self.bytes, skipped: &self.skipped }
    }
}

/// The most bytes to which a compressed file of `length` bytes may expand.
pub(crate) fn expansion_limit(length: usize) -> usize {
    EXPANDED_BYTES.max(length.saturating_mul(EXPANSION))
}

/// True if the name of `path` ends in `.extension`, in any case.
pub(crate) fn has_extension(path: &Path, extension: &str) -> bool {
    path.extension().is_some_and(|found| found.eq_ignore_ascii_case(extension))
}

/// A text, and the path for its errors.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Text<'a> {
    pub(crate) path: &'a Path,
    pub(crate) bytes: &'a [u8],
    skipped: &'a [Skipped],
}

impl<'a> Text<'a> {
    /// A text that is in memory already.
    pub(crate) fn in_memory(bytes: &'a [u8]) -> Self {
        Self { path: Path::new("<memory>"), bytes, skipped: &[] }
    }

    /// `reason`, with the line of the byte `at`.
    #[cold]
    pub(crate) fn error(self, at: usize, reason: String) -> Error {
        Error::File { path: self.path.into(), line: Some(self.line(at)), reason }
    }

    /// The line of the byte `at`, from 1.
    pub(crate) fn line(self, at: usize) -> u64 {
        let newlines = self.bytes[..at].iter().filter(|&&byte| byte == b'\n').count();
        let before = self.skipped.partition_point(|skipped| skipped.at <= at);
        let skipped = before.checked_sub(1).map_or(0, |last| self.skipped[last].lines);
        newlines as u64 + skipped + 1
    }
}

//! Segments: files of matrices, written whole and read part by part.

use crate::problem::Problem;
use crate::security::auth::to_hex;
use nnz::io::stream::{Decoded, Decoder, HEAD_BYTES};
use nnz::io::{FileKind, Output};
use nnz::{Device, Error, Matrix};
use sha2::{Digest, Sha256};
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use tempfile::{NamedTempFile, TempPath};

/// Bytes of a file that are read at once.
const PART: usize = 256 << 10;

/// A matrix in a file.
#[derive(Debug)]
pub(crate) struct Segment {
    pub(super) file: SegmentFile,
    pub(crate) bytes: u64,
    /// The hash of a durable one. That of an evicted one would take longer than to write and read it, and its file has
    /// checksums.
    pub(crate) sha256: Option<String>,
}

/// The reason why a segment was not read.
#[derive(Debug)]
pub(crate) enum ReadError {
    /// The segment is damaged, permanently.
    Corrupt(String),
    /// The segment could not be read now, for example for want of file handles or memory.
    Passing(Problem),
}

impl From<Error> for ReadError {
    fn from(error: Error) -> Self {
        match error {
            Error::Io { .. } | Error::OutOfMemory { .. } | Error::Backend { .. } => {
                Self::Passing(error.into())
            }
            error => Self::Corrupt(error.to_string()),
        }
    }
}

#[derive(Debug)]
pub(super) enum SegmentFile {
    /// Stays until the object is deleted.
    Durable(PathBuf),
    /// Is removed with the value.
    Spilled(TempPath),
}

impl From<io::Error> for ReadError {
    fn from(error: io::Error) -> Self {
        Self::Passing(Problem::disk(&error))
    }
}

impl Segment {
    fn path(&self) -> &Path {
        match &self.file {
            SegmentFile::Durable(path) => path,
            SegmentFile::Spilled(path) => path,
        }
    }

    pub(super) fn file_name(&self) -> String {
        self.path().file_name().unwrap_or_default().to_string_lossy().into_owned()
    }

    /// The matrix in the device's memory.
    pub(crate) fn read(&self, device: &Device) -> Result<Matrix, ReadError> {
        Ok(Matrix::from_decoded(device, decode(self.verified_path()?)?)?)
    }

    /// The path, once the bytes of a durable one have been found to be those that were written; of an evicted one their
    /// number.
    fn verified_path(&self) -> Result<&Path, ReadError> {
        let path = self.path();
        let is_as_written = match &self.sha256 {
            Some(sha256) => hash(path).map(|found| found == *sha256),
            None => fs::metadata(path).map(|found| found.len() == self.bytes),
        };
        match is_as_written {
            Ok(true) => Ok(path),
            Ok(false) => Err(ReadError::Corrupt("its file does not have the bytes that were written".into())),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                Err(ReadError::Corrupt(format!("its file cannot be read: {error}")))
            }
            Err(error) => Err(ReadError::Passing(Problem::disk(&error))),
        }
    }

    /// Removes the file of a durable object that the manifest no longer names.
    pub(crate) fn remove(&self) {
        if let SegmentFile::Durable(path) = &self.file
            && let Err(error) = fs::remove_file(path)
        {
            tracing::warn!("{}: {error}; the next start removes it", path.display());
        }
    }
}

/// A file with a matrix, which may not be on the disk yet and is removed unless it is kept.
#[derive(Debug)]
pub(crate) struct WrittenFile {
    /// Open since before the first byte: a sync of it fails for all errors of writing, also for those that a file
    /// system reports when another handle is closed.
    file: NamedTempFile,
    bytes: u64,
}

impl WrittenFile {
    /// Writes a matrix to a new file.
    pub(super) fn new(folder: &Path, matrix: &Matrix) -> Result<Self, Problem> {
        let file = tempfile::Builder::new().suffix(".npz").tempfile_in(folder)?;
        matrix.write_as(Output::Temporary(file.path()), FileKind::Npz)?;
        let bytes = fs::metadata(file.path())?.len();
        Ok(Self { file, bytes })
    }

    /// The path and the number of its bytes, once they are on the disk.
    pub(super) fn sync(self) -> io::Result<(TempPath, u64)> {
        self.file.as_file().sync_all()?;
        Ok((self.file.into_temp_path(), self.bytes))
    }

    pub(super) fn path(&self) -> &Path {
        self.file.path()
    }
}

/// Decodes a file part by part: it is not mapped, and no array of it is in memory twice.
fn decode(path: &Path) -> Result<Decoded, ReadError> {
    let mut file = File::open(path)?;
    let mut part = Vec::with_capacity(PART);
    let mut next_part = |part: &mut Vec<u8>| {
        part.clear();
        file.by_ref().take(PART as u64).read_to_end(part)
    };
    next_part(&mut part)?;
    let decoder = Decoder::new(FileKind::Npz, &part[..part.len().min(HEAD_BYTES)])?;
    let mut decoder =
        decoder.ok_or_else(|| ReadError::Corrupt("its file is no archive of this server's".into()))?;
    while !part.is_empty() {
        decoder.push(&part, &mut |_| Ok(()))?;
        next_part(&mut part)?;
    }
    Ok(decoder.finish(&mut |_| Ok(()))?)
}

pub(super) fn hash(path: &Path) -> io::Result<String> {
    let (mut file, mut hash) = (File::open(path)?, Sha256::new());
    let mut buffer = vec![0; PART];
    loop {
        match file.read(&mut buffer)? {
            0 => return Ok(to_hex(&hash.finalize())),
            read => hash.update(&buffer[..read]),
        }
    }
}

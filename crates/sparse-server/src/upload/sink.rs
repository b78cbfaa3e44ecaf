//! Destinations of large bodies: a file, or a decoder.

use super::decoding::Decoding;
use super::{Received, Upload};
use crate::objects::Store;
use crate::problem::Problem;
use crate::request::media::extension;
use nnz::io::FileKind;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;
use tempfile::NamedTempFile;

/// Bytes of a body that are received before the first part is handed over; smaller bodies stay in memory.
pub(super) const IN_MEMORY: usize = 1 << 20;

/// The destination of a body that does not stay in memory.
#[derive(Debug)]
pub(super) enum Sink {
    File(NamedTempFile),
    Decoding(Box<Decoding>),
}

impl Sink {
    /// The sink of a matrix that begins with `first`: a decoder, or a file in this folder.
    pub(super) fn for_matrix(
        kind: FileKind,
        first: &[u8],
        (store, tenant): (&Arc<Store>, &str),
        folder: &Path,
    ) -> Result<Self, Problem> {
        Ok(match Decoding::new(kind, first, store, tenant)? {
            Some(decoding) => Self::Decoding(Box::new(decoding)),
            None => Self::File(new_file(folder, extension(kind))?),
        })
    }

    pub(super) fn write(&mut self, part: &[u8]) -> Result<(), Problem> {
        match self {
            Self::File(file) => Ok(file.write_all(part)?),
            Self::Decoding(decoding) => decoding.push(part),
        }
    }

    pub(super) fn into_upload(self) -> Upload {
        match self {
            Self::File(file) => Upload::Received(Received::File(file)),
            Self::Decoding(decoding) => Upload::Decoded(decoding),
        }
    }
}

/// A new file in this folder, which is removed when it is dropped.
pub(super) fn new_file(folder: &Path, extension: &str) -> Result<NamedTempFile, Problem> {
    Ok(tempfile::Builder::new().suffix(extension).tempfile_in(folder)?)
}

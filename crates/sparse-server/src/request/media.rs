//! Media types and file extensions of the kinds of files that hold matrices and arrays.

use nnz::io::FileKind;

pub(crate) const NPZ: &str = "application/x-npz";
pub(crate) const NPY: &str = "application/x-npy";
pub(crate) const MTX: &str = "text/x-matrix-market";

/// The kind of file of a media type.
pub(crate) fn kind_of_media(media: &str) -> Option<FileKind> {
    match &*media.to_ascii_lowercase() {
        NPZ => Some(FileKind::Npz),
        NPY => Some(FileKind::Npy),
        MTX => Some(FileKind::MatrixMarket),
        _ => None,
    }
}

/// The extension of the files of a kind.
pub(crate) fn extension(kind: FileKind) -> &'static str {
    match kind {
        FileKind::Npz => ".npz",
        FileKind::Npy => ".npy",
        FileKind::MatrixMarket => ".mtx",
    }
}

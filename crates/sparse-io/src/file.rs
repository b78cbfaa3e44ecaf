//! A matrix file that is opened once, for its type and for its matrix.

use crate::assemble::{canonical, check_row_claim, csr_from_triplets, nonzeros};
use crate::matrix_market::{self, Layout, Symmetry};
use crate::npz::SparseFormat;
use crate::source::{Bytes, Text, open, open_text};
use crate::{FileKind, npy, npz};
use sparse_core::{Axis, BatchCompressed, Csr, DType, Error, Host, Index, Matrix, Result, Scalar};
use std::path::{Path, PathBuf};

/// A matrix file, mapped; if its name ends in `.gz`, unpacked.
#[derive(Debug)]
pub struct MatrixFile {
    path: PathBuf,
    kind: FileKind,
    bytes: Bytes,
}

impl MatrixFile {
    /// Opens a file of the kind that its name says.
    ///
    /// # Errors
    /// [`Error::Io`] if the file cannot be read; [`Error::File`] if it cannot be unpacked; those of [`FileKind::of`].
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let kind = FileKind::of(path)?;
        let bytes = if kind == FileKind::MatrixMarket { open_text(path)? } else { open(path)? };
        Ok(Self { path: path.into(), kind, bytes })
    }

    /// The file's name.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The type of the values: as stored in `.npz` and `.npy`; of Matrix Market, `c64` where the field is complex and
    /// `f64` otherwise.
    ///
    /// # Errors
    /// [`Error::File`] if the header is not sound.
    pub fn value_type(&self) -> Result<DType> {
        let parse = match self.kind {
            FileKind::MatrixMarket => return Ok(matrix_market::header_of(self.text())?.field.dtype()),
            FileKind::Npz => npz::value_type,
            FileKind::Npy => npy::value_type,
        };
        parse(&self.bytes).map_err(|reason| self.error(reason))
    }

    /// The matrix as CSR, with sorted rows. Duplicates are added, explicit zeros are kept; of a dense array, zeros are
    /// dropped (rule V1). Values are rounded to nearest (rule T2).
    ///
    /// # Errors
    /// Those of [`matrix_market::read_csr`], [`npz::read`], [`npz::AnySparse::into_csr`], [`npy::read`] and
    /// [`npy::NpyArray::into_dense`].
    pub fn read_csr<T: Scalar, I: Index, O: Index>(&self) -> Result<Csr<T, Host, I, O>> {
        match self.kind {
            FileKind::MatrixMarket => matrix_market::csr_of(self.text()),
            FileKind::Npz => canonical(npz::parse_file(&self.path, &self.bytes)?.into_csr()?),
            FileKind::Npy => {
                let dense = npy::parse_file(&self.path, &self.bytes)?.into_dense::<T>()?;
                csr_from_triplets(dense.rows(), dense.cols(), dense.data().len(), || nonzeros(&dense))
            }
        }
    }

    /// Whether row offsets would take more memory than the entries justify, so that [`read_csr`](Self::read_csr) refuses
    /// the file and [`matrix_market::read_coo`] reads it.
    ///
    /// # Errors
    /// [`Error::File`] if the header is not sound.
    pub fn has_too_many_rows(&self) -> Result<bool> {
        if self.kind != FileKind::MatrixMarket {
            return Ok(false);
        }
        let header = matrix_market::header_of(self.text())?;
        let claim = check_row_claim(header.rows, size_of::<i64>(), self.bytes.len());
        Ok(header.layout == Layout::Coordinate && claim.is_err())
    }

    /// How many entries of the file were added to another one of the same coordinate in `matrix`, which
    /// [`read_csr`](Self::read_csr) gave. Of a symmetric Matrix Market file, entries are counted before mirroring.
    ///
    /// # Errors
    /// Those of [`read_csr`](Self::read_csr).
    pub fn duplicates<T: Scalar, I: Index, O: Index>(&self, matrix: &Csr<T, Host, I, O>) -> Result<usize> {
        let (stored, distinct) = match self.kind {
            FileKind::Npy => return Ok(0),
            FileKind::Npz => (npz::parse_file(&self.path, &self.bytes)?.values.len(), matrix.nnz()),
            FileKind::MatrixMarket => {
                let header = matrix_market::header_of(self.text())?;
                match (header.layout, header.symmetry) {
                    (Layout::Array, _) => return Ok(0),
                    (Layout::Coordinate, Symmetry::General) => (header.stored, matrix.nnz()),
                    (Layout::Coordinate, _) => (header.stored, unmirrored(matrix)),
                }
            }
        };
        Ok(stored.saturating_sub(distinct))
    }

    /// The format of the members, if the file is an `.npz` file of a batch of matrices.
    ///
    /// # Errors
    /// [`Error::File`] if the file says of no format.
    pub fn batch_format(&self) -> Result<Option<SparseFormat>> {
        match self.kind {
            FileKind::Npz => npz::batch_format(&self.bytes).map_err(|reason| self.error(reason)),
            FileKind::MatrixMarket | FileKind::Npy => Ok(None),
        }
    }

    /// The batch of matrices in an `.npz` file.
    ///
    /// # Errors
    /// Those of [`npz::read_batch`] and [`npz::AnyBatch::into_typed`].
    pub fn read_batch<A: Axis, T: Scalar, I: Index, O: Index>(
        &self,
    ) -> Result<BatchCompressed<A, T, Host, I, O>> {
        npz::parse_batch_file(&self.path, &self.bytes)?.into_typed()
    }

    fn error(&self, reason: String) -> Error {
        Error::File { path: self.path.clone(), line: None, reason }
    }

    fn text(&self) -> Text<'_> {
        Text { path: &self.path, bytes: &self.bytes }
    }
}

/// The number of entries that mirroring made `matrix` of: off the diagonal, each stands for two.
fn unmirrored<T: Scalar, I: Index, O: Index>(matrix: &Csr<T, Host, I, O>) -> usize {
    let diagonal = matrix.triplets().filter(|(row, col, _)| row == col).count();
    (matrix.nnz() + diagonal) / 2
}

#[cfg(test)]
mod tests {
    use super::*;

    fn duplicates_of(text: &str) -> usize {
        let bytes = Bytes::Owned(text.as_bytes().to_vec());
        let file = MatrixFile { path: "memory.mtx".into(), kind: FileKind::MatrixMarket, bytes };
        let matrix: Csr<f64> = file.read_csr().unwrap();
        file.duplicates(&matrix).unwrap()
    }

    #[test]
    fn duplicates_are_counted_in_the_file() {
        let general = "%%MatrixMarket matrix coordinate real general\n3 3 4\n1 1 1\n2 1 1\n1 1 1\n1 1 0\n";
        assert_eq!(duplicates_of(general), 2);
        let symmetric =
            "%%MatrixMarket matrix coordinate real symmetric\n3 3 4\n1 1 1\n2 1 1\n2 1 1\n3 3 1\n";
        assert_eq!(duplicates_of(symmetric), 1);
        let array = "%%MatrixMarket matrix array real general\n2 1\n0\n1\n";
        assert_eq!(duplicates_of(array), 0);
    }
}

//! The sizes that a file claims before its entries are read, and the duplicates among these.

use super::{MatrixFile, Source};
use crate::csr_from_entries::{ENTRY_BYTES, check_row_claim};
use crate::matrix_market::{self, Layout, Symmetry};
use crate::{npy, npz};
use sparse_core::{Csr, Host, Index, Result, Scalar};

/// The sizes that a file claims.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Claim {
    /// The number of rows.
    pub rows: usize,
    /// The number of columns.
    pub cols: usize,
    /// The number of stored entries, before mirroring; of a dense array, of blocks and of diagonals, of elements.
    pub stored: usize,
}

impl MatrixFile {
    /// Shape and entries of the matrix, as claimed by the file; a batch is its block-diagonal matrix.
    ///
    /// ```
    /// use sparse_io::{Claim, MatrixFile};
    ///
    /// let text = "%%MatrixMarket matrix coordinate real symmetric\n3 3 2\n1 1 4\n3 2 5\n";
    /// let claim = MatrixFile::from_reader("<stdin>", text.as_bytes())?.claim()?;
    /// assert_eq!(claim, Claim { rows: 3, cols: 3, stored: 2 }); // before mirroring
    /// # Ok::<(), sparse_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::File`](sparse_core::Error::File) if the header is not valid;
    /// [`Error::IndexOverflow`](sparse_core::Error::IndexOverflow) for a batch whose extents do not fit `usize`.
    pub fn claim(&self) -> Result<Claim> {
        let (rows, cols, stored) = match &self.source {
            Source::MatrixMarket(text) => {
                let header = matrix_market::header_of(self.text(text))?;
                (header.rows, header.cols, header.stored)
            }
            Source::Npz(bytes) => npz::claim(bytes).map_err(|reason| self.error(reason))?,
            Source::Npy(bytes) => npy::matrix_size(bytes).map_err(|reason| self.error(reason))?,
            Source::Parts(set) => {
                let (rows, cols) = set.matrix_shape()?;
                (rows, cols, set.nnz())
            }
        };
        Ok(Claim { rows, cols, stored })
    }

    /// The numbers of entries and of offsets that the arrays of the file claim, of a matrix or of a batch. Offsets are
    /// those of rows (CSR), columns (CSC) and members, and with them the indices of blocks (BSR) and diagonals (DIA);
    /// other files have none.
    ///
    /// ```
    /// use sparse_core::BatchCsr;
    /// use sparse_io::{MatrixFile, npz};
    ///
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("batch.npz");
    /// let two = BatchCsr::<f64>::new((1, 2), vec![0, 1, 3], vec![0, 1, 0, 2], vec![1, 0, 1], vec![1.0, 2.0, 3.0])?;
    /// npz::write_batch(&path, &two)?;
    /// assert_eq!(MatrixFile::open(&path)?.claimed_lengths()?, (3, 4 + 3));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::File`](sparse_core::Error::File) if the header is not sound.
    pub fn claimed_lengths(&self) -> Result<(usize, usize)> {
        match &self.source {
            Source::Npz(bytes) => npz::claimed_lengths(bytes).map_err(|reason| self.error(reason)),
            Source::MatrixMarket(_) | Source::Npy(_) | Source::Parts(_) => Ok((self.claim()?.stored, 0)),
        }
    }

    /// True if row offsets would take more memory than the entries justify, so that [`read_csr`](Self::read_csr)
    /// refuses the file and [`read_coo`](Self::read_coo) reads it. Never of an `.npz` file in CSR, of a matrix or of a
    /// batch, which has the offsets.
    ///
    /// ```
    /// use sparse_io::MatrixFile;
    ///
    /// let text = "%%MatrixMarket matrix coordinate real general\n1000000000 1 1\n7 1 5\n";
    /// assert!(MatrixFile::from_reader("<stdin>", text.as_bytes())?.has_too_many_rows()?);
    /// # Ok::<(), sparse_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`claim`](Self::claim).
    pub fn has_too_many_rows(&self) -> Result<bool> {
        let Claim { rows, stored, .. } = self.claim()?;
        if let Source::Npz(bytes) = &self.source
            && npz::has_row_offsets(bytes).map_err(|reason| self.error(reason))?
        {
            return Ok(false);
        }
        let narrow = if i32::try_from(rows).is_ok() { size_of::<i32>() } else { size_of::<i64>() };
        let (offset_bytes, entry_bytes) = match &self.source {
            Source::MatrixMarket(text) => (narrow, text.bytes.len()),
            Source::Npz(_) | Source::Npy(_) | Source::Parts(_) => {
                (size_of::<usize>(), stored.saturating_mul(ENTRY_BYTES))
            }
        };
        Ok(check_row_claim(rows, offset_bytes, entry_bytes).is_err())
    }

    /// Number of entries of the file that were added to another one of the same coordinate in `matrix`, the result of
    /// [`read_csr`](Self::read_csr). Of a symmetric Matrix Market file, entries are counted before mirroring.
    ///
    /// ```
    /// use sparse_core::Csr;
    /// use sparse_io::MatrixFile;
    ///
    /// let text = "%%MatrixMarket matrix coordinate real general\n2 2 3\n2 1 1\n1 2 5\n2 1 2\n";
    /// let file = MatrixFile::from_reader("<stdin>", text.as_bytes())?;
    /// let a: Csr<f64> = file.read_csr()?;
    /// assert_eq!(file.duplicates(&a)?, 1);
    /// # Ok::<(), sparse_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`read_csr`](Self::read_csr).
    pub fn duplicates<T: Scalar, I: Index, O: Index>(&self, matrix: &Csr<T, Host, I, O>) -> Result<usize> {
        let diagonal = matrix.triplets().filter(|(row, col, _)| row == col).count();
        self.duplicates_among(matrix.nnz(), diagonal)
    }

    /// As [`duplicates`](Self::duplicates), by the number of entries of the matrix and by how many are on its diagonal.
    ///
    /// ```
    /// use sparse_io::MatrixFile;
    ///
    /// let text = "%%MatrixMarket matrix coordinate real symmetric\n2 2 3\n2 1 1\n1 1 5\n2 1 2\n";
    /// let file = MatrixFile::from_reader("<stdin>", text.as_bytes())?;
    /// assert_eq!(file.duplicates_among(3, 1)?, 1); // (1, 1), (1, 2) and (2, 1)
    /// # Ok::<(), sparse_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`read_csr`](Self::read_csr).
    pub fn duplicates_among(&self, nnz: usize, diagonal: usize) -> Result<usize> {
        let (stored, distinct) = match &self.source {
            Source::Npy(_) => return Ok(0),
            Source::Npz(bytes) if npz::has_diagonals(bytes).map_err(|reason| self.error(reason))? => {
                return Ok(0);
            }
            Source::Npz(_) | Source::Parts(_) => (self.claim()?.stored, nnz),
            Source::MatrixMarket(text) => {
                let header = matrix_market::header_of(self.text(text))?;
                match (header.layout, header.symmetry) {
                    (Layout::Array, _) => return Ok(0),
                    (Layout::Coordinate, Symmetry::General) => (header.stored, nnz),
                    // Off the diagonal, each entry stands for two.
                    (Layout::Coordinate, _) => (header.stored, nnz.midpoint(diagonal)),
                }
            }
        };
        Ok(stored.saturating_sub(distinct))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::npz::NpzFormat;
    use sparse_core::{BatchCsr, Coo};
    use std::fs;

    fn duplicates_of(text: &str) -> usize {
        let file = MatrixFile::from_reader("memory.mtx", text.as_bytes()).unwrap();
        let matrix: Csr<f64> = file.read_csr().unwrap();
        file.duplicates(&matrix).unwrap()
    }

    #[test]
    fn rows_are_too_many_where_csr_is_refused() {
        for (rows, too_many) in [(60_000_000, false), (70_000_000, true), (4_000_000_000_usize, true)] {
            let text = format!("%%MatrixMarket matrix coordinate real general\n{rows} 1 1\n{rows} 1 7\n");
            let file = MatrixFile::from_reader("memory.mtx", text.as_bytes()).unwrap();
            assert_eq!(file.has_too_many_rows().unwrap(), too_many, "{rows}");
            assert!(!too_many || file.read_csr::<f64, i32, i32>().is_err(), "{rows}");
            let coo = file.read_coo::<f64, i64>().unwrap();
            assert_eq!(coo.triplets().collect::<Vec<_>>(), [(rows - 1, 0, 7.0)]);
        }
    }

    #[test]
    fn row_offsets_of_a_file_are_not_too_many() {
        let rows = 34_000_000;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.npz");
        let csr = Csr::<f32>::new(rows, 1, vec![0; rows + 1], vec![], vec![]).unwrap();
        npz::write_csr(&path, &csr).unwrap();
        let file = MatrixFile::open(&path).unwrap();
        assert!(!file.has_too_many_rows().unwrap());
        assert_eq!(file.read_csr::<f32, i32, i32>().unwrap().nrows(), rows);
        let coo = Coo::<f32>::from_triplets(rows, 1, []).unwrap();
        npz::write_coo(&path, &coo).unwrap();
        let file = MatrixFile::open(&path).unwrap();
        assert!(file.has_too_many_rows().unwrap() && file.read_csr::<f32, i32, i32>().is_err());
    }

    #[test]
    fn batches_of_csr_have_row_offsets() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("batch.npz");
        let members = [Csr::<f32>::identity(2).unwrap(), Csr::from_triplets(2, 2, [(1, 0, 3.0)]).unwrap()];
        let csr = BatchCsr::from_members(&members.each_ref()).unwrap();
        npz::write_batch(&path, &csr).unwrap();
        let format = || npz::read_batch(&path).unwrap().into_block_diagonal().unwrap().format;
        assert_eq!((format(), npz::has_row_offsets(&fs::read(&path).unwrap())), (NpzFormat::Csr, Ok(true)));
        let expected: Vec<_> = csr.to_block_diagonal().unwrap().triplets().collect();
        let read = |path| MatrixFile::open(path).unwrap().read_csr::<f32, i32, i32>().unwrap();
        assert!(read(&path).triplets().eq(expected.iter().copied()));
        npz::write_batch(&path, &csr.to_other_axis().unwrap()).unwrap();
        assert_eq!((format(), npz::has_row_offsets(&fs::read(&path).unwrap())), (NpzFormat::Csc, Ok(false)));
        assert!(read(&path).triplets().eq(expected));
    }

    #[test]
    fn duplicates_are_counted_in_the_file() {
        let general = "%%MatrixMarket matrix coordinate real general\n3 3 4\n1 1 1\n2 1 1\n1 1 1\n1 1 0\n";
        assert_eq!(duplicates_of(general), 2);
        let symmetric =
            "%%MatrixMarket matrix coordinate real symmetric\n3 3 4\n1 1 1\n2 1 1\n2 1 1\n3 3 1\n";
        assert_eq!(duplicates_of(symmetric), 1);
        let file = MatrixFile::from_reader("memory.mtx", symmetric.as_bytes()).unwrap();
        assert_eq!(file.duplicates_among(usize::MAX, usize::MAX).unwrap(), 0);
        let array = "%%MatrixMarket matrix array real general\n2 1\n0\n1\n";
        assert_eq!(duplicates_of(array), 0);
    }
}

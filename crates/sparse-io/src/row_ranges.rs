//! Row ranges of matrix files: each of several processes reads its own.

use crate::FileKind;
use crate::csr_from_entries::canonical;
use crate::npz::{CsrFile, NpzFormat, check_array};
use crate::parts::{Cover, Part, PartSet, folder_of};
use sparse_core::{Csr, DType, Error, Host, Index, Result, Scalar};
use std::fs::metadata;
use std::ops::Range;
use std::path::{Path, PathBuf};

/// A CSR matrix in an `.npz` file, or in a folder of such files, from which ranges of rows are read without loading the
/// others.
///
/// From an uncompressed array only the requested bytes are read. A compressed one is unpacked to its end, block by
/// block. Files stay closed between calls.
///
/// ```
/// use sparse_core::Csr;
/// use sparse_io::{RowRanges, npz};
///
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("a.npz");
/// let a = Csr::<f64>::new(3, 3, vec![0, 1, 3, 4], vec![2, 0, 1, 2], vec![1.0, 2.0, 3.0, 4.0])?;
/// npz::write_csr(&path, &a)?;
/// let file = RowRanges::open(&path)?;
/// assert_eq!((file.shape(), file.nnz(), file.row_ptr()?), ((3, 3), 4, vec![0, 1, 3, 4]));
/// let last: Csr<f64> = file.read_rows(1..3)?;
/// assert!(last.triplets().eq([(0, 0, 2.0), (0, 1, 3.0), (1, 2, 4.0)]));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct RowRanges {
    shape: (usize, usize),
    dtype: DType,
    blocks: Vec<Block>,
    checksums: Vec<Checksum>,
}

/// A file, and the position of its rows and columns in the matrix.
#[derive(Debug)]
struct Block {
    rows: Range<usize>,
    first_column: usize,
    file: CsrFile,
}

/// Bytes that have a checksum.
#[derive(Debug)]
enum Checksum {
    /// An array of an `.npz` file.
    Array(PathBuf, &'static str),
    /// A part of a set.
    Part(PartSet, usize),
}

impl RowRanges {
    /// Opens an `.npz` file, or a folder of parts ([`parts`](crate::parts)), and reads the headers.
    ///
    /// # Errors
    /// [`Error::Unsupported`] if it has no CSR matrix, or is a file of another kind; [`Error::Io`] and [`Error::File`]
    /// if it cannot be read or is not sound.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        if folder_of(path).is_some() {
            return Self::of_parts(PartSet::open(path)?);
        }
        let is_file = metadata(path).map_err(|source| Error::Io { path: path.into(), source })?.is_file();
        if !is_file || FileKind::of(path)? != FileKind::Npz {
            return Err(not_by_rows(path, "only .npz files and folders of them are read by rows"));
        }
        let file = CsrFile::open(path)?;
        let checksums = file.arrays().map(|(path, key)| Checksum::Array(path.into(), key)).collect();
        let (shape, dtype) = (file.shape, file.dtype);
        Ok(Self { shape, dtype, blocks: vec![Block { rows: 0..shape.0, first_column: 0, file }], checksums })
    }

    fn of_parts(set: PartSet) -> Result<Self> {
        set.check_matrix()?;
        if set.format() != NpzFormat::Csr {
            return Err(not_by_rows(set.folder(), format_args!("its parts are {}", set.format().name())));
        }
        let blocks = set.parts().iter().map(|part| Block::of_part(&set, part)).collect::<Result<_>>()?;
        let checksums = (0..set.parts().len()).map(|index| Checksum::Part(set.clone(), index));
        Ok(Self { shape: set.shape(), dtype: set.dtype(), blocks, checksums: checksums.collect() })
    }

    /// (rows, columns) of the whole matrix.
    pub fn shape(&self) -> (usize, usize) {
        self.shape
    }

    /// The number of stored entries of the whole matrix; duplicates count.
    pub fn nnz(&self) -> usize {
        self.blocks.iter().map(|block| block.file.nnz).sum()
    }

    /// The type of the values; that of integers is `f64`.
    pub fn dtype(&self) -> DType {
        self.dtype
    }

    /// The row offsets of the whole matrix; nothing else is read.
    ///
    /// # Errors
    /// [`Error::Io`] if a file cannot be read; [`Error::File`] if its offsets are not sound.
    pub fn row_ptr(&self) -> Result<Vec<i64>> {
        let mut row_ptr = vec![0];
        for Block { rows, file, .. } in &self.blocks {
            let offsets = file.offsets(0..rows.len() + 1)?;
            let ends = (offsets.first(), offsets.last().map(|&end| end as usize));
            if ends != (Some(&0), Some(file.nnz)) || !offsets.is_sorted() {
                return Err(file.error(format!("`indptr` does not rise from 0 to {}", file.nnz)));
            }
            // The offsets were read, so the file has as many rows as it claims, and the allocation is justified. Blocks
            // come in order, without gaps.
            row_ptr.resize(row_ptr.len().max(rows.end + 1), 0);
            for (row, ends) in rows.clone().zip(offsets.windows(2)) {
                row_ptr[row + 1] += ends[1] - ends[0];
            }
        }
        (0..self.shape.0).for_each(|row| row_ptr[row + 1] += row_ptr[row]);
        Ok(row_ptr)
    }

    /// Some rows, numbered from 0, with the columns of the whole matrix, as [`MatrixFile::read_csr`] reads them:
    /// sorted, duplicates added, values rounded to nearest.
    ///
    /// Checksums, which cover whole files, are not compared here but by [`check`](Self::check).
    ///
    /// # Errors
    /// [`Error::Shape`] if there are no such rows; those of [`npz::read`](crate::npz::read) and
    /// [`npz::AnySparse::into_csr`](crate::npz::AnySparse::into_csr).
    ///
    /// [`MatrixFile::read_csr`]: crate::MatrixFile::read_csr
    pub fn read_rows<T: Scalar, I: Index, O: Index>(&self, rows: Range<usize>) -> Result<Csr<T, Host, I, O>> {
        if rows.start > rows.end || rows.end > self.shape.0 {
            return Err(Error::shape("rows", format_args!("rows {rows:?} of {}", self.shape.0)));
        }
        let overlap = |block: &Block| rows.start.max(block.rows.start)..rows.end.min(block.rows.end);
        let found = self.blocks.iter().map(|block| (block, overlap(block)));
        let found: Vec<_> = found.filter(|(_, overlap)| !overlap.is_empty()).collect();
        let whole = match &found[..] {
            [(block, overlap)] if *overlap == rows => block.read_rows(rows, self.shape.1)?,
            _ => self.merge(rows, &found)?,
        };
        canonical(whole)
    }

    /// Merges the entries of rows that are divided among several files, in the order of the files.
    fn merge<T: Scalar, I: Index, O: Index>(
        &self,
        rows: Range<usize>,
        found: &[(&Block, Range<usize>)],
    ) -> Result<Csr<T, Host, I, O>> {
        let read = |(block, overlap): &(&Block, Range<usize>)| {
            Ok((overlap.start - rows.start, block.read_rows::<T, I, O>(overlap.clone(), self.shape.1)?))
        };
        let parts = found.iter().map(read).collect::<Result<Vec<_>>>()?;
        let mut positions = vec![0; rows.len() + 1];
        for (first, part) in &parts {
            for (row, ends) in part.row_ptr().windows(2).enumerate() {
                positions[first + row + 1] += ends[1].as_usize() - ends[0].as_usize();
            }
        }
        (0..rows.len()).for_each(|row| positions[row + 1] += positions[row]);
        let nnz = positions[rows.len()];
        O::try_new("nnz", nnz)?;
        let offsets = positions.iter().map(|&position| O::cast(position)).collect();
        let (mut columns, mut values) = (vec![I::cast(0); nnz], vec![T::ZERO; nnz]);
        for (first, part) in parts {
            for (row, ends) in part.row_ptr().windows(2).enumerate() {
                let from = ends[0].as_usize()..ends[1].as_usize();
                let position = &mut positions[first + row];
                let to = *position..*position + from.len();
                *position = to.end;
                columns[to.clone()].copy_from_slice(&part.col_idx()[from.clone()]);
                values[to].copy_from_slice(&part.values()[from]);
            }
        }
        Csr::new_unsorted(rows.len(), self.shape.1, offsets, columns, values)
    }

    /// Compares the checksums of one of `partitions` partitions, numbered from 0: several processes check one each.
    ///
    /// # Errors
    /// [`Error::Io`] if a file cannot be read; [`Error::File`] with the checksum that differs.
    pub fn check(&self, partition: usize, partitions: usize) -> Result<()> {
        self.checksums.iter().skip(partition).step_by(partitions.max(1)).try_for_each(|checksum| {
            match checksum {
                Checksum::Array(path, key) => check_array(path, key),
                Checksum::Part(set, index) => set.check_part(*index),
            }
        })
    }
}

impl Block {
    fn of_part(set: &PartSet, part: &Part) -> Result<Self> {
        let Cover::Block { rows, cols } = &part.covers else {
            return Err(not_by_rows(set.folder(), "its parts have several matrices"));
        };
        let file = CsrFile::open(&set.path_of(part)?)?;
        let found = (file.shape, file.nnz, file.dtype, file.has_integers);
        if found != (part.shape, part.nnz, set.dtype(), false) {
            return Err(file.error("has other sizes or types than the manifest says"));
        }
        Ok(Self { rows: rows.clone(), first_column: cols.start, file })
    }

    /// Some rows of the matrix, all of which are in this block.
    fn read_rows<T: Scalar, I: Index, O: Index>(
        &self,
        rows: Range<usize>,
        cols: usize,
    ) -> Result<Csr<T, Host, I, O>> {
        let Self { rows: own, first_column, file } = self;
        let (first, last) = (rows.start - own.start, rows.end - own.start);
        let offsets = file.offsets(first..last + 1)?;
        let sound = |&offset: &i64| usize::try_from(offset).ok().filter(|&offset| offset <= file.nnz);
        let offsets = offsets.iter().map(sound).collect::<Option<Vec<_>>>();
        let offsets = offsets.filter(|offsets| offsets.is_sorted());
        let offsets = offsets.ok_or_else(|| file.error(format!("`indptr` does not rise to {}", file.nnz)))?;
        let (start, end) = (offsets[0], offsets[rows.len()]);
        O::try_new("nnz", end - start)?;
        I::try_new("columns", cols)?;
        let offsets = offsets.into_iter().map(|offset| O::cast(offset - start)).collect();
        let mut columns = file.columns(start..end)?.into_typed::<I>("indices")?;
        if *first_column > 0 {
            let of_part = file.shape.1;
            if columns.iter().any(|column| column.as_usize() >= of_part) {
                return Err(file.error(format!("a column is not below {of_part}")));
            }
            columns.iter_mut().for_each(|column| *column = I::cast(column.as_usize() + first_column));
        }
        Csr::new_unsorted(rows.len(), cols, offsets, columns, file.values(start..end)?.into_typed()?)
    }
}

fn not_by_rows(path: &Path, reason: impl std::fmt::Display) -> Error {
    Error::unsupported(format_args!("reading some rows of {}", path.display()), reason)
}

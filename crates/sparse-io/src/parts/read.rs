//! Reading of sets.

use super::concat::{Coordinates, append_batch, append_values, batch_of, coordinates_of};
use super::manifest::{Cover, Manifest, Part, SetKind};
use super::{MANIFEST, folder_of};
use crate::any::{AnyIndices, AnyValues};
use crate::npz::{self, AnyBatch, AnySparse, NpzFormat};
use crate::source::{Bytes, open};
use sparse_core::error::checked_product;
use sparse_core::{DType, Error, Result};
use std::fmt::Display;
use std::fs::{self, File, Metadata};
use std::io::{BufRead, BufReader, ErrorKind};
use std::path::{Path, PathBuf};

/// Bytes per read where only the checksum of a part is needed.
const CHUNK_BYTES: usize = 1 << 20;

/// A set whose manifest was read and checked; parts are read one by one or all together.
///
/// ```
/// use sparse_core::{Csr, Row};
/// use sparse_io::parts::{PartSet, PartWriter};
///
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("set");
/// // [5 0 0; 0 0 7] as two blocks of columns.
/// let left = Csr::<f64>::new(2, 1, vec![0, 1, 1], vec![0], vec![5.0])?;
/// let right = Csr::<f64>::new(2, 2, vec![0, 0, 1], vec![1], vec![7.0])?;
/// let mut writer = PartWriter::<Row, f64>::matrix(&path, (2, 3), (1, 2))?;
/// writer.write_block(0..2, 0..1, &left)?;
/// writer.write_block(0..2, 1..3, &right)?;
/// writer.finish()?;
///
/// let set = PartSet::open(&path)?; // or its manifest.json
/// assert_eq!((set.shape(), set.nnz(), set.parts().len()), ((2, 3), 2, 2));
/// let whole: Csr<f64> = set.read_matrix()?.into_csr()?;
/// assert!(whole.triplets().eq([(0, 0, 5.0), (1, 2, 7.0)]));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct PartSet {
    folder: PathBuf,
    manifest: Manifest,
}

impl PartSet {
    /// Opens the set in a folder; `path` names the folder or its manifest.
    ///
    /// # Errors
    /// [`Error::Io`] if the manifest cannot be read; [`Error::File`] if there is none in the folder, if it is not
    /// sound, or if its parts do not cover the set; [`Error::Unsupported`] if `path` is neither a folder nor a
    /// manifest.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let folder = folder_of(path).ok_or_else(|| {
            Error::unsupported(path.display(), format_args!("neither a folder nor a {MANIFEST}"))
        })?;
        let path = folder.join(MANIFEST);
        let found = match fs::metadata(&path) {
            Err(error) if error.kind() == ErrorKind::NotFound && folder.is_dir() => {
                let reason =
                    format_args!("a folder without {MANIFEST}: no set of parts, or one that is incomplete");
                return Err(file_error(&folder, reason));
            }
            found => found.map_err(|source| Error::Io { path: path.clone(), source })?,
        };
        if !found.is_file() {
            return Err(file_error(&path, "not a file"));
        }
        let manifest = Manifest::parse(&open(&path)?).map_err(|reason| file_error(&path, reason))?;
        Ok(Self { folder, manifest })
    }

    /// The folder of the set.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The contents: a batch or a matrix.
    pub fn kind(&self) -> SetKind {
        self.manifest.kind
    }

    /// True if the set is a batch of matrices of one shape, false if it is read as one matrix.
    pub fn is_batch(&self) -> bool {
        matches!(self.kind(), SetKind::Batch { .. })
    }

    /// The format of every part: CSR or CSC.
    pub fn format(&self) -> NpzFormat {
        self.manifest.format
    }

    /// The type of the values.
    pub fn dtype(&self) -> DType {
        self.manifest.dtype
    }

    /// (rows, columns) of the matrix, or of each member of the batch; of matrices of any shapes, their sums.
    pub fn shape(&self) -> (usize, usize) {
        self.manifest.shape
    }

    /// (rows, columns) of the matrix that [`read_matrix`](Self::read_matrix) reads: of a batch with all members on its
    /// diagonal.
    ///
    /// # Errors
    /// [`Error::IndexOverflow`] if the rows or columns of a batch do not fit `usize`.
    pub fn matrix_shape(&self) -> Result<(usize, usize)> {
        let (rows, cols) = self.shape();
        match self.kind() {
            SetKind::Batch { members } => Ok((
                checked_product("members x rows", members, rows)?,
                checked_product("members x columns", members, cols)?,
            )),
            SetKind::Matrix { .. } | SetKind::Matrices { .. } | SetKind::MatricesInBlocks { .. } => {
                Ok((rows, cols))
            }
        }
    }

    /// The number of stored entries that the manifest claims; each part is compared with it when it is read.
    pub fn nnz(&self) -> usize {
        self.manifest.nnz()
    }

    /// The parts, in order; blocks are row-major.
    pub fn parts(&self) -> &[Part] {
        &self.manifest.parts
    }

    /// Part `index` of a matrix, with indices that start at 0 in each direction.
    ///
    /// # Errors
    /// [`Error::Operands`] if there is no such part; [`Error::Io`] if the file cannot be read; [`Error::File`] if it is
    /// not what the manifest says, or if the set is a batch.
    pub fn read_block(&self, index: usize) -> Result<AnySparse> {
        self.check_matrix()?;
        self.check_no_members()?;
        let part = self.part(index)?;
        let (path, bytes) = self.part_bytes(part)?;
        let block = npz::parse_file(&path, &bytes)?;
        let found = (block.format, (block.rows, block.cols));
        self.check_contents(&path, part, found, &block.values)?;
        Ok(block)
    }

    /// Part `index` of a batch, or of matrices of any shapes.
    ///
    /// # Errors
    /// As for [`read_block`](Self::read_block), where the set is one matrix.
    pub fn read_members(&self, index: usize) -> Result<AnyBatch> {
        match self.kind() {
            SetKind::Matrix { .. } => return Err(self.not_a_batch("one matrix")),
            SetKind::MatricesInBlocks { .. } => return Err(self.not_a_batch("matrices in blocks")),
            SetKind::Batch { .. } | SetKind::Matrices { .. } => {}
        }
        let part = self.part(index)?;
        let (path, bytes) = self.part_bytes(part)?;
        let batch = npz::parse_batch_file(&path, &bytes)?;
        let found = (batch.format, (batch.rows, batch.cols));
        self.check_contents(&path, part, found, &batch.values)?;
        match &part.covers {
            Cover::Members(members) if members.len() != batch.count => {
                let reason = format!("has {} members where the manifest says {members:?}", batch.count);
                Err(file_error(&path, reason))
            }
            _ => Ok(batch),
        }
    }

    /// The whole matrix as COO: the entries of all parts, one after the other, with indices of 64 bits. Matrices of any
    /// shapes, and those of a batch, are the blocks of its diagonal.
    ///
    /// # Errors
    /// Those of [`read_block`](Self::read_block); [`Error::File`] if the arrays of a part are not sound.
    pub fn read_matrix(&self) -> Result<AnySparse> {
        let (rows, cols) = self.matrix_shape()?;
        let (mut major, mut minor, mut values) = (vec![], vec![], self.no_values()?);
        let mut corner = (0, 0); // of the next members on the diagonal
        for (index, part) in self.parts().iter().enumerate() {
            let ((row, col), (row_idx, col_idx, part_values)) = match &part.covers {
                Cover::Block { rows, cols } => ((rows.start, cols.start), self.block_coordinates(index)?),
                Cover::Members(_) => (corner, self.members_coordinates(index)?),
            };
            corner.0 += part.shape.0 * part.members();
            corner.1 += part.shape.1 * part.members();
            major.extend(row_idx.into_iter().map(|index| index + row as i64));
            minor.extend(col_idx.into_iter().map(|index| index + col as i64));
            append_values(&mut values, part_values)?;
        }
        let (major, minor) = (AnyIndices::I64(major), AnyIndices::I64(minor));
        Ok(AnySparse { format: NpzFormat::Coo, rows, cols, major, minor, values })
    }

    /// The whole batch.
    ///
    /// # Errors
    /// Those of [`read_members`](Self::read_members); [`Error::File`] if `member_ptr` of a part is not sound.
    pub fn read_batch(&self) -> Result<AnyBatch> {
        self.check_batch()?;
        let mut batch = batch_of(self.format(), self.shape(), self.no_values()?);
        for (index, part) in self.parts().iter().enumerate() {
            let members = self.read_members(index)?;
            append_batch(&mut batch, members).map_err(|error| self.in_part(part, error))?;
        }
        Ok(batch)
    }

    /// The entries of part `index` of a matrix, with indices of the part.
    fn block_coordinates(&self, index: usize) -> Result<Coordinates> {
        let coordinates = coordinates_of(self.read_block(index)?);
        coordinates.map_err(|error| self.in_part(&self.parts()[index], error))
    }

    /// The entries of the members of part `index`, as blocks of a diagonal.
    fn members_coordinates(&self, index: usize) -> Result<Coordinates> {
        let diagonal = self.read_members(index)?.into_block_diagonal();
        let coordinates = diagonal.and_then(coordinates_of);
        coordinates.map_err(|error| self.in_part(&self.parts()[index], error))
    }

    fn no_values(&self) -> Result<AnyValues> {
        self.manifest.no_values().map_err(|reason| file_error(&self.folder.join(MANIFEST), reason))
    }

    fn part(&self, index: usize) -> Result<&Part> {
        let parts = self.parts();
        parts.get(index).ok_or_else(|| {
            Error::operands("parts", format_args!("part {index} of a set of {} parts", parts.len()))
        })
    }

    /// The path of a part's file, which is no link and has the size of the manifest.
    pub(crate) fn path_of(&self, part: &Part) -> Result<PathBuf> {
        let path = self.folder.join(&part.file);
        let found = fs::symlink_metadata(&path).map_err(|source| Error::Io { path: path.clone(), source })?;
        check_size(&path, part, &found)?;
        Ok(path)
    }

    /// The file of a part, with the size and the checksum of the manifest.
    fn part_bytes(&self, part: &Part) -> Result<(PathBuf, Bytes)> {
        let path = self.path_of(part)?;
        let bytes = open(&path)?;
        check_sum(&path, part, crc32c::crc32c(&bytes))?;
        Ok((path, bytes))
    }

    /// Fails unless the file of part `index` has the size and the checksum of the manifest. Reads [`CHUNK_BYTES`] at a
    /// time.
    pub(crate) fn check_part(&self, index: usize) -> Result<()> {
        let part = self.part(index)?;
        let path = self.path_of(part)?;
        let io_error = |source| Error::Io { path: path.clone(), source };
        let mut reader = BufReader::with_capacity(CHUNK_BYTES, File::open(&path).map_err(io_error)?);
        let mut sum = 0;
        loop {
            let chunk = reader.fill_buf().map_err(io_error)?;
            if chunk.is_empty() {
                return check_sum(&path, part, sum);
            }
            sum = crc32c::crc32c_append(sum, chunk);
            let read = chunk.len();
            reader.consume(read);
        }
    }

    /// Fails unless a part has what the manifest says.
    fn check_contents(
        &self,
        path: &Path,
        part: &Part,
        (format, shape): (NpzFormat, (usize, usize)),
        values: &AnyValues,
    ) -> Result<()> {
        let describe = |format: NpzFormat, type_name: &str, (rows, cols): (usize, usize), nnz: usize| {
            format!("{} of {type_name}, {rows} x {cols}, {nnz} entries", format.name())
        };
        let type_name = match values {
            AnyValues::I64(_) | AnyValues::U64(_) => "integers",
            values => values.dtype().name(),
        };
        let found = describe(format, type_name, shape, values.len());
        let needed = describe(self.format(), self.dtype().name(), part.shape, part.nnz);
        if found == needed {
            return Ok(());
        }
        Err(file_error(path, format_args!("has {found}, where the manifest says {needed}")))
    }

    /// Fails if the set is a batch.
    pub(crate) fn check_matrix(&self) -> Result<()> {
        match self.kind() {
            SetKind::Matrix { .. } | SetKind::Matrices { .. } | SetKind::MatricesInBlocks { .. } => Ok(()),
            SetKind::Batch { .. } => Err(file_error(&self.folder, "a batch of matrices, not one matrix")),
        }
    }

    /// Fails if the parts are members in place of blocks.
    fn check_no_members(&self) -> Result<()> {
        match self.kind() {
            SetKind::Matrices { .. } => Err(file_error(&self.folder, "several matrices, not one in blocks")),
            SetKind::Matrix { .. } | SetKind::MatricesInBlocks { .. } | SetKind::Batch { .. } => Ok(()),
        }
    }

    /// Fails unless the set is a batch.
    fn check_batch(&self) -> Result<()> {
        match self.kind() {
            SetKind::Batch { .. } => Ok(()),
            SetKind::Matrix { .. } => Err(self.not_a_batch("one matrix")),
            SetKind::Matrices { .. } => Err(self.not_a_batch("matrices of several shapes")),
            SetKind::MatricesInBlocks { .. } => Err(self.not_a_batch("matrices in blocks")),
        }
    }

    fn not_a_batch(&self, found: &str) -> Error {
        file_error(&self.folder, format_args!("{found}, not a batch of matrices"))
    }

    /// `error` with the name of the part's file, if it is an error of the arrays.
    fn in_part(&self, part: &Part, error: Error) -> Error {
        match error {
            Error::Format { .. } => file_error(&self.folder.join(&part.file), error),
            other => other,
        }
    }
}

/// Fails unless the file of a part is one, of the size of the manifest.
fn check_size(path: &Path, part: &Part, found: &Metadata) -> Result<()> {
    if !found.is_file() {
        return Err(file_error(path, "not a file of this folder"));
    }
    if found.len() != part.bytes {
        let reason = format!("has {} bytes where the manifest says {}", found.len(), part.bytes);
        return Err(file_error(path, reason));
    }
    Ok(())
}

fn check_sum(path: &Path, part: &Part, sum: u32) -> Result<()> {
    if sum == part.crc32c {
        return Ok(());
    }
    Err(file_error(path, format_args!("has the CRC-32C {sum} where the manifest says {}", part.crc32c)))
}

fn file_error(path: &Path, reason: impl Display) -> Error {
    Error::File { path: path.into(), line: None, reason: reason.to_string() }
}

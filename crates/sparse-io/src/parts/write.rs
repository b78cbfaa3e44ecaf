//! Writing of sets: parts one after the other, the manifest last.

use super::manifest::{Cover, Manifest, Part, SetKind};
use super::{MANIFEST, PartSet};
use crate::npz::{self, NpzFormat};
use crate::output::Output;
use crate::parallel;
use crate::source::open;
use sparse_core::{Axis, BatchCompressed, Compressed, Error, Host, Index, Result, Scalar};
use std::fs::{self, File};
use std::hash::{BuildHasher, RandomState};
use std::io::{self, Write};
use std::marker::PhantomData;
use std::ops::Range;
use std::path::{Path, PathBuf};

/// A set that is being written, of parts compressed along `A` with values of type `T`.
///
/// Each part is on the disk before its call returns. The set is there when [`finish`](Self::finish) has returned: until
/// then the folder has the old set, or none. A writer that is dropped before removes its parts; one that is killed
/// leaves files that belong to no set.
///
/// ```
/// use sparse_core::{BatchCsr, Row};
/// use sparse_io::parts::{PartSet, PartWriter};
///
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("set");
/// let two = BatchCsr::<f32>::new((1, 2), vec![0, 1, 3], vec![0, 1, 0, 2], vec![1, 0, 1], vec![1.0, 2.0, 3.0])?;
/// let one = BatchCsr::<f32>::new((1, 2), vec![0, 1], vec![0, 1], vec![0], vec![4.0])?;
/// let mut writer = PartWriter::<Row, f32>::batch(&path, (1, 2))?;
/// writer.write_members(&two)?;
/// writer.write_members(&one)?;
/// writer.finish()?;
///
/// let three = PartSet::open(&path)?.read_batch()?.into_typed::<Row, f32, i32, i32>()?;
/// assert_eq!(three.member_ptr(), &[0, 1, 3, 4]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct PartWriter<A: Axis, T: Scalar> {
    draft: Draft,
    types: PhantomData<(A, T)>,
}

impl<A: Axis, T: Scalar> PartWriter<A, T> {
    /// A writer of a batch of matrices of `shape` to a folder, which is made if it is not there.
    ///
    /// # Errors
    /// [`Error::Io`] if there is no such folder and none can be made.
    pub fn batch(folder: impl AsRef<Path>, shape: (usize, usize)) -> Result<Self> {
        Self::new(folder.as_ref(), SetKind::Batch { members: 0 }, shape)
    }

    /// A writer of matrices of any shapes to a folder, which is made if it is not there.
    ///
    /// ```
    /// use sparse_core::{BatchCsr, Csr, Row};
    /// use sparse_io::{MatrixFile, parts::PartWriter};
    ///
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("set");
    /// let (one, wide) = (Csr::<f64>::identity(1)?, Csr::<f64>::from_triplets(1, 3, [(0, 2, 5.0)])?);
    /// let mut writer = PartWriter::<Row, f64>::matrices(&path)?;
    /// writer.write_members(&BatchCsr::from_members(&[&one, &one])?)?;
    /// writer.write_members(&BatchCsr::from_members(&[&wide])?)?;
    /// writer.finish()?;
    /// // Read as one matrix, they are the blocks of its diagonal.
    /// let all: Csr<f64> = MatrixFile::open(&path)?.read_csr()?;
    /// assert_eq!(all.shape(), (3, 5));
    /// assert!(all.triplets().eq([(0, 0, 1.0), (1, 1, 1.0), (2, 4, 5.0)]));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As for [`batch`](Self::batch).
    pub fn matrices(folder: impl AsRef<Path>) -> Result<Self> {
        Self::new(folder.as_ref(), SetKind::Matrices { members: 0 }, (0, 0))
    }

    /// A writer of a matrix of `shape` in `row_blocks` times `col_blocks` blocks to a folder, which is made if it is
    /// not there.
    ///
    /// # Errors
    /// As for [`batch`](Self::batch).
    pub fn matrix(
        folder: impl AsRef<Path>,
        shape: (usize, usize),
        (row_blocks, col_blocks): (usize, usize),
    ) -> Result<Self> {
        Self::new(folder.as_ref(), SetKind::Matrix { row_blocks, col_blocks }, shape)
    }

    /// A writer of matrices of any shapes, each in `row_blocks` times `col_blocks` blocks, to a folder, which is made
    /// if it is not there. Blocks come matrix by matrix.
    ///
    /// ```
    /// use sparse_core::{Csr, Row};
    /// use sparse_io::{MatrixFile, parts::PartWriter};
    ///
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("set");
    /// // [5 0] and [0 7 0], each in two blocks of columns.
    /// let block = |cols, entry| Csr::<f64>::from_triplets(1, cols, entry);
    /// let mut writer = PartWriter::<Row, f64>::matrices_in_blocks(&path, (1, 2))?;
    /// writer.write_block(0..1, 0..1, &block(1, Some((0, 0, 5.0)))?)?;
    /// writer.write_block(0..1, 1..2, &block(1, None)?)?;
    /// writer.write_block(0..1, 0..2, &block(2, Some((0, 1, 7.0)))?)?;
    /// writer.write_block(0..1, 2..3, &block(1, None)?)?;
    /// writer.finish()?;
    /// // Read as one matrix, they are the blocks of its diagonal.
    /// let all: Csr<f64> = MatrixFile::open(&path)?.read_csr()?;
    /// assert_eq!(all.shape(), (2, 5));
    /// assert!(all.triplets().eq([(0, 0, 5.0), (1, 3, 7.0)]));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As for [`batch`](Self::batch).
    pub fn matrices_in_blocks(
        folder: impl AsRef<Path>,
        (row_blocks, col_blocks): (usize, usize),
    ) -> Result<Self> {
        let kind = SetKind::MatricesInBlocks { members: 0, row_blocks, col_blocks };
        Self::new(folder.as_ref(), kind, (0, 0))
    }

    fn new(folder: &Path, kind: SetKind, shape: (usize, usize)) -> Result<Self> {
        let format = if A::IS_ROW { NpzFormat::Csr } else { NpzFormat::Csc };
        let draft = Draft::new(folder, Manifest::new(kind, format, T::DTYPE, shape))?;
        Ok(Self { draft, types: PhantomData })
    }

    /// Writes the next members of a batch, or the next matrices, which have one shape.
    ///
    /// # Errors
    /// Those of [`npz::write_batch`]. What does not fit together is an error of [`finish`](Self::finish).
    pub fn write_members<I: Index, O: Index>(
        &mut self,
        members: &BatchCompressed<A, T, Host, I, O>,
    ) -> Result<()> {
        self.write_batches(std::slice::from_ref(members))
    }

    /// Writes the next members of a batch, or the next matrices, as [`write_members`](Self::write_members) does for
    /// each of `batches`, on all threads: compressing a file on one thread takes longer than writing it.
    ///
    /// # Errors
    /// As for [`write_members`](Self::write_members), of the first file that has one.
    pub fn write_batches<I: Index, O: Index>(
        &mut self,
        batches: &[BatchCompressed<A, T, Host, I, O>],
    ) -> Result<()> {
        let mut start = match self.draft.manifest.parts.last().map(|part| &part.covers) {
            Some(Cover::Members(before)) => before.end,
            _ => 0,
        };
        let contents = batches.iter().map(|members| {
            let covers = start..start + members.count();
            start = covers.end;
            (Cover::Members(covers), members.member_shape(), members.nnz())
        });
        self.draft.write_parts(contents.collect(), |at, path| npz::write_batch(path, &batches[at]))
    }

    /// Writes the next block of a matrix, which has these rows and columns of the matrix and indices that start at 0.
    /// Blocks come row-major.
    ///
    /// # Errors
    /// Those of [`npz::write_compressed`]. What does not fit together is an error of [`finish`](Self::finish).
    pub fn write_block<I: Index, O: Index>(
        &mut self,
        rows: Range<usize>,
        cols: Range<usize>,
        block: &Compressed<A, T, Host, I, O>,
    ) -> Result<()> {
        let covers = self.draft.on_diagonal(rows, cols)?;
        let contents = (covers, (block.nrows(), block.ncols()), block.nnz());
        self.draft.write_parts(vec![contents], |_, path| npz::write_compressed(path, block))
    }

    /// Writes the manifest, which publishes the set and replaces the old one in this folder.
    ///
    /// # Errors
    /// [`Error::Shape`] if the parts do not cover the set in order, without gaps or overlaps; [`Error::Io`] if the
    /// manifest cannot be written. The old set then stays.
    pub fn finish(self) -> Result<()> {
        self.draft.publish()
    }
}

/// Parts without a manifest, which are removed unless they are published.
#[derive(Debug)]
struct Draft {
    folder: PathBuf,
    /// True if the folder was made for this set.
    is_new_folder: bool,
    /// A number in the names of all parts, and of no other files.
    token: u64,
    manifest: Manifest,
}

impl Draft {
    fn new(folder: &Path, manifest: Manifest) -> Result<Self> {
        let is_new_folder = match fs::create_dir(folder) {
            Ok(()) => true,
            Err(_) if folder.is_dir() => false,
            Err(source) => return Err(Error::Io { path: folder.into(), source }),
        };
        let token = RandomState::new().hash_one(std::process::id());
        Ok(Self { folder: folder.into(), is_new_folder, token, manifest })
    }

    /// Writes parts with these contents, all at once; `write` writes one to a path.
    fn write_parts(
        &mut self,
        contents: Vec<(Cover, (usize, usize), usize)>,
        write: impl Fn(usize, &Path) -> Result<()> + Sync,
    ) -> Result<()> {
        let first = self.manifest.parts.len();
        let names: Vec<_> = (first..)
            .map(|at| format!("part-{at:05}-{:016x}.npz", self.token))
            .take(contents.len())
            .collect();
        let written: Vec<Result<_>> = parallel::map((0..names.len()).collect(), &|at: usize| {
            let path = self.folder.join(&names[at]);
            write(at, &path)?;
            let bytes = open(&path)?;
            Ok((bytes.len() as u64, crc32c::crc32c(&bytes)))
        });
        let mut outcome = Ok(());
        for ((file, (covers, shape, nnz)), written) in names.into_iter().zip(contents).zip(written) {
            match written {
                Ok((bytes, crc32c)) => {
                    self.manifest.parts.push(Part { file, covers, shape, nnz, bytes, crc32c });
                }
                Err(error) => outcome = outcome.and(Err(error)),
            }
        }
        outcome
    }

    /// The place of the next block, after the complete matrices.
    fn on_diagonal(&self, rows: Range<usize>, cols: Range<usize>) -> Result<Cover> {
        let (row, col) = self.complete_matrices().1;
        let shifted =
            |range: Range<usize>, by: usize| Some(range.start.checked_add(by)?..range.end.checked_add(by)?);
        match (shifted(rows, row), shifted(cols, col)) {
            (Some(rows), Some(cols)) => Ok(Cover::Block { rows, cols }),
            _ => Err(too_large()),
        }
    }

    /// The number of matrices in blocks that are complete, and the place after them on the diagonal.
    fn complete_matrices(&self) -> (usize, (usize, usize)) {
        let SetKind::MatricesInBlocks { row_blocks, col_blocks, .. } = self.manifest.kind else {
            return (0, (0, 0));
        };
        let blocks = row_blocks.saturating_mul(col_blocks).max(1);
        let members = self.manifest.parts.len() / blocks;
        match (members * blocks).checked_sub(1).map(|last| &self.manifest.parts[last].covers) {
            Some(Cover::Block { rows, cols }) => (members, (rows.end, cols.end)),
            _ => (members, (0, 0)),
        }
    }

    fn publish(mut self) -> Result<()> {
        let (complete, end) = self.complete_matrices();
        if let SetKind::MatricesInBlocks { members, .. } = &mut self.manifest.kind {
            (*members, self.manifest.shape) = (complete, end);
        }
        if let (SetKind::Batch { members } | SetKind::Matrices { members }, Some(Cover::Members(last))) =
            (&mut self.manifest.kind, self.manifest.parts.last().map(|part| &part.covers))
        {
            *members = last.end;
        }
        if let SetKind::Matrices { .. } = self.manifest.kind {
            self.manifest.shape = self.manifest.diagonal_shape().ok_or_else(too_large)?;
        }
        self.manifest.check().map_err(|reason| Error::shape("parts", reason))?;
        let path = self.folder.join(MANIFEST);
        let old = PartSet::open(&self.folder).map(|old| old.parts().to_vec()).unwrap_or_default();
        sync(&self.folder);
        Output::from(&path).write(|file| {
            serde_json::to_writer_pretty(&mut *file, &self.manifest).map_err(io::Error::from)?;
            writeln!(file)
        })?;
        sync(&self.folder);
        self.is_new_folder = false;
        self.manifest.parts.clear();
        remove(&self.folder, &old);
        Ok(())
    }
}

impl Drop for Draft {
    fn drop(&mut self) {
        remove(&self.folder, &self.manifest.parts);
        if self.is_new_folder {
            let _ = fs::remove_dir(&self.folder);
        }
    }
}

fn too_large() -> Error {
    Error::shape("parts", "the matrices have more rows or columns than can be counted")
}

/// Removes the files of parts as far as possible; files that remain belong to no set.
fn remove(folder: &Path, parts: &[Part]) {
    for part in parts {
        let _ = fs::remove_file(folder.join(&part.file));
    }
}

/// Syncs a folder's names to the disk, on systems that can.
fn sync(folder: &Path) {
    let _ = File::open(folder).and_then(|folder| folder.sync_all());
}

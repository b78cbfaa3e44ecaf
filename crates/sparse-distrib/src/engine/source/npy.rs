//! Matrices of `.npy` files.

use super::Source;
use super::ekmr_layout::EkmrLayout;
use crate::partition::Part;
use sparse_core::{Error, Order, Result, Scalar};
use sparse_io::npy::{MappedArray, show_shape};
use std::path::{Path, PathBuf};

/// The reading of arrays of more than two dimensions as matrices.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ArrayReading {
    /// A 3-D array `a` is the matrices `a[0]`, `a[1]`, …
    #[default]
    Stack,
    /// A 3-D or 4-D array is one matrix, by [EKMR](crate::ekmr).
    Ekmr,
}

/// Matrices of `.npy` files, which are memory-mapped: a 2-D array is one matrix, a 3-D array `a` is the matrices
/// `a[0]`, `a[1]`, …, or one by [`ArrayReading::Ekmr`]. A 1-D array is refused: it could be a row or a column.
///
/// Elements are converted to the type of the engine as they are read, rounded to nearest. A 3-D array in Fortran order
/// has the elements of a matrix far apart, so that each is read by itself.
///
/// ```
/// use sparse_core::Order;
/// use sparse_distrib::{NpySource, Source};
///
/// # let folder = tempfile::tempdir()?;
/// sparse_io::npy::write(&folder.path().join("a.npy"), &[1.0, 0.0, 0.0, 2.0_f64], &[2, 2], Order::RowMajor)?;
/// sparse_io::npy::write(&folder.path().join("b.npy"), &[0.0; 12], &[4, 1, 3], Order::RowMajor)?;
/// let source = NpySource::open_folder(folder.path())?;
/// assert_eq!(Source::<f64>::len(&source), 5);
/// assert_eq!(Source::<f64>::shape(&source, 4), (1, 3));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct NpySource {
    files: Vec<MappedArray>,
    /// The layout of each file that is one matrix by EKMR.
    ekmr: Vec<Option<EkmrLayout>>,
    /// The first matrix of each file, and the number of all.
    starts: Vec<usize>,
}

impl NpySource {
    /// The matrices of one file.
    ///
    /// # Errors
    /// As for [`open_all`](Self::open_all).
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        Self::open_all([path])
    }

    /// The matrices of several files, in their order.
    ///
    /// # Errors
    /// [`Error::Io`] if a file cannot be read; [`Error::File`] if it is not a sound `.npy` file of a known type and of
    /// two or three dimensions.
    pub fn open_all<P: AsRef<Path>>(paths: impl IntoIterator<Item = P>) -> Result<Self> {
        Self::open_all_as(paths, ArrayReading::Stack)
    }

    /// The matrices of several files, in their order, with a reading of arrays of more than two dimensions.
    ///
    /// ```
    /// use sparse_core::Order;
    /// use sparse_distrib::{ArrayReading, NpySource, Source};
    ///
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("a.npy");
    /// // A[k][i][j] of n_k = 2, n_i = 1, n_j = 3 is A'[i][j * 2 + k].
    /// sparse_io::npy::write(&path, &[0.0, 1.0, 2.0, 10.0, 11.0, 12.0_f64], &[2, 1, 3], Order::RowMajor)?;
    /// let source = NpySource::open_all_as([&path], ArrayReading::Ekmr)?;
    /// let mut matrix = [0.0; 6];
    /// source.fill(0, &mut matrix)?;
    /// assert_eq!((Source::<f64>::len(&source), Source::<f64>::shape(&source, 0)), (1, (1, 6)));
    /// assert_eq!(matrix, [0.0, 10.0, 1.0, 11.0, 2.0, 12.0]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As for [`open_all`](Self::open_all), except that [`ArrayReading::Ekmr`] also takes four dimensions;
    /// [`Error::IndexOverflow`] if rows or columns of its matrix do not fit `usize`.
    pub fn open_all_as<P: AsRef<Path>>(
        paths: impl IntoIterator<Item = P>,
        reading: ArrayReading,
    ) -> Result<Self> {
        let files: Vec<_> = paths.into_iter().map(MappedArray::open).collect::<Result<_>>()?;
        let (mut ekmr, mut starts) = (vec![], vec![0_usize]);
        for file in &files {
            let layout = if reading == ArrayReading::Ekmr { EkmrLayout::of(file)? } else { None };
            let count = if layout.is_some() { 1 } else { matrices(file, reading)? };
            let before = starts[starts.len() - 1];
            starts.push(before.checked_add(count).ok_or_else(|| too_many(file, before, count))?);
            ekmr.push(layout);
        }
        Ok(Self { files, ekmr, starts })
    }

    /// The matrices of all `.npy` files of a folder, in the order of their names.
    ///
    /// # Errors
    /// As for [`open_all`](Self::open_all), and [`Error::File`] if the folder has no such file.
    pub fn open_folder(folder: impl AsRef<Path>) -> Result<Self> {
        Self::open_folder_as(folder, ArrayReading::Stack)
    }

    /// The matrices of all `.npy` files of a folder, with a reading of arrays of more than two dimensions.
    ///
    /// # Errors
    /// As for [`open_all_as`](Self::open_all_as), and [`Error::File`] if the folder has no `.npy` file.
    pub fn open_folder_as(folder: impl AsRef<Path>, reading: ArrayReading) -> Result<Self> {
        let folder = folder.as_ref();
        let read = || -> std::io::Result<Vec<PathBuf>> {
            std::fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect()
        };
        let mut paths = read().map_err(|source| Error::Io { path: folder.into(), source })?;
        paths.retain(|path| path.extension().is_some_and(|found| found.eq_ignore_ascii_case("npy")));
        paths.sort();
        if paths.is_empty() {
            let reason = "the folder has no file whose name ends in .npy".into();
            return Err(Error::File { path: folder.into(), line: None, reason });
        }
        Self::open_all_as(paths, reading)
    }

    /// The files.
    pub fn files(&self) -> &[MappedArray] {
        &self.files
    }

    /// The number of matrices of each file, and the (rows, columns) of each of them.
    ///
    /// ```
    /// use sparse_core::Order;
    /// use sparse_distrib::NpySource;
    ///
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("none.npy");
    /// sparse_io::npy::write::<f64>(&path, &[], &[0, 4, 3], Order::RowMajor)?;
    /// assert!(NpySource::open(&path)?.stacks().eq([(0, (4, 3))]));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn stacks(&self) -> impl Iterator<Item = (usize, (usize, usize))> {
        let counts = self.starts.windows(2).map(|ends| ends[1] - ends[0]);
        counts.zip((0..self.files.len()).map(|file| self.shape_in(file)))
    }

    /// (rows, columns) of each matrix of a file.
    fn shape_in(&self, file: usize) -> (usize, usize) {
        if let Some(layout) = &self.ekmr[file] {
            return layout.shape();
        }
        match *self.files[file].shape() {
            [.., rows, cols] => (rows, cols),
            [] | [_] => unreachable!("arrays have two or three dimensions"),
        }
    }

    /// The file of a matrix, and its position there.
    fn find(&self, item: usize) -> (&MappedArray, usize) {
        let file = self.file_of(item);
        (&self.files[file], item - self.starts[file])
    }

    /// The layout of a matrix that is an array by EKMR.
    fn ekmr(&self, item: usize) -> Option<&EkmrLayout> {
        self.ekmr[self.file_of(item)].as_ref()
    }

    fn file_of(&self, item: usize) -> usize {
        self.starts.partition_point(|&start| start <= item) - 1
    }
}

impl<T: Scalar> Source<T> for NpySource {
    fn len(&self) -> usize {
        self.starts[self.starts.len() - 1]
    }

    fn shape(&self, item: usize) -> (usize, usize) {
        self.shape_in(self.file_of(item))
    }

    fn order(&self, item: usize) -> Order {
        match self.ekmr(item) {
            Some(_) => Order::RowMajor,
            None => self.find(item).0.order(),
        }
    }

    fn fill(&self, item: usize, elements: &mut [T]) -> Result<()> {
        let (file, position) = self.find(item);
        if let Some(layout) = self.ekmr(item) {
            return layout.read(file, &Part::whole(layout.shape()), elements);
        }
        match (file.shape(), file.order()) {
            (&[count, _, _], Order::ColMajor) => file.read(position, count, elements),
            _ => file.read(position * elements.len(), 1, elements),
        }
    }

    fn fill_part(&self, item: usize, part: &Part, elements: &mut [T]) -> Result<()> {
        let (file, position) = self.find(item);
        if let Some(layout) = self.ekmr(item) {
            return layout.read(file, part, elements);
        }
        let shape = Source::<T>::shape(self, item);
        // Lines are rows, or columns of a file in Fortran order.
        let ((lines, within), length) = match file.order() {
            Order::RowMajor => ((&part.rows, &part.cols), shape.1),
            Order::ColMajor => ((&part.cols, &part.rows), shape.0),
        };
        // The first element of the matrix, and the distance of the elements of a line.
        let (start, stride) = match (file.shape(), file.order()) {
            (&[count, _, _], Order::ColMajor) => (position, count),
            _ => (position * shape.0 * shape.1, 1),
        };
        let at = |line: usize| start + stride * (line * length + within.start);
        if within.len() == length {
            return file.read(at(lines.start), stride, elements);
        }
        let targets = elements.chunks_exact_mut(within.len().max(1));
        lines.clone().zip(targets).try_for_each(|(line, target)| file.read(at(line), stride, target))
    }

    fn is_divisible(&self, _item: usize) -> bool {
        true
    }
}

/// The error of a file whose matrices and those of the files before cannot be counted.
fn too_many(file: &MappedArray, before: usize, count: usize) -> Error {
    let reason = format!("{count} matrices behind {before} of other files are more than can be counted");
    Error::File { path: file.path().into(), line: None, reason }
}

/// The number of matrices of a file that is not one by EKMR.
fn matrices(file: &MappedArray, reading: ArrayReading) -> Result<usize> {
    match *file.shape() {
        [_, _] => Ok(1),
        [count, _, _] => Ok(count),
        ref shape => {
            let needed = if reading == ArrayReading::Ekmr { "2 to 4" } else { "2 or 3" };
            let shape = show_shape(shape);
            let reason = format!("an array of {needed} dimensions is needed, the shape is {shape}");
            Err(Error::File { path: file.path().into(), line: None, reason })
        }
    }
}

//! A matrix file that is opened once, for its type and for its matrix.

mod claim;

pub use claim::Claim;

use crate::any::RoundedIntegers;
use crate::csr_from_entries::{canonical, csr_from_triplets, nonzeros};
use crate::matrix_market;
use crate::npz::{AnyBatch, AnySparse, NpzFormat};
use crate::parts::{self, PartSet};
use crate::source::{Bytes, Contents, Text, open};
use crate::{FileKind, npy, npz};
use sparse_core::{Axis, BatchCompressed, Coo, Csr, DType, Dense, Error, Host, Index, Result, Scalar};
use std::fs::{File, metadata};
use std::io::Read;
use std::path::{Path, PathBuf};

/// The first bytes of `.npy`, `.npz` and `.gz` files.
const MAGIC: [(&[u8], Kind); 3] = [(b"\x93NUMPY", Kind::Npy), (b"PK", Kind::Npz), (b"\x1f\x8b", Kind::Gzip)];

/// The kind of a stream, by its first bytes.
#[derive(Debug, Clone, Copy)]
enum Kind {
    Npy,
    Npz,
    Gzip,
}

/// A matrix file, or a set of files. A file is mapped; of a compressed file or a pipe, the data lines or bytes are in
/// memory. Of a set, only the manifest is read until the matrix is.
#[derive(Debug)]
pub struct MatrixFile {
    path: PathBuf,
    source: Source,
}

/// The input that a matrix is read from.
#[derive(Debug)]
enum Source {
    MatrixMarket(Contents),
    Npz(Bytes),
    Npy(Bytes),
    Parts(PartSet),
}

impl MatrixFile {
    /// Opens a file of the kind of its name, or the set of files in a folder ([`parts`]), which may be
    /// named by its manifest. A pipe, which is read once from front to back, may have any name: its first bytes tell
    /// its kind.
    ///
    /// ```
    /// use sparse_core::Csr;
    /// use sparse_io::MatrixFile;
    ///
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("identity.mtx");
    /// sparse_io::write_csr(&path, &Csr::<f64>::identity(3)?)?;
    /// let file = MatrixFile::open(&path)?;
    /// assert_eq!(file.claim()?.stored, 3); // before anything is read
    /// let a: Csr<f64> = file.read_csr()?;
    /// assert_eq!(a.values(), &[1.0; 3]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Io`] if the file cannot be read; [`Error::File`] if it cannot be decompressed; those of
    /// [`FileKind::of`] and [`PartSet::open`].
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        if parts::folder_of(path).is_some() {
            return Ok(Self { path: path.into(), source: Source::Parts(PartSet::open(path)?) });
        }
        let kind = match FileKind::of(path) {
            Err(_) if metadata(path).is_ok_and(|found| !found.is_file()) => {
                let pipe = File::open(path).map_err(|source| Error::Io { path: path.into(), source })?;
                return Self::from_reader(path, pipe);
            }
            kind => kind?,
        };
        let source = match kind {
            FileKind::MatrixMarket => Source::MatrixMarket(matrix_market::open_text(path)?),
            FileKind::Npz => Source::Npz(open(path)?),
            FileKind::Npy => Source::Npy(open(path)?),
        };
        Ok(Self { path: path.into(), source })
    }

    /// Reads a stream of the kind of its first bytes to its end; errors call it `name`.
    ///
    /// ```
    /// use sparse_core::Csr;
    /// use sparse_io::MatrixFile;
    ///
    /// let text = "%%MatrixMarket matrix coordinate pattern symmetric\n3 3 2\n1 1\n3 2\n";
    /// let a: Csr<f64> = MatrixFile::from_reader("<stdin>", text.as_bytes())?.read_csr()?;
    /// assert!(a.triplets().eq([(0, 0, 1.0), (1, 2, 1.0), (2, 1, 1.0)]));
    /// # Ok::<(), sparse_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Io`] if it cannot be read; [`Error::File`] if it cannot be decompressed.
    pub fn from_reader(name: impl AsRef<Path>, mut reader: impl Read) -> Result<Self> {
        let path = name.as_ref();
        let io_error = |source| Error::Io { path: path.into(), source };
        let longest = MAGIC.iter().map(|(magic, _)| magic.len()).max().unwrap_or(0);
        let mut bytes = Vec::new();
        reader.by_ref().take(longest as u64).read_to_end(&mut bytes).map_err(io_error)?;
        let Some((_, kind)) = MAGIC.iter().find(|(magic, _)| bytes.starts_with(magic)) else {
            let text = matrix_market::read_text(path, bytes.chain(reader))?;
            return Ok(Self { path: path.into(), source: Source::MatrixMarket(text) });
        };
        reader.read_to_end(&mut bytes).map_err(io_error)?;
        let source = match kind {
            Kind::Npy => Source::Npy(Bytes::Owned(bytes)),
            Kind::Npz => Source::Npz(Bytes::Owned(bytes)),
            Kind::Gzip => Source::MatrixMarket(matrix_market::unpack_text(path, &bytes)?),
        };
        Ok(Self { path: path.into(), source })
    }

    /// The file's name.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The type of the values: as stored in `.npz` and `.npy`; of Matrix Market, `c64` where the field is complex and
    /// `f64` otherwise.
    ///
    /// ```
    /// use sparse_core::DType;
    /// use sparse_io::MatrixFile;
    ///
    /// let text = "%%MatrixMarket matrix coordinate complex general\n1 1 1\n1 1 2 -3\n";
    /// assert_eq!(MatrixFile::from_reader("<stdin>", text.as_bytes())?.value_type()?, DType::C64);
    /// # Ok::<(), sparse_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::File`] if the header is not sound.
    pub fn value_type(&self) -> Result<DType> {
        let parsed = match &self.source {
            Source::MatrixMarket(text) => Ok(matrix_market::header_of(self.text(text))?.field.dtype()),
            Source::Npz(bytes) => npz::value_type(bytes),
            Source::Npy(bytes) => npy::value_type(bytes),
            Source::Parts(set) => Ok(set.dtype()),
        };
        parsed.map_err(|reason| self.error(reason))
    }

    /// The integers of the file that `T` does not represent, and which reading rounds; none if there are none, or if
    /// the values are not integers.
    ///
    /// ```
    /// use sparse_io::MatrixFile;
    ///
    /// let text = "%%MatrixMarket matrix coordinate integer general\n1 1 1\n1 1 16777217\n";
    /// let file = MatrixFile::from_reader("<stdin>", text.as_bytes())?;
    /// assert_eq!(file.rounded_integers::<f64>()?, None);
    /// assert_eq!(file.rounded_integers::<f32>()?.and_then(|rounded| rounded.line), Some(3));
    /// # Ok::<(), sparse_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`npz::read`], [`npy::read`] and [`matrix_market::read_header`].
    pub fn rounded_integers<T: Scalar>(&self) -> Result<Option<RoundedIntegers>> {
        self.integers_rounded_by(T::DTYPE)
    }

    /// Not generic, so that the command, which knows types at run time, compiles none of it.
    fn integers_rounded_by(&self, dtype: DType) -> Result<Option<RoundedIntegers>> {
        let rounded = match &self.source {
            Source::MatrixMarket(text) => return matrix_market::rounded_integers(self.text(text), dtype),
            Source::Npz(bytes) => npz::rounded_integers(bytes, dtype),
            Source::Npy(bytes) => npy::rounded_integers(bytes, dtype),
            Source::Parts(_) => Ok(None), // parts with integers are refused
        };
        rounded.map_err(|reason| self.error(reason))
    }

    /// The matrix as CSR, with sorted rows. Duplicates are added, explicit zeros are stored; zeros of a dense array are
    /// dropped. Values are rounded to nearest. The members of a batch are the blocks of its diagonal.
    ///
    /// ```
    /// use sparse_core::Csr;
    /// use sparse_io::MatrixFile;
    ///
    /// let text = "%%MatrixMarket matrix coordinate real general\n2 2 3\n2 1 1\n1 2 5\n2 1 2\n";
    /// let a: Csr<f32> = MatrixFile::from_reader("<stdin>", text.as_bytes())?.read_csr()?;
    /// assert!(a.triplets().eq([(0, 1, 5.0), (1, 0, 3.0)])); // sorted, duplicates added
    /// # Ok::<(), sparse_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`matrix_market::read_csr`], [`npz::read`], [`npz::AnySparse::into_csr`], [`npy::read`] and
    /// [`npy::NpyArray::into_dense`].
    pub fn read_csr<T: Scalar, I: Index, O: Index>(&self) -> Result<Csr<T, Host, I, O>> {
        let read = match &self.source {
            Source::MatrixMarket(text) => matrix_market::csr_of(self.text(text)),
            Source::Npz(bytes) => {
                npz::parse_matrix(&self.path, bytes).and_then(AnySparse::into_csr).and_then(canonical)
            }
            Source::Parts(set) => set.read_matrix().and_then(AnySparse::into_csr),
            Source::Npy(bytes) => self.dense(bytes).and_then(|dense| {
                csr_from_triplets(dense.nrows(), dense.ncols(), dense.data().len(), || nonzeros(&dense))
            }),
        };
        read.map_err(|error| self.named(error))
    }

    /// The matrix as COO, with entries in the order of the file. Duplicates and explicit zeros are stored; zeros of a
    /// dense array are dropped. Values are rounded to nearest. The members of a batch are the blocks of its diagonal.
    ///
    /// ```
    /// use sparse_core::Coo;
    /// use sparse_io::MatrixFile;
    ///
    /// let text = "%%MatrixMarket matrix coordinate real general\n2 2 3\n2 1 1\n1 2 5\n2 1 2\n";
    /// let a: Coo<f32> = MatrixFile::from_reader("<stdin>", text.as_bytes())?.read_coo()?;
    /// assert!(a.triplets().eq([(1, 0, 1.0), (0, 1, 5.0), (1, 0, 2.0)])); // as in the file
    /// # Ok::<(), sparse_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// As for [`read_csr`](Self::read_csr), without its limit of the number of rows.
    pub fn read_coo<T: Scalar, I: Index>(&self) -> Result<Coo<T, Host, I>> {
        let read = match &self.source {
            Source::MatrixMarket(text) => matrix_market::coo_of(self.text(text)),
            Source::Npz(bytes) => npz::parse_matrix(&self.path, bytes).and_then(AnySparse::into_coo),
            Source::Parts(set) => set.read_matrix().and_then(AnySparse::into_coo),
            Source::Npy(bytes) => self.dense(bytes).and_then(|dense| {
                Coo::<T, Host, I>::from_triplets(dense.nrows(), dense.ncols(), nonzeros(&dense))
            }),
        };
        read.map_err(|error| self.named(error))
    }

    /// The parts of the matrix or batch, if it is a set of files.
    pub fn parts(&self) -> Option<&PartSet> {
        match &self.source {
            Source::Parts(set) => Some(set),
            Source::MatrixMarket(_) | Source::Npz(_) | Source::Npy(_) => None,
        }
    }

    /// The format of the members, if this is a batch of matrices: an `.npz` file or a set of them.
    ///
    /// # Errors
    /// [`Error::File`] if the file does not name its format.
    pub fn batch_format(&self) -> Result<Option<NpzFormat>> {
        match &self.source {
            Source::Npz(bytes) => npz::batch_format(bytes).map_err(|reason| self.error(reason)),
            Source::Parts(set) => Ok(set.is_batch().then(|| set.format())),
            Source::MatrixMarket(_) | Source::Npy(_) => Ok(None),
        }
    }

    /// The batch of matrices in an `.npz` file or in a set of them.
    ///
    /// ```
    /// use sparse_core::BatchCsr;
    /// use sparse_io::{MatrixFile, npz};
    ///
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("batch.npz");
    /// let two = BatchCsr::<f64>::new((1, 2), vec![0, 1, 3], vec![0, 1, 0, 2], vec![1, 0, 1], vec![1.0, 2.0, 3.0])?;
    /// npz::write_batch(&path, &two)?;
    /// let file = MatrixFile::open(&path)?;
    /// assert_eq!(file.batch_format()?, Some(npz::NpzFormat::Csr));
    /// let read: BatchCsr<f64> = file.read_batch()?;
    /// assert_eq!((read.count(), read.values()), (2, two.values()));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`npz::read_batch`] and [`npz::AnyBatch::into_typed`].
    pub fn read_batch<A: Axis, T: Scalar, I: Index, O: Index>(
        &self,
    ) -> Result<BatchCompressed<A, T, Host, I, O>> {
        let batch = match &self.source {
            Source::Npz(bytes) | Source::Npy(bytes) => npz::parse_batch_file(&self.path, bytes),
            Source::MatrixMarket(text) => npz::parse_batch_file(&self.path, &text.bytes),
            Source::Parts(set) => set.read_batch(),
        };
        batch.and_then(AnyBatch::into_typed).map_err(|error| self.named(error))
    }

    fn dense<T: Scalar>(&self, bytes: &[u8]) -> Result<Dense<T>> {
        npy::parse_file(&self.path, bytes)?.into_dense()
    }

    /// An error of the contents with the name of the file.
    fn named(&self, error: Error) -> Error {
        match error {
            Error::Format { .. }
            | Error::Shape { .. }
            | Error::Unsupported { .. }
            | Error::ValueOverflow { .. } => self.error(error.to_string()),
            other => other,
        }
    }

    fn error(&self, reason: String) -> Error {
        Error::File { path: self.path.clone(), line: None, reason }
    }

    fn text<'a>(&'a self, text: &'a Contents) -> Text<'a> {
        text.text(&self.path)
    }
}

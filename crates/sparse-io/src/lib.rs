//! Files for [nnz](https://docs.rs/nnz): Matrix Market, SciPy's `.npz` and NumPy's `.npy`, read and written.
//!
//! Every claim of a file is checked before it sizes an allocation, every matrix goes through the checked
//! constructors, and errors name the file and, for text, the line.
//!
//! Files are memory-mapped: no process may shorten or rewrite a file while it is read. A file is written whole or not
//! at all ([`Output`]).
//!
//! - [`MatrixFile`]: a file of any kind, opened once, for its sizes, its types and its matrix.
//! - [`matrix_market`], [`npz`], [`npy`]: the formats of files, to read and write with types known at compile time.
//! - [`any`]: arrays whose type is known only at run time.
//! - [`RowRanges`]: some rows of a matrix without the others in memory.
//! - [`stream`]: matrices decoded from bytes as they come.
//! - [`parts`]: a set of matrices in several files, which is a folder with a manifest.

pub mod any;
mod coo_to_csr;
mod csr_from_entries;
mod file;
pub mod matrix_market;
pub mod npy;
pub mod npz;
mod output;
mod parallel;
pub mod parts;
mod row_ranges;
mod signature;
mod source;
pub mod stream;

pub use csr_from_entries::{are_rows_too_many, csr_from_triplets};
pub use file::{Claim, MatrixFile};
pub use output::Output;
pub use row_ranges::RowRanges;

use source::has_extension;
use sparse_core::{Csr, DType, Error, Host, Index, Result, Scalar};
use std::path::Path;

/// The kinds of matrix files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileKind {
    /// `.mtx` and `.mtx.gz`
    MatrixMarket,
    /// `.npz`, as `scipy.sparse.save_npz` writes it
    Npz,
    /// `.npy`, a dense array
    Npy,
}

impl FileKind {
    /// The kind of a file, by its name.
    ///
    /// ```
    /// use sparse_io::FileKind;
    ///
    /// assert_eq!(FileKind::of("graph.mtx.gz")?, FileKind::MatrixMarket);
    /// assert!(FileKind::of("graph.csv").is_err());
    /// # Ok::<(), sparse_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Unsupported`] for any other name.
    pub fn of(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let packed = has_extension(path, "gz");
        let stem = if packed { Path::new(path.file_stem().unwrap_or_default()) } else { path };
        if has_extension(stem, "mtx") {
            Ok(Self::MatrixMarket)
        } else if has_extension(path, "npz") {
            Ok(Self::Npz)
        } else if has_extension(path, "npy") {
            Ok(Self::Npy)
        } else {
            Err(Error::unsupported(path.display(), "the name ends in none of .mtx, .mtx.gz, .npz and .npy"))
        }
    }
}

/// Reads a matrix of any kind to CSR; see [`MatrixFile::read_csr`].
///
/// ```
/// use sparse_core::{Csr, SparseFormat};
///
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("a.mtx");
/// std::fs::write(&path, "%%MatrixMarket matrix coordinate real general\n2 3 2\n1 1 5\n2 3 7\n")?;
/// let a: Csr<f64> = sparse_io::read_csr(&path)?;
/// assert_eq!((a.nrows(), a.ncols(), a.nnz()), (2, 3, 2));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// Those of [`MatrixFile::open`] and [`MatrixFile::read_csr`].
pub fn read_csr<T: Scalar, I: Index, O: Index>(path: impl AsRef<Path>) -> Result<Csr<T, Host, I, O>> {
    MatrixFile::open(path)?.read_csr()
}

/// Writes a CSR matrix to a file of the kind of its name: `.mtx`, `.mtx.gz` or `.npz`.
///
/// ```
/// use sparse_core::Csr;
///
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("identity.npz");
/// let a = Csr::<f64>::identity(3)?;
/// sparse_io::write_csr(&path, &a)?; // .mtx, .mtx.gz or .npz
/// let b: Csr<f64> = sparse_io::read_csr(&path)?;
/// assert!(a.triplets().eq(b.triplets()));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// [`Error::Io`] if the file cannot be written; [`Error::Unsupported`] for any other name, and for `f16` and `bf16` in
/// `.npz`.
pub fn write_csr<T: Scalar, I: Index, O: Index>(
    path: impl AsRef<Path>,
    matrix: &Csr<T, Host, I, O>,
) -> Result<()> {
    match FileKind::of(&path)? {
        FileKind::MatrixMarket => matrix_market::write_csr(path.as_ref(), matrix),
        FileKind::Npz => npz::write_csr(path.as_ref(), matrix),
        FileKind::Npy => Err(Error::unsupported(
            format_args!("writing {}", path.as_ref().display()),
            "a .npy file is dense; choose .mtx, .mtx.gz or .npz",
        )),
    }
}

/// The type of the values of a matrix file; see [`MatrixFile::value_type`].
///
/// ```
/// use sparse_core::{Csr, DType};
///
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("identity.npz");
/// sparse_io::write_csr(&path, &Csr::<f32>::identity(3)?)?;
/// assert_eq!(sparse_io::value_type(&path)?, DType::F32);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// Those of [`MatrixFile::open`] and [`MatrixFile::value_type`].
pub fn value_type(path: impl AsRef<Path>) -> Result<DType> {
    MatrixFile::open(path)?.value_type()
}

//! A sparse matrix of a file, whose types are known only at run time.

use super::batch;
use crate::any::{AnyIndices, AnyValues};
use crate::coo_to_csr::coo_to_csr;
use crate::csr_from_entries::{ENTRY_BYTES, check_row_claim, csr_from_triplets};
use serde::{Deserialize, Serialize};
use sparse_core::{Axis, Col, Compressed, Coo, Csc, Csr, DType, Error, Host, Index, Result, Row, Scalar};

/// The formats of sparse matrices in `.npz` files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum NpzFormat {
    /// Compressed by rows.
    Csr,
    /// Compressed by columns.
    Csc,
    /// Coordinates.
    Coo,
}

impl NpzFormat {
    pub(super) fn from_name(name: &[u8]) -> Result<Self, String> {
        match name {
            b"csr" => Ok(Self::Csr),
            b"csc" => Ok(Self::Csc),
            b"coo" => Ok(Self::Coo),
            name if batch::format_of(name).is_some() => {
                Err(format!("`{}` is a batch of matrices, not one matrix", name.escape_ascii()))
            }
            other => {
                let name = other.escape_ascii();
                Err(format!(
                    "`{name}` is none of csr, csc, coo, bsr, dia; SciPy converts it: save_npz(file, load_npz(file).tocsr())"
                ))
            }
        }
    }

    /// `csr`, `csc` or `coo`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Csr => "csr",
            Self::Csc => "csc",
            Self::Coo => "coo",
        }
    }

    /// The names of the two arrays of indices in a file.
    pub(super) fn index_keys(self) -> (&'static str, &'static str) {
        match self {
            Self::Csr | Self::Csc => ("indptr", "indices"),
            Self::Coo => ("row", "col"),
        }
    }
}

/// A sparse matrix from a file: its types are known only at run time, its arrays not yet checked.
#[derive(Debug, Clone, PartialEq)]
pub struct AnySparse {
    /// The format, which gives the arrays their meaning.
    pub format: NpzFormat,
    /// The number of rows.
    pub rows: usize,
    /// The number of columns.
    pub cols: usize,
    /// Offsets of the rows (CSR) or columns (CSC); rows (COO).
    pub major: AnyIndices,
    /// Columns (CSR, COO); rows (CSC).
    pub minor: AnyIndices,
    /// One value per entry.
    pub values: AnyValues,
}

impl AnySparse {
    /// The type of the values.
    pub fn dtype(&self) -> DType {
        self.values.dtype()
    }

    /// The matrix as CSR. A CSR file's order and duplicates stay as they are; from CSC and COO, rows are sorted and
    /// duplicates added.
    ///
    /// ```
    /// use sparse_core::{Csc, Csr};
    /// use sparse_io::npz;
    ///
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("a.npz");
    /// let csc = Csc::<f32>::new(2, 2, vec![0, 1, 2], vec![1, 0], vec![3.0, 1.0])?;
    /// npz::write_csc(&path, &csc)?;
    /// let csr: Csr<f64> = npz::read(&path)?.into_csr()?; // another format, another type
    /// assert!(csr.triplets().eq([(0, 1, 1.0), (1, 0, 3.0)]));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Those of the checked constructors and of [`AnyValues::into_typed`] and [`AnyIndices::into_typed`].
    pub fn into_csr<T: Scalar, I: Index, O: Index>(self) -> Result<Csr<T, Host, I, O>> {
        match self.format {
            NpzFormat::Csr => self.into_compressed(),
            NpzFormat::Csc => {
                let csc: Csc<T, Host, I, O> = self.into_compressed()?;
                csr_from_triplets(csc.nrows(), csc.ncols(), csc.nnz(), || csc.triplets())
            }
            NpzFormat::Coo => {
                let shape = (self.rows, self.cols);
                O::try_new("rows", self.rows)?;
                check_row_claim(self.rows, size_of::<usize>(), self.values.len().saturating_mul(ENTRY_BYTES))
                    .map_err(|reason| Error::format("csr", reason))?;
                let (rows, cols) = (self.major.into_typed("row")?, self.minor.into_typed("col")?);
                coo_to_csr(shape, (rows, cols, self.values.into_typed()?), false)
            }
        }
    }

    /// The matrix as COO, with entries in the order of the file; duplicates stay.
    ///
    /// ```
    /// use sparse_core::Coo;
    /// use sparse_io::npz;
    ///
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("a.npz");
    /// let a = Coo::<f64>::from_triplets(2, 2, [(1, 0, 4.0), (0, 1, 1.0)])?;
    /// npz::write_coo(&path, &a)?;
    /// let read: Coo<f64> = npz::read(&path)?.into_coo()?;
    /// assert!(read.triplets().eq(a.triplets()));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As for [`into_csr`](Self::into_csr).
    pub fn into_coo<T: Scalar, I: Index>(self) -> Result<Coo<T, Host, I>> {
        fn coordinates<A: Axis, T: Scalar, I: Index>(sparse: AnySparse) -> Result<Coo<T, Host, I>> {
            let matrix: Compressed<A, T, Host, I, i64> = sparse.into_compressed()?;
            Coo::<T, Host, I>::from_triplets(matrix.nrows(), matrix.ncols(), matrix.triplets())
        }
        match self.format {
            NpzFormat::Csr => coordinates::<Row, T, I>(self),
            NpzFormat::Csc => coordinates::<Col, T, I>(self),
            NpzFormat::Coo => self.into_coordinates(),
        }
    }

    fn into_compressed<A: Axis, T: Scalar, I: Index, O: Index>(self) -> Result<Compressed<A, T, Host, I, O>> {
        let (offsets, indices) = (self.major.into_typed("indptr")?, self.minor.into_typed("indices")?);
        Compressed::<A, T, Host, I, O>::new_unsorted(
            self.rows,
            self.cols,
            offsets,
            indices,
            self.values.into_typed()?,
        )
    }

    fn into_coordinates<T: Scalar, I: Index>(self) -> Result<Coo<T, Host, I>> {
        let (row_idx, col_idx) = (self.major.into_typed("row")?, self.minor.into_typed("col")?);
        Coo::<T, Host, I>::new(self.rows, self.cols, row_idx, col_idx, self.values.into_typed()?)
    }
}

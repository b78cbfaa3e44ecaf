//! The sparse formats of `--as` and `--format`.

use crate::file;
use anyhow::Result;
use clap::{Args, ValueEnum};
use nnz::io::{MatrixFile, are_rows_too_many};
use nnz::{DType, Device, Matrix};

/// A sparse format that products are computed in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// Compressed rows
    Csr,
    /// Compressed columns
    Csc,
    /// Coordinates
    Coo,
    /// Rows padded to the longest
    Ell,
    /// ELL of the cheapest width, the overflow as COO
    Hyb,
    /// SELL-C-σ: slices of 32 rows, each padded to its own width
    Sell,
}

/// The formats of `--format`, in which a matrix is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum StoredFormat {
    /// Compressed rows
    Csr,
    /// Coordinates: no row pointers, so any number of rows
    Coo,
}

/// The option of commands that compute with a matrix in either of these formats.
#[derive(Debug, Clone, Copy, Default, Args)]
pub(crate) struct ReadOptions {
    /// Format to read the matrix in [default: csr, or coo if there are too many rows or columns for csr]
    #[arg(long, value_name = "FORMAT", ignore_case = true)]
    format: Option<StoredFormat>,
}

impl ReadOptions {
    /// The format in which a matrix is read.
    pub(crate) fn format_of(self, file: &MatrixFile) -> Result<StoredFormat> {
        if let Some(format) = self.format {
            return Ok(format);
        }
        let claim = file.claim()?;
        let are_many = file.has_too_many_rows()? || are_rows_too_many(claim.cols, claim.stored);
        Ok(if are_many { StoredFormat::Coo } else { StoredFormat::Csr })
    }

    /// The matrix of a file in the memory of `device`.
    pub(crate) fn read(self, file: &MatrixFile, dtype: DType, device: &Device) -> Result<Matrix> {
        self.format_of(file)?.read(file, dtype, device)
    }
}

impl StoredFormat {
    /// The matrix of a file in this format in the memory of `device`.
    pub(crate) fn read(self, file: &MatrixFile, dtype: DType, device: &Device) -> Result<Matrix> {
        match self {
            Self::Csr => file::read(file, dtype, device),
            Self::Coo => Ok(Matrix::read_coo(device, file, dtype)?),
        }
    }
}

impl Format {
    /// All formats.
    pub(crate) const ALL: [Self; 6] = [Self::Csr, Self::Csc, Self::Coo, Self::Ell, Self::Hyb, Self::Sell];

    /// The name, as in `--as`.
    pub(crate) fn name(self) -> &'static str {
        nnz::Format::from(self).name()
    }
}

impl From<Format> for nnz::Format {
    fn from(format: Format) -> Self {
        match format {
            Format::Csr => Self::Csr,
            Format::Csc => Self::Csc,
            Format::Coo => Self::Coo,
            Format::Ell => Self::Ell,
            Format::Hyb => Self::Hyb,
            Format::Sell => Self::Sell,
        }
    }
}

//! Reductions of rows and columns, and norms.

use super::hypersparse::are_mostly_empty;
use crate::Device;
use crate::runtime::{Format, Matrix, Vector};
use sparse_core::op::Op;
use sparse_core::{DType, Error, Result, c64};
use std::str::FromStr;

pub use sparse_core::op::Reduction;

/// The lines of a matrix that are reduced to one number each.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Each {
    /// One result for each row: SciPy's `axis=1`.
    Row,
    /// One result for each column: SciPy's `axis=0`.
    Column,
}

/// A norm of a matrix.
///
/// ```
/// use nnz::Norm;
///
/// assert_eq!("fro".parse::<Norm>()?, Norm::Frobenius);
/// assert_eq!("2".parse::<Norm>().unwrap_err().to_string(), "unknown norm `2`: one of fro, 1, inf");
/// # Ok::<(), nnz::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Norm {
    /// The square root of the sum of squared magnitudes: `fro`.
    Frobenius,
    /// The largest sum of magnitudes of a column: `1`.
    One,
    /// The largest sum of magnitudes of a row: `inf`.
    Infinity,
}

impl FromStr for Norm {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        match name {
            "fro" => Ok(Self::Frobenius),
            "1" => Ok(Self::One),
            "inf" => Ok(Self::Infinity),
            _ => Err(Error::unknown_name("norm", name, &["fro", "1", "inf"])),
        }
    }
}

/// Reductions.
impl Matrix {
    /// One number for each row or column, in the type of the matrix; elements that are not stored are zeros, and count.
    ///
    /// Sums of real values are products with a vector of ones, with the cached plans of [`spmv`](Self::spmv), and means
    /// are such products divided by the number of elements, unless lines are far longer than there are entries. Batches
    /// have only sums and means. Other reductions read CSR by rows and CSC by columns, on the matrix's device; other
    /// formats are converted first. NaN stays NaN. For many reductions of one pattern make a
    /// [`ReducePlan`](crate::op::ReducePlan).
    ///
    /// ```
    /// use nnz::{Each, Reduction, prelude::*};
    /// let a = Csr::<f64>::new(2, 3, vec![0, 2, 3], vec![0, 2, 1], vec![1.0, 2.0, -3.0])?;
    /// let a = Matrix::from_typed(&Device::host()?, a)?;
    /// assert_eq!(a.reduce(Each::Row, Reduction::Sum)?.to_vec::<f64>()?, [3.0, -3.0]);
    /// assert_eq!(a.reduce(Each::Column, Reduction::Mean)?.to_vec::<f64>()?, [0.5, -1.5, 1.0]);
    /// assert_eq!(a.reduce(Each::Row, Reduction::Max)?.to_vec::<f64>()?, [2.0, 0.0]); // a zero that is not stored
    /// assert_eq!(a.reduce(Each::Row, Reduction::Variance)?.to_vec::<f64>()?, [2.0 / 3.0, 2.0]);
    /// assert_eq!(a.reduce(Each::Column, Reduction::Norm2)?.to_vec::<f64>()?, [1.0, 3.0, 2.0]);
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`Reduction::check`]; [`Unsupported`](crate::Error::Unsupported) for batches; those of
    /// [`to_format`](Self::to_format).
    pub fn reduce(&self, each: Each, by: Reduction) -> Result<Vector> {
        let (count, extent) = self.lines(each);
        by.check(self.dtype(), (count, extent))?;
        let mut results = Vector::zeros(self.device(), self.dtype(), count)?;
        // A complex infinity times one is NaN, and a very long vector of ones takes more memory than the entries.
        let are_few = !are_mostly_empty(extent, self.nnz());
        let has_ones = are_few || ![Format::Coo, each.format()].contains(&self.format());
        let are_products = (has_ones && !self.dtype().is_complex()) || self.members().is_some();
        match by {
            Reduction::Sum if are_products => self.add_up(each, 1.0, &mut results)?,
            Reduction::Mean if are_products => self.add_up(each, 1.0 / extent as f64, &mut results)?,
            _ => self.to_format(each.format())?.any().reduce(by, &mut results)?,
        }
        Ok(results)
    }

    /// A norm, in double precision.
    ///
    /// Entries of one coordinate are added first. The norm of a matrix without elements is 0, and no square overflows.
    /// The matrix's device computes it for values in double precision; other values are widened on the host first.
    ///
    /// ```
    /// use nnz::{Norm, prelude::*};
    /// let a = Csr::<f64>::new(2, 2, vec![0, 2, 3], vec![0, 1, 1], vec![3.0, -4.0, 12.0])?;
    /// let a = Matrix::from_typed(&Device::host()?, a)?;
    /// let norms = [Norm::Frobenius, Norm::One, Norm::Infinity].map(|norm| a.norm(norm).unwrap_or(f64::NAN));
    /// assert_eq!(norms, [13.0, 16.0, 12.0]);
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Unsupported`](crate::Error::Unsupported) for batches; an error of the device's runtime.
    pub fn norm(&self, norm: Norm) -> Result<f64> {
        let a = self.in_double_precision()?.without_empty_lines()?;
        let each = match norm {
            Norm::Frobenius => return a.frobenius_norm(),
            Norm::One => Each::Column,
            Norm::Infinity => Each::Row,
        };
        let sums = a.reduce(each, Reduction::Norm1)?.to_device(&Device::host()?)?.cast(DType::C64)?;
        Ok(sums.to_vec::<c64>()?.into_iter().fold(0.0, |largest, sum| larger(largest, sum.re)))
    }

    /// The matrix with values in double precision: itself, or a copy in the host's memory.
    fn in_double_precision(&self) -> Result<Self> {
        let wide = match self.dtype() {
            DType::F64 | DType::C64 => return Ok(self.clone()),
            DType::C32 => DType::C64,
            DType::F16 | DType::Bf16 | DType::F32 => DType::F64,
        };
        match self.device() {
            Device::Cpu(_) => self.cast(wide),
            Device::Accelerator(..) => self.to_device(&Device::host()?)?.cast(wide),
        }
    }

    /// (number of lines, elements of each)
    fn lines(&self, each: Each) -> (usize, usize) {
        (each.of(self.nrows(), self.ncols()), each.of(self.ncols(), self.nrows()))
    }

    /// The sums of the lines, times a weight.
    fn add_up(&self, each: Each, weight: f64, sums: &mut Vector) -> Result<()> {
        let op = if each == Each::Row { Op::None } else { Op::Transpose };
        self.spmv(op, weight, &self.ones(self.lines(each).1)?, 0.0, sums)
    }

    fn frobenius_norm(&self) -> Result<f64> {
        let a = self.to_csr_or_csc()?;
        match a.any().norm_of_values()? {
            Some(norm) => Ok(norm),
            None => a.added_up()?.frobenius_norm(),
        }
    }

    /// The matrix in CSR or CSC, sorted, with entries of one coordinate added.
    fn added_up(&self) -> Result<Self> {
        self.add(self, 1.0, 0.0)
    }
}

impl Each {
    /// The format that stores these lines one after another.
    pub(crate) fn format(self) -> Format {
        match self {
            Self::Row => Format::Csr,
            Self::Column => Format::Csc,
        }
    }

    /// The row or the column of an element.
    fn of(self, row: usize, col: usize) -> usize {
        match self {
            Self::Row => row,
            Self::Column => col,
        }
    }
}

/// The larger of two numbers; NaN if one of them is.
fn larger(a: f64, b: f64) -> f64 {
    if a.is_nan() || b.is_nan() { f64::NAN } else { a.max(b) }
}

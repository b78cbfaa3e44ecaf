//! Reductions of rows and columns, and norms.

use super::{Matrix, Vector};
use sparse_core::op::Op;
use sparse_core::{Error, Result, Scalar, c64, with_dtype};
use std::str::FromStr;

/// The lines of a matrix that are reduced to one number each.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Each {
    /// One result for each row: SciPy's `axis=1`.
    Row,
    /// One result for each column: SciPy's `axis=0`.
    Column,
}

/// A reduction of a row or a column to one number. Elements that are not stored are zeros, and count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Reduction {
    /// The sum.
    Sum,
    /// The sum divided by the number of elements.
    Mean,
    /// The smallest element, of real numbers.
    Min,
    /// The largest element, of real numbers.
    Max,
}

/// A norm of a matrix.
///
/// ```
/// use nnz::Norm;
///
/// assert_eq!("fro".parse(), Ok(Norm::Frobenius));
/// assert_eq!("2".parse::<Norm>().unwrap_err(), "unknown norm `2`: one of fro, 1, inf");
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
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        match name {
            "fro" => Ok(Self::Frobenius),
            "1" => Ok(Self::One),
            "inf" => Ok(Self::Infinity),
            _ => Err(format!("unknown norm `{name}`: one of fro, 1, inf")),
        }
    }
}

impl FromStr for Reduction {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        match name {
            "sum" => Ok(Self::Sum),
            "mean" => Ok(Self::Mean),
            "min" => Ok(Self::Min),
            "max" => Ok(Self::Max),
            _ => Err(format!("unknown reduction `{name}`: one of sum, mean, min, max")),
        }
    }
}

/// Reductions.
impl Matrix {
    /// One number for each row or column, in the type of the matrix.
    ///
    /// Sums are products with a vector of ones, by the plans that [`spmv`](Self::spmv) keeps, and means such products
    /// divided by the number of elements. The least and the largest elements are found by the host; NaN stays NaN.
    ///
    /// # Errors
    /// [`Shape`](Error::Shape) for means, least and largest elements of lines without elements;
    /// [`Unsupported`](Error::Unsupported) for the least and the largest of complex numbers; what the device's runtime
    /// reports.
    ///
    /// ```
    /// use nnz::{Each, Reduction, prelude::*};
    /// let a = Csr::<f64>::new(2, 3, vec![0, 2, 3], vec![0, 2, 1], vec![1.0, 2.0, -3.0])?;
    /// let a = Matrix::from_typed(&"cpu".parse()?, a)?;
    /// assert_eq!(a.reduce(Each::Row, Reduction::Sum)?.to_vec::<f64>()?, [3.0, -3.0]);
    /// assert_eq!(a.reduce(Each::Column, Reduction::Mean)?.to_vec::<f64>()?, [0.5, -1.5, 1.0]);
    /// assert_eq!(a.reduce(Each::Row, Reduction::Max)?.to_vec::<f64>()?, [2.0, 0.0]); // a zero that is not stored
    /// # Ok::<(), Error>(())
    /// ```
    pub fn reduce(&self, each: Each, by: Reduction) -> Result<Vector> {
        let (_, extent) = self.lines(each);
        if extent == 0 && by != Reduction::Sum {
            return Err(Error::shape(
                "reduce",
                "the rows or columns have no elements; only their sums exist",
            ));
        }
        match by {
            Reduction::Sum => self.weighted_sums(each, 1.0),
            Reduction::Mean => self.weighted_sums(each, 1.0 / extent as f64),
            Reduction::Min => self.extremes(each, f64::min),
            Reduction::Max => self.extremes(each, f64::max),
        }
    }

    /// A norm, in double precision.
    ///
    /// Entries of one coordinate are added first. The norm of a matrix without elements is 0. The host computes it.
    ///
    /// # Errors
    /// [`Unsupported`](Error::Unsupported) for batches; what the device's runtime reports.
    ///
    /// ```
    /// use nnz::{Norm, prelude::*};
    /// let a = Csr::<f64>::new(2, 2, vec![0, 2, 3], vec![0, 1, 1], vec![3.0, -4.0, 12.0])?;
    /// let a = Matrix::from_typed(&"cpu".parse()?, a)?;
    /// let norms = [Norm::Frobenius, Norm::One, Norm::Infinity].map(|norm| a.norm(norm).unwrap_or(f64::NAN));
    /// assert_eq!(norms, [13.0, 16.0, 12.0]);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn norm(&self, norm: Norm) -> Result<f64> {
        let each = match norm {
            Norm::Frobenius => return self.frobenius_norm(),
            Norm::One => Each::Column,
            Norm::Infinity => Each::Row,
        };
        let mut sums = vec![0.0; self.lines(each).0];
        self.added_up()?.for_each_entry(&mut |row, col, value| sums[each.of(row, col)] += value.norm())?;
        Ok(sums.into_iter().fold(0.0, |largest, sum| pick(f64::max, largest, sum)))
    }

    /// (number of lines, elements of each)
    fn lines(&self, each: Each) -> (usize, usize) {
        (each.of(self.nrows(), self.ncols()), each.of(self.ncols(), self.nrows()))
    }

    /// The sums of the lines, times a weight.
    fn weighted_sums(&self, each: Each, weight: f64) -> Result<Vector> {
        let op = if each == Each::Row { Op::None } else { Op::Transpose };
        let (count, extent) = self.lines(each);
        let ones = self.ones(extent)?;
        let mut sums = Vector::zeros(self.device(), self.dtype(), count)?;
        self.spmv(op, weight, &ones, 0.0, &mut sums)?;
        Ok(sums)
    }

    /// The least or largest element of each row or column: the one that `choose` takes of two.
    fn extremes(&self, each: Each, choose: fn(f64, f64) -> f64) -> Result<Vector> {
        if self.dtype().is_complex() {
            return Err(Error::unsupported("the least or largest of complex numbers", "they have no order"));
        }
        let (count, extent) = self.lines(each);
        let mut found: Vec<Option<f64>> = vec![None; count];
        let mut stored = vec![0; count];
        self.added_up()?.for_each_entry(&mut |row, col, value| {
            let line = each.of(row, col);
            stored[line] += 1;
            found[line] = Some(found[line].map_or(value.re, |found| pick(choose, found, value.re)));
        })?;
        let result = |(found, stored): (Option<f64>, usize)| match found {
            Some(found) if stored == extent => found,
            found => pick(choose, found.unwrap_or(0.0), 0.0),
        };
        let results = found.into_iter().zip(stored).map(result).map(|value| c64::new(value, 0.0));
        with_dtype!(self.dtype(), T => Vector::from_vec(self.device(), results.map(T::from_c64).collect()))
    }

    /// The square root of the sum of squares, each divided by the largest, so that none overflows.
    fn frobenius_norm(&self) -> Result<f64> {
        let (mut largest, mut sum, mut not_finite) = (0.0_f64, 0.0, 0.0);
        self.added_up()?.for_each_entry(&mut |_, _, value| {
            let magnitude = value.norm();
            if !magnitude.is_finite() {
                not_finite += magnitude;
            } else if magnitude > largest {
                sum = 1.0 + sum * (largest / magnitude).powi(2);
                largest = magnitude;
            } else if magnitude > 0.0 {
                sum += (magnitude / largest).powi(2);
            }
        })?;
        Ok(if not_finite == 0.0 { largest * sum.sqrt() } else { not_finite })
    }

    /// The matrix in CSR or CSC, sorted, with entries of one coordinate added.
    fn added_up(&self) -> Result<Self> {
        self.add(self, 1.0, 0.0)
    }
}

impl Each {
    /// The row or the column of an element.
    fn of(self, row: usize, col: usize) -> usize {
        match self {
            Self::Row => row,
            Self::Column => col,
        }
    }
}

/// The chosen of two numbers; NaN if one of them is.
fn pick(choose: fn(f64, f64) -> f64, a: f64, b: f64) -> f64 {
    if a.is_nan() || b.is_nan() { f64::NAN } else { choose(a, b) }
}

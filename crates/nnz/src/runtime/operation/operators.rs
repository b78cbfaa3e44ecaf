//! Operators: `&a * &x`, `&a * &b` of a dense or a sparse B; `2.0 * &a`, `-&a`, `&a + &b` and `&a - &b` of matrices and
//! of vectors.
//!
//! All give a [`Result`]: types, shapes and devices are known only at run time, and a mismatch is an error, not a
//! panic.

use crate::runtime::{DenseMatrix, Format, Matrix, Vector};
use sparse_core::{Result, c64};
use std::ops::{Add, Mul, Neg, Sub};

/// As [`Matrix::matvec`].
impl Mul<&Vector> for &Matrix {
    type Output = Result<Vector>;

    fn mul(self, x: &Vector) -> Result<Vector> {
        self.matvec(x)
    }
}

/// As [`Matrix::matmul`].
impl Mul<&DenseMatrix> for &Matrix {
    type Output = Result<DenseMatrix>;

    fn mul(self, b: &DenseMatrix) -> Result<DenseMatrix> {
        self.matmul(b)
    }
}

/// As [`Matrix::matmul_sparse`], for any two formats of one matrix: A of a format without this product is converted to
/// CSR, and B to the format of A.
///
/// ```
/// # use nnz::prelude::*;
/// let a = Csr::<f64>::new(2, 3, vec![0, 2, 3], vec![0, 2, 1], vec![1.0, 2.0, 3.0])?;
/// let a = Matrix::from_typed(&Device::host()?, a)?;
/// let gram = (&a.transpose()? * &a)?; // CSC times CSR
/// assert_eq!((gram.format(), gram.shape(), gram.nnz()), (Format::Csc, (3, 3), 5));
/// # Ok::<(), Error>(())
/// ```
impl Mul for &Matrix {
    type Output = Result<Matrix>;

    fn mul(self, b: Self) -> Result<Matrix> {
        if self.members().or(b.members()).is_some() {
            return self.matmul_sparse(b);
        }
        self.check_product(b)?;
        let format = if self.format() == Format::Csc { Format::Csc } else { Format::Csr };
        self.to_format(format)?.matmul_sparse(&b.to_format(format)?)
    }
}

/// As [`Matrix::scaled`].
impl Mul<f64> for &Matrix {
    type Output = Result<Matrix>;

    fn mul(self, factor: f64) -> Result<Matrix> {
        self.scaled(factor)
    }
}

/// As [`Matrix::scaled`].
impl Mul<c64> for &Matrix {
    type Output = Result<Matrix>;

    fn mul(self, factor: c64) -> Result<Matrix> {
        self.scaled(factor)
    }
}

/// As [`Matrix::scaled`].
impl Mul<&Matrix> for f64 {
    type Output = Result<Matrix>;

    fn mul(self, a: &Matrix) -> Result<Matrix> {
        a.scaled(self)
    }
}

/// As [`Matrix::scaled`], by −1.
impl Neg for &Matrix {
    type Output = Result<Matrix>;

    fn neg(self) -> Result<Matrix> {
        self.scaled(-1.0)
    }
}

/// As [`Matrix::add`] with factors of 1.
impl Add for &Matrix {
    type Output = Result<Matrix>;

    fn add(self, b: &Matrix) -> Result<Matrix> {
        Matrix::add(self, b, 1.0, 1.0)
    }
}

/// As [`Matrix::add`] with factors of 1 and −1.
impl Sub for &Matrix {
    type Output = Result<Matrix>;

    fn sub(self, b: &Matrix) -> Result<Matrix> {
        Matrix::add(self, b, 1.0, -1.0)
    }
}

/// As [`Vector::scale`] of a copy.
impl Mul<f64> for &Vector {
    type Output = Result<Vector>;

    fn mul(self, factor: f64) -> Result<Vector> {
        scaled(self, factor.into())
    }
}

/// As [`Vector::scale`] of a copy.
impl Mul<c64> for &Vector {
    type Output = Result<Vector>;

    fn mul(self, factor: c64) -> Result<Vector> {
        scaled(self, factor)
    }
}

/// As [`Vector::scale`] of a copy.
impl Mul<&Vector> for f64 {
    type Output = Result<Vector>;

    fn mul(self, x: &Vector) -> Result<Vector> {
        scaled(x, self.into())
    }
}

/// As [`Vector::scale`] of a copy, by −1.
impl Neg for &Vector {
    type Output = Result<Vector>;

    fn neg(self) -> Result<Vector> {
        scaled(self, (-1.0).into())
    }
}

/// As [`Vector::axpby`] of a copy with factors of 1.
///
/// ```
/// # use nnz::prelude::*;
/// let device = Device::host()?;
/// let a = Matrix::from_typed(&device, Csr::<f64>::identity(2)?)?;
/// let (x, b) = (Vector::from_slice(&device, &[1.0, 2.0])?, Vector::from_slice(&device, &[4.0, 2.0])?);
/// let residual = (&b - &(&a * &x)?)?;
/// assert_eq!(residual.to_vec::<f64>()?, [3.0, 0.0]);
/// assert_eq!((&x + &residual)?.to_vec::<f64>()?, [4.0, 2.0]);
/// # Ok::<(), Error>(())
/// ```
impl Add for &Vector {
    type Output = Result<Vector>;

    fn add(self, y: &Vector) -> Result<Vector> {
        let mut sum = y.clone();
        sum.axpby(1.0, self, 1.0)?;
        Ok(sum)
    }
}

/// As [`Vector::axpby`] of a copy with factors of 1 and −1.
impl Sub for &Vector {
    type Output = Result<Vector>;

    fn sub(self, y: &Vector) -> Result<Vector> {
        let mut difference = y.clone();
        difference.axpby(1.0, self, -1.0)?;
        Ok(difference)
    }
}

fn scaled(x: &Vector, factor: c64) -> Result<Vector> {
    let mut scaled = x.clone();
    scaled.scale(factor)?;
    Ok(scaled)
}

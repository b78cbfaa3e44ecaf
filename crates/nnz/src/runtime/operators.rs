//! `&a * &x`, `&a * &b` of a dense or a sparse B, and `&a * 2.0`; `&a + &b` and `&a - &b`.
//!
//! All give a [`Result`]: types, shapes and devices are data here, and what depends on data does not panic.

use super::{DenseMatrix, Matrix, Vector};
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

/// As [`Matrix::matmul_sparse`].
impl Mul for &Matrix {
    type Output = Result<Matrix>;

    fn mul(self, b: Self) -> Result<Matrix> {
        self.matmul_sparse(b)
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

//! A problem: a case with values of one type.

use super::definition::{Case, Operands};
use super::pseudo_random::{fraction, small_integer};
use crate::scalar_properties::{Arithmetic, round};
use crate::triplets::Triplets;
use sparse_core::{DType, c64};

/// A case with values of one type, for a subject.
#[derive(Debug)]
pub struct Problem<'a> {
    /// The case.
    pub case: &'a Case,
    /// The type of the values.
    pub dtype: DType,
    /// The matrix, rounded to the type.
    pub matrix: Triplets,
    /// True if rounding changed nothing, so that all types that represent the case have one answer.
    pub(crate) unrounded: bool,
    pub(crate) arithmetic: Arithmetic,
}

impl<'a> Problem<'a> {
    /// The case in values of type `dtype`, or `None` if a value does not fit the type. With `flushes`, the backend
    /// takes subnormal numbers for zeros.
    pub fn new(case: &'a Case, matrix: &Triplets, dtype: DType, flushes: bool) -> Option<Self> {
        let arithmetic = Arithmetic::of(dtype, flushes);
        let rounded = matrix.rounded(dtype)?;
        Some(Self { case, dtype, unrounded: rounded == *matrix, matrix: rounded, arithmetic })
    }

    /// The same pattern with other values.
    pub(crate) fn with_other_values(&self) -> Self {
        Self { matrix: self.matrix.with_other_values(), ..*self }
    }

    /// The same problem for an algorithm that rounds factors of products to this many bits.
    pub(crate) fn rounding_factors_to(&self, bits: u32) -> Self {
        let arithmetic = Arithmetic { factor_bits: Some(bits), ..self.arithmetic };
        Self { matrix: self.matrix.clone(), arithmetic, ..*self }
    }

    /// True if all numbers are integers.
    pub(crate) fn is_exact(&self) -> bool {
        matches!(self.case.operands, Operands::Integers | Operands::Special(_))
    }

    /// True if operands with `columns` columns have few elements: making and comparing them takes most of the harness's
    /// time.
    pub(crate) fn has_few_elements(&self, columns: usize) -> bool {
        (self.matrix.rows + self.matrix.cols) * columns <= 50_000
    }

    /// Element (row, col) of the input operand.
    pub(crate) fn x(&self, row: usize, col: usize) -> c64 {
        let value = match self.case.operands {
            Operands::Integers => small_integer(row, col),
            Operands::Reals => fraction(row, col),
            Operands::Special(element) => element(row),
        };
        round(self.dtype, value).unwrap_or(value)
    }

    /// Element (row, col) of the output before the run; even integers, so that half of them is exact.
    pub(crate) fn y(&self, row: usize, col: usize) -> c64 {
        let value = match self.case.operands {
            Operands::Reals => fraction(row + 7, col + 11),
            _ => 2.0 * small_integer(row + 7, col + 11),
        };
        round(self.dtype, value).unwrap_or(value)
    }
}

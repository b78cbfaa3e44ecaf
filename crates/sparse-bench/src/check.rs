//! The exact values of a product, in double precision, and the bound of its error.

use crate::value::Value;
use crate::workload::{Pattern, threads};
use anyhow::{Result, ensure};
use sparse_core::{Csr, Scalar, c64};
use std::thread;

/// The most multiplications of a comparison; beyond, some rows are skipped.
const MAX_PRODUCTS: usize = 1 << 28;

/// The right result of an operation.
pub(crate) trait Answer {
    /// The number of elements.
    fn elements(&self) -> usize;

    /// An error for the first element that is not right.
    fn check<T: Scalar>(&self, found: &[T]) -> Result<()>;
}

/// Elements without a rounding error.
pub(crate) struct Exact<T>(pub(crate) Vec<T>);

impl<R: Scalar> Answer for Exact<R> {
    fn elements(&self) -> usize {
        self.0.len()
    }

    fn check<T: Scalar>(&self, found: &[T]) -> Result<()> {
        for (k, (found, &right)) in found.iter().zip(&self.0).enumerate() {
            ensure!(found.to_c64() == right.to_c64(), "element {k} is {found}, which is not {right}");
        }
        Ok(())
    }
}

/// Rows of `A·B`; the elements of B, by rows, are those of a pattern.
#[derive(Clone)]
pub(crate) struct Expected {
    columns: usize,
    elements: usize,
    /// The numbers of the rows, and of their entries.
    rows: Vec<(usize, usize)>,
    /// The sums of each of the rows, one per column.
    sums: Vec<Sum>,
    /// Significant bits to which factors of products may be rounded; `None` if they may not be.
    factor_bits: Option<u32>,
}

#[derive(Clone, Copy, Default)]
struct Sum {
    value: c64,
    /// Σ|a||b|.
    magnitude: f64,
}

impl Expected {
    /// Every row, or an affordable number at equal distances, and the longest.
    pub(crate) fn new<T: Value>(a: &Csr<T>, b: &Pattern<T>, columns: usize) -> Self {
        let lengths = a.row_lengths();
        let stride = (a.nnz() * columns).div_ceil(MAX_PRODUCTS).max(1) | 1;
        let longest = (0..a.nrows()).max_by_key(|&row| lengths[row]);
        let rows = (0..a.nrows()).step_by(stride).chain(longest);
        let rows: Vec<_> = rows.map(|row| (row, lengths[row])).collect();
        let parts = rows.chunks(rows.len().div_ceil(4 * threads()).max(1));
        let sums = thread::scope(|scope| {
            let running: Vec<_> = parts.map(|part| scope.spawn(move || sums(a, b, columns, part))).collect();
            running.into_iter().flat_map(|part| part.join().unwrap_or_default()).collect()
        });
        Self { columns, elements: a.nrows() * columns, rows, sums, factor_bits: None }
    }

    /// The results of an algorithm that rounds the factors of products to these bits, if any.
    pub(crate) fn with_factor_bits(self, factor_bits: Option<u32>) -> Self {
        Self { factor_bits, ..self }
    }
}

impl Answer for Expected {
    fn elements(&self) -> usize {
        self.elements
    }

    /// An error for the first element outside the componentwise bound, or for NaN, the old value of unwritten elements.
    fn check<T: Scalar>(&self, found: &[T]) -> Result<()> {
        ensure!(!any_nan(found), "not all elements were written, or some are NaN");
        for (&(row, entries), sums) in self.rows.iter().zip(self.sums.chunks(self.columns)) {
            for (col, sum) in sums.iter().enumerate() {
                let found = found[row * self.columns + col].to_c64();
                let bound = sum.bound::<T>(entries) + self.factor_bits.map_or(0.0, |bits| sum.rounding(bits));
                ensure!(
                    (found - sum.value).norm() <= bound,
                    "row {row}, column {col} is {found}, which is not within {bound} of {}",
                    sum.value
                );
            }
        }
        Ok(())
    }
}

/// The sums of some rows.
fn sums<T: Value>(a: &Csr<T>, b: &Pattern<T>, columns: usize, rows: &[(usize, usize)]) -> Vec<Sum> {
    let mut sums = vec![Sum::default(); rows.len() * columns];
    for (&(row, _), sums) in rows.iter().zip(sums.chunks_mut(columns)) {
        for (col, value) in a.major_entries(row) {
            for (sum, &element) in sums.iter_mut().zip(b.at(col * columns, columns)) {
                let product = value.to_c64() * element.to_c64();
                sum.value += product;
                sum.magnitude += product.norm();
            }
        }
    }
    sums
}

impl Sum {
    /// `2·γ_{k+2}·Σ|a||b|`; no product is near the smallest numbers. Of the k + 2 roundoffs k − 1 are those of
    /// additions and 3 of a product, which has up to √5 if it is complex (Brent, Percival and Zimmermann, 2007).
    fn bound<T: Scalar>(self, entries: usize) -> f64 {
        let roundoff = (0.5_f64).powi(T::PRECISION as i32);
        let steps = (entries + 2) as f64 * roundoff;
        2.0 * steps / (1.0 - steps) * self.magnitude
    }

    /// The largest error by rounding both factors of products to these bits.
    fn rounding(self, bits: u32) -> f64 {
        let roundoff = (0.5_f64).powi(bits as i32);
        (2.0 + roundoff) * roundoff * self.magnitude
    }
}

fn any_nan<T: Scalar>(values: &[T]) -> bool {
    let parts = values.chunks(values.len().div_ceil(threads()).max(1));
    thread::scope(|scope| {
        let has_nan = |part: &[T]| part.iter().any(|value| value.to_c64().is_nan());
        let running: Vec<_> = parts.map(|part| scope.spawn(move || has_nan(part))).collect();
        running.into_iter().any(|part| part.join().unwrap_or(true))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use sparse_generate::stencil_5;

    #[test]
    fn what_is_right_passes_and_what_is_a_little_wrong_does_not() {
        let (columns, b) = (3, Pattern::<f32>::new(3));
        let a: Csr<f32> = stencil_5(9, 8).unwrap();
        let mut c = vec![0.0_f32; a.nrows() * columns];
        for (row, col, value) in a.triplets() {
            for (k, element) in b.at(col * columns, columns).iter().enumerate() {
                c[row * columns + k] += value * element;
            }
        }
        let expected = Expected::new(&a, &b, columns);
        expected.check(&c).unwrap();
        for wrong in [c[100] + 0.001, f32::NAN] {
            let right = std::mem::replace(&mut c[100], wrong);
            assert!(expected.check(&c).is_err(), "{wrong} in place of {right}");
            c[100] = right;
        }
    }
}

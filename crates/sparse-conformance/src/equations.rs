//! Systems of equations that an output must satisfy up to rounding.

use crate::array_dump::text;
use crate::error_bound::modulus;
use crate::guarded_operand::GuardedOperand;
use crate::scalar_properties::Arithmetic;
use crate::triplets::Triplets;
use sparse_core::c64;

/// T·X = B for triangular T, where the elements of X have no bound of their own, but the residual has.
#[derive(Debug, Clone)]
pub struct Equations {
    /// Column and value of the entries of each row of T, its diagonal among them.
    rows: Vec<Vec<(usize, c64)>>,
    b: GuardedOperand,
    arithmetic: Arithmetic,
}

impl Equations {
    pub(crate) fn new(matrix: &Triplets, b: &GuardedOperand, arithmetic: &Arithmetic) -> Self {
        let mut rows = vec![vec![]; matrix.rows];
        matrix.entries.iter().for_each(|&(row, col, value)| rows[row].push((col, value)));
        Self { rows, b: b.clone(), arithmetic: *arithmetic }
    }

    /// The first equation that X does not satisfy, in words.
    ///
    /// Substitution has |b − T·x̂| ≤ γₖ·|T|·|x̂| in every component (Higham: Accuracy and stability of numerical
    /// algorithms. 2nd edition 2002, theorem 8.5), which is doubled for the residual's own rounding; x̂ in a narrower
    /// type than the accumulator adds its rounding times the diagonal.
    pub(crate) fn violation(&self, x: &GuardedOperand) -> Option<String> {
        let places = (0..x.frame.cols).flat_map(|col| (0..self.rows.len()).map(move |row| (row, col)));
        places.into_iter().find_map(|(row, col)| self.violation_at(row, col, x))
    }

    fn violation_at(&self, row: usize, col: usize, x: &GuardedOperand) -> Option<String> {
        let (mut residual, mut magnitude, mut diagonal) = (self.b.at(row, col), 0.0, 0.0);
        for &(k, value) in self.rows[row].iter().rev() {
            residual -= value * x.at(k, col);
            magnitude += modulus(value) * modulus(x.at(k, col));
            diagonal += if k == row { modulus(value) } else { 0.0 };
        }
        let Arithmetic { roundoff, storage_roundoff, tiny, complex, .. } = self.arithmetic;
        // A complex quotient is a dozen operations.
        let steps = (self.rows[row].len() + if complex { 14 } else { 2 }) as f64;
        let gamma = steps * roundoff / (1.0 - steps * roundoff);
        let bound = 2.0 * gamma * magnitude
            + 2.0 * storage_roundoff * diagonal * x.at(row, col).norm()
            + (steps + diagonal) * tiny;
        if residual.norm() <= bound {
            return None;
        }
        let found = text(residual);
        Some(format!("A1: row {row} of b − T·x in column {col} is {found}, expected 0 within {bound:e}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::guarded_operand::Frame;
    use sparse_core::DType;

    #[test]
    fn solutions_are_admitted_up_to_rounding_and_others_are_not() {
        let real = |value: f64| c64::new(value, 0.0);
        let matrix = Triplets::new(2, 2, vec![(0, 0, real(3.0)), (1, 0, real(1.0)), (1, 1, real(4.0))]);
        let vector = |values: [f64; 2]| GuardedOperand::input(Frame::vector(2), |row, _| real(values[row]));
        let equations = Equations::new(&matrix, &vector([1.0, 2.0]), &Arithmetic::of(DType::F64, false));
        let third = 1.0 / 3.0;
        let second = (2.0 - third) / 4.0;
        assert_eq!(equations.violation(&vector([third, second])), None);
        assert!(equations.violation(&vector([third, second + 1e-14])).unwrap().starts_with("A1: row 1 of"));
        assert!(equations.violation(&vector([f64::NAN, second])).unwrap().starts_with("A1: row 0 of"));
    }
}

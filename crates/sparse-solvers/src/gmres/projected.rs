//! The least-squares problem of GMRES in its Krylov space, on the host.

use crate::outcome::Breakdown;
use sparse_core::c64;

/// Minimizes ‖e₁ − H·y‖₂ while H, upper Hessenberg with a real subdiagonal, grows by columns. Each new column is
/// rotated into a triangular R, so that the norm is known at once.
///
/// All numbers have double precision, for vectors of any type: the code is compiled once, and is at least as exact.
#[derive(Debug)]
pub(super) struct Projected {
    epsilon: f64,
    /// The upper triangle by columns, with j + 1 elements in the j-th.
    r: Vec<c64>,
    rotations: Vec<Rotation>,
    /// The rotated right-hand side, one longer than R has columns.
    g: Vec<c64>,
}

/// [`cos`, `sin`; −`sin`, conj(`cos`)].
#[derive(Debug, Clone, Copy)]
struct Rotation {
    cos: c64,
    sin: f64,
}

impl Rotation {
    /// The rotation of (`a`, `b`) to (hypot(a, b), 0), which is not zero.
    fn eliminating(a: c64, b: f64) -> Self {
        let norm = a.norm().hypot(b);
        Self { cos: a.conj() / norm, sin: b / norm }
    }

    fn apply(self, a: c64, b: c64) -> (c64, c64) {
        (self.cos * a + self.sin * b, self.cos.conj() * b - self.sin * a)
    }
}

impl Projected {
    /// A problem without columns; `epsilon` is that of the vectors' type.
    pub(super) fn new(epsilon: f64) -> Self {
        Self { epsilon, r: vec![], rotations: vec![], g: vec![] }
    }

    /// Removes all columns.
    pub(super) fn start(&mut self) {
        self.r.clear();
        self.rotations.clear();
        self.g.clear();
        self.g.push(c64::new(1.0, 0.0));
    }

    pub(super) fn columns(&self) -> usize {
        self.rotations.len()
    }

    /// Zeros for the next column of H, without its subdiagonal.
    pub(super) fn next_column(&self) -> Vec<c64> {
        vec![c64::ZERO; self.columns() + 1]
    }

    /// Adds a column of H whose subdiagonal is `below`; `size` is the norm of the whole. Returns the subdiagonal, zero
    /// where `below` is rounding.
    ///
    /// # Errors
    /// [`Breakdown::SingularMatrix`] if the column depends on those before, and there will be no other.
    pub(super) fn push(&mut self, mut column: Vec<c64>, below: f64, size: f64) -> Result<f64, Breakdown> {
        let below = if below <= self.epsilon * size { 0.0 } else { below };
        let last = column.len() - 1;
        for (k, rotation) in self.rotations.iter().enumerate() {
            (column[k], column[k + 1]) = rotation.apply(column[k], column[k + 1]);
        }
        if below == 0.0 && column[last].norm() <= (last + 10) as f64 * self.epsilon * size {
            return Err(Breakdown::SingularMatrix);
        }
        let rotation = Rotation::eliminating(column[last], below);
        column[last] = column[last].norm().hypot(below).into();
        let (rotated, residual) = rotation.apply(self.g[last], c64::ZERO);
        self.g[last] = rotated;
        self.g.push(residual);
        self.r.append(&mut column);
        self.rotations.push(rotation);
        Ok(below)
    }

    /// The least norm.
    pub(super) fn residual(&self) -> f64 {
        self.g.last().map_or(0.0, |g| g.norm())
    }

    /// The y of the least norm.
    pub(super) fn solve(&self) -> Vec<c64> {
        let mut y = self.g[..self.columns()].to_vec();
        for j in (0..y.len()).rev() {
            let column = &self.r[j * (j + 1) / 2..][..=j];
            y[j] /= column[j].re;
            let (before, rest) = y.split_at_mut(j);
            for (y, r) in before.iter_mut().zip(column) {
                *y -= rest[0] * r;
            }
        }
        y
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(re: f64, im: f64) -> c64 {
        c64::new(re, im)
    }

    #[test]
    fn the_normal_equations_hold_for_complex_columns() {
        // H is 3 x 2, and e₁ − H·y has to be orthogonal to both of its columns.
        let columns = [
            [number(1.0, 2.0), number(3.0, 0.0), number(0.0, 0.0)],
            [number(-1.0, 0.5), number(2.0, -1.0), number(4.0, 0.0)],
        ];
        let mut projected = Projected::new(f64::EPSILON);
        projected.start();
        projected.push(columns[0][..1].to_vec(), 3.0, 4.0).unwrap();
        projected.push(columns[1][..2].to_vec(), 4.0, 5.0).unwrap();
        let y = projected.solve();
        let residual: Vec<c64> = (0..3)
            .map(|i| {
                number(f64::from(i == 0), 0.0) - columns[0][i as usize] * y[0] - columns[1][i as usize] * y[1]
            })
            .collect();
        for column in columns {
            let dot: c64 = column.iter().zip(&residual).map(|(h, r)| h.conj() * r).sum();
            assert!(dot.norm() < 1e-14, "{dot}");
        }
        let norm = residual.iter().map(|r| r.norm_sqr()).sum::<f64>().sqrt();
        assert!((norm - projected.residual()).abs() < 1e-14);
    }

    #[test]
    fn a_dependent_last_column_is_singular() {
        let mut projected = Projected::new(f64::EPSILON);
        projected.start();
        projected.push(vec![number(1.0, 0.0)], 1.0, 2.0).unwrap();
        // A column that is rotated to (√2, 0).
        let end = projected.push(vec![number(1.0, 0.0), number(1.0, 0.0)], 0.0, 2.0);
        assert_eq!(end, Err(Breakdown::SingularMatrix));
        assert_eq!(projected.columns(), 1);
    }
}

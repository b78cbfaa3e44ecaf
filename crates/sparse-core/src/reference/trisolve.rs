//! `op(A)·X = B` for triangular A, row by row, for every format.

use super::{Entries, Reference, algorithms, sequential};
use crate::error::Result;
use crate::format::{DenseView, DenseViewMut};
use crate::op::{AccOf, Diagonal, Triangular, TrisolveKernel, quotient};
use crate::plan::{Algorithm, Choice, KernelPlan, PlanOptions};
use crate::scalar::Scalar;
use num_traits::One;

/// The plan of a triangular solve: the system that is solved.
#[derive(Debug)]
pub struct TrisolveChoice {
    choice: Choice,
    system: Triangular,
}

impl KernelPlan for TrisolveChoice {
    fn choice(&self) -> &Choice {
        &self.choice
    }
}

impl<M: Entries> TrisolveKernel<M> for Reference {
    type Plan = TrisolveChoice;

    fn trisolve_algorithms(&self) -> &'static [Algorithm] {
        algorithms()
    }

    unsafe fn plan_trisolve(&self, a: &M, system: Triangular, options: &PlanOptions) -> Result<Self::Plan> {
        let choice = sequential("trisolve", options)?;
        if system.diagonal == Diagonal::Stored {
            let mut is_stored = vec![false; a.nrows()];
            a.entries().for_each(|(row, col, _)| is_stored[row] |= row == col);
            if let Some(row) = is_stored.iter().position(|is_stored| !is_stored) {
                return Err(Triangular::missing_diagonal(row));
            }
        }
        Ok(TrisolveChoice { choice, system })
    }

    unsafe fn run_trisolve(
        &self,
        plan: &mut Self::Plan,
        a: &M,
        b: DenseView<'_, M::Scalar>,
        mut x: DenseViewMut<'_, M::Scalar>,
    ) -> Result<()> {
        let (system, n) = (plan.system, a.nrows());
        let (rows, diagonal) = triangle(a, system);
        if let Some(row) = diagonal.iter().position(|diagonal| diagonal.is_zero()) {
            return Err(Triangular::zero_diagonal(row));
        }
        for column in 0..b.ncols() {
            for row in system.rows(n) {
                let mut sum = b.at(row, column).to_acc();
                for &(col, value) in &rows[row] {
                    sum -= value * x.as_view().at(col, column).to_acc();
                }
                *x.at_mut(row, column) = M::Scalar::from_acc(quotient(sum, diagonal[row]));
            }
        }
        Ok(())
    }
}

/// Column and value of each entry of a row that is not on the diagonal.
type Row<A> = Vec<(usize, A)>;

/// The rows of the triangle of op(A), and the diagonal.
fn triangle<M: Entries>(a: &M, system: Triangular) -> (Vec<Row<AccOf<M>>>, Vec<AccOf<M>>) {
    let (op, is_unit) = (system.op, system.diagonal == Diagonal::Unit);
    let mut rows = vec![vec![]; a.nrows()];
    let mut diagonal = vec![if is_unit { AccOf::<M>::one() } else { AccOf::<M>::ZERO }; a.nrows()];
    a.entries().for_each(|(i, j, value)| {
        let value = op.apply(value).to_acc();
        let (row, col) = if op.transposes() { (j, i) } else { (i, j) };
        if row == col && !is_unit {
            diagonal[row] += value;
        } else if system.solved_triangle().has(row, col) {
            rows[row].push((col, value));
        }
    });
    (rows, diagonal)
}

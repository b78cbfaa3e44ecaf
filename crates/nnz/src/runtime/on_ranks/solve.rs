//! Solutions of systems whose vectors rank 0 has.

use super::MatrixOnRanks;
#[cfg(doc)]
use crate::MatrixOnDevices;
use crate::runtime::rank::RankSizes;
use crate::runtime::{SolveOptions, Vector};
#[cfg(doc)]
use sparse_core::Error;
use sparse_core::Result;
use sparse_solvers::{Iteration, Solution};
use std::ops::ControlFlow;

impl MatrixOnRanks {
    /// The solution of A·x = b at rank 0, sought from x = 0, and how the iteration ended at all ranks. Not to converge
    /// is no error.
    ///
    /// # Errors
    /// Those of [`solve_from`](Self::solve_from).
    pub fn solve(
        &mut self,
        b: Option<&Vector>,
        options: &SolveOptions,
    ) -> Result<(Option<Vector>, Solution)> {
        let columns = self.sizes.columns.len();
        let mut x = self.agree("solve", self.zeros(columns))?;
        let solution = self.solve_from(b, x.as_mut(), options, |_| ControlFlow::Continue(()))?;
        Ok((x, solution))
    }

    /// Solves A·x = b from the `x` of rank 0, which gets the last iterate. The `callback` of rank 0 is called after
    /// each computation of the residual's norm, and may stop.
    ///
    /// # Errors
    /// On all ranks: those of [`MatrixOnDevices::solve_from`]; [`Operands`](Error::Operands) if rank 0 has no vectors.
    pub fn solve_from(
        &mut self,
        b: Option<&Vector>,
        x: Option<&mut Vector>,
        options: &SolveOptions,
        mut callback: impl FnMut(Iteration) -> ControlFlow<()> + Send,
    ) -> Result<Solution> {
        let RankSizes { rows, columns, .. } = &self.sizes;
        self.check_vectors("solve", [("b", b, rows), ("x", x.as_deref(), columns)])?;
        self.rank.solve(options, (b, rows), (x, columns), &mut callback)
    }
}

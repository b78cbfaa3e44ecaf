//! Solvers of systems whose vectors are at rank 0.

use super::MatrixOnRanks;
#[cfg(doc)]
use crate::MatrixOnDevices;
use crate::runtime::several_devices::rank::RankSizes;
use crate::runtime::{SolveOptions, Vector};
#[cfg(doc)]
use sparse_core::Error;
use sparse_core::Result;
use sparse_solvers::{Iteration, Solution};
use std::ops::ControlFlow;

impl MatrixOnRanks {
    /// Solves A·x = b from x = 0: the solution at rank 0, and on all ranks how the iteration ended. A solver that does
    /// not converge is no error.
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

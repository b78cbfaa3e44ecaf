//! The incomplete LU factorization without fill-in.

use super::Preconditioner;
use super::factors::{FactorSolves, RowPositions, check_pattern, check_sorted, missing_diagonal};
use sparse_core::backend::{SpaceOf, ViewOf};
use sparse_core::error::check_square;
use sparse_core::op::{Triangular, TrisolveKernel, quotient};
use sparse_core::{Accumulator, Csr, Error, Host, Index, Result};

const OP: &str = "ilu0";

/// Incomplete LU factors without fill-in: K = L·U with the pattern of A, (L·U)ᵢⱼ = aᵢⱼ wherever A has an entry.
///
/// The factorization runs on one thread of the host, without pivoting; an application is two triangular solves on the
/// backend, which has a copy of the factors.
///
/// J. A. Meijerink and H. A. van der Vorst, An iterative solution method for linear systems of which the coefficient
/// matrix is a symmetric M-matrix, Math. Comp. 31 (1977), 148–162. Y. Saad, Iterative methods for sparse linear
/// systems, 2nd edition 2003, algorithm 10.4.
///
/// ```
/// use sparse_core::{Csr, reference::Reference};
/// use sparse_solvers::{BiCgStab, Ilu0, SolverOptions};
/// use std::ops::ControlFlow;
///
/// let a = sparse_generate::stencil_5::<f64>(10, 10)?;
/// let ilu0 = Ilu0::new(&Reference, &a)?;
/// let mut x = vec![0.0; 100];
/// let mut solver = BiCgStab::new(&Reference, &a, ilu0, &SolverOptions::default())?;
/// assert!(solver.solve(&a, &[1.0; 100], &mut x, |_| ControlFlow::Continue(()))?.converged());
/// # Ok::<(), sparse_core::Error>(())
/// ```
#[derive(Debug)]
pub struct Ilu0<B, T, I = i32, O = i32>
where
    B: TrisolveKernel<Csr<T, SpaceOf<B>, I, O>>,
    T: Accumulator,
    I: Index,
    O: Index,
{
    factors: Csr<T, Host, I, O>,
    /// The place of each row's diagonal.
    diagonal: Vec<usize>,
    solves: FactorSolves<B, T, I, O>,
}

impl<B, T, I, O> Ilu0<B, T, I, O>
where
    B: TrisolveKernel<Csr<T, SpaceOf<B>, I, O>>,
    T: Accumulator,
    I: Index,
    O: Index,
{
    /// Factorizes `a`, whose rows are sorted and store the diagonal.
    ///
    /// ```
    /// # use sparse_core::{Csr, reference::Reference};
    /// # use sparse_solvers::Ilu0;
    /// let a = Csr::<f64>::new(2, 2, vec![0, 2, 4], vec![0, 1, 0, 1], vec![1.0, 2.0, 2.0, 4.0])?;
    /// let error = Ilu0::new(&Reference, &a).unwrap_err();
    /// assert_eq!(error.to_string(), "ilu0: row 1: the pivot is 0, which cannot be divided by");
    /// # Ok::<(), sparse_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Shape`](Error::Shape) if A is not square, [`Unsupported`](Error::Unsupported) if its rows are not sorted or
    /// have duplicates, [`Singular`](Error::Singular) with the first row whose diagonal is not stored or whose pivot is
    /// zero or not finite.
    pub fn new(backend: &B, a: &Csr<T, Host, I, O>) -> Result<Self> {
        check_square(OP, (a.nrows(), a.ncols()))?;
        check_sorted(OP, a)?;
        let diagonal = |row| {
            let position = a.major_entries(row).position(|(col, _)| col == row);
            let start = a.pattern().range(row).start;
            position.map(|position| start + position).ok_or_else(|| missing_diagonal(OP, row))
        };
        let diagonal = (0..a.nrows()).map(diagonal).collect::<Result<_>>()?;
        let systems = [Triangular::lower().unit_diagonal(), Triangular::upper()];
        let solves = FactorSolves::new(backend, a, systems)?;
        let mut ilu0 = Self { factors: a.with_values(a.values().clone())?, diagonal, solves };
        ilu0.factorize()?;
        Ok(ilu0)
    }

    /// Factorizes a matrix of the same pattern, with other values. After an error the old factors remain.
    ///
    /// # Errors
    /// [`PlanMismatch`](Error::PlanMismatch) for another pattern, [`Singular`](Error::Singular) as [`new`](Self::new).
    pub fn update(&mut self, a: &Csr<T, Host, I, O>) -> Result<()> {
        check_pattern(OP, self.factors.pattern(), a.pattern())?;
        let before = self.factors.values().clone();
        self.factors.values_mut().copy_from_slice(a.values());
        self.factorize().inspect_err(|_| self.factors.values_mut().copy_from_slice(&before))
    }

    /// L below the diagonal, without its ones, and U on and above it.
    pub fn factors(&self) -> &Csr<T, Host, I, O> {
        &self.factors
    }

    /// Row by row: subtracts multiples of the rows before from the values of A.
    fn factorize(&mut self) -> Result<()> {
        let (pattern, diagonal) = (self.factors.pattern().clone(), &self.diagonal);
        let columns = pattern.indices();
        let values = self.factors.values_mut();
        let mut positions = RowPositions::new(pattern.major());
        for row in 0..pattern.major() {
            let range = pattern.range(row);
            positions.set(range.start, &columns[range.clone()]);
            for position in range.start..diagonal[row] {
                let above = columns[position].as_usize();
                let factor = quotient(values[position], values[diagonal[above]]);
                values[position] = factor;
                for of_above in diagonal[above] + 1..pattern.range(above).end {
                    if let Some(target) = positions.get(columns[of_above]) {
                        let product = factor * values[of_above];
                        values[target] -= product;
                    }
                }
            }
            positions.clear(&columns[range]);
            let pivot = values[diagonal[row]];
            if pivot.is_zero() || !pivot.is_finite() {
                let reason = format_args!("the pivot is {pivot}, which cannot be divided by");
                return Err(Error::singular(OP, row, reason));
            }
        }
        self.solves.set_values(self.factors.values())
    }
}

impl<B, T, I, O> Preconditioner<B, T> for Ilu0<B, T, I, O>
where
    B: TrisolveKernel<Csr<T, SpaceOf<B>, I, O>>,
    T: Accumulator,
    I: Index,
    O: Index,
{
    fn apply<'a>(&'a mut self, r: ViewOf<'a, B, T>) -> Result<ViewOf<'a, B, T>> {
        self.solves.apply(r)
    }

    fn is_recordable(&self) -> bool {
        true
    }
}

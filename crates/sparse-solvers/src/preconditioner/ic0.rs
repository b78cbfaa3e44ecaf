//! The incomplete Cholesky factorization without fill-in.

use super::Preconditioner;
use super::factors::{FactorSolves, RowPositions, check_pattern, check_sorted, missing_diagonal};
use num_traits::{Float, Zero};
use sparse_core::backend::{SpaceOf, ViewOf};
use sparse_core::error::check_square;
use sparse_core::format::CompressedPattern;
use sparse_core::op::{Op, RealOf, Triangular, TrisolveKernel, quotient};
use sparse_core::{Accumulator, Csr, Error, Host, Index, Result, Scalar};
use std::sync::Arc;

const OP: &str = "ic0";

/// Incomplete Cholesky factors without fill-in: K = L·Lᴴ for Hermitian positive definite A.
///
/// L has the pattern of the lower triangle of A: (L·Lᴴ)ᵢⱼ = aᵢⱼ wherever A has an entry. The upper triangle of A is not
/// read.
///
/// It exists for M-matrices, as of diffusion; for other positive definite A a pivot may become negative, which is an
/// error. The factorization runs on one thread of the host; an application is two triangular solves on the backend,
/// which has a copy of the factor.
///
/// J. A. Meijerink and H. A. van der Vorst, An iterative solution method for linear systems of which the coefficient
/// matrix is a symmetric M-matrix, Math. Comp. 31 (1977), 148–162.
///
/// ```
/// use sparse_core::{Csr, reference::Reference};
/// use sparse_solvers::{Cg, Ic0, SolverOptions};
/// use std::ops::ControlFlow;
///
/// let a = sparse_generate::stencil_5::<f64>(10, 10)?;
/// let ic0 = Ic0::new(&Reference, &a)?;
/// let mut x = vec![0.0; 100];
/// let mut solver = Cg::new(&Reference, &a, ic0, &SolverOptions::default())?;
/// assert!(solver.solve(&a, &[1.0; 100], &mut x, |_| ControlFlow::Continue(()))?.converged());
/// # Ok::<(), sparse_core::Error>(())
/// ```
#[derive(Debug)]
pub struct Ic0<B, T, I = i32, O = i32>
where
    B: TrisolveKernel<Csr<T, SpaceOf<B>, I, O>>,
    T: Accumulator,
    I: Index,
    O: Index,
{
    /// The pattern of A.
    pattern: Arc<CompressedPattern<Host, I, O>>,
    factor: Csr<T, Host, I, O>,
    solves: FactorSolves<B, T, I, O>,
}

impl<B, T, I, O> Ic0<B, T, I, O>
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
    /// # use sparse_solvers::Ic0;
    /// let a = Csr::<f64>::new(2, 2, vec![0, 2, 4], vec![0, 1, 0, 1], vec![1.0, 2.0, 2.0, 1.0])?;
    /// let error = Ic0::new(&Reference, &a).unwrap_err();
    /// assert!(error.to_string().starts_with("ic0: row 1: the pivot is -3, a positive one is needed"));
    /// # Ok::<(), sparse_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Shape`](Error::Shape) if A is not square, [`Unsupported`](Error::Unsupported) if its rows are not sorted or
    /// have duplicates, [`Singular`](Error::Singular) with the first row whose diagonal is not stored or not real, or
    /// whose pivot is not positive.
    pub fn new(backend: &B, a: &Csr<T, Host, I, O>) -> Result<Self> {
        check_square(OP, (a.nrows(), a.ncols()))?;
        check_sorted(OP, a)?;
        let (mut offsets, mut columns) = (vec![O::default()], vec![]);
        for row in 0..a.nrows() {
            columns.extend(
                a.major_entries(row).map(|(col, _)| I::cast(col)).take_while(|col| col.as_usize() <= row),
            );
            if columns.last().is_none_or(|col| col.as_usize() != row) {
                return Err(missing_diagonal(OP, row));
            }
            offsets.push(O::cast(columns.len()));
        }
        let zeros = vec![T::zero(); columns.len()];
        let factor = Csr::new(a.nrows(), a.nrows(), offsets, columns, zeros)?;
        let systems = [Triangular::lower(), Triangular::lower().with_op(Op::ConjugateTranspose)];
        let solves = FactorSolves::new(backend, &factor, systems)?;
        let mut ic0 = Self { pattern: a.pattern().clone(), factor, solves };
        ic0.factorize(a)?;
        Ok(ic0)
    }

    /// Factorizes a matrix of the same pattern, with other values. After an error the old factor remains.
    ///
    /// # Errors
    /// [`PlanMismatch`](Error::PlanMismatch) for another pattern, [`Singular`](Error::Singular) as [`new`](Self::new).
    pub fn update(&mut self, a: &Csr<T, Host, I, O>) -> Result<()> {
        check_pattern(OP, &self.pattern, a.pattern())?;
        let before = self.factor.values().clone();
        self.factorize(a).inspect_err(|_| self.factor.values_mut().copy_from_slice(&before))
    }

    /// L, lower triangular.
    pub fn factor(&self) -> &Csr<T, Host, I, O> {
        &self.factor
    }

    /// Row by row, from the rows before.
    fn factorize(&mut self, a: &Csr<T, Host, I, O>) -> Result<()> {
        let pattern = self.factor.pattern().clone();
        let columns = pattern.indices();
        let values = self.factor.values_mut();
        let mut positions = RowPositions::new(pattern.major());
        for row in 0..pattern.major() {
            let range = pattern.range(row);
            // The entries of L in a row are the first ones of A's; the diagonal is the last.
            let (diagonal, start) = (range.end - 1, a.pattern().range(row).start);
            values[range.clone()].copy_from_slice(&a.values()[start..start + range.len()]);
            positions.set(range.start, &columns[range.clone()]);
            let mut squares = RealOf::<T>::zero();
            for position in range.start..diagonal {
                let above = pattern.range(columns[position].as_usize());
                let mut sum = values[position];
                for of_above in above.start..above.end - 1 {
                    if let Some(of_row) = positions.get(columns[of_above]) {
                        sum -= values[of_row] * values[of_above].conj();
                    }
                }
                values[position] = quotient(sum, values[above.end - 1]);
                squares += values[position].abs_squared();
            }
            positions.clear(&columns[range]);
            let real = T::from_real(values[diagonal].re());
            if values[diagonal] != real {
                let reason =
                    format_args!("the diagonal is {}, not real: A is not Hermitian", values[diagonal]);
                return Err(Error::singular(OP, row, reason));
            }
            let pivot = real.re() - squares;
            if !(pivot > RealOf::<T>::zero() && Scalar::is_finite(pivot)) {
                let reason = "a positive one is needed: A is not positive definite, or has no IC(0)";
                return Err(Error::singular(OP, row, format_args!("the pivot is {pivot}, {reason}")));
            }
            values[diagonal] = T::from_real(pivot.sqrt());
        }
        self.solves.set_values(self.factor.values())
    }
}

impl<B, T, I, O> Preconditioner<B, T> for Ic0<B, T, I, O>
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

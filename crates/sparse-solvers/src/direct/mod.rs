//! Direct solution by sparse factorizations, on the host.

mod columns;
mod factors;

use crate::norms::to_f64;
use crate::outcome::check_tolerance;
use crate::outcome::{Breakdown, Outcome, Solution};
use columns::{Columns, Values};
use factors::{AnyFactors, Symbolic};
use sparse_core::op::Op;
use sparse_core::op::vector::nrm2;
use sparse_core::reference::Reference;
use sparse_core::{Choice, Csc, DenseView, DenseViewMut, Error, Host, Index, Result, Scalar, c64};
use std::sync::Arc;

/// A factorization of [`DirectPlan`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DirectMethod {
    /// A = L·Lᴴ, for Hermitian positive definite matrices. Only the lower triangle is read.
    Cholesky,
    /// P·A·Q = L·U with partial pivoting, for square matrices.
    Lu,
    /// A·Q = Q'·R by Householder reflections, for matrices of full column rank: x minimizes ‖b − A·x‖₂.
    Qr,
}

impl DirectMethod {
    fn name(self) -> &'static str {
        match self {
            Self::Cholesky => "cholesky",
            Self::Lu => "lu",
            Self::Qr => "qr",
        }
    }
}

/// The symbolic part of a factorization: an elimination order with little fill-in (AMD, COLAMD) and the patterns of
/// the factors. It serves all values of the matrix's pattern.
///
/// The crate faer factorizes, in double precision for values of single precision too: factors of `f32` take the memory
/// of those of `f64`.
///
/// ```
/// use sparse_core::Csc;
/// use sparse_solvers::{DirectMethod, DirectPlan, Outcome};
///
/// let mut a = Csc::<f64>::new(2, 2, vec![0, 2, 4], vec![0, 1, 0, 1], vec![4.0, 1.0, -1.0, 3.0])?;
/// let mut lu = DirectPlan::new(&a, DirectMethod::Lu)?.factorize(&a)?;
/// for exact in [1.0, 0.5] {
///     let mut x = [0.0; 2];
///     let solution = lu.solve(&[3.0, 4.0], &mut x, 1e-12)?;
///     assert_eq!(solution.outcome, Outcome::Converged);
///     assert!(x.iter().all(|x| f64::abs(x - exact) < 1e-12));
///     a.scale(2.0); // the same pattern: no new analysis
///     lu.refactor(&a)?;
/// }
/// # Ok::<(), sparse_core::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct DirectPlan {
    method: DirectMethod,
    columns: Arc<Columns>,
    symbolic: Symbolic,
}

impl DirectPlan {
    /// Analyses the pattern of `a`.
    ///
    /// # Errors
    /// [`Shape`](Error::Shape) if A is not square, or for QR has fewer rows than columns;
    /// [`Unsupported`](Error::Unsupported) if rows do not ascend within columns, or memory is short.
    pub fn new<T: Scalar, I: Index, O: Index>(a: &Csc<T, Host, I, O>, method: DirectMethod) -> Result<Self> {
        Self::of_columns(Columns::of(a)?.into(), method)
    }

    fn of_columns(columns: Arc<Columns>, method: DirectMethod) -> Result<Self> {
        let (rows, cols) = (columns.rows, columns.cols);
        let needed = match method {
            DirectMethod::Qr if rows < cols => Some("at least as many rows as columns are needed"),
            DirectMethod::Cholesky | DirectMethod::Lu if rows != cols => Some("a square matrix is needed"),
            _ => None,
        };
        if let Some(needed) = needed {
            return Err(Error::shape(method.name(), format_args!("{needed}, this one is {rows} x {cols}")));
        }
        let symbolic = Symbolic::new(&columns, method)?;
        Ok(Self { method, columns, symbolic })
    }

    /// The factors of `a`, which has the pattern that the plan was made for.
    ///
    /// # Errors
    /// [`PlanMismatch`](Error::PlanMismatch) for another pattern; [`Singular`](Error::Singular) if A is singular, or
    /// not positive definite (Cholesky), with a column that has no pivot or a row whose diagonal is not positive where
    /// there is one; [`Unsupported`](Error::Unsupported) if A is not finite, or memory is short.
    pub fn factorize<T: Scalar, I: Index, O: Index>(&self, a: &Csc<T, Host, I, O>) -> Result<Factorization> {
        self.check_pattern(a)?;
        self.of_values(Values::of(a), "it was asked for")
    }

    fn check_pattern<T: Scalar, I: Index, O: Index>(&self, a: &Csc<T, Host, I, O>) -> Result<()> {
        if !self.columns.are_those_of(a) {
            let reason = "the matrix has another pattern than the one that the plan was made for".to_string();
            return Err(Error::PlanMismatch { op: self.method.name(), reason });
        }
        Ok(())
    }

    fn of_values(&self, values: Values, reason: &str) -> Result<Factorization> {
        let factors = AnyFactors::new(&self.symbolic, &self.columns, &values)?;
        let choice = Choice { algorithm: self.method.name(), reason: reason.to_string() };
        Ok(Factorization { plan: self.clone(), choice, values, factors })
    }
}

/// The factors of a matrix, for any number of right-hand sides.
///
/// ```
/// use sparse_core::Csc;
/// use sparse_solvers::Factorization;
///
/// let a = Csc::<f64>::new(3, 2, vec![0, 3, 5], vec![0, 1, 2, 1, 2], vec![1.0, 1.0, 1.0, 1.0, 2.0])?;
/// let factors = Factorization::new(&a)?;
/// assert_eq!(factors.choice().algorithm, "qr");
/// let mut x = [0.0; 2];
/// assert!(factors.solve(&[1.0, 2.0, 4.0], &mut x, 1e-12)?.converged());
/// assert!(f64::abs(x[0] - 5.0 / 6.0) < 1e-12 && f64::abs(x[1] - 1.5) < 1e-12);
/// # Ok::<(), sparse_core::Error>(())
/// ```
#[derive(Debug)]
pub struct Factorization {
    plan: DirectPlan,
    choice: Choice,
    values: Values,
    factors: AnyFactors,
}

impl Factorization {
    /// Factorizes `a` by QR if it is not square, by Cholesky if it is Hermitian with a positive diagonal and turns out
    /// to be positive definite, and else by LU.
    ///
    /// # Errors
    /// Those of [`DirectPlan::new`] and [`DirectPlan::factorize`].
    pub fn new<T: Scalar, I: Index, O: Index>(a: &Csc<T, Host, I, O>) -> Result<Self> {
        let (columns, values) = (Arc::new(Columns::of(a)?), Values::of(a));
        if columns.rows != columns.cols {
            return DirectPlan::of_columns(columns, DirectMethod::Qr)?.of_values(values, "A is not square");
        }
        if columns.may_be_positive_definite(&values) {
            let plan = DirectPlan::of_columns(columns.clone(), DirectMethod::Cholesky)?;
            if let Ok(factors) = plan.of_values(values.clone(), "A is Hermitian positive definite") {
                return Ok(factors);
            }
        }
        Self::by_lu(columns, values)
    }

    /// The factorization, and the reason.
    pub fn choice(&self) -> &Choice {
        &self.choice
    }

    /// Factorizes other values of the same pattern in the same way, without another analysis. After an error the old
    /// factors remain.
    ///
    /// # Errors
    /// Those of [`DirectPlan::factorize`].
    pub fn refactor<T: Scalar, I: Index, O: Index>(&mut self, a: &Csc<T, Host, I, O>) -> Result<()> {
        self.plan.check_pattern(a)?;
        self.refactor_values(Values::of(a))
    }

    /// As [`refactor`](Self::refactor), except that LU replaces Cholesky's factorization of values that are no longer
    /// Hermitian positive definite, as [`new`](Self::new) chooses it.
    ///
    /// ```
    /// use sparse_core::Csc;
    /// use sparse_solvers::Factorization;
    /// let mut a = Csc::<f64>::new(2, 2, vec![0, 2, 4], vec![0, 1, 0, 1], vec![2.0, 1.0, 1.0, 2.0])?;
    /// let mut factors = Factorization::new(&a)?;
    /// assert_eq!(factors.choice().algorithm, "cholesky");
    /// a.values_mut()[1] = -1.0;
    /// factors.update(&a)?;
    /// assert_eq!(factors.choice().algorithm, "lu");
    /// let mut x = [0.0; 2];
    /// assert!(factors.solve(&[3.0, 1.0], &mut x, 1e-12)?.converged());
    /// # Ok::<(), sparse_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`DirectPlan::factorize`].
    pub fn update<T: Scalar, I: Index, O: Index>(&mut self, a: &Csc<T, Host, I, O>) -> Result<()> {
        self.plan.check_pattern(a)?;
        let values = Values::of(a);
        if self.plan.method != DirectMethod::Cholesky {
            return self.refactor_values(values);
        }
        // Cholesky's factorization reads the lower triangle alone.
        let is_candidate = self.plan.columns.may_be_positive_definite(&values);
        if !is_candidate || self.refactor_values(values.clone()).is_err() {
            *self = Self::by_lu(self.plan.columns.clone(), values)?;
        }
        Ok(())
    }

    fn by_lu(columns: Arc<Columns>, values: Values) -> Result<Self> {
        DirectPlan::of_columns(columns, DirectMethod::Lu)?.of_values(values, "A is square")
    }

    fn refactor_values(&mut self, values: Values) -> Result<()> {
        self.factors = AnyFactors::new(&self.plan.symbolic, &self.plan.columns, &values)?;
        self.values = values;
        Ok(())
    }

    /// The x of A·x = b, or of the least ‖b − A·x‖₂.
    ///
    /// It has converged if ‖b − A·x‖₂ ≤ `tolerance`·‖b‖₂, or for more rows than columns if ‖Aᴴ·(b − A·x)‖₂ ≤
    /// `tolerance`·‖A‖·‖b − A·x‖₂. Otherwise the tolerance is below the precision for this matrix:
    /// [`Breakdown::Stagnation`].
    ///
    /// # Errors
    /// [`Shape`](Error::Shape) unless b has as many elements as A has rows, and x as many as A has columns;
    /// [`Unsupported`](Error::Unsupported) for a tolerance that is negative or not a number.
    pub fn solve<T: Scalar>(&self, b: &[T], x: &mut [T], tolerance: f64) -> Result<Solution> {
        let (b, x) = (DenseView::col_major(b, b.len(), 1)?, DenseViewMut::col_major(x, x.len(), 1)?);
        Ok(self.solve_many(b, x, tolerance)?.remove(0))
    }

    /// X of A·X = B, and the outcome of each column; see [`solve`](Self::solve).
    ///
    /// ```
    /// use sparse_core::{Csc, DenseView, DenseViewMut};
    /// use sparse_solvers::Factorization;
    /// let a = Csc::<f64>::new(2, 2, vec![0, 1, 2], vec![0, 1], vec![2.0, 4.0])?;
    /// let (b, mut x) = ([2.0, 4.0, 6.0, 8.0], [0.0; 4]);
    /// let (b, columns) = (DenseView::col_major(&b, 2, 2)?, DenseViewMut::col_major(&mut x, 2, 2)?);
    /// let solutions = Factorization::new(&a)?.solve_many(b, columns, 1e-12)?;
    /// assert!(solutions.iter().all(|solution| solution.converged()));
    /// assert!(x.iter().zip([1.0, 1.0, 3.0, 2.0]).all(|(x, exact)| f64::abs(x - exact) < 1e-12));
    /// # Ok::<(), sparse_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Shape`](Error::Shape) unless B has as many rows as A, X as many as A has columns, and both as many columns as
    /// each other; [`Unsupported`](Error::Unsupported) for a tolerance that is negative or not a number.
    pub fn solve_many<T: Scalar>(
        &self,
        b: DenseView<'_, T>,
        mut x: DenseViewMut<'_, T>,
        tolerance: f64,
    ) -> Result<Vec<Solution>> {
        check_tolerance("a tolerance", tolerance)?;
        let (right, solved) = self.solutions(Op::None, b, (x.nrows(), x.ncols()))?;
        let Columns { rows, cols, .. } = *self.plan.columns;
        let column = |j: usize| {
            let rounded = |i: usize| {
                let element = T::from_c64(solved[j * rows + i]);
                *x.at_mut(i, j) = element;
                element.to_c64()
            };
            let x: Vec<c64> = (0..cols).map(rounded).collect();
            self.solution(&right[j * rows..][..rows], &x, tolerance)
        };
        (0..b.ncols()).map(column).collect()
    }

    /// Writes the X of op(A)·X = B, without a look at residuals.
    ///
    /// ```
    /// use sparse_core::{Csc, DenseView, DenseViewMut, op::Op};
    /// use sparse_solvers::Factorization;
    /// let a = Csc::<f64>::new(2, 2, vec![0, 1, 3], vec![0, 0, 1], vec![2.0, 1.0, 4.0])?;
    /// let (b, mut x) = ([2.0, 5.0], [0.0; 2]);
    /// let (b, column) = (DenseView::col_major(&b, 2, 1)?, DenseViewMut::col_major(&mut x, 2, 1)?);
    /// Factorization::new(&a)?.apply(Op::Transpose, b, column)?;
    /// assert_eq!(x, [1.0, 1.0]);
    /// # Ok::<(), sparse_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Shape`](Error::Shape) as [`solve_many`](Self::solve_many); [`Unsupported`](Error::Unsupported) for the
    /// transpose of a matrix that was factorized by QR.
    pub fn apply<T: Scalar>(&self, op: Op, b: DenseView<'_, T>, mut x: DenseViewMut<'_, T>) -> Result<()> {
        let (_, solved) = self.solutions(op, b, (x.nrows(), x.ncols()))?;
        let rows = b.nrows();
        for j in 0..x.ncols() {
            (0..x.nrows()).for_each(|i| *x.at_mut(i, j) = T::from_c64(solved[j * rows + i]));
        }
        Ok(())
    }

    /// B and the solutions of op(A)·X = B by columns, each of as many elements as B has rows.
    fn solutions<T: Scalar>(
        &self,
        op: Op,
        b: DenseView<'_, T>,
        (x_rows, x_cols): (usize, usize),
    ) -> Result<(Vec<c64>, Vec<c64>)> {
        let name = self.choice.algorithm;
        if op != Op::None && self.plan.method == DirectMethod::Qr {
            let reason = "the factors are those of A alone; factorize the transpose";
            return Err(Error::unsupported("the transposed system by qr", reason));
        }
        let Columns { rows, cols, .. } = *self.plan.columns;
        let (count, lengths) = (b.ncols(), [("b", b.nrows(), rows), ("x", x_rows, cols)]);
        if let Some((operand, found, needed)) = lengths.into_iter().find(|(_, found, needed)| found != needed)
        {
            let reason = format!("the length of {operand} is {found} where {needed} is needed");
            return Err(Error::shape(name, reason));
        }
        if x_cols != count {
            return Err(Error::shape(name, format_args!("X has {x_cols} columns, B has {count}")));
        }
        let right: Vec<c64> = (0..count).flat_map(|j| (0..rows).map(move |i| b.at(i, j).to_c64())).collect();
        let solved = self.factors.solve(op, &right, rows, count);
        Ok((right, solved))
    }

    /// The outcome by the norms of b − A·x and, for more rows than columns, Aᴴ·(b − A·x).
    fn solution(&self, b: &[c64], x: &[c64], tolerance: f64) -> Result<Solution> {
        let (columns, values) = (&self.plan.columns, &self.values);
        let mut r = b.to_vec();
        columns.entries().for_each(|(row, col, at)| r[row] -= values.get(at) * x[col]);
        let (residual, norm_b) = (norm(&r)?, norm(b)?);
        let mut solution = Solution {
            outcome: Outcome::Converged,
            iterations: 0,
            residual,
            relative_residual: if residual == 0.0 { 0.0 } else { residual / norm_b },
            normal_residual: None,
            estimates: None,
        };
        let mut is_least = false;
        if columns.rows > columns.cols {
            let mut gradient = vec![c64::ZERO; x.len()];
            columns.entries().for_each(|(row, col, at)| gradient[col] += values.get(at).conj() * r[row]);
            let (gradient, norm_a) = (norm(&gradient)?, norm(&values.to_complex())?);
            is_least = gradient <= tolerance * norm_a * residual;
            solution.normal_residual = Some(gradient);
        }
        solution.outcome = if !residual.is_finite() {
            Breakdown::NotFinite { quantity: "‖b − A·x‖" }.into()
        } else if residual <= tolerance * norm_b {
            Outcome::Converged
        } else if is_least {
            Outcome::LeastSquares
        } else {
            Breakdown::Stagnation.into()
        };
        Ok(solution)
    }
}

fn norm(vector: &[c64]) -> Result<f64> {
    Ok(to_f64(nrm2::<_, c64>(&Reference, vector)?))
}

//! Least-squares problems with matrices of any shape.

mod criterion;
mod scalars;

use crate::norms::{divide, to_f64};
use crate::outcome::check_tolerance;
use crate::outcome::{Breakdown, Iteration, MatrixEstimates, Outcome, Solution, SolverOptions};
use crate::progress::Ended;
use crate::progress::Watch;
use criterion::{Criterion, Norms};
use num_traits::{Float, One, Zero};
use scalars::{Elements, Estimates, Scalars, Update};
use sparse_core::backend::{Buf, SpaceOf, ViewMutOf, ViewOf};
use sparse_core::op::vector::{axpby, nrm2, scal};
use sparse_core::op::{Op, RealOf, SpmvKernel, SpmvPlan, VectorKernel};
use sparse_core::space::{View, ViewMut};
use sparse_core::{Accumulator, Choice, Error, Result, Scalar, Space, SparseFormat};
use std::ops::ControlFlow;

/// The method of [`LeastSquares`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LeastSquaresMethod {
    /// LSQR, which is conjugate gradients on the normal equations, without forming them: ‖b − A·x‖ never grows.
    ///
    /// C. C. Paige and M. A. Saunders, LSQR: an algorithm for sparse linear equations and sparse least squares, ACM
    /// Trans. Math. Softw. 8 (1982), 43–71.
    Lsqr,
    /// LSMR, which is MINRES on the normal equations: ‖Aᴴ·(b − A·x)‖ never grows either, so that it may stop earlier.
    ///
    /// D. C.-L. Fong and M. A. Saunders, LSMR: an iterative algorithm for sparse least-squares problems, SIAM J. Sci.
    /// Comput. 33 (2011), 2950–2971.
    Lsmr,
}

impl LeastSquaresMethod {
    fn name(self) -> &'static str {
        match self {
            Self::Lsqr => "lsqr",
            Self::Lsmr => "lsmr",
        }
    }
}

/// LSQR or LSMR: the x that minimizes ‖b − A·x‖₂² + damp²·‖x − x₀‖₂² for A of any shape, from x₀.
///
/// ```text
/// β·u ← A·v − α·u    α·v ← Aᴴ·u − β·v    (Golub and Kahan)    d ← h + …·d    x ← x + …·d    h ← v + …·h
/// ```
/// An iteration takes one product with A, one with Aᴴ, three or four `nrm2` and four or five `axpby` or `scal`; the
/// workspace is two vectors of as many elements as A has rows, and five of as many as it has columns.
///
/// The criteria are SciPy's, with an estimate of ‖A‖, and with norms computed from x:
///
/// | outcome | criterion |
/// |---|---|
/// | [`Outcome::Converged`] | ‖r‖ ≤ btol·‖b‖ + atol·‖A‖·‖x‖ |
/// | [`Outcome::LeastSquares`] | ‖Aᴴ·(b − A·x) − damp²·(x − x₀)‖ ≤ atol·‖A‖·‖r‖ |
///
/// r is b − A·x, and with damping damp·(x₀ − x) below it. If A does not have full column rank, x is the solution
/// closest to x₀.
///
/// ```
/// use sparse_core::{Csr, reference::Reference};
/// use sparse_solvers::{LeastSquares, LeastSquaresMethod, SolverOptions, Outcome};
/// use std::ops::ControlFlow;
///
/// // The line through (0, 1), (1, 2) and (2, 4): 5/6 + 3/2·t.
/// let a = Csr::<f64>::new(3, 2, vec![0, 1, 3, 5], vec![0, 0, 1, 0, 1], vec![1.0, 1.0, 1.0, 1.0, 2.0])?;
/// let mut x = [0.0; 2];
/// let mut solver = LeastSquares::new(&Reference, &a, LeastSquaresMethod::Lsqr, &SolverOptions::default())?;
/// let solution = solver.solve(&a, &[1.0, 2.0, 4.0], &mut x, |_| ControlFlow::Continue(()))?;
/// assert_eq!(solution.outcome, Outcome::LeastSquares);
/// assert!((x[0] - 5.0 / 6.0).abs() < 1e-9 && (x[1] - 1.5).abs() < 1e-9);
/// # Ok::<(), sparse_core::Error>(())
/// ```
#[derive(Debug)]
pub struct LeastSquares<B, M>
where
    B: SpmvKernel<M> + VectorKernel<M::Scalar>,
    M: SparseFormat<Space = SpaceOf<B>>,
{
    backend: B,
    forward: SpmvPlan<B, M>,
    adjoint: SpmvPlan<B, M>,
    method: LeastSquaresMethod,
    rows: usize,
    cols: usize,
    options: SolverOptions,
    u: Buf<B, M::Scalar>,
    r: Buf<B, M::Scalar>,
    v: Buf<B, M::Scalar>,
    h: Buf<B, M::Scalar>,
    d: Buf<B, M::Scalar>,
    /// x₀.
    start: Buf<B, M::Scalar>,
    /// x − x₀, and then Aᴴ·(b − A·x) − damp²·(x − x₀), over the norm of the residual.
    gradient: Buf<B, M::Scalar>,
}

impl<B, M> LeastSquares<B, M>
where
    B: SpmvKernel<M> + VectorKernel<M::Scalar>,
    M: SparseFormat<Space = SpaceOf<B>, Scalar: Accumulator>,
{
    /// Plans the products with `a` and its conjugate transpose, and allocates all vectors.
    ///
    /// ```
    /// use sparse_core::reference::Reference;
    /// use sparse_solvers::{LeastSquares, LeastSquaresMethod, SolverOptions};
    ///
    /// let wide = sparse_generate::uniform::<f64>(2, 3, 1, 0)?;
    /// assert!(LeastSquares::new(&Reference, &wide, LeastSquaresMethod::Lsmr, &SolverOptions::default()).is_ok());
    /// # Ok::<(), sparse_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Unsupported`](Error::Unsupported) if an option is negative or not a number, and those of [`SpmvPlan::new`].
    pub fn new(backend: &B, a: &M, method: LeastSquaresMethod, options: &SolverOptions) -> Result<Self> {
        let least_squares = options.least_squares;
        check_tolerance("a tolerance", options.tolerance)?;
        check_tolerance("an atol", least_squares.atol.unwrap_or(0.0))?;
        check_tolerance("a btol", least_squares.btol.unwrap_or(0.0))?;
        check_tolerance("a damp", least_squares.damp)?;
        check_tolerance("a condition limit", least_squares.condition_limit)?;
        let (rows, cols) = (a.nrows(), a.ncols());
        let of_rows = || backend.zeros(rows);
        let of_cols = || backend.zeros(cols);
        Ok(Self {
            backend: backend.clone(),
            forward: SpmvPlan::new(backend, a, Op::None, &options.plan)?,
            adjoint: SpmvPlan::new(backend, a, Op::ConjugateTranspose, &options.plan)?,
            method,
            rows,
            cols,
            options: options.clone(),
            u: of_rows()?,
            r: of_rows()?,
            v: of_cols()?,
            h: of_cols()?,
            d: of_cols()?,
            start: of_cols()?,
            gradient: of_cols()?,
        })
    }

    /// Solves the problem for `b` from the given `x`; `callback` is called after each iteration and may stop.
    ///
    /// `a` has the pattern that the solver was made for; its values may have changed. If b = 0 and there is no damping,
    /// x becomes 0. For every outcome, `x` is the last iterate.
    ///
    /// ```
    /// use sparse_core::{Csr, reference::Reference};
    /// use sparse_solvers::{LeastSquares, LeastSquaresMethod, SolverOptions};
    /// use std::ops::ControlFlow;
    ///
    /// // Of all solutions of x₀ + x₁ = 4 the one closest to (0, 2).
    /// let a = Csr::<f64>::new(1, 2, vec![0, 2], vec![0, 1], vec![1.0, 1.0])?;
    /// let mut x = [0.0, 2.0];
    /// let mut solver = LeastSquares::new(&Reference, &a, LeastSquaresMethod::Lsmr, &SolverOptions::default())?;
    /// assert!(solver.solve(&a, &[4.0], &mut x, |_| ControlFlow::Continue(()))?.converged());
    /// assert!((x[0] - 1.0).abs() < 1e-12 && (x[1] - 3.0).abs() < 1e-12);
    /// # Ok::<(), sparse_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Shape`](Error::Shape), [`PlanMismatch`](Error::PlanMismatch) and [`WrongContext`](Error::WrongContext)
    /// for wrong operands; errors of the device's runtime. Not to converge is an outcome, no error.
    pub fn solve(
        &mut self,
        a: &M,
        b: ViewOf<'_, B, M::Scalar>,
        mut x: ViewMutOf<'_, B, M::Scalar>,
        callback: impl FnMut(Iteration) -> ControlFlow<()>,
    ) -> Result<Solution> {
        self.check_lengths(b.len(), x.len())?;
        let norm_b = self.norm(b)?;
        if let Some(outcome) = self.trivial(norm_b) {
            if norm_b == 0.0 {
                scal::<B, M::Scalar>(&self.backend, M::Scalar::zero(), x)?;
            }
            return Ok(Solution { normal_residual: Some(norm_b), ..Solution::at_once(outcome, norm_b) });
        }
        let mut watch = Watch { iterations: 0, limit: self.limit(), norm_b, callback };
        let mut criterion = self.criterion(norm_b);
        let mut process = self.begin(a, b, SpaceOf::<B>::as_shared::<M::Scalar>(&x))?;
        loop {
            let ended = self.iterate(&mut process, &criterion, a, &mut x, &mut watch)?;
            let (truth, residual) =
                self.true_norms(&process, a, b, SpaceOf::<B>::as_shared::<M::Scalar>(&x))?;
            if let Some(outcome) = criterion.outcome(&truth, &process.norms, ended) {
                return Ok(Solution {
                    outcome,
                    iterations: watch.iterations,
                    residual,
                    relative_residual: if norm_b == 0.0 { 0.0 } else { residual / norm_b },
                    normal_residual: Some(truth.normal_ratio * truth.residual),
                    estimates: Some(MatrixEstimates { norm: process.norms.a, condition: process.condition }),
                });
            }
        }
    }

    /// The algorithm of the product with A, and the reason.
    ///
    /// ```
    /// # use sparse_core::{Csr, reference::Reference};
    /// # use sparse_solvers::{LeastSquares, LeastSquaresMethod, SolverOptions};
    /// # let a = Csr::<f64>::identity(2)?;
    /// let solver = LeastSquares::new(&Reference, &a, LeastSquaresMethod::Lsqr, &SolverOptions::default())?;
    /// assert_eq!(solver.choice().algorithm, "sequential");
    /// # Ok::<(), sparse_core::Error>(())
    /// ```
    pub fn choice(&self) -> &Choice {
        self.forward.choice()
    }

    fn check_lengths(&self, b: usize, x: usize) -> Result<()> {
        for (name, found, needed) in [("b", b, self.rows), ("x", x, self.cols)] {
            if found != needed {
                let reason = format!("the length of {name} is {found} where {needed} is needed");
                return Err(Error::shape(self.method.name(), reason));
            }
        }
        Ok(())
    }

    /// The outcome where ‖b‖ decides.
    fn trivial(&self, norm_b: f64) -> Option<Outcome> {
        match norm_b {
            0.0 => (self.options.least_squares.damp == 0.0).then_some(Outcome::Converged),
            _ if norm_b.is_finite() => None,
            _ => Some(Breakdown::NotFinite { quantity: "‖b‖" }.into()),
        }
    }

    fn limit(&self) -> usize {
        self.options.max_iterations.unwrap_or(match self.method {
            LeastSquaresMethod::Lsqr => self.cols.saturating_mul(2),
            LeastSquaresMethod::Lsmr => self.rows.min(self.cols),
        })
    }

    fn criterion(&self, norm_b: f64) -> Criterion {
        let (least_squares, tolerance) = (self.options.least_squares, self.options.tolerance);
        let tolerances = (least_squares.atol.unwrap_or(tolerance), least_squares.btol.unwrap_or(tolerance));
        Criterion::new(tolerances, norm_b, to_f64(RealOf::<M::Scalar>::epsilon()))
    }

    /// `u ← b − A·x`, and the first vectors of the process.
    fn begin(&mut self, a: &M, b: ViewOf<'_, B, M::Scalar>, x: ViewOf<'_, B, M::Scalar>) -> Result<Process> {
        let (one, zero) = (M::Scalar::one(), M::Scalar::zero());
        self.backend.copy::<M::Scalar>(x, SpaceOf::<B>::view_mut(&mut self.start))?;
        self.backend.copy::<M::Scalar>(b, SpaceOf::<B>::view_mut(&mut self.u))?;
        self.forward.run(-one, a, x, one, SpaceOf::<B>::view_mut(&mut self.u))?;
        let beta = normalize::<B, M::Scalar>(&self.backend, &mut self.u)?;
        let u = SpaceOf::<B>::view(&self.u);
        self.adjoint.run(one, a, u, zero, SpaceOf::<B>::view_mut(&mut self.v))?;
        let alpha = normalize::<B, M::Scalar>(&self.backend, &mut self.v)?;
        self.backend.copy::<M::Scalar>(SpaceOf::<B>::view(&self.v), SpaceOf::<B>::view_mut(&mut self.h))?;
        scal::<B, M::Scalar>(&self.backend, zero, SpaceOf::<B>::view_mut(&mut self.d))?;
        let elements = Elements { alpha, beta };
        let norms = Norms { residual: beta, normal_ratio: alpha, a: alpha, x: self.norm(x)? };
        let scalars = Scalars::new(self.method, elements, self.options.least_squares.damp);
        Ok(Process { elements, scalars, norms, condition: 0.0 })
    }

    /// Iterates until the estimates claim convergence, or something else ends it.
    fn iterate(
        &mut self,
        process: &mut Process,
        criterion: &Criterion,
        a: &M,
        x: &mut ViewMutOf<'_, B, M::Scalar>,
        watch: &mut Watch<impl FnMut(Iteration) -> ControlFlow<()>>,
    ) -> Result<Ended> {
        let limit = self.options.least_squares.condition_limit;
        while !process.is_exhausted() {
            if watch.iterations >= watch.limit {
                return Ok(Ended::By(Outcome::IterationLimit));
            }
            self.step(process, a, x)?;
            if let Err(outcome) = watch.see(1, process.norms.residual) {
                return Ok(Ended::By(outcome));
            }
            if criterion.claimed_by(&process.norms) {
                return Ok(Ended::Claim);
            }
            if limit > 0.0 && process.condition >= limit {
                return Ok(Ended::By(Breakdown::IllConditioned.into()));
            }
        }
        // No direction is left: if this is no solution, it is rounding.
        Ok(Ended::By(Breakdown::Stagnation.into()))
    }

    /// Takes one iteration.
    fn step(&mut self, process: &mut Process, a: &M, x: &mut ViewMutOf<'_, B, M::Scalar>) -> Result<()> {
        let before = process.elements.alpha;
        process.elements = self.extend(process.elements, a)?;
        let direction = match self.method {
            LeastSquaresMethod::Lsqr => self.norm(SpaceOf::<B>::view(&self.h))?,
            LeastSquaresMethod::Lsmr => 0.0,
        };
        let (update, estimates) = match &mut process.scalars {
            Scalars::Lsqr(lsqr) => lsqr.step(before, process.elements, direction),
            Scalars::Lsmr(lsmr) => lsmr.step(before, process.elements),
        };
        let Estimates { mut residual, normal_ratio, condition } = estimates;
        let coefficients = [update.bar.unwrap_or(0.0), update.step, update.next];
        if coefficients.iter().all(|&value| from_f64::<M::Scalar>(value).is_finite()) {
            self.update(&update, x)?;
        } else {
            residual = f64::NAN; // the end: x stays the last iterate that is finite
        }
        let x = self.norm(SpaceOf::<B>::as_shared::<M::Scalar>(x))?;
        process.norms = Norms { residual, normal_ratio, a: process.scalars.norm(), x };
        process.condition = condition;
        Ok(())
    }

    /// `β·u ← A·v − α·u`, `α·v ← Aᴴ·u − β·v`.
    fn extend(&mut self, Elements { alpha, .. }: Elements, a: &M) -> Result<Elements> {
        let one = M::Scalar::one();
        let u = SpaceOf::<B>::view_mut(&mut self.u);
        self.forward.run(one, a, SpaceOf::<B>::view(&self.v), from_f64(-alpha), u)?;
        let beta = normalize::<B, M::Scalar>(&self.backend, &mut self.u)?;
        if beta == 0.0 {
            return Ok(Elements { alpha, beta });
        }
        let v = SpaceOf::<B>::view_mut(&mut self.v);
        self.adjoint.run(one, a, SpaceOf::<B>::view(&self.u), from_f64(-beta), v)?;
        let alpha = normalize::<B, M::Scalar>(&self.backend, &mut self.v)?;
        Ok(Elements { alpha, beta })
    }

    /// Moves x along the direction, and makes the next.
    fn update(&mut self, update: &Update, x: &mut ViewMutOf<'_, B, M::Scalar>) -> Result<()> {
        let Self { backend, v, h, d, .. } = self;
        let x = SpaceOf::<B>::reborrow::<M::Scalar>(x);
        let one = M::Scalar::one();
        let direction = match update.bar {
            None => SpaceOf::<B>::view::<M::Scalar>(h),
            Some(bar) => {
                let h = SpaceOf::<B>::view(h);
                axpby::<B, M::Scalar>(backend, one, h, from_f64(bar), SpaceOf::<B>::view_mut(d))?;
                SpaceOf::<B>::view(d)
            }
        };
        axpby::<B, M::Scalar>(backend, from_f64(update.step), direction, one, x)?;
        let v = SpaceOf::<B>::view(v);
        axpby::<B, M::Scalar>(backend, one, v, from_f64(update.next), SpaceOf::<B>::view_mut(h))
    }

    /// The norms computed from x, and ‖b − A·x‖. Vectors are divided by their norms before they are multiplied, so that
    /// products neither underflow to a solution nor overflow.
    fn true_norms(
        &mut self,
        process: &Process,
        a: &M,
        b: ViewOf<'_, B, M::Scalar>,
        x: ViewOf<'_, B, M::Scalar>,
    ) -> Result<(Norms, f64)> {
        let (one, damp) = (M::Scalar::one(), self.options.least_squares.damp);
        self.backend.copy::<M::Scalar>(b, SpaceOf::<B>::view_mut(&mut self.r))?;
        self.forward.run(-one, a, x, one, SpaceOf::<B>::view_mut(&mut self.r))?;
        self.backend.copy::<M::Scalar>(x, SpaceOf::<B>::view_mut(&mut self.gradient))?;
        let (start, gradient) = (SpaceOf::<B>::view(&self.start), SpaceOf::<B>::view_mut(&mut self.gradient));
        axpby::<B, M::Scalar>(&self.backend, -one, start, one, gradient)?;
        let moved = damp * normalize::<B, M::Scalar>(&self.backend, &mut self.gradient)?;
        let residual_of_rows = normalize::<B, M::Scalar>(&self.backend, &mut self.r)?;
        let residual = residual_of_rows.hypot(moved);
        let mut normal_ratio = 0.0;
        if residual > 0.0 && residual.is_finite() {
            let (r, gradient) = (SpaceOf::<B>::view(&self.r), SpaceOf::<B>::view_mut(&mut self.gradient));
            let (of_rows, of_damping) = (residual_of_rows / residual, -damp * (moved / residual));
            self.adjoint.run(from_f64(of_rows), a, r, from_f64(of_damping), gradient)?;
            normal_ratio = self.norm(SpaceOf::<B>::view(&self.gradient))?;
        }
        Ok((Norms { residual, normal_ratio, a: process.norms.a, x: self.norm(x)? }, residual_of_rows))
    }

    fn norm(&self, x: ViewOf<'_, B, M::Scalar>) -> Result<f64> {
        Ok(to_f64(nrm2::<B, M::Scalar>(&self.backend, x)?))
    }
}

/// The numbers of an iteration that is under way.
#[derive(Debug)]
struct Process {
    elements: Elements,
    scalars: Scalars,
    /// Estimates.
    norms: Norms,
    /// The estimate of the condition of A.
    condition: f64,
}

impl Process {
    /// True if the process of Golub and Kahan has no further direction.
    fn is_exhausted(&self) -> bool {
        self.elements.alpha == 0.0 || self.elements.beta == 0.0
    }
}

fn from_f64<T: Scalar>(value: f64) -> T {
    T::from_c64(value.into())
}

/// Divides `x` by its norm, unless that is zero; returns the norm.
fn normalize<B: VectorKernel<T>, T: Accumulator>(backend: &B, x: &mut Buf<B, T>) -> Result<f64> {
    let norm = nrm2::<B, T>(backend, SpaceOf::<B>::view(x))?;
    if norm > RealOf::<T>::zero() {
        divide::<B, T>(backend, x, norm)?;
    }
    Ok(to_f64(norm))
}

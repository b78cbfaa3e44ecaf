//! A·x = b, for a matrix of any format.

use super::typed_solver::solver_typed;
use crate::runtime::{Matrix, Method, Preconditioner, PreconditionerKind, Vector};
use sparse_core::{Choice, DType, Error, Result, c32, c64};
use sparse_solvers::{Iteration, Solution, SolverOptions};
use std::fmt::Debug;
use std::ops::ControlFlow;

/// Method, preconditioner and stopping test of [`Matrix::solve`].
///
/// ```
/// use nnz::{Method, PreconditionerKind, SolveOptions, solvers::SolverOptions};
///
/// let options = SolveOptions {
///     preconditioner: PreconditionerKind::Jacobi,
///     solver: SolverOptions { tolerance: 1e-6, ..SolverOptions::default() },
///     ..SolveOptions::new(Method::Cg)
/// };
/// assert_eq!(options.method, Method::Cg);
/// ```
#[derive(Debug, Clone, PartialEq, Default)]
pub struct SolveOptions {
    /// The method.
    pub method: Method,
    /// The preconditioner, made of the matrix.
    pub preconditioner: PreconditionerKind,
    /// The stopping test, options of individual methods, and options of the product's plan.
    pub solver: SolverOptions,
}

impl SolveOptions {
    /// A method with the default tolerance and without a preconditioner.
    ///
    /// ```
    /// # use nnz::{Method, SolveOptions, prelude::*};
    /// assert_eq!(SolveOptions::new(Method::Cg).solver.tolerance, 1e-10);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn new(method: Method) -> Self {
        Self { method, ..Self::default() }
    }
}

/// Solving.
impl Matrix {
    /// Solves A·x = b from x = 0: the solution, and how the iteration ended. A solver that does not converge is no
    /// error.
    ///
    /// ```
    /// use nnz::{Method, SolveOptions, prelude::*};
    /// let device = Device::host()?;
    /// let a = Csr::<f64>::new(2, 2, vec![0, 2, 4], vec![0, 1, 0, 1], vec![4.0, 1.0, 1.0, 3.0])?;
    /// let a = Matrix::from_typed(&device, a)?;
    /// let b = Vector::from_slice(&device, &[6.0, 7.0])?;
    /// let (x, solution) = a.solve(&b, &SolveOptions::new(Method::Cg))?;
    /// assert!(solution.converged());
    /// let x = x.to_vec::<f64>()?;
    /// assert!((x[0] - 1.0).abs() < 1e-9 && (x[1] - 2.0).abs() < 1e-9);
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Operands`](Error::Operands) if types or devices differ, [`Shape`](Error::Shape) if b is not as long as A has
    /// rows, or A not square though the method is not for least squares; [`Unsupported`](Error::Unsupported) for values
    /// of 16 bits, for a method that takes no preconditioner, for options out of their range, and for
    /// [`Method::Direct`] if the crate lacks the feature `direct`; [`Singular`](Error::Singular) for
    /// [`Method::Direct`] if A is singular, and with the first row whose diagonal Jacobi's preconditioner cannot take,
    /// or that an incomplete factorization cannot eliminate.
    pub fn solve(&self, b: &Vector, options: &SolveOptions) -> Result<(Vector, Solution)> {
        let mut x = Vector::zeros(self.device(), self.dtype(), self.ncols())?;
        let solution = self.solve_from(b, &mut x, options, |_| ControlFlow::Continue(()))?;
        Ok((x, solution))
    }

    /// Solves A·x = b from the `x` that is given, which gets the last iterate; see [`solve`](Self::solve).
    ///
    /// `callback` is called after each computation of the residual's norm and may stop.
    ///
    /// ```
    /// use nnz::{Method, SolveOptions, prelude::*};
    /// use std::ops::ControlFlow;
    /// let device = Device::host()?;
    /// let a = Matrix::from_typed(&device, Csr::<f64>::identity(2)?)?;
    /// let b = Vector::from_slice(&device, &[1.0, 2.0])?;
    /// let mut x = Vector::from_slice(&device, &[1.0, 0.0])?;
    /// a.solve_from(&b, &mut x, &SolveOptions::new(Method::Cg), |_| ControlFlow::Continue(()))?;
    /// assert_eq!(x.to_vec::<f64>()?, [1.0, 2.0]);
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`solve`](Self::solve).
    pub fn solve_from(
        &self,
        b: &Vector,
        x: &mut Vector,
        options: &SolveOptions,
        callback: impl FnMut(Iteration) -> ControlFlow<()>,
    ) -> Result<Solution> {
        self.solver(options)?.solve_from(b, x, callback)
    }

    /// A solver of this matrix for many right-hand sides, and for [other values](Solver::update): it plans the product,
    /// and allocates its vectors, once.
    ///
    /// ```
    /// use nnz::{Method, SolveOptions, prelude::*};
    /// use std::ops::ControlFlow;
    /// let device = Device::host()?;
    /// let a = Matrix::from_typed(&device, Csr::<f64>::identity(2)?)?;
    /// let mut solver = a.solver(&SolveOptions::new(Method::Cg))?;
    /// for b in [[1.0, 2.0], [3.0, 4.0]] {
    ///     let (b, mut x) = (Vector::from_slice(&device, &b)?, Vector::zeros(&device, DType::F64, 2)?);
    ///     assert!(solver.solve_from(&b, &mut x, |_| ControlFlow::Continue(()))?.converged());
    ///     x.axpby(1.0, &b, -1.0)?;
    ///     assert!(x.nrm2()? < 1e-12);
    /// }
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`solve`](Self::solve), except those of b.
    pub fn solver(&self, options: &SolveOptions) -> Result<Solver> {
        self.any_solver(options, None)
    }

    /// As [`solver`](Self::solver), with an existing preconditioner in place of that of `options`.
    ///
    /// ```
    /// use nnz::{Method, PreconditionerKind, SolveOptions, prelude::*};
    /// use std::ops::ControlFlow;
    /// let device = Device::host()?;
    /// let a = Matrix::from_typed(&device, nnz::generate::stencil_5::<f64>(9, 9)?)?;
    /// let ic0 = a.preconditioner(PreconditionerKind::Ic0)?;
    /// let (b, mut x) = (Vector::from_vec(&device, vec![1.0; 81])?, Vector::zeros(&device, DType::F64, 81)?);
    /// for method in [Method::Cg, Method::EnqueuedCg, Method::Minres] {
    ///     let mut solver = a.solver_with(&SolveOptions::new(method), &ic0)?;
    ///     assert!(solver.solve_from(&b, &mut x, |_| ControlFlow::Continue(()))?.converged());
    /// }
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`solver`](Self::solver); [`Operands`](Error::Operands) for a preconditioner of another type or device,
    /// [`Shape`](Error::Shape) for one of another size.
    pub fn solver_with(&self, options: &SolveOptions, preconditioner: &Preconditioner) -> Result<Solver> {
        self.any_solver(options, Some(preconditioner))
    }

    fn any_solver(&self, options: &SolveOptions, made: Option<&Preconditioner>) -> Result<Solver> {
        check_preconditioner(options, made)?;
        let solver = match self.dtype() {
            DType::F32 => solver_typed::<f32>(self, options, made),
            DType::F64 => solver_typed::<f64>(self, options, made),
            DType::C32 => solver_typed::<c32>(self, options, made),
            DType::C64 => solver_typed::<c64>(self, options, made),
            half @ (DType::F16 | DType::Bf16) => Err(Error::unsupported(
                format_args!("a solver of {half} values"),
                "f32, f64, c32 and c64 have them",
            )),
        };
        solver.map(Solver)
    }
}

/// A solver of one matrix, as [`Matrix::solver`] makes it.
pub struct Solver(Box<dyn AnySolver>);

impl Solver {
    /// Solves A·x = b from the `x` that is given, which gets the last iterate; see [`Matrix::solve_from`].
    ///
    /// ```
    /// use nnz::{Method, SolveOptions, prelude::*};
    /// use std::ops::ControlFlow;
    ///
    /// let device = Device::host()?;
    /// let a = Matrix::from_typed(&device, nnz::generate::stencil_5::<f64>(8, 8)?)?;
    /// let mut solver = a.solver(&SolveOptions::new(Method::Cg))?; // plans and workspace for all right-hand sides
    /// let mut x = Vector::zeros(&device, DType::F64, 64)?;
    /// for scale in [1.0, 1.01] {
    ///     let b = Vector::from_vec(&device, vec![scale; 64])?;
    ///     assert!(solver.solve_from(&b, &mut x, |_| ControlFlow::Continue(()))?.converged()); // from the last x
    /// }
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Operands`](Error::Operands) if types or devices differ, [`Shape`](Error::Shape) if a vector is not as long as
    /// the matrix has rows; an error of the device's runtime.
    pub fn solve_from(
        &mut self,
        b: &Vector,
        x: &mut Vector,
        mut callback: impl FnMut(Iteration) -> ControlFlow<()>,
    ) -> Result<Solution> {
        self.0.solve(b, x, &mut callback)
    }

    /// Takes exactly `iterations` iterations from the `x` that is given, and computes b − A·x once, after them.
    ///
    /// ```
    /// use nnz::{Method, SolveOptions, prelude::*};
    /// let device = Device::host()?;
    /// let a = Matrix::from_typed(&device, Csr::<f64>::identity(2)?)?;
    /// let (b, mut x) = (Vector::from_slice(&device, &[1.0, 2.0])?, Vector::zeros(&device, DType::F64, 2)?);
    /// let solution = a.solver(&SolveOptions::new(Method::EnqueuedCg))?.solve_fixed(&b, &mut x, 3)?;
    /// assert!(solution.converged());
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`solve_from`](Self::solve_from), and [`Unsupported`](Error::Unsupported) for other methods than
    /// [`Method::EnqueuedCg`].
    pub fn solve_fixed(&mut self, b: &Vector, x: &mut Vector, iterations: usize) -> Result<Solution> {
        self.0.solve_fixed(b, x, iterations)
    }

    /// Takes the values of another matrix with an equal pattern, as in the steps of Newton's method or of an
    /// integration in time: plans and workspace stay.
    ///
    /// A preconditioner of the [options](SolveOptions::preconditioner) is computed anew; one of
    /// [`solver_with`](Matrix::solver_with) stays as it is until its owner [updates](Preconditioner::update) it.
    /// [`Method::Direct`] factorizes the new values without another analysis, unless they are no longer Hermitian
    /// positive definite: then LU takes the place of Cholesky's factorization, and stays. After an error the solver is
    /// that of the matrix before.
    ///
    /// [`Matrix::with_values`], [`scaled`](Matrix::scaled) and [`map_values`](Matrix::map_values) give a matrix that
    /// shares the pattern. One that was assembled anew is compared with the matrix before, on the host, for CSR, CSC
    /// and COO; its values are copied to that pattern.
    ///
    /// ```
    /// use nnz::{Method, PreconditionerKind, SolveOptions, prelude::*};
    /// use std::ops::ControlFlow;
    ///
    /// let device = Device::host()?;
    /// let a = Matrix::from_typed(&device, nnz::generate::stencil_5::<f64>(8, 8)?)?;
    /// let preconditioner = PreconditionerKind::Ic0;
    /// let mut solver = a.solver(&SolveOptions { preconditioner, ..SolveOptions::new(Method::Cg) })?;
    /// let (b, mut x) = (Vector::from_vec(&device, vec![1.0; 64])?, Vector::zeros(&device, DType::F64, 64)?);
    /// for step in 1..4 {
    ///     let a = a.scaled(f64::from(step))?;
    ///     solver.update(&a)?;
    ///     assert!(solver.solve_from(&b, &mut x, |_| ControlFlow::Continue(()))?.converged());
    ///     assert!((&(&a * &x)? - &b)?.nrm2()? < 1e-8);
    /// }
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Operands`](Error::Operands) if types or devices differ; [`PlanMismatch`](Error::PlanMismatch) for another
    /// format or pattern; [`Singular`](Error::Singular) as [`Matrix::solver`]; an error of the device's runtime.
    pub fn update(&mut self, a: &Matrix) -> Result<()> {
        self.0.update(a)
    }

    /// The algorithm of the product, and why.
    pub fn choice(&self) -> &Choice {
        self.0.choice()
    }
}

impl Debug for Solver {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Solver").field(self.choice()).finish()
    }
}

pub(in crate::runtime) type Callback<'a> = dyn FnMut(Iteration) -> ControlFlow<()> + 'a;

/// A solver behind one object-safe trait.
pub(in crate::runtime) trait AnySolver: Send {
    fn solve(&mut self, b: &Vector, x: &mut Vector, callback: &mut Callback<'_>) -> Result<Solution>;
    fn solve_fixed(&mut self, _b: &Vector, _x: &mut Vector, _iterations: usize) -> Result<Solution> {
        Err(Error::unsupported("a fixed number of iterations", "enqueued CG takes one"))
    }
    fn update(&mut self, a: &Matrix) -> Result<()>;
    fn choice(&self) -> &Choice;
}

/// Fails for a preconditioner of a method that takes none.
fn check_preconditioner(options: &SolveOptions, made: Option<&Preconditioner>) -> Result<()> {
    let &SolveOptions { method, preconditioner, .. } = options;
    let is_asked_for = made.is_some() || preconditioner != PreconditionerKind::None;
    if is_asked_for && !method.takes_preconditioner() {
        let takers = "cg, bicgstab, enqueued-cg, gmres and minres take one";
        return Err(Error::unsupported(format_args!("a preconditioner of {method}"), takers));
    }
    Ok(())
}

//! Solvers of one value type on one backend.

use super::preconditioner_kind::{AnyPreconditioner, PreconditionerKernels};
use super::same_pattern::in_pattern_of;
use super::solve::{AnySolver, Callback};
use super::solver_matrix::Operator;
use crate::Device;
use crate::device::HostBackend;
use crate::runtime::dispatch::backend::RuntimeBackend;
use crate::runtime::dispatch::operand_errors::mismatch;
use crate::runtime::{Matrix, Method, Preconditioner, SolveOptions, Vector};
use sparse_core::backend::{SpaceOf, ViewMutOf, ViewOf};
use sparse_core::op::SpmvKernel;
use sparse_core::{Accumulator, Choice, Error, Result, Scalar};
use sparse_device::Device as Accelerator;
use sparse_solvers::{BiCgStab, Cg, EnqueuedCg, Gmres, LeastSquares, LeastSquaresMethod, Minres, Solution};

/// A backend with the products of a solver and its preconditioner.
pub(in crate::runtime) trait SolverKernels<T: Scalar>:
    PreconditionerKernels<T> + SpmvKernel<Operator<T, SpaceOf<Self>>>
{
}

impl<B, T> SolverKernels<T> for B
where
    B: PreconditionerKernels<T> + SpmvKernel<Operator<T, SpaceOf<B>>>,
    T: Scalar,
{
}

/// The solver of `a` for the backend of its device.
pub(in crate::runtime) fn solver_typed<T: Accumulator>(
    a: &Matrix,
    options: &SolveOptions,
    made: Option<&Preconditioner>,
) -> Result<Box<dyn AnySolver>>
where
    HostBackend: SolverKernels<T>,
    Accelerator: SolverKernels<T>,
{
    #[cfg(feature = "direct")]
    if options.method == Method::Direct {
        return super::direct::solver::<T>(a, options);
    }
    Ok(match a.device() {
        Device::Cpu(backend) => Box::new(TypedSolver::<HostBackend, T>::new(backend, a, options, made)?),
        Device::Accelerator(backend, _) => {
            Box::new(TypedSolver::<Accelerator, T>::new(backend, a, options, made)?)
        }
    })
}

struct TypedSolver<B, T>
where
    B: SolverKernels<T>,
    T: Accumulator,
{
    operator: OperatorOn<B, T>,
    method: TypedMethod<B, T>,
}

type OperatorOn<B, T> = Operator<T, SpaceOf<B>>;

/// A method with its plan and its vectors.
enum TypedMethod<B, T>
where
    B: SolverKernels<T>,
    T: Accumulator,
{
    Cg(Cg<B, OperatorOn<B, T>, Option<AnyPreconditioner<B, T>>>),
    BiCgStab(BiCgStab<B, OperatorOn<B, T>, Option<AnyPreconditioner<B, T>>>),
    EnqueuedCg(EnqueuedCg<B, OperatorOn<B, T>, Option<AnyPreconditioner<B, T>>>),
    Gmres(Gmres<B, OperatorOn<B, T>, Option<AnyPreconditioner<B, T>>>),
    Minres(Minres<B, OperatorOn<B, T>, Option<AnyPreconditioner<B, T>>>),
    LeastSquares(LeastSquares<B, OperatorOn<B, T>>),
}

/// `$run` with `$solver` as the solver of the method.
macro_rules! with_method {
    ($method:expr, $solver:ident => $run:expr) => {
        match $method {
            TypedMethod::Cg($solver) => $run,
            TypedMethod::BiCgStab($solver) => $run,
            TypedMethod::EnqueuedCg($solver) => $run,
            TypedMethod::Gmres($solver) => $run,
            TypedMethod::Minres($solver) => $run,
            TypedMethod::LeastSquares($solver) => $run,
        }
    };
}

impl<B, T> TypedMethod<B, T>
where
    B: SolverKernels<T>,
    T: Accumulator,
{
    fn preconditioner_mut(&mut self) -> Option<&mut AnyPreconditioner<B, T>> {
        match self {
            Self::Cg(solver) => solver.preconditioner_mut(),
            Self::BiCgStab(solver) => solver.preconditioner_mut(),
            Self::EnqueuedCg(solver) => solver.preconditioner_mut(),
            Self::Gmres(solver) => solver.preconditioner_mut(),
            Self::Minres(solver) => solver.preconditioner_mut(),
            Self::LeastSquares(_) => return None,
        }
        .as_mut()
    }
}

impl<B, T> TypedSolver<B, T>
where
    B: SolverKernels<T>,
    T: Accumulator,
{
    fn new(backend: &B, a: &Matrix, options: &SolveOptions, made: Option<&Preconditioner>) -> Result<Self> {
        let &SolveOptions { method, preconditioner: preconditioning, solver: ref options } = options;
        let preconditioner = || match made {
            Some(made) => made.for_solver_of::<B, T>(a).map(Some),
            None => preconditioning.of::<B, T>(backend, a),
        };
        let operator = Operator::new(a.clone());
        let method = match method {
            Method::Cg => TypedMethod::Cg(Cg::new(backend, &operator, preconditioner()?, options)?),
            Method::BiCgStab => {
                TypedMethod::BiCgStab(BiCgStab::new(backend, &operator, preconditioner()?, options)?)
            }
            Method::EnqueuedCg => {
                TypedMethod::EnqueuedCg(EnqueuedCg::new(backend, &operator, preconditioner()?, options)?)
            }
            Method::Gmres => TypedMethod::Gmres(Gmres::new(backend, &operator, preconditioner()?, options)?),
            Method::Minres => {
                TypedMethod::Minres(Minres::new(backend, &operator, preconditioner()?, options)?)
            }
            Method::Lsqr | Method::Lsmr => {
                let method = match method {
                    Method::Lsqr => LeastSquaresMethod::Lsqr,
                    _ => LeastSquaresMethod::Lsmr,
                };
                TypedMethod::LeastSquares(LeastSquares::new(backend, &operator, method, options)?)
            }
            Method::Direct => {
                let reason = "this build lacks the feature `direct`, which brings the crate faer";
                return Err(Error::unsupported("the method direct", reason));
            }
        };
        Ok(Self { operator, method })
    }
}

/// Calls `solve` with typed views of b and x, checked against `a`.
pub(in crate::runtime) fn with_operands<B: RuntimeBackend, T: Scalar>(
    a: &Matrix,
    b: &Vector,
    x: &mut Vector,
    solve: impl FnOnce(ViewOf<'_, B, T>, ViewMutOf<'_, B, T>) -> Result<Solution>,
) -> Result<Solution> {
    let Some(b) = b.view_in::<B, T>(a.context()) else {
        return Err(mismatch("solve", a.as_operand(), &[b.as_operand("b"), x.as_operand("x")]));
    };
    let Some(x) = x.view_mut_in::<B, T>(a.context()) else {
        return Err(mismatch("solve", a.as_operand(), &[x.as_operand("x")]));
    };
    solve(b, x?)
}

impl<B, T> AnySolver for TypedSolver<B, T>
where
    B: SolverKernels<T>,
    T: Accumulator,
{
    fn solve(&mut self, b: &Vector, x: &mut Vector, callback: &mut Callback<'_>) -> Result<Solution> {
        let Self { operator, method } = self;
        with_operands::<B, T>(
            &operator.matrix,
            b,
            x,
            |b, x| with_method!(method, solver => solver.solve(operator, b, x, callback)),
        )
    }

    fn solve_fixed(&mut self, b: &Vector, x: &mut Vector, iterations: usize) -> Result<Solution> {
        let Self { operator, method } = self;
        let TypedMethod::EnqueuedCg(solver) = method else {
            return Err(Error::unsupported("a fixed number of iterations", "enqueued CG takes one"));
        };
        with_operands::<B, T>(&operator.matrix, b, x, |b, x| solver.solve_fixed(operator, b, x, iterations))
    }

    fn update(&mut self, a: &Matrix) -> Result<()> {
        let a = in_pattern_of("the solver", &self.operator.matrix, a)?;
        if let Some(preconditioner) = self.method.preconditioner_mut() {
            preconditioner.update_from(&a)?;
        }
        self.operator.set_matrix(a);
        Ok(())
    }

    fn choice(&self) -> &Choice {
        with_method!(&self.method, solver => solver.choice())
    }
}

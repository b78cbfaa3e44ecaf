//! A·x = b by iteration, for a matrix of any format.

use super::backend::RuntimeBackend;
use super::erased::AnyMatrix;
use super::fit::mismatch;
use super::{Format, Matrix, Vector};
use crate::Device;
use crate::device::HostBackend;
use sparse_core::backend::{SpaceOf, ViewMutOf, ViewOf};
use sparse_core::format::Transfer;
use sparse_core::op::{Op, SpmvKernel, VectorKernel};
use sparse_core::{
    Accumulator, Algorithm, Choice, ContextId, Csr, DType, Error, Host, KernelPlan, PatternId, PlanOptions,
    Result, Scalar, Space, SparseFormat, c32, c64,
};
use sparse_device::Device as Accelerator;
use sparse_solvers::{
    BiCgStab, Cg, EnqueuedCg, Identity, Iteration, Jacobi, Options, Solution, inverse_diagonal,
};
use std::any::Any;
use std::fmt::Debug;
use std::marker::PhantomData;
use std::ops::ControlFlow;

/// A method of [`Matrix::solve`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Method {
    /// [`Cg`], for Hermitian positive definite matrices.
    Cg,
    /// [`EnqueuedCg`], for the same, which seldom waits for a device and takes no preconditioner.
    EnqueuedCg,
    /// [`BiCgStab`], for any square matrix.
    #[default]
    BiCgStab,
}

/// Method, preconditioner and stopping test of [`Matrix::solve`].
#[derive(Debug, Clone, PartialEq, Default)]
pub struct SolveOptions {
    /// The method.
    pub method: Method,
    /// True to precondition with the diagonal of the matrix.
    pub jacobi: bool,
    /// When the solver stops, and how its products are planned.
    pub options: Options,
}

impl SolveOptions {
    /// A method with the default tolerance and without a preconditioner.
    ///
    /// ```
    /// # use nnz::{Method, SolveOptions, prelude::*};
    /// assert_eq!(SolveOptions::by(Method::Cg).options.tolerance, 1e-10);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn by(method: Method) -> Self {
        Self { method, ..Self::default() }
    }
}

/// Solving.
impl Matrix {
    /// The solution of A·x = b, sought from x = 0, and how the iteration ended. Not to converge is no error.
    ///
    /// # Errors
    /// [`Operands`](Error::Operands) if types or devices differ, [`Shape`](Error::Shape) if A is not square or b not as
    /// long as A has rows; [`Unsupported`](Error::Unsupported) for values of 16 bits, for a preconditioner of
    /// [`Method::EnqueuedCg`], and for a diagonal that Jacobi's preconditioner cannot take.
    ///
    /// ```
    /// use nnz::{Method, SolveOptions, prelude::*};
    /// let device: Device = "cpu".parse()?;
    /// let a = Csr::<f64>::new(2, 2, vec![0, 2, 4], vec![0, 1, 0, 1], vec![4.0, 1.0, 1.0, 3.0])?;
    /// let a = Matrix::from_typed(&device, a)?;
    /// let b = Vector::from_slice(&device, &[6.0, 7.0])?;
    /// let (x, solution) = a.solve(&b, &SolveOptions::by(Method::Cg))?;
    /// assert!(solution.converged());
    /// let x = x.to_vec::<f64>()?;
    /// assert!((x[0] - 1.0).abs() < 1e-9 && (x[1] - 2.0).abs() < 1e-9);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn solve(&self, b: &Vector, options: &SolveOptions) -> Result<(Vector, Solution)> {
        let mut x = Vector::zeros(self.device(), self.dtype(), self.rows())?;
        let solution = self.solve_from(b, &mut x, options, |_| ControlFlow::Continue(()))?;
        Ok((x, solution))
    }

    /// As [`solve`](Self::solve) from the `x` that is given, which gets the last iterate; `callback` is called after each
    /// look at the residual and may stop.
    ///
    /// # Errors
    /// As there.
    ///
    /// ```
    /// use nnz::{Method, SolveOptions, prelude::*};
    /// use std::ops::ControlFlow;
    /// let device: Device = "cpu".parse()?;
    /// let a = Matrix::from_typed(&device, Csr::<f64>::identity(2)?)?;
    /// let b = Vector::from_slice(&device, &[1.0, 2.0])?;
    /// let mut x = Vector::from_slice(&device, &[1.0, 0.0])?;
    /// a.solve_from(&b, &mut x, &SolveOptions::by(Method::Cg), |_| ControlFlow::Continue(()))?;
    /// assert_eq!(x.to_vec::<f64>()?, [1.0, 2.0]);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn solve_from(
        &self,
        b: &Vector,
        x: &mut Vector,
        options: &SolveOptions,
        mut callback: impl FnMut(Iteration) -> ControlFlow<()>,
    ) -> Result<Solution> {
        let callback: &mut Callback<'_> = &mut callback;
        match self.dtype() {
            DType::F32 => solve_typed::<f32>(self, b, x, options, callback),
            DType::F64 => solve_typed::<f64>(self, b, x, options, callback),
            DType::C32 => solve_typed::<c32>(self, b, x, options, callback),
            DType::C64 => solve_typed::<c64>(self, b, x, options, callback),
            half @ (DType::F16 | DType::Bf16) => Err(Error::unsupported(
                format_args!("a solver of {half} values"),
                "f32, f64, c32 and c64 have them: a.cast(DType::F32)?",
            )),
        }
    }
}

type Callback<'a> = dyn FnMut(Iteration) -> ControlFlow<()> + 'a;

fn solve_typed<T: Accumulator>(
    a: &Matrix,
    b: &Vector,
    x: &mut Vector,
    options: &SolveOptions,
    callback: &mut Callback<'_>,
) -> Result<Solution>
where
    HostBackend: SpmvKernel<Operator<T, Host>> + SpmvKernel<Csr<T>>,
    Accelerator: SpmvKernel<Operator<T, Accelerator>> + SpmvKernel<Csr<T, Accelerator>>,
{
    match a.device() {
        Device::Cpu(backend) => solve_on(backend, a, b, x, options, callback),
        Device::Accelerator(backend, _) => solve_on(backend, a, b, x, options, callback),
    }
}

fn solve_on<B, T>(
    backend: &B,
    a: &Matrix,
    b: &Vector,
    x: &mut Vector,
    options: &SolveOptions,
    callback: &mut Callback<'_>,
) -> Result<Solution>
where
    B: RuntimeBackend + VectorKernel<T>,
    B: SpmvKernel<Operator<T, SpaceOf<B>>> + SpmvKernel<Csr<T, SpaceOf<B>>>,
    T: Accumulator,
{
    let &SolveOptions { method, jacobi, ref options } = options;
    let Some(b) = b.view_in::<B, T>(a.context()) else {
        return Err(mismatch("solve", a.as_operand(), &[b.as_operand("b"), x.as_operand("x")]));
    };
    let Some(x) = x.view_mut_in::<B, T>(a.context()) else {
        return Err(mismatch("solve", a.as_operand(), &[x.as_operand("x")]));
    };
    let preconditioner = || match jacobi {
        true => Jacobi::<B, T>::new(backend, inverse_diagonal_of::<T>(a)?).map(Some),
        false => Ok(None),
    };
    let operator = Operator::<T, SpaceOf<B>> { matrix: a.clone(), types: PhantomData };
    match method {
        Method::Cg => {
            Cg::new(backend, &operator, preconditioner()?, options)?.solve(&operator, b, x, callback)
        }
        Method::BiCgStab => {
            BiCgStab::new(backend, &operator, preconditioner()?, options)?.solve(&operator, b, x, callback)
        }
        Method::EnqueuedCg if jacobi => {
            Err(Error::unsupported("a preconditioner of enqueued CG", "CG and BiCGSTAB take one"))
        }
        Method::EnqueuedCg => {
            EnqueuedCg::new(backend, &operator, Identity, options)?.solve(&operator, b, x, callback)
        }
    }
}

/// The inverse of the diagonal, on the host.
fn inverse_diagonal_of<T: Accumulator>(a: &Matrix) -> Result<Vec<T>> {
    let host = a.to_format(Format::Csr)?.host_copy()?;
    if let Some(a) = host.downcast_ref::<Csr<T, Host, i32, i32>>() {
        return inverse_diagonal(a);
    }
    if let Some(a) = host.downcast_ref::<Csr<T, Host, i32, i64>>() {
        return inverse_diagonal(a);
    }
    match host.downcast_ref::<Csr<T, Host, i64, i64>>() {
        Some(a) => inverse_diagonal(a),
        None => Err(Error::unsupported("Jacobi's preconditioner of this matrix", "its types are unknown")),
    }
}

/// A [`Matrix`] as the matrix of a solver, which is compiled for `T` and so for all formats and index types at once.
#[derive(Debug)]
struct Operator<T, S> {
    matrix: Matrix,
    types: PhantomData<fn() -> (T, S)>,
}

impl<T: Scalar, S: Space> SparseFormat for Operator<T, S> {
    type Scalar = T;
    type Space = S;
    type In<U: Space> = Operator<T, U>;
    const FORMAT: &'static str = "any";

    fn rows(&self) -> usize {
        self.matrix.rows()
    }

    fn cols(&self) -> usize {
        self.matrix.cols()
    }

    fn nnz(&self) -> usize {
        self.matrix.nnz()
    }

    fn pattern_id(&self) -> PatternId {
        self.matrix.pattern_id()
    }

    fn context(&self) -> ContextId {
        self.matrix.context()
    }

    fn transfer<U: Space>(&self, _: &impl Transfer<S, U>) -> Result<Operator<T, U>> {
        Err(Error::unsupported("a copy of a solver's matrix", "Matrix::to_device makes one"))
    }
}

/// A plan of products that takes views: what a solver has.
pub(crate) trait OperatorPlan<B: RuntimeBackend, T: Scalar>: Debug + Send {
    fn run(
        &mut self,
        alpha: T::Acc,
        a: &dyn AnyMatrix,
        x: ViewOf<'_, B, T>,
        beta: T::Acc,
        y: ViewMutOf<'_, B, T>,
    ) -> Result<()>;
    fn choice(&self) -> &Choice;
    fn workspace_bytes(&self) -> usize;
}

#[derive(Debug)]
struct Plan<B, T>(Box<dyn OperatorPlan<B, T>>);

impl<B: RuntimeBackend, T: Scalar> Plan<B, T> {
    fn new(a: &Matrix, op: Op, options: &PlanOptions) -> Result<Self> {
        let plan: Box<dyn Any> = a.operator_plan(op, options)?;
        let found = plan.downcast::<Box<dyn OperatorPlan<B, T>>>();
        found
            .map(|plan| Self(*plan))
            .map_err(|_| Error::operands("spmv", format_args!("{a:?} is not of the solver's type")))
    }
}

impl<B: RuntimeBackend, T: Scalar> KernelPlan for Plan<B, T> {
    fn choice(&self) -> &Choice {
        self.0.choice()
    }

    fn workspace_bytes(&self) -> usize {
        self.0.workspace_bytes()
    }
}

macro_rules! operator_kernel {
    ($backend:ty, $space:ty) => {
        impl<T: Scalar> SpmvKernel<Operator<T, $space>> for $backend {
            type Plan = Plan<Self, T>;

            fn spmv_algorithms(&self, _: Op) -> &'static [Algorithm] {
                &[] // a table of each format's
            }

            fn plan_spmv(
                &self,
                a: &Operator<T, $space>,
                op: Op,
                options: &PlanOptions,
            ) -> Result<Self::Plan> {
                Plan::new(&a.matrix, op, options)
            }

            unsafe fn spmv(
                &self,
                plan: &mut Self::Plan,
                alpha: T::Acc,
                a: &Operator<T, $space>,
                x: ViewOf<'_, Self, T>,
                beta: T::Acc,
                y: ViewMutOf<'_, Self, T>,
            ) -> Result<()> {
                // The typed plan checks its operands again, which takes no time beside the product.
                plan.0.run(alpha, a.matrix.any(), x, beta, y)
            }
        }
    };
}

operator_kernel!(HostBackend, Host);
operator_kernel!(Accelerator, Accelerator);

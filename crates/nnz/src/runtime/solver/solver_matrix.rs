//! A matrix of any format as the matrix of a solver.

use crate::Device;
use crate::device::HostBackend;
use crate::runtime::Matrix;
use crate::runtime::dispatch::any_matrix::{AnyMatrix, Properties};
use crate::runtime::dispatch::backend::RuntimeBackend;
use crate::runtime::dispatch::operand_errors::mismatch;
use sparse_core::backend::{ViewMutOf, ViewOf};
use sparse_core::format::Transfer;
use sparse_core::op::{Op, SpmvKernel};
use sparse_core::{
    Algorithm, Choice, ContextId, Error, Host, KernelPlan, PatternId, PlanOptions, Result, Scalar, Space,
    SparseFormat,
};
use sparse_device::Device as Accelerator;
use std::any::Any;
use std::fmt::Debug;
use std::marker::PhantomData;

/// A [`Matrix`] as a matrix format for solvers, which are thus compiled for each `T`, not for each format and index
/// type.
#[derive(Debug)]
pub(in crate::runtime) struct Operator<T, S> {
    pub(in crate::runtime) matrix: Matrix,
    types: PhantomData<fn() -> (T, S)>,
}

impl<T, S> Operator<T, S> {
    pub(in crate::runtime) fn new(matrix: Matrix) -> Self {
        Self { matrix, types: PhantomData }
    }
}

impl<T: Scalar, S: Space> SparseFormat for Operator<T, S> {
    type Scalar = T;
    type Space = S;
    type In<U: Space> = Operator<T, U>;
    const FORMAT: &'static str = "any";

    fn nrows(&self) -> usize {
        self.matrix.nrows()
    }

    fn ncols(&self) -> usize {
        self.matrix.ncols()
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

/// Fails unless `a` has the type, the device and the pattern of the matrix that `made`, a solver or a preconditioner, was
/// made for.
pub(in crate::runtime) fn check_same_pattern(
    made: &'static str,
    (device, before): (&Device, &Properties),
    a: &Matrix,
) -> Result<()> {
    let now = &a.properties;
    if (now.dtype, now.context) != (before.dtype, before.context) {
        return Err(mismatch(UPDATE, (made, before.dtype, device), &[a.as_operand()]));
    }
    if (now.format, now.pattern) == (before.format, before.pattern) {
        return Ok(());
    }
    let of = |p: &Properties| format!("{} of {} x {} with {} entries", p.format, p.rows, p.cols, p.nnz);
    let reason = format!(
        "{made} was made for {}, the matrix is {} and has another pattern; with_values of the former matrix gives one \
         of its pattern",
        of(before),
        of(now)
    );
    Err(Error::PlanMismatch { op: UPDATE, reason })
}

/// The operation that errors name.
const UPDATE: &str = "update";

/// A plan of products that takes views, as solvers call it.
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
pub(in crate::runtime) struct Plan<B, T>(Box<dyn OperatorPlan<B, T>>);

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

            unsafe fn run_spmv(
                &self,
                plan: &mut Self::Plan,
                alpha: T::Acc,
                a: &Operator<T, $space>,
                x: ViewOf<'_, Self, T>,
                beta: T::Acc,
                y: ViewMutOf<'_, Self, T>,
            ) -> Result<()> {
                // The typed plan checks its operands again; the time is negligible beside the product.
                plan.0.run(alpha, a.matrix.any(), x, beta, y)
            }
        }
    };
}

operator_kernel!(HostBackend, Host);
operator_kernel!(Accelerator, Accelerator);

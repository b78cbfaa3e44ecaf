//! A matrix of any format as the matrix of a solver.

use crate::device::HostBackend;
use crate::runtime::Matrix;
use crate::runtime::dispatch::any_matrix::AnyMatrix;
use crate::runtime::dispatch::backend::RuntimeBackend;
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
    /// The pattern for which the solver's plan was made.
    pattern: PatternId,
    types: PhantomData<fn() -> (T, S)>,
}

impl<T, S> Operator<T, S> {
    pub(in crate::runtime) fn new(matrix: Matrix) -> Self {
        Self { pattern: matrix.pattern_id(), matrix, types: PhantomData }
    }

    /// Replaces the matrix by one with an equal pattern, which may have another id.
    pub(in crate::runtime) fn set_matrix(&mut self, matrix: Matrix) {
        self.matrix = matrix;
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
        self.pattern
    }

    fn context(&self) -> ContextId {
        self.matrix.context()
    }

    fn transfer<U: Space>(&self, _: &impl Transfer<S, U>) -> Result<Operator<T, U>> {
        Err(Error::unsupported("a copy of a solver's matrix", "Matrix::to_device makes one"))
    }
}

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
    /// True if it can run with `a`, as far as types go.
    fn has_type_of(&self, a: &dyn AnyMatrix) -> bool;
    fn choice(&self) -> &Choice;
    fn workspace_bytes(&self) -> usize;
}

/// A plan of the product with the matrix of an [`Operator`], which is made anew once that matrix has another type or
/// pattern: then a matrix with arrays of its own has taken the place of one that borrows them, or the other way round.
#[derive(Debug)]
pub(in crate::runtime) struct Plan<B, T> {
    product: Box<dyn OperatorPlan<B, T>>,
    pattern: PatternId,
    op: Op,
    options: PlanOptions,
}

impl<B: RuntimeBackend, T: Scalar> Plan<B, T> {
    fn new(a: &Matrix, op: Op, options: &PlanOptions) -> Result<Self> {
        let plan: Box<dyn Any> = a.operator_plan(op, options)?;
        let found = plan.downcast::<Box<dyn OperatorPlan<B, T>>>();
        let product =
            found.map_err(|_| Error::operands("spmv", format_args!("{a:?} is not of the solver's type")))?;
        Ok(Self { product: *product, pattern: a.pattern_id(), op, options: options.clone() })
    }

    /// The plan of the product with `a`.
    fn product_with(&mut self, a: &Matrix) -> Result<&mut dyn OperatorPlan<B, T>> {
        if self.pattern != a.pattern_id() || !self.product.has_type_of(a.any()) {
            *self = Self::new(a, self.op, &self.options)?;
        }
        Ok(&mut *self.product)
    }
}

impl<B: RuntimeBackend, T: Scalar> KernelPlan for Plan<B, T> {
    fn choice(&self) -> &Choice {
        self.product.choice()
    }

    fn workspace_bytes(&self) -> usize {
        self.product.workspace_bytes()
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
                plan.product_with(&a.matrix)?.run(alpha, a.matrix.any(), x, beta, y)
            }
        }
    };
}

operator_kernel!(HostBackend, Host);
operator_kernel!(Accelerator, Accelerator);

//! All operations of a backend together: what the command, the conformance table and generic code ask for.

use super::*;
use crate::backend::{Backend, SpaceOf, ViewMutOf, ViewOf};
use crate::error::Result;
use crate::format::{
    BatchCsc, BatchCsr, Coo, Csc, Csr, DenseView, DenseViewMut, Ell, Hyb, Sell, SparseFormat,
};
use crate::index::Index;
use crate::plan::PlanOptions;
use crate::scalar::Scalar;
use crate::{for_all_types, for_each_operation};

macro_rules! full_backend {
    (
        formats { $($of:ident $of_name:ident $of_kernel:ident $of_title:literal {
            $($($format:ident<$($index:ident),+>)=>+),+
        })+ }
        types { $($on:ident $on_name:ident $on_kernel:ident $on_title:literal { $($parameter:ident),+ })+ }
        elements { $($elements:tt)+ }
    ) => {
        /// Every operation for one triple of value, index and offset type.
        pub trait FullBackend<T: Scalar, I: Index, O: Index>: Backend
            $($(+ $of_kernel<$($format<T, SpaceOf<Self>, $($index),+>),+>)+)+
            $(+ $on_kernel<$($parameter),+>)+
        {
        }

        impl<B, T: Scalar, I: Index, O: Index> FullBackend<T, I, O> for B
        where
            B: Backend
                $($(+ $of_kernel<$($format<T, SpaceOf<Self>, $($index),+>),+>)+)+
                $(+ $on_kernel<$($parameter),+>)+
        {
        }
    };
}

for_each_operation!(full_backend);

macro_rules! element_operations {
    (
        formats { $($formats:tt)+ }
        types { $($types:tt)+ }
        elements { $($over:ident $over_name:ident $over_kernel:ident $over_title:literal { $($element:ty),+ })+ }
    ) => {
        /// Every operation on elements that are no values of a matrix.
        pub trait ElementOperations: Backend $($(+ $over_kernel<$element>)+)+ {}

        impl<B> ElementOperations for B where B: Backend $($(+ $over_kernel<$element>)+)+ {}
    };
}

for_each_operation!(element_operations);

macro_rules! all_types {
    ($(($t:ty, $i:ty, $o:ty)),* $(,)?) => {
        /// Every operation for every supported triple of types (rules T1 and T4), and those on elements.
        pub trait AllTypes: $(FullBackend<$t, $i, $o> +)* ElementOperations {}

        impl<B> AllTypes for B where B: $(FullBackend<$t, $i, $o> +)* ElementOperations {}
    };
}

for_all_types!(all_types);

/// Run-time choice of a backend without trait objects below it: a visitor that is generic in the backend.
pub trait WithBackend {
    /// What the visitor returns.
    type Out;

    /// Runs on the backend that was chosen.
    fn call<B: AllTypes>(self, backend: &B) -> Self::Out;
}

/// Operations that run once, planned and forgotten; make a plan of your own where a pattern is used again.
pub trait Operations: Backend {
    /// `y ← alpha·op(A)·x + beta·y`; see [`SpmvPlan`].
    ///
    /// # Errors
    /// Those of [`SpmvPlan::new`] and [`SpmvPlan::run`].
    fn spmv<M>(
        &self,
        op: Op,
        alpha: AccOf<M>,
        a: &M,
        x: ViewOf<'_, Self, M::Scalar>,
        beta: AccOf<M>,
        y: ViewMutOf<'_, Self, M::Scalar>,
    ) -> Result<()>
    where
        M: SparseFormat<Space = SpaceOf<Self>>,
        Self: SpmvKernel<M> + VectorKernel<M::Scalar>,
    {
        SpmvPlan::new(self, a, op, &PlanOptions::once())?.run(alpha, a, x, beta, y)
    }

    /// `C ← alpha·op(A)·B + beta·C`; see [`SpmmPlan`].
    ///
    /// # Errors
    /// Those of [`SpmmPlan::new`] and [`SpmmPlan::run`].
    fn spmm<M>(
        &self,
        op: Op,
        alpha: AccOf<M>,
        a: &M,
        b: DenseView<'_, M::Scalar, SpaceOf<Self>>,
        beta: AccOf<M>,
        c: DenseViewMut<'_, M::Scalar, SpaceOf<Self>>,
    ) -> Result<()>
    where
        M: SparseFormat<Space = SpaceOf<Self>>,
        Self: SpmmKernel<M> + VectorKernel<M::Scalar>,
    {
        SpmmPlan::new(self, a, op, b.cols(), &PlanOptions::once())?.run(alpha, a, b, beta, c)
    }

    /// `from` in another format; see [`ConvertPlan`].
    ///
    /// # Errors
    /// Those of [`ConvertPlan::new`] and [`ConvertPlan::run`].
    fn convert<From, To>(&self, from: &From, layout: &From::Layout) -> Result<To>
    where
        From: Conversion<To> + SparseFormat<Space = SpaceOf<Self>>,
        To: SparseFormat<Space = SpaceOf<Self>>,
        Self: ConvertKernel<From, To>,
    {
        ConvertPlan::new(self, from, layout, &PlanOptions::once())?.run(from)
    }

    /// A dense matrix as CSR; see [`DenseToCompressedPlan`] for CSC, COO and batches.
    ///
    /// # Errors
    /// Those of [`DenseToCompressedPlan::new`] and [`DenseToCompressedPlan::run`].
    fn dense_to_csr<T: Scalar, I: Index, O: Index>(
        &self,
        a: DenseView<'_, T, SpaceOf<Self>>,
        keep: Keep<T>,
    ) -> Result<Csr<T, SpaceOf<Self>, I, O>>
    where
        Self: DenseToCsrKernel<T, I, O>,
    {
        DenseToCompressedPlan::new(self, a, keep, &PlanOptions::once())?.run(a)
    }

    /// Writes a sparse matrix to a dense one; see [`ToDensePlan`].
    ///
    /// # Errors
    /// Those of [`ToDensePlan::new`] and [`ToDensePlan::run`].
    fn to_dense<M>(&self, a: &M, dense: DenseViewMut<'_, M::Scalar, SpaceOf<Self>>) -> Result<()>
    where
        M: SparseFormat<Space = SpaceOf<Self>>,
        Self: ToDenseKernel<M>,
    {
        ToDensePlan::new(self, a, &PlanOptions::once())?.run(a, dense)
    }

    /// A sorted copy; see [`SortPlan`].
    ///
    /// # Errors
    /// Those of [`SortPlan::new`] and [`SortPlan::run`].
    fn sort<M>(&self, a: &M) -> Result<M>
    where
        M: SparseFormat<Space = SpaceOf<Self>>,
        Self: SortKernel<M>,
    {
        SortPlan::new(self, a, &PlanOptions::once())?.run(a)
    }

    /// A copy without zeros or small entries; see [`PrunePlan`].
    ///
    /// # Errors
    /// Those of [`PrunePlan::new`] and [`PrunePlan::run`].
    fn prune<M>(&self, a: &M, keep: Keep<M::Scalar>) -> Result<M>
    where
        M: SparseFormat<Space = SpaceOf<Self>>,
        Self: PruneKernel<M>,
    {
        PrunePlan::new(self, a, &PlanOptions::once())?.run(a, keep)
    }

    /// Statistics of the row lengths; see [`RowStatisticsPlan`].
    ///
    /// # Errors
    /// Those of [`RowStatisticsPlan::new`] and [`RowStatisticsPlan::run`].
    fn row_statistics<M>(&self, a: &M) -> Result<RowStatistics>
    where
        M: SparseFormat<Space = SpaceOf<Self>>,
        Self: RowStatisticsKernel<M>,
    {
        RowStatisticsPlan::new(self, a, &PlanOptions::once())?.run(a)
    }
}

impl<B: Backend> Operations for B {}

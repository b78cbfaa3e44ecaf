//! CSR and CSC as formats of the run-time layer.

use super::to_layout::{csr_to_layout, into_layout};
use super::{
    DeviceBackend, MapValues, RuntimeFormat, bytes_of, copy_of, one_matrix_members, sampled_members,
    spmm_members,
};
use crate::runtime::dispatch::any_matrix::ProductExtent;
use crate::runtime::dispatch::backend::RuntimeBackend;
use crate::runtime::dispatch::operand_errors::factor;
use crate::runtime::dispatch::operands::with_dense;
use crate::runtime::dispatch::typed_plan::TypedPlan;
use crate::runtime::operation::galerkin::AnyGalerkinPlan;
use crate::runtime::operation::plan::AnySpmmPlan;
use crate::runtime::operation::sddmm::AnySddmmPlan;
use crate::runtime::operation::spgemm_plan::AnySpgemmPlan;
use crate::runtime::{DenseMatrix, Format, IndexType, Layout, Matrix};
use sparse_core::backend::{SpaceOf, ViewMutOf, ViewOf};
use sparse_core::op::vector::nrm2;
use sparse_core::op::{
    Aggregation, Elementwise, ElementwisePlan, FullBackend, GalerkinPlan, Keep, Op, Operations, PrunePlan,
    Reduction, RowStatistics, Sampling, SddmmKernel, SddmmPlan, SortPlan, SpgemmBound, SpgemmPlan,
    SpmmKernel, SpmmPlan, SpmmReducePlan,
};
use sparse_core::{
    Algorithm, Col, Compressed, Coo, Csr, DenseViewMut, Error, Index, Order, PlanOptions, Result, Row,
    Scalar, Selection, Space as _, SparseFormat as _, c64,
};

/// The error of operands whose types of indices or offsets differ.
#[cold]
fn other_indices(op: Elementwise, a: IndexType, b: IndexType) -> Error {
    Error::operands(op.name(), format_args!("A has indices of {a}, B of {b}, or offsets of other types"))
}

/// The methods of [`RuntimeFormat`] that CSR and CSC have in common.
macro_rules! compressed_members {
    ($axis:ty) => {
        one_matrix_members!(B);
        sampled_members!(B);

        type With<U: Scalar> = Compressed<$axis, U, SpaceOf<B>, I, O>;

        fn offset_type() -> Option<IndexType> {
            Some(IndexType::of::<O>())
        }

        fn bytes(&self) -> usize {
            bytes_of::<SpaceOf<B>, O>(self.offsets())
                + bytes_of::<SpaceOf<B>, I>(self.indices())
                + bytes_of::<SpaceOf<B>, T>(self.values())
        }

        fn map_values<U: Scalar>(&self, map: &MapValues<'_, B, I, T, U>) -> Result<Self::With<U>> {
            self.with_values(map(self.values(), None)?)
        }

        fn entry_values(&self) -> Option<ViewOf<'_, B, T>> {
            Some(SpaceOf::<B>::view(self.values()))
        }

        /// Along the other axis: only the values are copied.
        fn transposed(&self, on: DeviceBackend<'_, B>) -> Result<Matrix> {
            on.erase(self.with_values(copy_of::<B, T>(on.backend, self.values())?)?.into_transpose())
        }

        fn sorted(&self, backend: &B) -> Result<Self> {
            SortPlan::new(backend, self, &PlanOptions::once())?.run(self)
        }

        fn pruned(&self, backend: &B, keep: Keep<T>) -> Result<Self> {
            PrunePlan::new(backend, self, &PlanOptions::once())?.run(self, keep)
        }

        fn selected(&self, backend: &B, rows: &Selection<'_>, cols: &Selection<'_>) -> Result<Self> {
            let selected = Operations::select(backend, self, rows.clone(), cols.clone())?;
            if selected.order().sorted { Ok(selected) } else { selected.sorted(backend) }
        }

        fn elementwise(
            &self,
            on: DeviceBackend<'_, B>,
            op: Elementwise,
            alpha: c64,
            b: &Matrix,
            beta: c64,
        ) -> Result<Matrix> {
            let Some(typed) = b.downcast_ref::<Self>() else {
                return Err(other_indices(op, IndexType::of::<I>(), b.index_type()));
            };
            let (alpha, beta) = (factor(op.name(), "alpha", alpha)?, factor(op.name(), "beta", beta)?);
            let mut plan = ElementwisePlan::new(on.backend, op, self, typed, &PlanOptions::once())?;
            on.erase(plan.run(alpha, self, beta, typed)?)
        }

        fn norm_of_values(&self, backend: &B) -> Result<Option<f64>> {
            if !self.order().unique {
                return Ok(None);
            }
            nrm2::<B, T>(backend, SpaceOf::<B>::view(self.values())).map(|norm| Some(norm.to_c64().re))
        }

        fn reduce(&self, backend: &B, by: Reduction, y: ViewMutOf<'_, B, T>) -> Result<()> {
            Operations::reduce(backend, by, self, y)
        }

        fn softmax(&self, backend: &B) -> Result<Self> {
            Operations::softmax(backend, self)
        }

        fn spgemm(
            &self,
            on: DeviceBackend<'_, B>,
            b: &Matrix,
            extent: ProductExtent<'_>,
        ) -> Result<Option<Matrix>> {
            let Some(b) = b.downcast_ref::<Self>() else { return Ok(None) };
            let once = PlanOptions::once();
            let product = match extent {
                ProductExtent::Whole => Operations::spgemm(on.backend, self, b)?,
                ProductExtent::Pattern => SpgemmPlan::new(on.backend, self, b, &once)?.output()?,
                ProductExtent::Masked(mask) => {
                    let Some(mask) = mask.downcast_ref::<Self>() else { return Ok(None) };
                    SpgemmPlan::masked(on.backend, self, b, mask, &once)?.run(self, b)?
                }
            };
            on.erase(product).map(Some)
        }

        fn spgemm_bound(&self, backend: &B, b: &Matrix) -> Result<Option<SpgemmBound>> {
            b.downcast_ref::<Self>().map(|b| SpgemmPlan::bound(backend, self, b)).transpose()
        }

        fn plan_spgemm(
            &self,
            on: DeviceBackend<'_, B>,
            b: &Matrix,
            options: &PlanOptions,
        ) -> Result<Option<Box<dyn AnySpgemmPlan>>> {
            let Some(b) = b.downcast_ref::<Self>() else { return Ok(None) };
            let plan = SpgemmPlan::new(on.backend, self, b, options)?;
            Ok(Some(Box::new(TypedPlan::new(on, plan))))
        }

        fn plan_galerkin(
            &self,
            on: DeviceBackend<'_, B>,
            r: &Self,
            p: &Self,
            options: &PlanOptions,
        ) -> Result<Box<dyn AnyGalerkinPlan>> {
            let plan = GalerkinPlan::new(on.backend, r, self, p, options)?;
            Ok(Box::new(TypedPlan::new(on, plan)))
        }
    };
}

impl<B, T, I, O> RuntimeFormat<B> for Compressed<Row, T, SpaceOf<B>, I, O>
where
    B: RuntimeBackend + FullBackend<T, I, O>,
    T: Scalar,
    I: Index,
    O: Index,
{
    const KIND: Format = Format::Csr;

    compressed_members!(Row);

    fn to_layout(&self, on: DeviceBackend<'_, B>, layout: &Layout) -> Result<Matrix> {
        csr_to_layout(on, self, layout)
    }

    fn spmm_reduce(
        &self,
        on: DeviceBackend<'_, B>,
        by: Aggregation,
        b: &DenseMatrix,
        c: &mut DenseMatrix,
        with_arguments: bool,
    ) -> Result<Vec<i64>> {
        let operand = (("the matrix", T::DTYPE, on.device), self.context());
        let (backend, mut result) = (on.backend, vec![]);
        with_dense::<B, T>("spmm_reduce", operand, b, c, &mut |b, c| {
            let mut plan = SpmmReducePlan::new(backend, by, self, b.ncols(), &PlanOptions::once())?;
            if !with_arguments {
                return plan.run(self, b, c, None);
            }
            let (rows, cols) = c.shape();
            let mut arguments = backend.zeros::<i64>(rows * cols)?;
            let view = SpaceOf::<B>::view_mut(&mut arguments);
            plan.run(self, b, c, Some(DenseViewMut::new(view, rows, cols, cols, Order::RowMajor)?))?;
            result = backend.download(&arguments)?;
            Ok(())
        })?;
        Ok(result)
    }

    fn row_statistics(&self, backend: &B) -> Result<RowStatistics> {
        Operations::row_statistics(backend, self)
    }
}

impl<B, T, I, O> RuntimeFormat<B> for Compressed<Col, T, SpaceOf<B>, I, O>
where
    B: RuntimeBackend + FullBackend<T, I, O>,
    T: Scalar,
    I: Index,
    O: Index,
{
    const KIND: Format = Format::Csc;

    compressed_members!(Col);

    fn to_layout(&self, on: DeviceBackend<'_, B>, layout: &Layout) -> Result<Matrix> {
        if *layout == Layout::Coo {
            return on.erase(Operations::convert::<_, Coo<T, SpaceOf<B>, I>>(on.backend, self, &())?);
        }
        let csr = Operations::convert::<_, Csr<T, SpaceOf<B>, I, O>>(on.backend, self, &())?;
        into_layout(on, csr, layout)
    }

    fn row_statistics(&self, backend: &B) -> Result<RowStatistics> {
        let csr = Operations::convert::<_, Csr<T, SpaceOf<B>, I, O>>(backend, self, &())?;
        Operations::row_statistics(backend, &csr)
    }
}

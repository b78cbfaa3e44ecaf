//! A typed matrix under the trait that hides its type: written once for all formats, types and backends.

use super::any_matrix::{AnyMatrix, ProductExtent, Properties};
use super::backend::{FormatKernels, RuntimeBackend};
use super::operand_errors::{Operand, factor, keep, mismatch};
use super::operands::{with_dense, with_vectors};
use super::runtime_format::{DeviceBackend, RuntimeFormat, unavailable};
use crate::Device;
use crate::runtime::operation::galerkin::{AnyGalerkinPlan, unlike_factors};
use crate::runtime::operation::plan::{AnySpmmPlan, AnySpmvPlan};
use crate::runtime::operation::sddmm::AnySddmmPlan;
use crate::runtime::operation::spgemm_plan::AnySpgemmPlan;
use crate::runtime::solver::solver_matrix::OperatorPlan;
use crate::runtime::{DenseMatrix, IndexType, Layout, Matrix, Vector};
use sparse_core::backend::{Buf, SpaceOf, ViewMutOf, ViewOf};
use sparse_core::op::vector::axpby;
use sparse_core::op::{
    AccOf, Aggregation, Elementwise, Op, Reduction, RowStatistics, Sampling, SpgemmBound, SpmmKernel,
    SpmmPlan, SpmvPlan, VectorKernel,
};
use sparse_core::{
    Algorithm, Choice, DType, DenseView, DenseViewMut, Error, Host, Index, PlanOptions, Result, Scalar,
    Selection, Space, SparseFormat, c64, cast_slice,
    space::{Buffer as _, View as _},
    with_dtype,
};
use std::any::Any;
use std::sync::Arc;

/// A matrix in the memory of a backend.
pub(crate) struct Typed<B, M>
where
    B: FormatKernels<M>,
    M: SparseFormat<Space = SpaceOf<B>>,
{
    backend: B,
    device: Device,
    matrix: M,
}

impl<B, M> Typed<B, M>
where
    B: RuntimeBackend + FormatKernels<M>,
    M: RuntimeFormat<B>,
{
    pub(crate) fn new(backend: B, device: Device, matrix: M) -> Self {
        Self { backend, device, matrix }
    }

    fn on(&self) -> DeviceBackend<'_, B> {
        DeviceBackend { backend: &self.backend, device: &self.device }
    }

    fn as_operand(&self) -> Operand<'_> {
        ("the matrix", M::Scalar::DTYPE, &self.device)
    }

    /// The matrix with its values as `U`, converted on the host.
    fn cast_to<U: Scalar>(&self) -> Result<Matrix> {
        let cast = |values: &Buf<B, M::Scalar>, columns: Option<&Buf<B, M::Index>>| {
            cast_values(&self.backend, values, columns)
        };
        self.on().erase(self.matrix.map_values::<U>(&cast)?)
    }
}

impl<B, M> AnyMatrix for Typed<B, M>
where
    B: RuntimeBackend + FormatKernels<M>,
    M: RuntimeFormat<B>,
{
    fn as_any(&self) -> &dyn Any {
        &self.matrix
    }

    fn into_any(self: Arc<Self>) -> Option<Box<dyn Any>> {
        Some(Box::new(Arc::into_inner(self)?.matrix))
    }

    fn properties(&self) -> Properties {
        let matrix = &self.matrix;
        Properties {
            format: M::KIND,
            dtype: M::Scalar::DTYPE,
            index_type: IndexType::of::<M::Index>(),
            offset_type: M::offset_type(),
            rows: matrix.nrows(),
            cols: matrix.ncols(),
            nnz: matrix.nnz(),
            bytes: matrix.bytes(),
            pattern: matrix.pattern_id(),
            context: matrix.context(),
            batch: matrix.batch(),
        }
    }

    fn spmv_algorithms(&self, op: Op) -> &'static [Algorithm] {
        self.backend.spmv_algorithms(op)
    }

    fn spmm_algorithms(&self, op: Op) -> &'static [Algorithm] {
        M::spmm_algorithms(&self.backend, op)
    }

    fn plan_spmv(&self, op: Op, options: &PlanOptions) -> Result<Box<dyn AnySpmvPlan>> {
        Ok(Box::new(SpmvPlan::new(&self.backend, &self.matrix, op, options)?))
    }

    fn plan_spmm(&self, op: Op, columns: usize, options: &PlanOptions) -> Result<Box<dyn AnySpmmPlan>> {
        self.matrix.plan_spmm(&self.backend, op, columns, options)
    }

    fn sddmm_algorithms(&self) -> &'static [Algorithm] {
        M::sddmm_algorithms(&self.backend)
    }

    fn plan_sddmm(
        &self,
        sampling: Sampling,
        inner: usize,
        options: &PlanOptions,
    ) -> Result<Box<dyn AnySddmmPlan>> {
        self.matrix.plan_sddmm(&self.backend, sampling, inner, options)
    }

    fn with_values(&self, values: &Vector) -> Result<Matrix> {
        let Some(values) = values.view_in::<B, M::Scalar>(self.matrix.context()) else {
            return Err(mismatch("with_values", self.as_operand(), &[values.as_operand("the vector")]));
        };
        let replace = |_: &Buf<B, M::Scalar>, columns: Option<&Buf<B, M::Index>>| match columns {
            Some(_) => Err(unavailable("with_values", M::KIND)),
            None => copied::<B, M::Scalar>(&self.backend, values),
        };
        self.on().erase(self.matrix.map_values::<M::Scalar>(&replace)?)
    }

    fn copy_values(&self, y: &mut Vector) -> Result<()> {
        let Some(values) = self.matrix.entry_values() else { return Err(unavailable("values", M::KIND)) };
        let Some(y) = y.view_mut_in::<B, M::Scalar>(self.matrix.context()) else {
            return Err(mismatch("values", self.as_operand(), &[y.as_operand("the vector")]));
        };
        self.backend.copy::<M::Scalar>(values, y?)
    }

    fn copy(&self) -> Result<Matrix> {
        let copy = |values: &Buf<B, M::Scalar>, _: Option<&Buf<B, M::Index>>| {
            copied::<B, M::Scalar>(&self.backend, SpaceOf::<B>::view(values))
        };
        self.on().erase(self.matrix.map_values::<M::Scalar>(&copy)?)
    }

    fn to_layout(&self, layout: &Layout) -> Result<Matrix> {
        self.matrix.to_layout(self.on(), layout)
    }

    fn transpose(&self) -> Result<Matrix> {
        self.matrix.transposed(self.on())
    }

    fn to_device(&self, device: &Device) -> Result<Matrix> {
        if let Some(matrix) = (&self.matrix as &dyn Any).downcast_ref::<M::In<Host>>() {
            return copy_to_device(matrix, device);
        }
        copy_to_device(&self.matrix.to_host(&self.backend)?, device)
    }

    fn scaled(&self, alpha: c64) -> Result<Matrix> {
        let alpha = factor("scale", "the factor", alpha)?;
        let scale = |values: &Buf<B, M::Scalar>, _: Option<&Buf<B, M::Index>>| {
            scaled::<B, M::Scalar>(&self.backend, alpha, values)
        };
        self.on().erase(self.matrix.map_values::<M::Scalar>(&scale)?)
    }

    fn cast(&self, dtype: DType) -> Result<Matrix> {
        with_dtype!(dtype, U => self.cast_to::<U>())
    }

    fn write_dense(&self, dense: &mut DenseMatrix) -> Result<()> {
        let Some(view) = dense.view_mut_in::<B, M::Scalar>(self.matrix.context()) else {
            return Err(mismatch("to_dense", self.as_operand(), &[dense.as_operand("the dense matrix")]));
        };
        self.matrix.write_dense(&self.backend, view?)
    }

    fn sort(&self) -> Result<Matrix> {
        self.on().erase(self.matrix.sorted(&self.backend)?)
    }

    fn prune(&self, tolerance: Option<f64>) -> Result<Matrix> {
        let keep = keep::<M::Scalar>("prune", tolerance)?;
        self.on().erase(self.matrix.pruned(&self.backend, keep)?)
    }

    fn select(&self, rows: &Selection<'_>, cols: &Selection<'_>) -> Result<Matrix> {
        self.on().erase(self.matrix.selected(&self.backend, rows, cols)?)
    }

    fn elementwise(&self, op: Elementwise, alpha: c64, b: &Matrix, beta: c64) -> Result<Matrix> {
        self.matrix.elementwise(self.on(), op, alpha, b, beta)
    }

    fn spgemm(&self, b: &Matrix, extent: ProductExtent<'_>) -> Result<Option<Matrix>> {
        self.matrix.spgemm(self.on(), b, extent)
    }

    fn spgemm_bound(&self, b: &Matrix) -> Result<Option<SpgemmBound>> {
        self.matrix.spgemm_bound(&self.backend, b)
    }

    fn plan_spgemm(&self, b: &Matrix, options: &PlanOptions) -> Result<Option<Box<dyn AnySpgemmPlan>>> {
        self.matrix.plan_spgemm(self.on(), b, options)
    }

    fn plan_galerkin(
        &self,
        r: &Matrix,
        p: &Matrix,
        options: &PlanOptions,
    ) -> Result<Box<dyn AnyGalerkinPlan>> {
        let (Some(r), Some(p)) = (r.downcast_ref::<M>(), p.downcast_ref::<M>()) else {
            return Err(unlike_factors());
        };
        self.matrix.plan_galerkin(self.on(), r, p, options)
    }

    fn norm_of_values(&self) -> Result<Option<f64>> {
        self.matrix.norm_of_values(&self.backend)
    }

    fn reduce(&self, by: Reduction, y: &mut Vector) -> Result<()> {
        let Some(y) = y.view_mut_in::<B, M::Scalar>(self.matrix.context()) else {
            return Err(mismatch("reduce", self.as_operand(), &[y.as_operand("y")]));
        };
        self.matrix.reduce(&self.backend, by, y?)
    }

    fn softmax(&self) -> Result<Matrix> {
        self.on().erase(self.matrix.softmax(&self.backend)?)
    }

    fn spmm_reduce(
        &self,
        by: Aggregation,
        b: &DenseMatrix,
        c: &mut DenseMatrix,
        with_arguments: bool,
    ) -> Result<Vec<i64>> {
        self.matrix.spmm_reduce(self.on(), by, b, c, with_arguments)
    }

    fn row_statistics(&self) -> Result<RowStatistics> {
        self.matrix.row_statistics(&self.backend)
    }

    fn to_other_axis(&self) -> Result<Matrix> {
        self.matrix.to_other_axis(self.on())
    }

    fn member(&self, k: usize) -> Result<Matrix> {
        self.matrix.member(self.on(), k)
    }

    fn operator_plan(&self, op: Op, options: &PlanOptions) -> Result<Box<dyn Any>> {
        let plan = SpmvPlan::new(&self.backend, &self.matrix, op, options)?;
        let plan: Box<dyn OperatorPlan<B, M::Scalar>> = Box::new(plan);
        Ok(Box::new(plan))
    }

    fn as_host_format(&self) -> Option<&dyn Any> {
        let matrix: &dyn Any = &self.matrix;
        matrix.is::<M::In<Host>>().then_some(matrix)
    }

    fn host_copy(&self) -> Result<Box<dyn Any>> {
        Ok(Box::new(self.matrix.to_host(&self.backend)?))
    }
}

/// Sets the values of padding to zero, which fits every type.
fn clear_padding<T: Scalar, I: Index>(values: &mut [T], columns: &[I]) {
    for (value, &column) in values.iter_mut().zip(columns) {
        if column == I::PADDING {
            *value = T::ZERO;
        }
    }
}

/// The values as `U`, in new memory. Compiled for each type of values and indices, not for each format.
fn cast_values<B: RuntimeBackend, T: Scalar, I: Index, U: Scalar>(
    backend: &B,
    values: &Buf<B, T>,
    columns: Option<&Buf<B, I>>,
) -> Result<Buf<B, U>> {
    let mut values = backend.download(values)?;
    if let Some(columns) = columns {
        clear_padding(&mut values, &backend.download(columns)?);
    }
    backend.upload(&cast_slice::<T, U>(&values)?)
}

/// The same values, in new memory.
fn copied<B: RuntimeBackend, T: Scalar>(backend: &B, values: ViewOf<'_, B, T>) -> Result<Buf<B, T>> {
    let mut copy = backend.zeros(values.len())?;
    backend.copy::<T>(values, SpaceOf::<B>::view_mut(&mut copy))?;
    Ok(copy)
}

/// `alpha·values`, in new memory.
fn scaled<B: VectorKernel<T>, T: Scalar>(
    backend: &B,
    alpha: T::Acc,
    values: &Buf<B, T>,
) -> Result<Buf<B, T>> {
    let mut result = backend.zeros(values.len())?;
    let view = SpaceOf::<B>::view_mut(&mut result);
    axpby::<B, T>(backend, alpha, SpaceOf::<B>::view(values), T::Acc::ZERO, view)?;
    Ok(result)
}

/// A copy of a matrix of the host in the memory of a device.
fn copy_to_device<M: SparseFormat<Space = Host>>(matrix: &M, device: &Device) -> Result<Matrix> {
    match device {
        Device::Cpu(backend) => Matrix::wrap(device, matrix.to_device(backend)?),
        Device::Accelerator(backend, _) => Matrix::wrap(device, matrix.to_device(backend)?),
    }
}

impl<B, M> AnySpmvPlan for SpmvPlan<B, M>
where
    B: RuntimeBackend + FormatKernels<M>,
    M: RuntimeFormat<B>,
{
    fn run(&mut self, alpha: c64, a: &Matrix, x: &Vector, beta: c64, y: &mut Vector) -> Result<()> {
        let matrix = a.planned::<M>("spmv")?;
        let operand = (a.as_operand(), matrix.context());
        with_vectors::<B, M::Scalar>("spmv", operand, (alpha, x), (beta, y), &mut |alpha, x, beta, y| {
            self.run(alpha, matrix, x, beta, y)
        })
    }

    fn choice(&self) -> &Choice {
        self.choice()
    }

    fn workspace_bytes(&self) -> usize {
        self.workspace_bytes()
    }
}

impl<B, M> AnySpmmPlan for SpmmPlan<B, M>
where
    B: RuntimeBackend + FormatKernels<M> + SpmmKernel<M>,
    M: RuntimeFormat<B>,
{
    fn run(&mut self, alpha: c64, a: &Matrix, b: &DenseMatrix, beta: c64, c: &mut DenseMatrix) -> Result<()> {
        let matrix = a.planned::<M>("spmm")?;
        let operand = (a.as_operand(), matrix.context());
        let mut run = |b: DenseView<'_, _, _>, c: DenseViewMut<'_, _, _>| {
            let (alpha, beta) = (factor("spmm", "alpha", alpha)?, factor("spmm", "beta", beta)?);
            self.run(alpha, matrix, b, beta, c)
        };
        with_dense::<B, M::Scalar>("spmm", operand, b, c, &mut run)
    }

    fn choice(&self) -> &Choice {
        self.choice()
    }

    fn workspace_bytes(&self) -> usize {
        self.workspace_bytes()
    }
}

/// The error of a plan that is given a matrix of another format.
#[cold]
fn made_for(op: &'static str, format: &str) -> Error {
    Error::PlanMismatch { op, reason: format!("the plan was made for {format}") }
}

impl<B, M> OperatorPlan<B, M::Scalar> for SpmvPlan<B, M>
where
    B: RuntimeBackend + FormatKernels<M>,
    M: RuntimeFormat<B>,
{
    fn run(
        &mut self,
        alpha: AccOf<M>,
        a: &dyn AnyMatrix,
        x: ViewOf<'_, B, M::Scalar>,
        beta: AccOf<M>,
        y: ViewMutOf<'_, B, M::Scalar>,
    ) -> Result<()> {
        let Some(matrix) = a.as_any().downcast_ref() else {
            return Err(made_for("spmv", M::FORMAT));
        };
        self.run(alpha, matrix, x, beta, y)
    }

    fn has_type_of(&self, a: &dyn AnyMatrix) -> bool {
        a.as_any().is::<M>()
    }

    fn choice(&self) -> &Choice {
        self.choice()
    }

    fn workspace_bytes(&self) -> usize {
        self.workspace_bytes()
    }
}

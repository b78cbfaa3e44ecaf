//! A typed matrix under the trait that hides its type: written once for all formats, types and backends.

use super::backend::{FormatKernels, RuntimeBackend};
use super::erased::{AnyMatrix, ProductExtent, Properties};
use super::fit::{Operand, factor, keep, mismatch};
use super::galerkin::{AnyTripleProductPlan, unlike_factors};
use super::plan::{AnyMatmulPlan, AnyMatvecPlan};
use super::runtime_format::{DeviceBackend, RuntimeFormat, unavailable};
use super::sddmm::AnySampledPlan;
use super::solve::OperatorPlan;
use super::{DenseMatrix, IndexType, Layout, Matrix, Vector};
use crate::Device;
use sparse_core::backend::{Buf, SpaceOf, ViewMutOf, ViewOf};
use sparse_core::op::vector::axpby;
use sparse_core::op::{
    AccOf, Aggregation, Elementwise, Op, Reduction, RowStatistics, Sampling, SpgemmBound, SpmmKernel,
    SpmmPlan, SpmvPlan, VectorKernel,
};
use sparse_core::{
    Algorithm, Choice, DType, Error, Host, Index, PlanOptions, Result, Scalar, Space, SparseFormat, c64,
    cast_slice,
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

    /// The matrix with its values as `U`, by way of the host.
    fn cast_to<U: Scalar>(&self) -> Result<Matrix> {
        let cast = |values: &Buf<B, M::Scalar>, columns: Option<&Buf<B, M::Index>>| {
            cast_values(&self.backend, values, columns)
        };
        self.on().erase(self.matrix.map_values::<U>(&cast)?)
    }
}

/// `y ← alpha·op(A)·x + beta·y` by a plan for the pattern of `matrix`.
fn run_spmv<B, M>(
    plan: &mut SpmvPlan<B, M>,
    (matrix, operand): (&M, Operand<'_>),
    (alpha, x): (c64, &Vector),
    (beta, y): (c64, &mut Vector),
) -> Result<()>
where
    B: RuntimeBackend + FormatKernels<M>,
    M: RuntimeFormat<B>,
{
    let (op, context) = ("spmv", matrix.context());
    let Some(x) = x.view_in::<B, M::Scalar>(context) else {
        return Err(mismatch(op, operand, &[x.as_operand("x"), y.as_operand("y")]));
    };
    let Some(y) = y.view_mut_in::<B, M::Scalar>(context) else {
        return Err(mismatch(op, operand, &[y.as_operand("y")]));
    };
    let (alpha, beta) = (factor(op, "alpha", alpha)?, factor(op, "beta", beta)?);
    plan.run(alpha, matrix, x, beta, y?)
}

/// `C ← alpha·op(A)·B + beta·C` by a plan for the pattern of `matrix`.
fn run_spmm<B, M>(
    plan: &mut SpmmPlan<B, M>,
    (matrix, operand): (&M, Operand<'_>),
    (alpha, b): (c64, &DenseMatrix),
    (beta, c): (c64, &mut DenseMatrix),
) -> Result<()>
where
    B: RuntimeBackend + FormatKernels<M> + SpmmKernel<M>,
    M: RuntimeFormat<B>,
{
    let (op, context) = ("spmm", matrix.context());
    let Some(b) = b.view_in::<B, M::Scalar>(context) else {
        return Err(mismatch(op, operand, &[b.as_operand("B"), c.as_operand("C")]));
    };
    let Some(c) = c.view_mut_in::<B, M::Scalar>(context) else {
        return Err(mismatch(op, operand, &[c.as_operand("C")]));
    };
    let (alpha, beta) = (factor(op, "alpha", alpha)?, factor(op, "beta", beta)?);
    plan.run(alpha, matrix, b?, beta, c?)
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

    fn plan_spmv(&self, op: Op, options: &PlanOptions) -> Result<Box<dyn AnyMatvecPlan>> {
        Ok(Box::new(SpmvPlan::new(&self.backend, &self.matrix, op, options)?))
    }

    fn plan_spmm(&self, op: Op, columns: usize, options: &PlanOptions) -> Result<Box<dyn AnyMatmulPlan>> {
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
    ) -> Result<Box<dyn AnySampledPlan>> {
        self.matrix.plan_sddmm(&self.backend, sampling, inner, options)
    }

    fn with_values(&self, values: &Vector) -> Result<Matrix> {
        let Some(values) = values.view_in::<B, M::Scalar>(self.matrix.context()) else {
            return Err(mismatch("with_values", self.as_operand(), &[values.as_operand("the vector")]));
        };
        let replace = |_: &Buf<B, M::Scalar>, columns: Option<&Buf<B, M::Index>>| {
            if columns.is_some() {
                return Err(unavailable("with_values", M::KIND));
            }
            let mut copy = self.backend.zeros(values.len())?;
            self.backend.copy::<M::Scalar>(values, SpaceOf::<B>::view_mut(&mut copy))?;
            Ok(copy)
        };
        self.on().erase(self.matrix.map_values::<M::Scalar>(&replace)?)
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

    fn elementwise(&self, op: Elementwise, alpha: c64, b: &Matrix, beta: c64) -> Result<Matrix> {
        let name = op.name();
        let Some(typed) = b.downcast_ref::<M>() else {
            let (a, b) = (self.properties().index_type, b.index_type());
            let reason = format_args!("A has indices of {a}, B of {b}, or offsets of other types");
            return Err(Error::operands(name, reason));
        };
        let factors = [factor(name, "alpha", alpha)?, factor(name, "beta", beta)?];
        self.on().erase(self.matrix.elementwise(&self.backend, op, factors, typed)?)
    }

    fn spgemm(&self, b: &Matrix, extent: ProductExtent<'_>) -> Result<Option<Matrix>> {
        let Some(b) = b.downcast_ref::<M>() else { return Ok(None) };
        let (backend, a) = (&self.backend, &self.matrix);
        let product = match extent {
            ProductExtent::Whole => a.spgemm(backend, b)?,
            ProductExtent::Pattern => a.spgemm_pattern(backend, b)?,
            ProductExtent::Masked(mask) => {
                let Some(mask) = mask.downcast_ref::<M>() else { return Ok(None) };
                a.spgemm_masked(backend, b, mask)?
            }
        };
        self.on().erase(product).map(Some)
    }

    fn spgemm_bound(&self, b: &Matrix) -> Result<Option<SpgemmBound>> {
        b.downcast_ref::<M>().map(|b| self.matrix.spgemm_bound(&self.backend, b)).transpose()
    }

    fn plan_galerkin(&self, r: &Matrix, p: &Matrix) -> Result<Box<dyn AnyTripleProductPlan>> {
        let (Some(r), Some(p)) = (r.downcast_ref::<M>(), p.downcast_ref::<M>()) else {
            return Err(unlike_factors());
        };
        self.matrix.plan_galerkin(self.on(), r, p)
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
        let context = self.matrix.context();
        let Some(b_view) = b.view_in::<B, M::Scalar>(context) else {
            return Err(mismatch("spmm_reduce", self.as_operand(), &[b.as_operand("B")]));
        };
        let Some(c) = c.view_mut_in::<B, M::Scalar>(context) else {
            return Err(mismatch("spmm_reduce", self.as_operand(), &[c.as_operand("C")]));
        };
        self.matrix.spmm_reduce(&self.backend, by, b_view?, c?, with_arguments)
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

/// Makes the values of padding zero, which every type holds.
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

impl<B, M> AnyMatvecPlan for SpmvPlan<B, M>
where
    B: RuntimeBackend + FormatKernels<M>,
    M: RuntimeFormat<B>,
{
    fn run(&mut self, alpha: c64, a: &Matrix, x: &Vector, beta: c64, y: &mut Vector) -> Result<()> {
        let Some(matrix) = a.downcast_ref::<M>() else { return Err(a.other_plan::<M>("spmv")) };
        let operand = ("the matrix", M::Scalar::DTYPE, a.device());
        run_spmv(self, (matrix, operand), (alpha, x), (beta, y))
    }

    fn choice(&self) -> &Choice {
        self.choice()
    }

    fn workspace_bytes(&self) -> usize {
        self.workspace_bytes()
    }
}

impl<B, M> AnyMatmulPlan for SpmmPlan<B, M>
where
    B: RuntimeBackend + FormatKernels<M> + SpmmKernel<M>,
    M: RuntimeFormat<B>,
{
    fn run(&mut self, alpha: c64, a: &Matrix, b: &DenseMatrix, beta: c64, c: &mut DenseMatrix) -> Result<()> {
        let Some(matrix) = a.downcast_ref::<M>() else { return Err(a.other_plan::<M>("spmm")) };
        let operand = ("the matrix", M::Scalar::DTYPE, a.device());
        run_spmm(self, (matrix, operand), (alpha, b), (beta, c))
    }

    fn choice(&self) -> &Choice {
        self.choice()
    }

    fn workspace_bytes(&self) -> usize {
        self.workspace_bytes()
    }
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
            return Err(Error::PlanMismatch {
                op: "spmv",
                reason: format!("the plan was made for {}", M::FORMAT),
            });
        };
        self.run(alpha, matrix, x, beta, y)
    }

    fn choice(&self) -> &Choice {
        self.choice()
    }

    fn workspace_bytes(&self) -> usize {
        self.workspace_bytes()
    }
}

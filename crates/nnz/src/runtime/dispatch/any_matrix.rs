//! A matrix behind one object-safe trait.

use crate::Device;
use crate::runtime::operation::galerkin::AnyGalerkinPlan;
use crate::runtime::operation::plan::{AnySpmmPlan, AnySpmvPlan};
use crate::runtime::operation::sddmm::AnySddmmPlan;
use crate::runtime::operation::spgemm_plan::AnySpgemmPlan;
use crate::runtime::{DenseMatrix, Format, IndexType, Layout, Matrix, Vector};
use sparse_core::op::{Aggregation, Elementwise, Op, Reduction, RowStatistics, Sampling, SpgemmBound};
use sparse_core::{Algorithm, ContextId, DType, PatternId, PlanOptions, Result, Selection, c64};
use std::any::Any;
use std::sync::Arc;

/// Properties of a matrix that need no type.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Properties {
    pub(crate) format: Format,
    pub(crate) dtype: DType,
    pub(crate) index_type: IndexType,
    pub(crate) offset_type: Option<IndexType>,
    pub(crate) rows: usize,
    pub(crate) cols: usize,
    pub(crate) nnz: usize,
    pub(crate) bytes: usize,
    pub(crate) pattern: PatternId,
    pub(crate) context: ContextId,
    pub(crate) batch: Option<BatchShape>,
}

/// The number of members of a batch, and (rows, columns) of each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct BatchShape {
    pub(crate) count: usize,
    pub(crate) member: (usize, usize),
}

/// The part of a product of two sparse matrices that is computed.
#[derive(Clone, Copy)]
pub(crate) enum ProductExtent<'a> {
    /// The whole product.
    Whole,
    /// The pattern of the product, with zeros as values.
    Pattern,
    /// The elements at the entries of a matrix.
    Masked(&'a Matrix),
}

/// A typed matrix with its backend; the methods are those of [`Matrix`].
pub(crate) trait AnyMatrix: Send + Sync {
    /// The typed matrix.
    fn as_any(&self) -> &dyn Any;
    /// The typed matrix, unless another clone shares it.
    fn into_any(self: Arc<Self>) -> Option<Box<dyn Any>>;
    fn properties(&self) -> Properties;
    fn spmv_algorithms(&self, op: Op) -> &'static [Algorithm];
    fn spmm_algorithms(&self, op: Op) -> &'static [Algorithm];
    fn plan_spmv(&self, op: Op, options: &PlanOptions) -> Result<Box<dyn AnySpmvPlan>>;
    fn plan_spmm(&self, op: Op, columns: usize, options: &PlanOptions) -> Result<Box<dyn AnySpmmPlan>>;
    fn sddmm_algorithms(&self) -> &'static [Algorithm];
    fn plan_sddmm(
        &self,
        sampling: Sampling,
        inner: usize,
        options: &PlanOptions,
    ) -> Result<Box<dyn AnySddmmPlan>>;
    fn with_values(&self, values: &Vector) -> Result<Matrix>;
    /// Copies the values to `y`, which has as many elements as there are entries.
    fn copy_values(&self, y: &mut Vector) -> Result<()>;
    fn copy(&self) -> Result<Matrix>;
    fn to_layout(&self, layout: &Layout) -> Result<Matrix>;
    fn transpose(&self) -> Result<Matrix>;
    fn to_device(&self, device: &Device) -> Result<Matrix>;
    fn scaled(&self, factor: c64) -> Result<Matrix>;
    fn cast(&self, dtype: DType) -> Result<Matrix>;
    fn write_dense(&self, dense: &mut DenseMatrix) -> Result<()>;
    fn sort(&self) -> Result<Matrix>;
    fn prune(&self, tolerance: Option<f64>) -> Result<Matrix>;
    /// The elements in these rows and columns of CSR or CSC, sorted.
    fn select(&self, rows: &Selection<'_>, cols: &Selection<'_>) -> Result<Matrix>;
    /// The sum or the element-wise product with a matrix of the same type.
    fn elementwise(&self, op: Elementwise, alpha: c64, b: &Matrix, beta: c64) -> Result<Matrix>;
    /// The product with a matrix of the same type; `None` for another type.
    fn spgemm(&self, b: &Matrix, extent: ProductExtent<'_>) -> Result<Option<Matrix>>;
    /// The memory that the product with a matrix of the same type can take; `None` for another type.
    fn spgemm_bound(&self, b: &Matrix) -> Result<Option<SpgemmBound>>;
    /// A plan of the product with a matrix of the same type; `None` for another type.
    fn plan_spgemm(&self, b: &Matrix, options: &PlanOptions) -> Result<Option<Box<dyn AnySpgemmPlan>>>;
    /// A plan of `R·A·P`, of which this is A, with matrices of the same type.
    fn plan_galerkin(
        &self,
        r: &Matrix,
        p: &Matrix,
        options: &PlanOptions,
    ) -> Result<Box<dyn AnyGalerkinPlan>>;
    /// The 2-norm of the values of CSR or CSC; `None` if entries may have one coordinate.
    fn norm_of_values(&self) -> Result<Option<f64>>;
    /// Writes a number for each row of CSR, or each column of CSC, to `y`.
    fn reduce(&self, by: Reduction, y: &mut Vector) -> Result<()>;
    /// A value for each entry: the softmax of each row of CSR, or each column of CSC.
    fn softmax(&self) -> Result<Matrix>;
    /// Writes the aggregated products of CSR to `c`; returns the arguments row by row, if requested.
    fn spmm_reduce(
        &self,
        by: Aggregation,
        b: &DenseMatrix,
        c: &mut DenseMatrix,
        with_arguments: bool,
    ) -> Result<Vec<i64>>;
    fn row_statistics(&self) -> Result<RowStatistics>;
    /// A batch with its members along the other axis.
    fn to_other_axis(&self) -> Result<Matrix>;
    fn member(&self, k: usize) -> Result<Matrix>;
    /// A `Box<dyn OperatorPlan<B, T>>` of the matrix's backend and value type.
    fn operator_plan(&self, op: Op, options: &PlanOptions) -> Result<Box<dyn Any>>;
    /// The typed matrix, if it owns its arrays in the host's memory.
    fn as_host_format(&self) -> Option<&dyn Any>;
    /// The typed matrix with its arrays copied to the host's memory.
    fn host_copy(&self) -> Result<Box<dyn Any>>;
}

//! [`RuntimeFormat`]: the operations that differ from format to format, and the formats that [`Matrix`] holds.

mod batch;
mod compressed;
mod coo;
mod host_csr;
mod padded;
mod shared_methods;
mod to_layout;

use super::any_matrix::{BatchShape, ProductExtent};
use super::backend::RuntimeBackend;
use crate::Device;
use crate::runtime::operation::galerkin::AnyGalerkinPlan;
use crate::runtime::operation::plan::AnySpmmPlan;
use crate::runtime::operation::sddmm::AnySddmmPlan;
use crate::runtime::operation::spgemm_plan::AnySpgemmPlan;
use crate::runtime::{DenseMatrix, Format, IndexType, Layout, Matrix};
use shared_methods::{one_matrix_members, sampled_members, spmm_members};
use sparse_core::backend::{Backend, Buf, SpaceOf, ViewMutOf, ViewOf};
use sparse_core::op::{Aggregation, Elementwise, Keep, Op, Reduction, RowStatistics, Sampling, SpgemmBound};
use sparse_core::space::Buffer as _;
use sparse_core::{
    Algorithm, DenseViewMut, Element, Error, Index, PlanOptions, Result, Scalar, Selection, Space,
    SparseFormat, c64,
};

/// A device and its backend.
#[derive(Debug)]
pub(crate) struct DeviceBackend<'a, B> {
    pub(crate) backend: &'a B,
    pub(crate) device: &'a Device,
}

impl<B> Clone for DeviceBackend<'_, B> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<B> Copy for DeviceBackend<'_, B> {}

impl<B: RuntimeBackend> DeviceBackend<'_, B> {
    /// Hides the type of a matrix in the backend's memory.
    pub(crate) fn erase<M: SparseFormat>(self, matrix: M) -> Result<Matrix> {
        Matrix::wrap(self.device, matrix)
    }
}

/// Maps a buffer of values to a new one. For formats that pad rows, the columns tell which values are padding.
pub(crate) type MapValues<'a, B, I, T, U> = dyn Fn(&Buf<B, T>, Option<&Buf<B, I>>) -> Result<Buf<B, U>> + 'a;

/// A format that [`Matrix`] holds.
pub(crate) trait RuntimeFormat<B: RuntimeBackend>: SparseFormat<Space = SpaceOf<B>> + Sized {
    /// The type of row and column indices.
    type Index: Index;
    /// The same format with other values.
    type With<U: Scalar>: SparseFormat;
    /// The format.
    const KIND: Format;

    /// The type of offsets, of formats that have any.
    fn offset_type() -> Option<IndexType>;

    /// Bytes of all arrays, padding included.
    fn bytes(&self) -> usize;

    /// The same pattern with values mapped by `map`.
    fn map_values<U: Scalar>(
        &self,
        map: &MapValues<'_, B, Self::Index, Self::Scalar, U>,
    ) -> Result<Self::With<U>>;

    /// The values, one for each entry; `None` for formats that pad rows.
    fn entry_values(&self) -> Option<ViewOf<'_, B, Self::Scalar>> {
        None
    }

    /// The matrix in another layout: of another format, or of the same padded format.
    fn to_layout(&self, on: DeviceBackend<'_, B>, layout: &Layout) -> Result<Matrix>;

    /// The transpose; see [`Matrix::transpose`].
    fn transposed(&self, on: DeviceBackend<'_, B>) -> Result<Matrix>;

    /// The statistics of the rows.
    fn row_statistics(&self, backend: &B) -> Result<RowStatistics>;

    /// The algorithms of [`plan_spmm`](Self::plan_spmm).
    fn spmm_algorithms(backend: &B, op: Op) -> &'static [Algorithm] {
        let _ = (backend, op);
        &[]
    }

    /// A plan of products with a dense matrix.
    fn plan_spmm(
        &self,
        backend: &B,
        op: Op,
        columns: usize,
        options: &PlanOptions,
    ) -> Result<Box<dyn AnySpmmPlan>> {
        let _ = (backend, op, columns, options);
        Err(unavailable("spmm", Self::KIND))
    }

    /// The algorithms of [`plan_sddmm`](Self::plan_sddmm).
    fn sddmm_algorithms(backend: &B) -> &'static [Algorithm] {
        let _ = backend;
        &[]
    }

    /// A plan of sampled products of two dense matrices.
    fn plan_sddmm(
        &self,
        backend: &B,
        sampling: Sampling,
        inner: usize,
        options: &PlanOptions,
    ) -> Result<Box<dyn AnySddmmPlan>> {
        let _ = (backend, sampling, inner, options);
        Err(unavailable("sddmm", Self::KIND))
    }

    /// Writes all elements to a dense matrix.
    fn write_dense(&self, backend: &B, dense: DenseViewMut<'_, Self::Scalar, SpaceOf<B>>) -> Result<()> {
        let _ = (backend, dense);
        Err(unavailable("to_dense", Self::KIND))
    }

    /// A copy with its entries in order.
    fn sorted(&self, backend: &B) -> Result<Self> {
        let _ = backend;
        Err(unavailable("sort", Self::KIND))
    }

    /// A copy with the entries that `keep` keeps.
    fn pruned(&self, backend: &B, keep: Keep<Self::Scalar>) -> Result<Self> {
        let _ = (backend, keep);
        Err(unavailable("prune", Self::KIND))
    }

    /// The elements in these rows and columns, sorted.
    fn selected(&self, backend: &B, rows: &Selection<'_>, cols: &Selection<'_>) -> Result<Self> {
        let _ = (backend, rows, cols);
        Err(unavailable("select", Self::KIND))
    }

    /// The sum or the element-wise product with `b`, a matrix of the same type, each with its factor.
    fn elementwise(
        &self,
        on: DeviceBackend<'_, B>,
        op: Elementwise,
        alpha: c64,
        b: &Matrix,
        beta: c64,
    ) -> Result<Matrix> {
        let _ = (on, alpha, b, beta);
        Err(unavailable(op.name(), Self::KIND))
    }

    /// The 2-norm of the values of CSR or CSC; `None` if entries may have one coordinate.
    fn norm_of_values(&self, backend: &B) -> Result<Option<f64>> {
        let _ = backend;
        Err(unavailable("norm", Self::KIND))
    }

    /// Writes a number for each row of CSR, or each column of CSC.
    fn reduce(&self, backend: &B, by: Reduction, y: ViewMutOf<'_, B, Self::Scalar>) -> Result<()> {
        let _ = (backend, by, y);
        Err(unavailable("reduce", Self::KIND))
    }

    /// The softmax of each row of CSR, or each column of CSC.
    fn softmax(&self, backend: &B) -> Result<Self> {
        let _ = backend;
        Err(unavailable("softmax", Self::KIND))
    }

    /// Writes the aggregated products to `c`, and returns their arguments row by row, if requested.
    fn spmm_reduce(
        &self,
        on: DeviceBackend<'_, B>,
        by: Aggregation,
        b: &DenseMatrix,
        c: &mut DenseMatrix,
        with_arguments: bool,
    ) -> Result<Vec<i64>> {
        let _ = (on, by, b, c, with_arguments);
        Err(unavailable("spmm_reduce", Self::KIND))
    }

    /// The product with `b`, a matrix of the same type; `None` for another type.
    fn spgemm(
        &self,
        on: DeviceBackend<'_, B>,
        b: &Matrix,
        extent: ProductExtent<'_>,
    ) -> Result<Option<Matrix>> {
        let _ = (on, b, extent);
        Err(unavailable("spgemm", Self::KIND))
    }

    /// The most memory that the product with `b` can take, a matrix of the same type; `None` for another type.
    fn spgemm_bound(&self, backend: &B, b: &Matrix) -> Result<Option<SpgemmBound>> {
        let _ = (backend, b);
        Err(unavailable("spgemm", Self::KIND))
    }

    /// A plan of the product with `b`, a matrix of the same type; `None` for another type.
    fn plan_spgemm(
        &self,
        on: DeviceBackend<'_, B>,
        b: &Matrix,
        options: &PlanOptions,
    ) -> Result<Option<Box<dyn AnySpgemmPlan>>> {
        let _ = (on, b, options);
        Err(unavailable("spgemm", Self::KIND))
    }

    /// A plan of `R·A·P`, of which this is A.
    fn plan_galerkin(
        &self,
        on: DeviceBackend<'_, B>,
        r: &Self,
        p: &Self,
        options: &PlanOptions,
    ) -> Result<Box<dyn AnyGalerkinPlan>> {
        let _ = (on, r, p, options);
        Err(unavailable("galerkin", Self::KIND))
    }

    /// The shape of a batch; `None` for one matrix.
    fn batch(&self) -> Option<BatchShape> {
        None
    }

    /// The batch with its members along the other axis.
    fn to_other_axis(&self, on: DeviceBackend<'_, B>) -> Result<Matrix> {
        let _ = on;
        Err(Error::unsupported(format_args!("the members of {}", Self::KIND), "it is one matrix"))
    }

    /// Member `k` of a batch, which is below its count.
    fn member(&self, on: DeviceBackend<'_, B>, k: usize) -> Result<Matrix> {
        let _ = (on, k);
        Err(Error::unsupported(format_args!("a member of {}", Self::KIND), "it is one matrix"))
    }
}

/// The error of an operation that a format lacks.
pub(in crate::runtime) fn unavailable(op: &str, format: Format) -> Error {
    let instead = match format {
        Format::BatchCsr | Format::BatchCsc => "the members have it",
        Format::Coo => "csr and csc have it",
        _ => "csr, csc and coo have it",
    };
    Error::unsupported(format_args!("{op} of {format}"), instead)
}

/// The bytes of a buffer.
fn bytes_of<S: Space, T: Element>(buffer: &S::Buffer<T>) -> usize {
    buffer.len() * size_of::<T>()
}

/// A copy of values in the same memory.
pub(in crate::runtime) fn copy_of<B: Backend, T: Element>(
    backend: &B,
    values: &Buf<B, T>,
) -> Result<Buf<B, T>> {
    let mut copy = backend.zeros(values.len())?;
    backend.copy::<T>(SpaceOf::<B>::view(values), SpaceOf::<B>::view_mut(&mut copy))?;
    Ok(copy)
}

//! Operations that differ from format to format: conversions, sorting, pruning, new values, and those that batches lack.

use super::backend::RuntimeBackend;
use super::erased::BatchShape;
use super::galerkin::{AnyTripleProductPlan, TypedTripleProduct};
use super::plan::AnyMatmulPlan;
use super::sddmm::AnySampledPlan;
use super::{Format, IndexType, Layout, Matrix};
use crate::Device;
use crate::device::HostBackend;
use sparse_core::backend::{Backend, Buf, SpaceOf, ViewMutOf};
use sparse_core::op::vector::nrm2;
use sparse_core::op::{
    AccOf, Aggregation, Duplicates, Elementwise, ElementwisePlan, FullBackend, Keep, Op, Operations,
    PrunePlan, Reduction, RowStatistics, Sampling, SddmmKernel, SddmmPlan, SortPlan, SpgemmBound, SpgemmPlan,
    SpmmKernel, SpmmPlan, SpmmReducePlan,
};
use sparse_core::space::Buffer as _;
use sparse_core::{
    Algorithm, Col, Compressed, Coo, Csc, Csr, DenseView, DenseViewMut, Element, Ell, Error, Host, HostCsr,
    Hyb, Index, Order, PlanOptions, Result, Row, Scalar, Sell, Space, SparseFormat,
};

/// A device and its backend.
#[derive(Debug)]
pub(crate) struct On<'a, B> {
    pub(crate) backend: &'a B,
    pub(crate) device: &'a Device,
}

impl<B> Clone for On<'_, B> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<B> Copy for On<'_, B> {}

impl<B: RuntimeBackend> On<'_, B> {
    /// Hides the type of a matrix in the backend's memory.
    pub(crate) fn erase<M: SparseFormat>(self, matrix: M) -> Result<Matrix> {
        Matrix::wrap(self.device, matrix)
    }
}

/// New values for old ones; the columns beside them, of formats that pad rows, say which are padding.
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

    /// The same pattern with values that `map` makes of those there are.
    fn map_values<U: Scalar>(
        &self,
        map: &MapValues<'_, B, Self::Index, Self::Scalar, U>,
    ) -> Result<Self::With<U>>;

    /// The matrix in another layout, which is of another format unless it is a padded one.
    fn to_layout(&self, on: On<'_, B>, layout: &Layout) -> Result<Matrix>;

    /// The transpose; see [`Matrix::transpose`].
    fn transposed(&self, on: On<'_, B>) -> Result<Matrix>;

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
    ) -> Result<Box<dyn AnyMatmulPlan>> {
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
    ) -> Result<Box<dyn AnySampledPlan>> {
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

    /// The sum or the element-wise product with `b`, each with its factor.
    fn elementwise(&self, backend: &B, op: Elementwise, factors: [AccOf<Self>; 2], b: &Self) -> Result<Self> {
        let _ = (backend, factors, b);
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

    /// Writes the aggregated products to `c`, and returns their arguments row by row, if they are asked for.
    fn spmm_reduce(
        &self,
        backend: &B,
        by: Aggregation,
        b: DenseView<'_, Self::Scalar, SpaceOf<B>>,
        c: DenseViewMut<'_, Self::Scalar, SpaceOf<B>>,
        with_arguments: bool,
    ) -> Result<Vec<i64>> {
        let _ = (backend, by, b, c, with_arguments);
        Err(unavailable("spmm_reduce", Self::KIND))
    }

    /// The product with `b`.
    fn spgemm(&self, backend: &B, b: &Self) -> Result<Self> {
        let _ = (backend, b);
        Err(unavailable("spgemm", Self::KIND))
    }

    /// The pattern of the product with `b`, with zeros as values.
    fn spgemm_pattern(&self, backend: &B, b: &Self) -> Result<Self> {
        let _ = (backend, b);
        Err(unavailable("spgemm", Self::KIND))
    }

    /// The elements of the product with `b` at the entries of `mask`.
    fn spgemm_masked(&self, backend: &B, b: &Self, mask: &Self) -> Result<Self> {
        let _ = (backend, b, mask);
        Err(unavailable("spgemm", Self::KIND))
    }

    /// The most memory that the product with `b` can take.
    fn spgemm_bound(&self, backend: &B, b: &Self) -> Result<SpgemmBound> {
        let _ = (backend, b);
        Err(unavailable("spgemm", Self::KIND))
    }

    /// A plan of `R·A·P`, of which this is A.
    fn plan_galerkin(&self, on: On<'_, B>, r: &Self, p: &Self) -> Result<Box<dyn AnyTripleProductPlan>> {
        let _ = (on, r, p);
        Err(unavailable("galerkin", Self::KIND))
    }

    /// The shape of a batch; `None` for one matrix.
    fn batch(&self) -> Option<BatchShape> {
        None
    }

    /// The batch with its members along the other axis.
    fn to_other_axis(&self, on: On<'_, B>) -> Result<Matrix> {
        let _ = on;
        Err(Error::unsupported(format_args!("the members of {}", Self::KIND), "it is one matrix"))
    }

    /// Member `k` of a batch, which is below its count.
    fn member(&self, on: On<'_, B>, k: usize) -> Result<Matrix> {
        let _ = (on, k);
        Err(Error::unsupported(format_args!("a member of {}", Self::KIND), "it is one matrix"))
    }
}

/// The error of an operation that a format lacks.
pub(super) fn unavailable(op: &str, format: Format) -> Error {
    let instead = match format {
        Format::BatchCsr | Format::BatchCsc => "the members have it: a.member(k)?",
        _ => "csr, csc and coo have it: a.to_format(Format::Csr)?",
    };
    Error::unsupported(format_args!("{op} of {format}"), instead)
}

pub(super) fn bytes_of<S: Space, T: Element>(buffer: &S::Buffer<T>) -> usize {
    buffer.len() * size_of::<T>()
}

pub(super) fn copy_of<B: Backend, T: Element>(backend: &B, values: &Buf<B, T>) -> Result<Buf<B, T>> {
    let mut copy = backend.zeros(values.len())?;
    backend.copy::<T>(SpaceOf::<B>::view(values), SpaceOf::<B>::view_mut(&mut copy))?;
    Ok(copy)
}

/// A CSR matrix that nobody else needs in another layout.
pub(crate) fn into_layout<B, T, I, O>(
    on: On<'_, B>,
    csr: Csr<T, SpaceOf<B>, I, O>,
    layout: &Layout,
) -> Result<Matrix>
where
    B: RuntimeBackend + FullBackend<T, I, O>,
    T: Scalar,
    I: Index,
    O: Index,
{
    if *layout == Layout::Csr { on.erase(csr) } else { from_csr(on, &csr, layout) }
}

fn from_csr<B, T, I, O>(on: On<'_, B>, csr: &Csr<T, SpaceOf<B>, I, O>, layout: &Layout) -> Result<Matrix>
where
    B: RuntimeBackend + FullBackend<T, I, O>,
    T: Scalar,
    I: Index,
    O: Index,
{
    let backend = on.backend;
    match layout {
        Layout::Csr => on.erase(csr.with_values(copy_of::<B, T>(backend, csr.values())?)?),
        Layout::Csc => on.erase(Operations::convert::<_, Csc<T, SpaceOf<B>, I, O>>(backend, csr, &())?),
        Layout::Coo => on.erase(Operations::convert::<_, Coo<T, SpaceOf<B>, I>>(backend, csr, &())?),
        Layout::Ell(layout) => {
            on.erase(Operations::convert::<_, Ell<T, SpaceOf<B>, I>>(backend, csr, layout)?)
        }
        Layout::Hyb(layout) => {
            on.erase(Operations::convert::<_, Hyb<T, SpaceOf<B>, I>>(backend, csr, layout)?)
        }
        Layout::Sell(layout) => {
            on.erase(Operations::convert::<_, Sell<T, SpaceOf<B>, I, O>>(backend, csr, layout)?)
        }
    }
}

/// The members of [`RuntimeFormat`] of products with a dense matrix.
macro_rules! spmm_members {
    ($backend:ty) => {
        fn spmm_algorithms(backend: &$backend, op: Op) -> &'static [Algorithm] {
            SpmmKernel::<Self>::spmm_algorithms(backend, op)
        }

        fn plan_spmm(
            &self,
            backend: &$backend,
            op: Op,
            columns: usize,
            options: &PlanOptions,
        ) -> Result<Box<dyn AnyMatmulPlan>> {
            Ok(Box::new(SpmmPlan::new(backend, self, op, columns, options)?))
        }
    };
}

pub(super) use spmm_members;

/// The members of [`RuntimeFormat`] that all formats of one matrix have.
macro_rules! one_matrix_members {
    ($backend:ty) => {
        spmm_members!($backend);

        type Index = I;

        fn write_dense(
            &self,
            backend: &$backend,
            dense: DenseViewMut<'_, T, SpaceOf<$backend>>,
        ) -> Result<()> {
            Operations::to_dense(backend, self, dense)
        }
    };
}

pub(super) use one_matrix_members;

/// The members of [`RuntimeFormat`] of sampled products.
macro_rules! sampled_members {
    ($backend:ty) => {
        fn sddmm_algorithms(backend: &$backend) -> &'static [Algorithm] {
            SddmmKernel::<Self>::sddmm_algorithms(backend)
        }

        fn plan_sddmm(
            &self,
            backend: &$backend,
            sampling: Sampling,
            inner: usize,
            options: &PlanOptions,
        ) -> Result<Box<dyn AnySampledPlan>> {
            Ok(Box::new(SddmmPlan::new(backend, self, sampling, inner, options)?))
        }
    };
}

pub(super) use sampled_members;

/// The members of [`RuntimeFormat`] that CSR and CSC share.
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

        /// Along the other axis: only the values are copied.
        fn transposed(&self, on: On<'_, B>) -> Result<Matrix> {
            on.erase(self.with_values(copy_of::<B, T>(on.backend, self.values())?)?.into_transpose())
        }

        fn sorted(&self, backend: &B) -> Result<Self> {
            SortPlan::new(backend, self, &PlanOptions::once())?.run(self)
        }

        fn pruned(&self, backend: &B, keep: Keep<T>) -> Result<Self> {
            PrunePlan::new(backend, self, &PlanOptions::once())?.run(self, keep)
        }

        fn elementwise(
            &self,
            backend: &B,
            op: Elementwise,
            [alpha, beta]: [T::Acc; 2],
            b: &Self,
        ) -> Result<Self> {
            let mut plan = ElementwisePlan::new(backend, op, self, b, &PlanOptions::once())?;
            plan.run(alpha, self, beta, b)
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

        fn spgemm(&self, backend: &B, b: &Self) -> Result<Self> {
            Operations::spgemm(backend, self, b)
        }

        fn plan_galerkin(&self, on: On<'_, B>, r: &Self, p: &Self) -> Result<Box<dyn AnyTripleProductPlan>> {
            Ok(Box::new(TypedTripleProduct::new(on, r, self, p)?))
        }

        fn spgemm_pattern(&self, backend: &B, b: &Self) -> Result<Self> {
            SpgemmPlan::new(backend, self, b, &PlanOptions::once())?.output()
        }

        fn spgemm_bound(&self, backend: &B, b: &Self) -> Result<SpgemmBound> {
            SpgemmPlan::bound(backend, self, b)
        }

        fn spgemm_masked(&self, backend: &B, b: &Self, mask: &Self) -> Result<Self> {
            SpgemmPlan::masked(backend, self, b, mask, &PlanOptions::once())?.run(self, b)
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

    fn to_layout(&self, on: On<'_, B>, layout: &Layout) -> Result<Matrix> {
        from_csr(on, self, layout)
    }

    fn spmm_reduce(
        &self,
        backend: &B,
        by: Aggregation,
        b: DenseView<'_, T, SpaceOf<B>>,
        c: DenseViewMut<'_, T, SpaceOf<B>>,
        with_arguments: bool,
    ) -> Result<Vec<i64>> {
        let mut plan = SpmmReducePlan::new(backend, by, self, b.ncols(), &PlanOptions::once())?;
        if !with_arguments {
            plan.run(self, b, c, None)?;
            return Ok(vec![]);
        }
        let (rows, cols) = c.shape();
        let mut arguments = backend.zeros::<i64>(rows * cols)?;
        let view = SpaceOf::<B>::view_mut(&mut arguments);
        plan.run(self, b, c, Some(DenseViewMut::new(view, rows, cols, cols, Order::RowMajor)?))?;
        backend.download(&arguments)
    }

    fn row_statistics(&self, backend: &B) -> Result<RowStatistics> {
        Operations::row_statistics(backend, self)
    }
}

/// CSR over borrowed arrays: what is no product is done with a copy that owns its arrays.
impl<T, I, O> RuntimeFormat<HostBackend> for HostCsr<T, I, O>
where
    HostBackend: FullBackend<T, I, O>,
    T: Scalar,
    I: Index,
    O: Index,
{
    one_matrix_members!(HostBackend);
    sampled_members!(HostBackend);

    type With<U: Scalar> = Csr<U, Host, I, O>;
    const KIND: Format = Format::Csr;

    fn offset_type() -> Option<IndexType> {
        Some(IndexType::of::<O>())
    }

    fn bytes(&self) -> usize {
        size_of_val(self.offsets()) + size_of_val(self.indices()) + size_of_val(self.values())
    }

    fn map_values<U: Scalar>(&self, map: &MapValues<'_, HostBackend, I, T, U>) -> Result<Csr<U, Host, I, O>> {
        let csr = self.to_csr();
        csr.with_values(map(csr.values(), None)?)
    }

    fn to_layout(&self, on: On<'_, HostBackend>, layout: &Layout) -> Result<Matrix> {
        into_layout(on, self.to_csr(), layout)
    }

    fn transposed(&self, on: On<'_, HostBackend>) -> Result<Matrix> {
        on.erase(self.to_csr().into_transpose())
    }

    fn row_statistics(&self, backend: &HostBackend) -> Result<RowStatistics> {
        Operations::row_statistics(backend, &self.to_csr())
    }

    fn sorted(&self, backend: &HostBackend) -> Result<Self> {
        RuntimeFormat::<HostBackend>::sorted(&self.to_csr(), backend).map(Self::from)
    }

    fn pruned(&self, backend: &HostBackend, keep: Keep<T>) -> Result<Self> {
        RuntimeFormat::<HostBackend>::pruned(&self.to_csr(), backend, keep).map(Self::from)
    }

    fn reduce(&self, backend: &HostBackend, by: Reduction, y: &mut [T]) -> Result<()> {
        Operations::reduce(backend, by, &self.to_csr(), y)
    }

    fn softmax(&self, backend: &HostBackend) -> Result<Self> {
        Operations::softmax(backend, &self.to_csr()).map(Self::from)
    }

    fn spmm_reduce(
        &self,
        backend: &HostBackend,
        by: Aggregation,
        b: DenseView<'_, T>,
        c: DenseViewMut<'_, T>,
        with_arguments: bool,
    ) -> Result<Vec<i64>> {
        self.to_csr().spmm_reduce(backend, by, b, c, with_arguments)
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

    fn to_layout(&self, on: On<'_, B>, layout: &Layout) -> Result<Matrix> {
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

impl<B, T, I> RuntimeFormat<B> for Coo<T, SpaceOf<B>, I>
where
    B: RuntimeBackend + FullBackend<T, I, I>,
    T: Scalar,
    I: Index,
{
    const KIND: Format = Format::Coo;

    one_matrix_members!(B);
    sampled_members!(B);

    type With<U: Scalar> = Coo<U, SpaceOf<B>, I>;

    fn offset_type() -> Option<IndexType> {
        None
    }

    fn bytes(&self) -> usize {
        2 * bytes_of::<SpaceOf<B>, I>(self.row_idx()) + bytes_of::<SpaceOf<B>, T>(self.values())
    }

    fn map_values<U: Scalar>(&self, map: &MapValues<'_, B, I, T, U>) -> Result<Self::With<U>> {
        self.with_values(map(self.values(), None)?)
    }

    fn to_layout(&self, on: On<'_, B>, layout: &Layout) -> Result<Matrix> {
        let sum = &Duplicates::Sum;
        if *layout == Layout::Csc {
            return on.erase(Operations::convert::<_, Csc<T, SpaceOf<B>, I, I>>(on.backend, self, sum)?);
        }
        into_layout(on, Operations::convert::<_, Csr<T, SpaceOf<B>, I, I>>(on.backend, self, sum)?, layout)
    }

    fn transposed(&self, on: On<'_, B>) -> Result<Matrix> {
        let keep = &Duplicates::Keep;
        let columns = Operations::convert::<_, Csc<T, SpaceOf<B>, I, I>>(on.backend, self, keep)?;
        let rows = columns.into_transpose();
        on.erase(Operations::convert::<_, Coo<T, SpaceOf<B>, I>>(on.backend, &rows, &())?)
    }

    fn row_statistics(&self, backend: &B) -> Result<RowStatistics> {
        let csr = Operations::convert::<_, Csr<T, SpaceOf<B>, I, I>>(backend, self, &Duplicates::Keep)?;
        Operations::row_statistics(backend, &csr)
    }

    fn sorted(&self, backend: &B) -> Result<Self> {
        SortPlan::new(backend, self, &PlanOptions::once())?.run(self)
    }

    fn pruned(&self, backend: &B, keep: Keep<T>) -> Result<Self> {
        PrunePlan::new(backend, self, &PlanOptions::once())?.run(self, keep)
    }
}

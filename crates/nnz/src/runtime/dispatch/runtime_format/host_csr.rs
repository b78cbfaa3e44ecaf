//! CSR over borrowed arrays of the host as a format of the run-time layer.

use super::to_layout::into_layout;
use super::{DeviceBackend, MapValues, RuntimeFormat, one_matrix_members, sampled_members, spmm_members};
use crate::device::HostBackend;
use crate::runtime::operation::plan::AnySpmmPlan;
use crate::runtime::operation::sddmm::AnySddmmPlan;
use crate::runtime::{DenseMatrix, Format, IndexType, Layout, Matrix};
use sparse_core::backend::SpaceOf;
use sparse_core::op::{
    Aggregation, FullBackend, Keep, Op, Operations, Reduction, RowStatistics, Sampling, SddmmKernel,
    SddmmPlan, SpmmKernel, SpmmPlan,
};
use sparse_core::{
    Algorithm, Csr, DenseViewMut, Host, HostCsr, Index, PlanOptions, Result, Scalar, Selection,
};

/// Operations other than products work on a copy that owns its arrays.
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

    fn entry_values(&self) -> Option<&[T]> {
        Some(self.values())
    }

    fn to_layout(&self, on: DeviceBackend<'_, HostBackend>, layout: &Layout) -> Result<Matrix> {
        into_layout(on, self.to_csr(), layout)
    }

    fn transposed(&self, on: DeviceBackend<'_, HostBackend>) -> Result<Matrix> {
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

    fn selected(&self, backend: &HostBackend, rows: &Selection<'_>, cols: &Selection<'_>) -> Result<Self> {
        RuntimeFormat::<HostBackend>::selected(&self.to_csr(), backend, rows, cols).map(Self::from)
    }

    fn reduce(&self, backend: &HostBackend, by: Reduction, y: &mut [T]) -> Result<()> {
        Operations::reduce(backend, by, &self.to_csr(), y)
    }

    fn softmax(&self, backend: &HostBackend) -> Result<Self> {
        Operations::softmax(backend, &self.to_csr()).map(Self::from)
    }

    fn spmm_reduce(
        &self,
        on: DeviceBackend<'_, HostBackend>,
        by: Aggregation,
        b: &DenseMatrix,
        c: &mut DenseMatrix,
        with_arguments: bool,
    ) -> Result<Vec<i64>> {
        self.to_csr().spmm_reduce(on, by, b, c, with_arguments)
    }
}

//! COO as a format of the run-time layer.

use super::to_layout::into_layout;
use super::{
    DeviceBackend, MapValues, RuntimeFormat, bytes_of, copy_of, one_matrix_members, sampled_members,
    spmm_members,
};
use crate::runtime::dispatch::backend::RuntimeBackend;
use crate::runtime::operation::plan::AnySpmmPlan;
use crate::runtime::operation::sddmm::AnySddmmPlan;
use crate::runtime::{Format, IndexType, Layout, Matrix};
use sparse_core::backend::{SpaceOf, ViewOf};
use sparse_core::op::{
    Duplicates, FullBackend, Keep, Op, Operations, PrunePlan, RowStatistics, Sampling, SddmmKernel,
    SddmmPlan, SortPlan, SpmmKernel, SpmmPlan,
};
use sparse_core::{
    Algorithm, Backend, Coo, Csc, Csr, DenseViewMut, Index, IndexOrder, PlanOptions, Result, Scalar,
    Space as _,
};

/// A matrix with more rows or columns than this, and than twice its entries, is transposed by sorting its entries:
/// counting them by columns takes memory for every row and column.
const MAX_COUNTED_LINES: usize = 1 << 20;

/// The transpose with its entries in the order of `a`.
fn exchanged<B: Backend, T: Scalar, I: Index>(
    a: &Coo<T, SpaceOf<B>, I>,
    backend: &B,
) -> Result<Coo<T, SpaceOf<B>, I>> {
    let (rows, columns) = (copy_of(backend, a.col_idx())?, copy_of(backend, a.row_idx())?);
    let values = copy_of::<B, T>(backend, a.values())?;
    let order = IndexOrder { major_sorted: false, sorted: false, unique: a.order().unique };
    // SAFETY: the coordinates are those of `a`, exchanged as the extents are.
    Ok(unsafe { Coo::new_unchecked(a.ncols(), a.nrows(), rows, columns, values, order) })
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

    fn entry_values(&self) -> Option<ViewOf<'_, B, T>> {
        Some(SpaceOf::<B>::view(self.values()))
    }

    fn to_layout(&self, on: DeviceBackend<'_, B>, layout: &Layout) -> Result<Matrix> {
        let sum = &Duplicates::Sum;
        if *layout == Layout::Csc {
            return on.erase(Operations::convert::<_, Csc<T, SpaceOf<B>, I, I>>(on.backend, self, sum)?);
        }
        into_layout(on, Operations::convert::<_, Csr<T, SpaceOf<B>, I, I>>(on.backend, self, sum)?, layout)
    }

    fn transposed(&self, on: DeviceBackend<'_, B>) -> Result<Matrix> {
        if self.nrows().max(self.ncols()) > MAX_COUNTED_LINES.max(2 * self.nnz()) {
            return on.erase(exchanged(self, on.backend)?.sorted(on.backend)?);
        }
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

//! Batches as formats of the run-time layer.

use super::{DeviceBackend, MapValues, RuntimeFormat, bytes_of, copy_of, sampled_members, spmm_members};
use crate::runtime::dispatch::any_matrix::BatchShape;
use crate::runtime::dispatch::backend::RuntimeBackend;
use crate::runtime::operation::plan::AnySpmmPlan;
use crate::runtime::operation::sddmm::AnySddmmPlan;
use crate::runtime::{Format, IndexType, Layout, Matrix};
use sparse_core::backend::{SpaceOf, ViewOf, zeroed_vec};
use sparse_core::op::{
    ConvertKernel, Op, Operations, RowStatistics, Sampling, SddmmKernel, SddmmPlan, SpmmKernel, SpmmPlan,
    SpmvKernel, VectorKernel,
};
use sparse_core::space::View as _;
use sparse_core::{
    Algorithm, Axis, BatchCompressed, Compressed, Error, Host, Index, PlanOptions, Result, Scalar,
    Space as _, SparseFormat,
};

/// A batch: its products are those of the block-diagonal matrix, and its members are matrices of their own.
impl<B, A, T, I, O> RuntimeFormat<B> for BatchCompressed<A, T, SpaceOf<B>, I, O>
where
    B: RuntimeBackend
        + SpmvKernel<Self>
        + SpmmKernel<Self>
        + SddmmKernel<Self>
        + ConvertKernel<Self, BatchCompressed<A::Other, T, SpaceOf<B>, I, O>>
        + VectorKernel<T>,
    A: Axis,
    T: Scalar,
    I: Index,
    O: Index,
{
    spmm_members!(B);
    sampled_members!(B);

    type Index = I;
    type With<U: Scalar> = BatchCompressed<A, U, SpaceOf<B>, I, O>;
    const KIND: Format = if A::IS_ROW { Format::BatchCsr } else { Format::BatchCsc };

    fn offset_type() -> Option<IndexType> {
        Some(IndexType::of::<O>())
    }

    fn bytes(&self) -> usize {
        size_of_val(self.member_ptr())
            + bytes_of::<SpaceOf<B>, O>(self.offsets())
            + bytes_of::<SpaceOf<B>, I>(self.indices())
            + bytes_of::<SpaceOf<B>, T>(self.values())
    }

    fn map_values<U: Scalar>(&self, map: &MapValues<'_, B, I, T, U>) -> Result<Self::With<U>> {
        self.with_values(map(self.values(), None)?)
    }

    fn entry_values(&self) -> Option<ViewOf<'_, B, T>> {
        Some(SpaceOf::<B>::view(self.values()))
    }

    fn to_layout(&self, _: DeviceBackend<'_, B>, layout: &Layout) -> Result<Matrix> {
        let instead = "it has many matrices: convert each, or all as one, which is block-diagonal";
        Err(Error::unsupported(format_args!("{} to {}", Self::FORMAT, layout.format()), instead))
    }

    /// Along the other axis: only the values are copied.
    fn transposed(&self, on: DeviceBackend<'_, B>) -> Result<Matrix> {
        on.erase(self.with_values(copy_of::<B, T>(on.backend, self.values())?)?.into_transpose())
    }

    fn to_other_axis(&self, on: DeviceBackend<'_, B>) -> Result<Matrix> {
        on.erase(Operations::convert::<_, BatchCompressed<A::Other, T, SpaceOf<B>, I, O>>(
            on.backend,
            self,
            &(),
        )?)
    }

    fn row_statistics(&self, backend: &B) -> Result<RowStatistics> {
        let (rows, _) = self.member_shape();
        let mut lengths = zeroed_vec(self.nrows())?;
        if A::IS_ROW {
            count_by_offsets(&backend.download(self.offsets())?, rows, &mut lengths);
        } else {
            let indices = backend.download(self.indices())?;
            for k in 0..self.count() {
                count_by_indices(&indices[self.member_range(k)], &mut lengths[k * rows..][..rows]);
            }
        }
        Ok(RowStatistics::from_lengths(lengths))
    }

    fn batch(&self) -> Option<BatchShape> {
        Some(BatchShape { count: self.count(), member: self.member_shape() })
    }

    fn member(&self, on: DeviceBackend<'_, B>, k: usize) -> Result<Matrix> {
        let member = self.member(k);
        let mut offsets = vec![O::default(); member.offsets.len()];
        let mut indices = vec![I::default(); member.indices.len()];
        let mut values = vec![T::ZERO; member.values.len()];
        on.backend.download_into(member.offsets, &mut offsets)?;
        on.backend.download_into(member.indices, &mut indices)?;
        on.backend.download_into(member.values, &mut values)?;
        let (rows, cols) = self.member_shape();
        let member = Compressed::<A, T, Host, I, O>::new_unsorted(rows, cols, offsets, indices, values)?;
        on.erase(member.to_device(on.backend)?)
    }
}

/// The lengths of the rows of all members, whose offsets begin at 0 each.
fn count_by_offsets<O: Index>(offsets: &[O], rows: usize, lengths: &mut [usize]) {
    let members = offsets.chunks_exact(rows + 1).flat_map(|member| member.windows(2));
    for (length, ends) in lengths.iter_mut().zip(members) {
        *length = ends[1].as_usize() - ends[0].as_usize();
    }
}

/// The lengths of the rows of a member with these row indices.
fn count_by_indices<I: Index>(indices: &[I], lengths: &mut [usize]) {
    indices.iter().for_each(|row| lengths[row.as_usize()] += 1);
}

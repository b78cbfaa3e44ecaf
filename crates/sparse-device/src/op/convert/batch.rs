//! Batches along their other axis: the device sorts the entries of all members at once, as one block-diagonal matrix,
//! where its indices can number the rows and columns of all members.

use super::formats::BatchOn;
use super::reference_plan::plan;
use crate::Device;
use crate::index_type::IndexType;
use crate::op::available_algorithms::Needs;
use crate::primitive::block_diagonal::{BlockDiagonal, split_members};
use crate::primitive::coordinates::Coordinates;
use crate::primitive::rearrangement::{Arrays, Rearrangement};
use sparse_core::format::estimate::Sizes;
use sparse_core::op::Duplicates;
use sparse_core::{Algorithm, Axis, Choice, Index, Result, Scalar, algorithms};

algorithms! {
    /// The algorithms of batches along their other axis.
    pub(super) enum MembersAlgorithm needs Needs {
        Gather = Algorithm::new("gather", "always: the values of all members in one launch")
            .preprocessing("the positions of the entries, sorted on the device"),
        Needs::Nothing;
    }
}

/// The plan of a batch.
type ToBatch<A, T, I, O> = Rearrangement<BatchOn<A, T, I, O>>;

/// A batch along its other axis.
pub(super) fn to_other_axis<A: Axis, T: Scalar, I: Index, O: Index>(
    backend: &Device,
    from: &BatchOn<A, T, I, O>,
    layout: &(),
    choice: Choice,
) -> Result<ToBatch<A::Other, T, I, O>> {
    let Some(blocks) = BlockDiagonal::new(backend, from)? else {
        return plan(backend, from, layout, Sizes::of::<T, I, O>(), choice);
    };
    let across = Coordinates::across(backend, blocks.matrix())?;
    let Arrays { offsets, indices, values, order, source, .. } =
        across.into_compressed(backend, T::DTYPE, IndexType::I64, Duplicates::Keep)?;
    let (count, shape) = (from.count(), from.member_shape());
    let (minor, major) = A::swap(shape.0, shape.1);
    let offsets = split_members(backend, count, (major, minor), (&offsets, &indices), IndexType::of::<O>())?;
    let (member_ptr, offsets, indices, values) =
        (from.member_ptr().to_vec(), offsets.of(), indices.of(), values.of());
    // SAFETY: each member has the entries that it had, sorted along its other axis; offsets and indices are those of
    // the block-diagonal matrix, counted from the first one of the member.
    let target = unsafe { BatchOn::new_unchecked(shape, member_ptr, offsets, indices, values, order) };
    Ok(Rearrangement::new(choice, target, vec![source]))
}

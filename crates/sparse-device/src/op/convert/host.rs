//! Conversions to ELL, HYB and SELL from unsorted rows, whose pattern the host finds, with the serial reference, and of
//! batches, which the device sorts where its indices can number the rows and columns of all members.

use super::formats::BatchOn;
use crate::Device;
use crate::index_type::IndexType;
use crate::op::available_algorithms::Needs;
use crate::primitive::block_diagonal::{BlockDiagonal, split_members};
use crate::primitive::coordinates::Coordinates;
use crate::primitive::numbering::Numerable;
use crate::primitive::rearrangement::{Arrays, Rearrangement};
use crate::primitive::target::HostTarget;
use sparse_core::format::estimate::Sizes;
use sparse_core::op::{Conversion, Duplicates, Operations};
use sparse_core::reference::{Convert, Entries, Reference};
use sparse_core::{
    Algorithm, Axis, Choice, EllLayout, HybWidth, Index, Result, Scalar, SellLayout, algorithms,
};
use std::fmt::Debug;

/// A layout that does not depend on the value type.
pub(super) trait ConversionLayout: Clone + Debug {
    /// The layout with its width chosen for rows of these lengths and types of these sizes.
    fn resolved(&self, _: &dyn Fn() -> Vec<usize>, _: usize, _: Sizes) -> Result<Self> {
        Ok(self.clone())
    }
}

impl ConversionLayout for () {}

impl ConversionLayout for SellLayout {}

impl ConversionLayout for EllLayout {
    fn resolved(&self, lengths: &dyn Fn() -> Vec<usize>, _: usize, sizes: Sizes) -> Result<Self> {
        let width = self.resolve(&lengths(), sizes)?;
        Ok(Self { width: Some(width), max_bytes: Some(u64::MAX) })
    }
}

impl ConversionLayout for HybWidth {
    fn resolved(&self, lengths: &dyn Fn() -> Vec<usize>, cols: usize, sizes: Sizes) -> Result<Self> {
        Ok(Self::Width(self.resolve(&lengths(), cols, sizes)))
    }
}

/// A plan from the reference's conversion of the numbered entries.
pub(super) fn plan<From, To>(
    backend: &Device,
    from: &From,
    layout: &From::Layout,
    sizes: Sizes,
    choice: Choice,
) -> Result<Rearrangement<To>>
where
    From: Numerable + Conversion<To, Layout: ConversionLayout>,
    From::OnHost: Convert<To::OnHost, Layout = From::Layout>,
    To: HostTarget,
{
    let host = from.numbered(backend)?;
    let layout = layout.resolved(&|| row_lengths(&host), from.ncols(), sizes)?;
    Rearrangement::gather(backend, choice, &Operations::convert(&Reference, &host, &layout)?)
}

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
    // SAFETY: each member has the entries that it had, sorted along its other axis; offsets and indices are those of the
    // block-diagonal matrix, counted from the first one of the member.
    let target = unsafe { BatchOn::new_unchecked(shape, member_ptr, offsets, indices, values, order) };
    Ok(Rearrangement::new(choice, target, vec![source]))
}

/// The number of entries of each row.
fn row_lengths(a: &impl Entries) -> Vec<usize> {
    let mut lengths = vec![0; a.nrows()];
    a.entries().for_each(|(i, _, _)| lengths[i] += 1);
    lengths
}

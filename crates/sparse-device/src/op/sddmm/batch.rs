//! Sampled products of batches, at the entries of the block-diagonal matrix of the members.

use super::{RawEntries, RowOf, SampledOperands, SddmmPlan, offered};
use crate::buffer::RawBuffer;
use crate::index_type::IndexType;
use crate::{Device, ViewMut};
use sparse_core::op::{Sampling, SddmmKernel};
use sparse_core::{
    Algorithm, Axis, Backend, BatchCompressed, Choice, DType, DenseView, Index, KernelPlan, PlanOptions,
    Result, Scalar,
};

/// The plan of sampled products of a batch: one product at the entries of the block-diagonal matrix of its members.
#[derive(Debug)]
pub struct BatchSddmmPlan {
    plan: SddmmPlan,
    coordinates: BlockCoordinates,
}

impl KernelPlan for BatchSddmmPlan {
    fn choice(&self) -> &Choice {
        self.plan.choice()
    }

    fn workspace_bytes(&self) -> usize {
        self.coordinates.major.bytes() + self.coordinates.minor.bytes()
    }
}

/// The coordinates of the entries of a batch in the block-diagonal matrix: rows and columns, of CSC columns and rows.
#[derive(Debug)]
struct BlockCoordinates {
    major: RawBuffer,
    minor: RawBuffer,
}

impl BlockCoordinates {
    /// Computes the coordinates on the host.
    fn new<A: Axis, T: Scalar, I: Index, O: Index>(
        backend: &Device,
        p: &BatchCompressed<A, T, Device, I, O>,
    ) -> Result<Self> {
        let (offsets, indices) = (backend.download(p.offsets())?, backend.download(p.indices())?);
        let (rows, cols) = p.member_shape();
        let extents = A::swap(rows, cols);
        let (major, minor) = block_coordinates(p.member_ptr(), extents, &offsets, &indices);
        let index = IndexType::for_count(p.nrows().max(p.ncols()));
        Ok(Self {
            major: backend.upload_indices("a row", &major, index)?,
            minor: backend.upload_indices("a column", &minor, index)?,
        })
    }

    fn entries<'a>(&'a self, shape: (usize, usize), dtype: DType, values: &'a RawBuffer) -> RawEntries<'a> {
        let Self { major, minor } = self;
        RawEntries { dtype, shape, row_of: RowOf::Coordinates(major), indices: minor, values }
    }
}

/// The major and the minor indices of the entries of members of these extents, each after the previous member.
fn block_coordinates<I: Index, O: Index>(
    member_ptr: &[usize],
    (major, minor): (usize, usize),
    offsets: &[O],
    indices: &[I],
) -> (Vec<usize>, Vec<usize>) {
    let lines = offsets.chunks(major + 1).enumerate().flat_map(|(member, ends)| {
        ends.windows(2).enumerate().map(move |(line, ends)| (member * major + line, ends))
    });
    let majors = lines.flat_map(|(line, ends)| vec![line; ends[1].as_usize() - ends[0].as_usize()]);
    let members = member_ptr.windows(2).enumerate();
    let minors = members.flat_map(|(member, ends)| {
        indices[ends[0]..ends[1]].iter().map(move |index| member * minor + index.as_usize())
    });
    (majors.collect(), minors.collect())
}

impl<A: Axis, T: Scalar, I: Index, O: Index> SddmmKernel<BatchCompressed<A, T, Device, I, O>> for Device {
    type Plan = BatchSddmmPlan;

    fn sddmm_algorithms(&self) -> &'static [Algorithm] {
        offered(self, false)
    }

    fn plan_sddmm(
        &self,
        p: &BatchCompressed<A, T, Device, I, O>,
        sampling: Sampling,
        inner: usize,
        options: &PlanOptions,
    ) -> Result<BatchSddmmPlan> {
        let coordinates = BlockCoordinates::new(self, p)?;
        let shape = A::swap(p.nrows(), p.ncols());
        let entries = coordinates.entries(shape, T::DTYPE, p.values());
        let plan = SddmmPlan::new(self, entries, sampling, inner, options)?;
        Ok(BatchSddmmPlan { plan, coordinates })
    }

    unsafe fn run_sddmm(
        &self,
        plan: &mut BatchSddmmPlan,
        alpha: T::Acc,
        p: &BatchCompressed<A, T, Device, I, O>,
        u: DenseView<'_, T, Self>,
        v: DenseView<'_, T, Self>,
        beta: T::Acc,
        c: ViewMut<'_, T>,
    ) -> Result<()> {
        let shape = A::swap(p.nrows(), p.ncols());
        let entries = plan.coordinates.entries(shape, T::DTYPE, p.values());
        let operands = SampledOperands::new((alpha, beta), (u.into(), v.into()), c.into(), !A::IS_ROW);
        plan.plan.run(self, entries, operands)
    }
}

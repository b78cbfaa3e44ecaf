//! The members of a batch as blocks on the diagonal of one compressed matrix, made on the device.

use super::raw::RawCompressed;
use crate::buffer::RawBuffer;
use crate::defines::Defines;
use crate::index_type::IndexType;
use crate::{Buffer, Device, Kernel};
use sparse_core::{Axis, Backend, BatchCompressed, DType, Index, IndexOrder, Result, Scalar};

/// The pattern of a block-diagonal matrix, whose entries are those of the batch in their order.
pub(crate) struct BlockDiagonal<'a> {
    dtype: DType,
    count: usize,
    /// The compressed rows and the columns of a member.
    extents: (usize, usize),
    order: IndexOrder,
    offsets: Buffer<i64>,
    indices: RawBuffer,
    values: &'a RawBuffer,
}

impl<'a> BlockDiagonal<'a> {
    /// The blocks of a batch; none if its type of indices cannot number the rows and columns of all members.
    pub(crate) fn new<A: Axis, T: Scalar, I: Index, O: Index>(
        backend: &Device,
        batch: &'a BatchCompressed<A, T, Device, I, O>,
    ) -> Result<Option<Self>> {
        let (count, (rows, cols)) = (batch.count(), batch.member_shape());
        let (major, minor) = A::swap(rows, cols);
        let fits =
            |extent: usize| count.checked_mul(extent).is_some_and(|all| I::try_new("extent", all).is_ok());
        if !fits(major) || !fits(minor) {
            return Ok(None);
        }
        let starts: Vec<_> = batch.member_ptr().iter().map(|&start| start as i64).collect();
        let starts = backend.upload(&starts)?;
        let offset = IndexType::of::<O>();
        let offsets = backend.allocate(count * major + 1)?;
        let kernel = members_kernel(backend, "members_join_offsets", batch.indices(), offset)?;
        let launch = backend.launch(&kernel).size(count).size(major).buffer(&starts);
        launch.buffer(batch.offsets()).buffer(&offsets).items(offsets.len)?;

        let (from, n) = (batch.indices(), batch.indices().len);
        let indices = backend.allocate_raw(n, from.element_bytes)?;
        let kernel = members_kernel(backend, "members_join_columns", from, offset)?;
        let launch = backend.launch(&kernel).size(n).size(count).size(minor).buffer(&starts);
        launch.buffer(from).buffer(&indices).items(n)?;
        let (order, extents) = (batch.order(), (major, minor));
        Ok(Some(Self { dtype: T::DTYPE, count, extents, order, offsets, indices, values: batch.values() }))
    }

    /// The matrix.
    pub(crate) fn matrix(&self) -> RawCompressed<'_> {
        RawCompressed {
            dtype: self.dtype,
            rows: self.count * self.extents.0,
            cols: self.count * self.extents.1,
            order: self.order,
            offsets: &self.offsets,
            indices: &self.indices,
            values: self.values,
        }
    }
}

/// The offsets of `count` members of `major` compressed rows, from those of the block-diagonal matrix. Its indices
/// become those in members, which are below `minor`.
pub(crate) fn split_members(
    backend: &Device,
    count: usize,
    (major, minor): (usize, usize),
    (offsets, indices): (&RawBuffer, &RawBuffer),
    offset: IndexType,
) -> Result<RawBuffer> {
    let of_members = backend.allocate_raw(count * (major + 1), offset.bytes())?;
    let kernel = members_kernel(backend, "members_split_offsets", indices, offset)?;
    let launch = backend.launch(&kernel).size(count).size(major).buffer(offsets);
    launch.buffer(&of_members).items(of_members.len)?;
    let kernel = members_kernel(backend, "members_split_columns", indices, offset)?;
    backend.launch(&kernel).size(indices.len).size(minor).buffer(indices).items(indices.len)?;
    Ok(of_members)
}

/// A kernel for members with these types of indices and offsets.
fn members_kernel(
    backend: &Device,
    entry: &'static str,
    indices: &RawBuffer,
    offset: IndexType,
) -> Result<Kernel> {
    backend.kernel("members", entry, Defines::default().index(indices.index_type()).offset(offset))
}

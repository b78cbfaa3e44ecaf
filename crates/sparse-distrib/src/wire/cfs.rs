//! CFS (compress followed send): RO, CO and VL, the arrays of the compressed part.
//!
//! RO has 1-based offsets, CO indices of the whole matrix. There is no padding and no header: the receiver knows the
//! part.
//!
//! Source: Lin, Chung, Liu: Data distribution schemes of sparse arrays on distributed memory multicomputers. ICPP
//! Workshops 2002.

use super::{Reader, check_block, extend_converted, extend_global, from_global, to_message};
use crate::Block;
use crate::partition::Part;
use crate::pointers::{PtrBase, PtrFlavour, import};
use sparse_core::{Axis, Error, Index, Result, Scalar};

/// The message of a compressed part with local indices.
///
/// # Errors
/// [`Error::Shape`] if the block is not of the part's shape, [`Error::Format`] if it is not sorted,
/// [`Error::IndexOverflow`] if an index of the whole matrix does not fit `I` or nnz + 1 does not fit `O`.
pub fn encode<A: Axis, T: Scalar, I: Index, O: Index>(
    part: &Part,
    block: &Block<A, T, I, O>,
) -> Result<Vec<u8>> {
    to_message(|message| encode_into(part, block, message))
}

/// As [`encode`], to a buffer that is cleared first. Reusing a buffer avoids page faults in new memory, which took
/// longer than compressing with half of the elements not zero.
///
/// # Errors
/// As for [`encode`].
pub fn encode_into<A: Axis, T: Scalar, I: Index, O: Index>(
    part: &Part,
    block: &Block<A, T, I, O>,
    message: &mut Vec<u8>,
) -> Result<()> {
    check_block("cfs", part, block)?;
    O::try_new("nnz + 1", block.nnz() + 1)?;
    let (offsets, indices, values) = (block.offsets(), block.indices(), block.values());
    let bytes = size_of_val(&offsets[..]) + size_of_val(&indices[..]) + size_of_val(&values[..]);
    message.clear();
    message.reserve(bytes);
    extend_converted(message, offsets, |offset| O::cast(offset.as_usize() + 1));
    extend_global(message, indices, part.major_minor::<A>().1.start);
    message.extend_from_slice(bytemuck::cast_slice(values));
    Ok(())
}

/// The compressed part of a message, with local indices.
///
/// ```
/// use sparse_core::Csr;
/// use sparse_distrib::{Part, wire::cfs};
///
/// let part = Part { rows: 0..2, cols: 8..16 };
/// let block = Csr::<f32>::new(2, 8, vec![0, 0, 2], vec![2, 3], vec![10.0, 14.0])?;
/// let message = cfs::encode(&part, &block)?;
/// let words: &[i32] = &bytemuck::pod_collect_to_vec(&message[..20]);
/// assert_eq!(words, [1, 1, 3, 10, 11]); // RO is 1-based, CO global
/// assert_eq!(cfs::decode(&part, &message)?, block);
/// # Ok::<(), sparse_core::Error>(())
/// ```
///
/// # Errors
/// [`Error::Format`] if the message is too short or too long, RO does not rise from 1, an index lies outside the part
/// or indices of a row do not ascend.
pub fn decode<A: Axis, T: Scalar, I: Index, O: Index>(
    part: &Part,
    message: &[u8],
) -> Result<Block<A, T, I, O>> {
    let mut reader = Reader::new("cfs", message);
    let lines = part.major_minor::<A>().0.len();
    let pointers = reader.array::<O>("RO", lines.saturating_add(1))?;
    let offsets = import(&pointers, PtrFlavour::Offsets, PtrBase::One)
        .map_err(|error| Error::format("cfs", format_args!("RO: {error}")))?;
    let nnz = offsets[lines].as_usize();
    let indices = reader.array::<I>("CO", nnz)?;
    let values = reader.array::<T>("VL", nnz)?;
    reader.finish()?;
    from_global("cfs", part, offsets, indices, values)
}

//! Bitmap: a bit for each element of a part, then the values of the bits that are set.
//!
//! Each row (column of CSC) has one bit per column, the lowest bit of a byte first, padded with zeros to whole bytes.
//! No indices are sent: the message is shorter than CRS where more than 1 element in 8 · (bytes of an index) is not
//! zero. A row's first value is the prefix sum of the populations.

use super::{Reader, check_block, check_extents, from_local};
use crate::Block;
use crate::partition::Part;
use sparse_core::error::checked_product;
use sparse_core::{Axis, Index, Result, Scalar};

const FORMAT: &str = "bitmap";

/// The message of a compressed part with local indices.
///
/// # Errors
/// [`Error::Shape`](sparse_core::Error::Shape) if the block is not of the part's shape,
/// [`Error::Format`](sparse_core::Error::Format) if it is not sorted,
/// [`Error::IndexOverflow`](sparse_core::Error::IndexOverflow) if there are more elements than `usize` counts.
pub fn encode<A: Axis, T: Scalar, I: Index, O: Index>(
    part: &Part,
    block: &Block<A, T, I, O>,
) -> Result<Vec<u8>> {
    check_block(FORMAT, part, block)?;
    let (lines, line_bytes) = bit_lines::<A>(part);
    let mut message = vec![0; checked_product("lines of the bitmap", lines, line_bytes)?];
    for line in 0..lines {
        let bits = &mut message[line * line_bytes..][..line_bytes];
        block.major_entries(line).for_each(|(index, _)| bits[index / 8] |= 1 << (index % 8));
    }
    message.extend::<&[u8]>(bytemuck::cast_slice(block.values()));
    Ok(message)
}

/// The compressed part of a message, with local indices.
///
/// ```
/// use sparse_core::Csr;
/// use sparse_distrib::{Part, wire::bitmap};
///
/// let part = Part { rows: 0..2, cols: 8..16 };
/// let block = Csr::<f32>::new(2, 8, vec![0, 0, 2], vec![2, 3], vec![10.0, 14.0])?;
/// let message = bitmap::encode(&part, &block)?;
/// assert_eq!(message[..2], [0b0000_0000, 0b0000_1100]);
/// assert_eq!(bitmap::decode(&part, &message)?, block);
/// # Ok::<(), sparse_core::Error>(())
/// ```
///
/// # Errors
/// [`Error::Format`](sparse_core::Error::Format) if the message is too short or too long, or a bit behind the last
/// column is set; [`Error::IndexOverflow`](sparse_core::Error::IndexOverflow) if nnz does not fit `O`.
pub fn decode<A: Axis, T: Scalar, I: Index, O: Index>(
    part: &Part,
    message: &[u8],
) -> Result<Block<A, T, I, O>> {
    check_extents::<I>(part)?;
    let (lines, line_bytes) = bit_lines::<A>(part);
    let (major, minor) = part.major_minor::<A>();
    let mut reader = Reader::new(FORMAT, message);
    let bitmap = reader.bytes("the bitmap", lines, line_bytes)?;
    let (mut offsets, mut indices) = (vec![O::default()], vec![]);
    for line in 0..lines {
        for (byte, &bits) in bitmap[line * line_bytes..][..line_bytes].iter().enumerate() {
            indices.extend((0..8).filter(|bit| bits >> bit & 1 == 1).map(|bit| I::cast(8 * byte + bit)));
        }
        if let Some(beyond) = indices.last().filter(|last| last.as_usize() >= minor.len()) {
            return Err(reader.error(format_args!(
                "{} {}: bit {beyond} is set where only {} bits are used",
                A::MAJOR,
                major.start + line,
                minor.len()
            )));
        }
        offsets.push(O::try_new("nnz", indices.len())?);
    }
    let values = reader.array("the values", indices.len())?;
    reader.finish()?;
    from_local(FORMAT, part, offsets, indices, values)
}

/// (lines, bytes of a line).
fn bit_lines<A: Axis>(part: &Part) -> (usize, usize) {
    let (major, minor) = part.major_minor::<A>();
    (major.len(), minor.len().div_ceil(8))
}

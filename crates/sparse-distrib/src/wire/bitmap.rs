//! Bitmap: a bit for each element of a part, then the values of the bits that are set.
//!
//! Each row (column of CSC) has one bit per column, the lowest bit of a byte first, padded with zeros to whole bytes.
//! No indices are sent: the message is shorter than CRS where more than 1 element in 8 · (bytes of an index) is not
//! zero. A row's first value is the prefix sum of the populations.

use super::{Reader, check_block, check_extents, from_local, to_message};
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
    check_block(FORMAT, part, block)?;
    let (lines, line_bytes) = bit_lines::<A>(part);
    let bits = checked_product("lines of the bitmap", lines, line_bytes)?;
    let (indices, values): (&[I], &[T]) = (block.indices(), block.values());
    message.clear();
    message.reserve(bits + size_of_val(values) + size_of::<u64>());
    for ends in block.offsets().windows(2) {
        extend_bits(message, &indices[ends[0].as_usize()..ends[1].as_usize()], line_bytes);
    }
    message.extend_from_slice(bytemuck::cast_slice(values));
    Ok(())
}

/// Appends the `line_bytes` bytes of a line, whose set bits have these ascending indices.
fn extend_bits<I: Index>(message: &mut Vec<u8>, indices: &[I], line_bytes: usize) {
    let end = message.len() + line_bytes;
    let mut entries = indices.iter().map(|index| index.as_usize()).peekable();
    for word in (0..line_bytes).step_by(size_of::<u64>()) {
        let (mut bits, next) = (0_u64, 8 * word + 64);
        while let Some(index) = entries.next_if(|&index| index < next) {
            bits |= 1 << (index % 64);
        }
        message.extend_from_slice(&bits.to_le_bytes());
    }
    message.truncate(end);
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
/// [`Error::Format`](sparse_core::Error::Format) if the message is too short or too long, or a bit after the last
/// column is set; [`Error::IndexOverflow`](sparse_core::Error::IndexOverflow) if nnz does not fit `O`.
pub fn decode<A: Axis, T: Scalar, I: Index, O: Index>(
    part: &Part,
    message: &[u8],
) -> Result<Block<A, T, I, O>> {
    let (lines, line_bytes) = bit_lines::<A>(part);
    let Planes { bits: bitmap, nnz, values } = open::<A, T, I, O>(part, message)?;
    let mut offsets = vec![O::default(); lines + 1];
    let mut indices = Vec::with_capacity(nnz);
    for line in 0..lines {
        for (byte, &bits) in bitmap[line * line_bytes..][..line_bytes].iter().enumerate() {
            indices.extend((0..8).filter(|bit| bits >> bit & 1 == 1).map(|bit| I::cast(8 * byte + bit)));
        }
        offsets[line + 1] = O::cast(indices.len());
    }
    from_local(FORMAT, part, offsets, indices, bytemuck::pod_collect_to_vec(values))
}

/// The planes of a checked message.
pub(crate) struct Planes<'a> {
    pub(crate) bits: &'a [u8],
    pub(crate) nnz: usize,
    /// The bytes of the values.
    pub(crate) values: &'a [u8],
}

/// The planes of a message that [`decode`] takes; errors are the same.
pub(crate) fn open<'a, A: Axis, T: Scalar, I: Index, O: Index>(
    part: &Part,
    message: &'a [u8],
) -> Result<Planes<'a>> {
    check_extents::<I>(part)?;
    let (lines, line_bytes) = bit_lines::<A>(part);
    let (major, minor) = part.major_minor::<A>();
    let mut reader = Reader::new(FORMAT, message);
    let bitmap = reader.bytes("the bitmap", lines, line_bytes)?;
    let mut nnz = 0;
    for line in 0..lines {
        let bits = &bitmap[line * line_bytes..][..line_bytes];
        if let Some(beyond) = highest_bit(bits).filter(|&bit| bit >= minor.len()) {
            return Err(reader.error(format_args!(
                "{} {}: bit {beyond} is set where only {} bits are used",
                A::MAJOR,
                major.start + line,
                minor.len()
            )));
        }
        nnz += population(bits);
    }
    O::try_new("nnz", nnz)?;
    let values = reader.bytes("the values", nnz, size_of::<T>())?;
    reader.finish()?;
    Ok(Planes { bits: bitmap, nnz, values })
}

/// The number of bits that are set.
fn population(bits: &[u8]) -> usize {
    let (words, rest) = bits.as_chunks::<8>();
    let of_words = words.iter().map(|&word| u64::from_le_bytes(word).count_ones() as usize).sum::<usize>();
    of_words + rest.iter().map(|byte| byte.count_ones() as usize).sum::<usize>()
}

/// The highest bit that is set in the last byte of a line, counted from the line's start.
fn highest_bit(bits: &[u8]) -> Option<usize> {
    bits.last().filter(|&&last| last != 0).map(|last| 8 * bits.len() - 1 - last.leading_zeros() as usize)
}

/// (lines, bytes of a line).
fn bit_lines<A: Axis>(part: &Part) -> (usize, usize) {
    let (major, minor) = part.major_minor::<A>();
    (major.len(), minor.len().div_ceil(8))
}

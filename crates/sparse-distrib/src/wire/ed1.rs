//! ED (encoding-decoding): the special buffer B = R₀, C₀₀, V₀₀, C₀₁, V₀₁, …, R₁, C₁₀, V₁₀, …
//!
//! Rᵢ is the number of entries of row i (column i of CSC), C an index of the whole matrix, V a value. R and C are words
//! of 4 bytes; a value has as many words as it needs. The length in words is rows + nnz · (1 + words of a value).
//!
//! A row's place depends on all counts before it, so that this format can only be decoded serially: it is here to be
//! compatible. [`ed2`](super::ed2) is the one for devices.
//!
//! Source: Lin, Chung, Liu: Data distribution schemes of sparse arrays on distributed memory multicomputers. ICPP
//! Workshops 2002; J. Supercomputing 41 (2007).

use super::{Reader, check_block, check_extents, from_local, to_local, to_message};
use crate::Block;
use crate::partition::Part;
use sparse_core::{Axis, Error, Index, Result, Scalar};

const WORD: usize = 4;

/// The message of a compressed part with local indices.
///
/// # Errors
/// [`Error::Shape`] if the block is not of the part's shape, [`Error::Format`] if it is not sorted,
/// [`Error::IndexOverflow`] if an index of the whole matrix does not fit a word, [`Error::Unsupported`] for values of
/// half a word.
pub fn encode<A: Axis, T: Scalar, I: Index, O: Index>(
    part: &Part,
    block: &Block<A, T, I, O>,
) -> Result<Vec<u8>> {
    to_message(|message| encode_into(part, block, message))
}

/// As [`encode`], to a buffer that is cleared first.
///
/// # Errors
/// As for [`encode`].
pub fn encode_into<A: Axis, T: Scalar, I: Index, O: Index>(
    part: &Part,
    block: &Block<A, T, I, O>,
    message: &mut Vec<u8>,
) -> Result<()> {
    check_value::<T>()?;
    check_block("ed1", part, block)?;
    check_extents::<i32>(part)?;
    let (major, minor) = part.major_minor::<A>();
    message.clear();
    message.reserve(WORD * major.len() + block.nnz() * entry_bytes::<T>());
    for line in 0..major.len() {
        message.extend(i32::cast(block.major_entries(line).count()).to_le_bytes());
        for (index, value) in block.major_entries(line) {
            message.extend(i32::cast(minor.start + index).to_le_bytes());
            message.extend(bytemuck::bytes_of(&value));
        }
    }
    Ok(())
}

/// The compressed part of a message, with local indices.
///
/// ```
/// use sparse_core::Csr;
/// use sparse_distrib::{Part, wire::ed1};
///
/// // Rows 6 and 7 of a matrix: one entry in column 6, then two in columns 4 and 7.
/// let part = Part { rows: 6..8, cols: 0..8 };
/// let block = Csr::<f32>::new(2, 8, vec![0, 1, 3], vec![6, 4, 7], vec![8.0, 9.0, 10.0])?;
/// let message = ed1::encode(&part, &block)?;
/// assert_eq!(message.len(), 4 * (2 + 2 * 3));
/// assert_eq!(ed1::decode(&part, &message)?, block);
/// # Ok::<(), sparse_core::Error>(())
/// ```
///
/// # Errors
/// [`Error::Format`] if the message is too short or too long, a count is negative or larger than the rest of the
/// message, an index lies outside the part or indices of a row do not ascend; [`Error::Unsupported`] for values of
/// half a word.
pub fn decode<A: Axis, T: Scalar, I: Index, O: Index>(
    part: &Part,
    message: &[u8],
) -> Result<Block<A, T, I, O>> {
    check_value::<T>()?;
    check_extents::<I>(part)?;
    let ranges = part.major_minor::<A>();
    let mut reader = Reader::new("ed1", message);
    let (mut offsets, mut indices, mut values) = (vec![O::default()], vec![], vec![]);
    for line in 0..ranges.0.len() {
        let count = reader.element::<i32>("a row's count")?;
        if count < 0 || count.as_usize() > reader.remaining() / entry_bytes::<T>() {
            let row = ranges.0.start + line;
            return Err(reader.error(format_args!(
                "{} {row}: {count} entries of {} bytes cannot follow in {} bytes",
                A::MAJOR,
                entry_bytes::<T>(),
                reader.remaining()
            )));
        }
        for _ in 0..count {
            let global = reader.element::<i32>("an index")?.as_usize();
            indices.push(to_local::<A, I>("ed1", &ranges, line, global)?);
            values.push(reader.element::<T>("a value")?);
        }
        offsets.push(O::try_new("nnz", indices.len())?);
    }
    reader.finish()?;
    from_local("ed1", part, offsets, indices, values)
}

/// The bytes of an index and a value.
const fn entry_bytes<T>() -> usize {
    WORD + size_of::<T>()
}

/// An error unless a value fills words.
pub(crate) fn check_value<T: Scalar>() -> Result<()> {
    if size_of::<T>().is_multiple_of(WORD) {
        return Ok(());
    }
    Err(Error::unsupported(format_args!("ed1 of {}", T::DTYPE), "values must fill words of 4 bytes; use ed2"))
}

//! ED in planes: a header with a checksum, then counts, indices and values, each padded to 64 bytes.
//!
//! | bytes | header |
//! |---|---|
//! | 0..4 | `SPED` |
//! | 4 | version: 2 |
//! | 5 | orientation: 0 for CSR, 1 for CSC |
//! | 6 | type of values: 1 `f16`, 2 `bf16`, 3 `f32`, 4 `f64`, 5 `c32`, 6 `c64` |
//! | 7 | bytes of an index or count: 4 or 8 |
//! | 8..16, 16..24, 24..32 | rows, columns and nnz of the part |
//! | 32..40, 40..48 | the part's first row and column in the whole matrix |
//! | 48..52 | CRC-32C of the message, with zeros in place of this field |
//! | 52..64 | zeros |
//!
//! The counts are those of rows (CSR) or columns (CSC); indices are those of the whole matrix. Offsets are the prefix
//! sums of the counts, so that decoding is parallel. The payload is that of [`cfs`](super::cfs) less one pointer.
//!
//! Every message with a changed byte is refused: CRC-32C finds each error of up to 32 neighbouring bits. The checksum
//! finds accidents, not attacks; so what the message claims is checked all the same.

use super::{Reader, check_block, check_extents, extend_global, from_global, to_local, to_message};
use crate::Block;
use crate::partition::Part;
use crate::pointers::{PtrBase, PtrFlavour, counts, import};
use sparse_core::{Axis, DType, Error, Index, Result, Scalar};
use std::ops::Range;

const MAGIC: [u8; 4] = *b"SPED";
const VERSION: u8 = 2;
const ALIGNMENT: usize = 64;
const HEADER: usize = 64;
const CHECKSUM: Range<usize> = 48..52;

/// The message of a compressed part with local indices.
///
/// # Errors
/// [`Error::Shape`] if the block is not of the part's shape, [`Error::Format`] if it is not sorted,
/// [`Error::IndexOverflow`] if an index of the whole matrix does not fit `I`.
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
    check_block("ed2", part, block)?;
    let (offsets, indices, values) = (block.offsets(), block.indices(), block.values());
    let lines = offsets.len() - 1;
    let sections = [lines * size_of::<I>(), size_of_val(&indices[..]), size_of_val(&values[..])];
    let bytes = sections.iter().map(|section| section.next_multiple_of(ALIGNMENT)).sum::<usize>();
    message.clear();
    message.reserve(HEADER + bytes);
    message.extend(header::<A, T, I>(part, block.nnz()));
    let counts: Vec<I> = counts(offsets).map(I::cast).collect();
    message.extend_from_slice(bytemuck::cast_slice(&counts));
    pad(message);
    extend_global(message, indices, part.major_minor::<A>().1.start);
    pad(message);
    message.extend_from_slice(bytemuck::cast_slice(values));
    pad(message);
    let sum = checksum(message);
    message[CHECKSUM].copy_from_slice(&sum.to_le_bytes());
    Ok(())
}

/// Appends zeros up to the next section.
fn pad(message: &mut Vec<u8>) {
    message.resize(message.len().next_multiple_of(ALIGNMENT), 0);
}

/// The compressed part of a message, with local indices.
///
/// ```
/// use sparse_core::Csr;
/// use sparse_distrib::{Part, wire::ed2};
///
/// let part = Part { rows: 0..2, cols: 8..16 };
/// let block = Csr::<f32>::new(2, 8, vec![0, 0, 2], vec![2, 3], vec![10.0, 14.0])?;
/// let mut message = ed2::encode(&part, &block)?;
/// assert_eq!(ed2::decode(&part, &message)?, block);
///
/// message[200] ^= 1;
/// let error = ed2::decode::<sparse_core::Row, f32, i32, i32>(&part, &message).unwrap_err();
/// assert!(error.to_string().contains("checksum"));
/// # Ok::<(), sparse_core::Error>(())
/// ```
///
/// # Errors
/// [`Error::Format`] as for [`read`], and if the message is another part's.
pub fn decode<A: Axis, T: Scalar, I: Index, O: Index>(
    part: &Part,
    message: &[u8],
) -> Result<Block<A, T, I, O>> {
    let (found, block) = read(message)?;
    check_part(&found, part).map(|()| block)
}

/// An error unless a message is the part's.
fn check_part(found: &Part, part: &Part) -> Result<()> {
    if found == part {
        return Ok(());
    }
    let reason = format!(
        "the header names rows {:?} and columns {:?} where {:?} and {:?} are needed",
        found.rows, found.cols, part.rows, part.cols
    );
    Err(Error::format("ed2", reason))
}

/// The part that a message names, and its matrix with local indices.
///
/// # Errors
/// [`Error::Format`] if magic, version, checksum, types, orientation or length are wrong, counts are negative or do
/// not sum up to nnz, an index lies outside the part or indices of a row do not ascend; [`Error::IndexOverflow`] if an
/// extent does not fit `I` or nnz does not fit `O`.
pub fn read<A: Axis, T: Scalar, I: Index, O: Index>(message: &[u8]) -> Result<(Part, Block<A, T, I, O>)> {
    let (part, Planes { counts, indices, values, .. }) = planes::<A, T, I>(message)?;
    let offsets = offsets::<I, O>(&bytemuck::pod_collect_to_vec(counts))?;
    let (indices, values) = (bytemuck::pod_collect_to_vec(indices), bytemuck::pod_collect_to_vec(values));
    Ok((part.clone(), from_global("ed2", &part, offsets, indices, values)?))
}

/// The planes of a message, as bytes.
pub(crate) struct Planes<'a> {
    pub(crate) nnz: usize,
    pub(crate) counts: &'a [u8],
    pub(crate) indices: &'a [u8],
    pub(crate) values: &'a [u8],
}

/// The planes of a message that [`decode`] takes; errors are the same in kind.
pub(crate) fn open<'a, A: Axis, T: Scalar, I: Index, O: Index>(
    part: &Part,
    message: &'a [u8],
) -> Result<Planes<'a>> {
    let (found, planes) = planes::<A, T, I>(message)?;
    check_part(&found, part)?;
    check_extents::<I>(part)?;
    O::try_new("nnz", planes.nnz)?;
    check_pattern::<A, I>(part, &planes)?;
    Ok(planes)
}

/// An error unless the counts sum up to nnz, and the indices are the part's and ascend in each row.
fn check_pattern<A: Axis, I: Index>(part: &Part, planes: &Planes<'_>) -> Result<()> {
    let ranges = part.major_minor::<A>();
    let mut indices = elements::<I>(planes.indices);
    let mut left = planes.nnz;
    for (line, count) in elements::<I>(planes.counts).enumerate() {
        let taken = usize::try_from(count.as_i64()).ok().filter(|&count| count <= left);
        let taken = taken.ok_or_else(|| {
            wrong(&format!("count {line}"), count, format_args!("a count of at least 0 and at most {left}"))
        })?;
        left -= taken;
        let mut last = None;
        for global in indices.by_ref().take(taken) {
            let local = to_local::<A, I>("ed2", &ranges, line, global.as_usize())?;
            if last.is_some_and(|last| last >= local) {
                let what = format!("{} {}: an index", A::MAJOR, ranges.0.start + line);
                return Err(wrong(&what, global, "one above the index before"));
            }
            last = Some(local);
        }
    }
    match left {
        0 => Ok(()),
        left => Err(wrong("the sum of the counts", planes.nnz - left, planes.nnz)),
    }
}

/// The elements of a plane.
fn elements<T: sparse_core::Element>(plane: &[u8]) -> impl Iterator<Item = T> + '_ {
    plane.chunks_exact(size_of::<T>()).map(bytemuck::pod_read_unaligned)
}

/// The part that a message names and its planes, whose contents are not checked.
fn planes<A: Axis, T: Scalar, I: Index>(message: &[u8]) -> Result<(Part, Planes<'_>)> {
    check_envelope(message)?;
    check_types::<A, T, I>(message)?;
    let [nrows, ncols, nnz, r0, c0] = [8, 16, 24, 32, 40].map(|at| field(message, at));
    let part = Part { rows: extent("rows", r0, nrows)?, cols: extent("columns", c0, ncols)? };
    let nnz =
        usize::try_from(nnz).map_err(|_| wrong("bytes 24..32: nnz", nnz, "a number that fits usize"))?;
    let lines = part.major_minor::<A>().0.len();

    let mut reader = Reader::new("ed2", message);
    reader.bytes("the header", 1, HEADER)?;
    let counts = section::<I>(&mut reader, "the counts", lines)?;
    let indices = section::<I>(&mut reader, "the indices", nnz)?;
    let values = section::<T>(&mut reader, "the values", nnz)?;
    reader.finish()?;
    Ok((part, Planes { nnz, counts, indices, values }))
}

fn header<A: Axis, T: Scalar, I: Index>(part: &Part, nnz: usize) -> Vec<u8> {
    let (rows, cols) = part.shape();
    let mut header = MAGIC.to_vec();
    header.extend([VERSION, orientation::<A>(), value_code(T::DTYPE), size_of::<I>() as u8]);
    for number in [rows, cols, nnz, part.rows.start, part.cols.start] {
        header.extend((number as u64).to_le_bytes());
    }
    header.resize(HEADER, 0);
    header
}

fn orientation<A: Axis>() -> u8 {
    u8::from(!A::IS_ROW)
}

fn value_code(dtype: DType) -> u8 {
    match dtype {
        DType::F16 => 1,
        DType::Bf16 => 2,
        DType::F32 => 3,
        DType::F64 => 4,
        DType::C32 => 5,
        DType::C64 => 6,
    }
}

fn checksum(message: &[u8]) -> u32 {
    let before = crc32c::crc32c(&message[..CHECKSUM.start]);
    crc32c::crc32c_append(crc32c::crc32c_append(before, &[0; 4]), &message[CHECKSUM.end..])
}

/// Length of the header, magic, version and checksum: after this the message is what an encoder wrote.
fn check_envelope(message: &[u8]) -> Result<()> {
    if message.len() < HEADER {
        return Err(wrong("the length", message.len(), "at least 64 bytes"));
    }
    if message[..4] != MAGIC {
        return Err(wrong("bytes 0..4: the magic", message[..4].escape_ascii(), "SPED"));
    }
    if message[4] != VERSION {
        return Err(wrong("byte 4: the version", message[4], VERSION));
    }
    let (found, expected) = (field(message, CHECKSUM.start) as u32, checksum(message));
    if found != expected {
        return Err(wrong(
            "bytes 48..52: the checksum",
            format_args!("{found:#010x}"),
            format_args!("{expected:#010x}, that of the bytes received"),
        ));
    }
    Ok(())
}

fn check_types<A: Axis, T: Scalar, I: Index>(message: &[u8]) -> Result<()> {
    for (what, found, expected, name) in [
        ("byte 5: the orientation", message[5], orientation::<A>(), A::FORMAT),
        ("byte 6: the type of values", message[6], value_code(T::DTYPE), T::DTYPE.name()),
        ("byte 7: the bytes of an index", message[7], size_of::<I>() as u8, I::NAME),
    ] {
        if found != expected {
            return Err(wrong(what, found, format_args!("{expected} ({name})")));
        }
    }
    Ok(())
}

/// The 8 bytes at `at` of the header.
fn field(message: &[u8], at: usize) -> u64 {
    bytemuck::pod_read_unaligned(&message[at..at + 8])
}

fn extent(what: &str, start: u64, len: u64) -> Result<Range<usize>> {
    let end = start.checked_add(len).and_then(|end| usize::try_from(end).ok());
    let end =
        end.ok_or_else(|| wrong(what, format_args!("{len} from {start} on"), "an end that fits usize"))?;
    Ok(end - len as usize..end)
}

/// The bytes of `count` elements; the padding after them is skipped.
fn section<'a, T>(reader: &mut Reader<'a>, what: &str, count: usize) -> Result<&'a [u8]> {
    let elements = reader.bytes(what, count, size_of::<T>())?;
    reader.bytes("padding", 1, elements.len().next_multiple_of(ALIGNMENT) - elements.len())?;
    Ok(elements)
}

/// The prefix sums of counts.
fn offsets<I: Index, O: Index>(counts: &[I]) -> Result<Vec<O>> {
    if let Some(line) = counts.iter().position(|count| count.as_i64() < 0) {
        return Err(wrong(&format!("count {line}"), counts[line], "a count of at least 0"));
    }
    let counts: Vec<O> =
        counts.iter().map(|count| O::try_new("a row's count", count.as_usize())).collect::<Result<_>>()?;
    import(&counts, PtrFlavour::Counts, PtrBase::Zero)
}

fn wrong(what: &str, found: impl std::fmt::Display, expected: impl std::fmt::Display) -> Error {
    Error::format("ed2", format_args!("{what} is {found} where {expected} is needed"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use sparse_core::{Csr, Row};

    #[test]
    fn a_message_that_cannot_be_decoded_does_not_open() {
        let part = Part { rows: 2..5, cols: 8..16 };
        let block = Csr::<f32>::new(3, 8, vec![0, 2, 2, 3], vec![1, 6, 3], vec![1.0, 2.0, 3.0]).unwrap();
        let sound = encode(&part, &block).unwrap();
        let mut refused = 0;
        // The header's numbers, the counts, the indices and a value; the checksum is made to agree.
        let places = (8..48).chain(64..76).chain(128..140).chain(192..196);
        for (place, change) in places.flat_map(|place| [1, 2, 0x80].map(|change| (place, change))) {
            let mut message = sound.clone();
            message[place] ^= change;
            let sum = checksum(&message);
            message[CHECKSUM].copy_from_slice(&sum.to_le_bytes());
            let decoded = decode::<Row, f32, i32, i32>(&part, &message);
            let opened = open::<Row, f32, i32, i32>(&part, &message);
            assert_eq!(decoded.is_ok(), opened.is_ok(), "byte {place} ^ {change}");
            refused += usize::from(opened.is_err());
        }
        assert!(refused > 180, "{refused}");
        assert_eq!(open::<Row, f32, i32, i32>(&part, &sound).unwrap().nnz, 3);
    }
}

//! Wire formats: a part of a matrix as a message.
//!
//! | format | message | decoding |
//! |---|---|---|
//! | [`dense`] | all elements | copy |
//! | [`cfs`] | row pointers, indices, values | copy, then conversion of indices |
//! | [`ed1`] | for each row its count, then its (index, value) pairs | serial: a row's place depends on the counts before |
//! | [`ed2`] | header with checksum, counts, indices, values | parallel: a prefix sum of the counts |
//! | [`bitmap`] | a bit for each element, then values | parallel: a prefix sum of the populations |
//!
//! 'Row' is a column where the part is compressed by columns. Indices in `cfs`, `ed1` and `ed2` are those of the whole
//! matrix; a decoder subtracts the part's origin. All numbers are little-endian.
//!
//! The backend compresses, with its vector instructions; encoders copy its arrays and convert indices to those of the
//! whole matrix. Instructions for a byte of a dense `f32` matrix of 256 x 1024 (callgrind, x86-64):
//!
//! | not zero | compressing, scalar | compressing, AVX2 | and `cfs` | and `ed2` | and `bitmap` |
//! |---|---|---|---|---|---|
//! | 1 % | 3.07 | 0.46 | 0.48 | 0.49 | 0.58 |
//! | 10 % | 3.57 | 1.12 | 1.33 | 1.41 | 1.51 |
//! | 50 % | 6.42 | 3.49 | 4.50 | 4.92 | 4.98 |
//!
//! `examples/encode_rates.rs` measures the same in GB/s.
//!
//! Decoders trust nothing: lengths, counts, ranges and the order of indices are checked, and no array is allocated
//! before the message has the bytes for it. Only `ed2` notices a changed value: the others have no checksum.

#[cfg(target_endian = "big")]
compile_error!("the wire formats are written and read as the memory of little-endian machines");

pub mod bitmap;
pub mod cfs;
pub mod dense;
pub mod ed1;
pub mod ed2;

use crate::Block;
use crate::partition::Part;
use crate::scheme::Scheme;
use sparse_core::{Axis, Compressed, Element, Error, Index, Result, Scalar};
use std::ops::Range;

/// The encoder of a wire format: to a buffer that is cleared first.
pub(crate) type Encode<A, T, I, O> = fn(&Part, &Block<A, T, I, O>, &mut Vec<u8>) -> Result<()>;
/// The decoder of a wire format.
pub(crate) type Decode<A, T, I, O> = fn(&Part, &[u8]) -> Result<Block<A, T, I, O>>;
/// The encoder and the decoder of a wire format.
pub(crate) type Codec<A, T, I, O> = (Encode<A, T, I, O>, Decode<A, T, I, O>);

/// The encoder and the decoder of a scheme whose sender compresses; `None` for [`Scheme::Sfc`].
pub(crate) fn codec<A: Axis, T: Scalar, I: Index, O: Index>(scheme: Scheme) -> Option<Codec<A, T, I, O>> {
    match scheme {
        Scheme::Sfc => None,
        Scheme::Cfs => Some((cfs::encode_into, cfs::decode)),
        Scheme::Ed1 => Some((ed1::encode_into, ed1::decode)),
        Scheme::Ed2 => Some((ed2::encode_into, ed2::decode)),
        Scheme::Bitmap => Some((bitmap::encode_into, bitmap::decode)),
    }
}

/// A message in a buffer of its own.
fn to_message(encode_into: impl FnOnce(&mut Vec<u8>) -> Result<()>) -> Result<Vec<u8>> {
    let mut message = vec![];
    encode_into(&mut message)?;
    Ok(message)
}

/// The unread rest of a message.
struct Reader<'a> {
    format: &'static str,
    message: &'a [u8],
    position: usize,
}

impl<'a> Reader<'a> {
    fn new(format: &'static str, message: &'a [u8]) -> Self {
        Self { format, message, position: 0 }
    }

    fn remaining(&self) -> usize {
        self.message.len() - self.position
    }

    /// The next `count` elements of `size` bytes.
    fn bytes(&mut self, what: &str, count: usize, size: usize) -> Result<&'a [u8]> {
        match count.checked_mul(size).filter(|&len| len <= self.remaining()) {
            Some(len) => {
                let start = self.position;
                self.position += len;
                Ok(&self.message[start..self.position])
            }
            None => Err(self.error(format_args!(
                "{} bytes are left where {what}, {count} x {size} bytes, must follow",
                self.remaining()
            ))),
        }
    }

    fn array<T: Element>(&mut self, what: &str, count: usize) -> Result<Vec<T>> {
        Ok(bytemuck::pod_collect_to_vec(self.bytes(what, count, size_of::<T>())?))
    }

    fn element<T: Element>(&mut self, what: &str) -> Result<T> {
        Ok(bytemuck::pod_read_unaligned(self.bytes(what, 1, size_of::<T>())?))
    }

    /// An error if something is left.
    fn finish(self) -> Result<()> {
        match self.remaining() {
            0 => Ok(()),
            rest => Err(self.error(format_args!("{rest} bytes are left behind the last value"))),
        }
    }

    fn error(&self, reason: impl std::fmt::Display) -> Error {
        Error::format(self.format, format_args!("byte {}: {reason}", self.position))
    }
}

/// Elements that are converted at a time: the result fits the L1 cache.
const CHUNK: usize = 1024;

/// Appends the bytes of each element after `convert`.
fn extend_converted<T: Element, U: Element>(message: &mut Vec<u8>, elements: &[T], convert: impl Fn(T) -> U) {
    let mut converted = Vec::with_capacity(CHUNK);
    for chunk in elements.chunks(CHUNK) {
        converted.clear();
        converted.extend(chunk.iter().map(|&element| convert(element)));
        message.extend_from_slice(bytemuck::cast_slice(&converted));
    }
}

/// Appends the bytes of indices of the whole matrix; `base` is the part's first one.
fn extend_global<I: Index>(message: &mut Vec<u8>, indices: &[I], base: usize) {
    if base == 0 {
        message.extend_from_slice(bytemuck::cast_slice(indices));
    } else {
        extend_converted(message, indices, |index| I::cast(base + index.as_usize()));
    }
}

/// An error unless `block` is the part's, sorted and without duplicates, and `I` holds every index of the part in the
/// whole matrix.
fn check_block<A: Axis, T: Scalar, I: Index, O: Index>(
    format: &'static str,
    part: &Part,
    block: &Block<A, T, I, O>,
) -> Result<()> {
    if block.shape() != part.shape() {
        let reason = format!("the block has shape {:?} where {:?} is needed", block.shape(), part.shape());
        return Err(Error::shape(format, reason));
    }
    if !(block.order().sorted && block.order().unique) {
        return Err(Error::format(
            format,
            "the block's indices must ascend without duplicates; sort it first",
        ));
    }
    check_extents::<I>(part)
}

/// An error unless `I` holds every index of the part in the whole matrix.
fn check_extents<I: Index>(part: &Part) -> Result<()> {
    I::try_new("the end of the part's rows", part.rows.end)?;
    I::try_new("the end of the part's columns", part.cols.end)?;
    Ok(())
}

/// The index within the part of `global`, an index of row `line` of the part.
fn to_local<A: Axis, I: Index>(
    format: &'static str,
    (major, minor): &(Range<usize>, Range<usize>),
    line: usize,
    global: usize,
) -> Result<I> {
    if minor.contains(&global) {
        return Ok(I::cast(global - minor.start));
    }
    Err(Error::format(
        format,
        format_args!("{} {}: {} {global} is not in {minor:?}", A::MAJOR, major.start + line, A::MINOR),
    ))
}

/// The part's matrix from 0-based offsets and indices of the whole matrix.
fn from_global<A: Axis, T: Scalar, I: Index, O: Index>(
    format: &'static str,
    part: &Part,
    offsets: Vec<O>,
    mut indices: Vec<I>,
    values: Vec<T>,
) -> Result<Block<A, T, I, O>> {
    check_extents::<I>(part)?;
    let ranges = part.major_minor::<A>();
    let end = offsets.last().map_or(0, |last| last.as_usize());
    if end != indices.len() {
        let reason = format!("the counts sum up to {end} where {} indices follow", indices.len());
        return Err(Error::format(format, reason));
    }
    for (line, ends) in offsets.windows(2).enumerate() {
        for index in &mut indices[ends[0].as_usize()..ends[1].as_usize()] {
            *index = to_local::<A, I>(format, &ranges, line, index.as_usize())?;
        }
    }
    from_local(format, part, offsets, indices, values)
}

/// The part's matrix from its arrays, checked.
fn from_local<A: Axis, T: Scalar, I: Index, O: Index>(
    format: &'static str,
    part: &Part,
    offsets: Vec<O>,
    indices: Vec<I>,
    values: Vec<T>,
) -> Result<Block<A, T, I, O>> {
    let (rows, cols) = part.shape();
    Compressed::new(rows, cols, offsets, indices, values).map_err(|error| {
        Error::format(format, format_args!("rows {:?}, columns {:?}: {error}", part.rows, part.cols))
    })
}

//! Decoding of `.npz` archives from their bytes as they come.
//!
//! The files of a zip archive follow each other, each behind a header with its length and checksum, and a directory
//! follows. Archives that were written to a pipe have the lengths after the files instead, and are not decoded here.

use super::archive::{check_length, extents};
use super::{AnyBatch, AnySparse, DESCRIPTION_BYTES, Expanded, NpzFormat, batch, expanded};
use crate::any::{AnyIndices, AnyValues};
use crate::npy::{ArrayDecoder, Elements, HEADER_BYTES, NpyArray, RawArray};
use crate::stream::{Decoded, Reserve, wrong};
use crc32fast::Hasher;
use flate2::{Decompress, FlushDecompress, Status};
use sparse_core::{Error, Result};
use std::collections::BTreeMap;

/// Bytes of the header of a file without its name.
const HEADER: usize = 30;
/// Bytes to which a file is inflated at once.
const INFLATED: usize = 64 << 10;

/// Decodes an `.npz` file.
#[derive(Debug)]
pub(crate) struct NpzDecoder {
    /// True if the first file is deflated, and most likely all are.
    is_deflated: bool,
    state: State,
    arrays: BTreeMap<String, Array>,
}

#[derive(Debug)]
enum State {
    /// The bytes of a header so far.
    Header(Vec<u8>),
    File(Box<File>),
    /// The directory, after the last file.
    Directory,
}

/// A file of the archive that is being decoded.
#[derive(Debug)]
struct File {
    about: Header,
    /// Bytes that are still to come.
    left: u64,
    inflate: Option<Inflate>,
    crc: Hasher,
    array: ArrayState,
}

/// The state of a deflated file.
#[derive(Debug)]
struct Inflate {
    decompress: Decompress,
    buffer: Vec<u8>,
    is_done: bool,
}

#[derive(Debug)]
enum ArrayState {
    /// An array that is no part of a matrix.
    Skipped,
    /// An array that describes the matrix: `format` or `shape`.
    Description(Vec<u8>),
    Array(ArrayDecoder),
}

/// An array that was decoded.
#[derive(Debug)]
enum Array {
    Description(Vec<u8>),
    Elements(Elements),
}

/// The fields of the header in front of a file.
#[derive(Debug, PartialEq)]
struct Header {
    /// The name without `.npy`.
    key: String,
    is_deflated: bool,
    crc: u32,
    packed: u64,
    size: u64,
}

impl NpzDecoder {
    /// The decoder of an archive with these first bytes; none if its first file is not decoded from front to back.
    pub(crate) fn new(head: &[u8]) -> Option<Self> {
        let header = head.get(..header_bytes(head)?)?;
        let is_deflated = Header::parse(header).ok()?.is_deflated;
        Some(Self { is_deflated, state: State::Header(vec![]), arrays: BTreeMap::new() })
    }

    pub(crate) fn copies(&self) -> bool {
        !self.is_deflated
    }

    pub(crate) fn push(&mut self, mut bytes: &[u8], reserve: &mut Reserve<'_>) -> Result<()> {
        while !bytes.is_empty() {
            bytes = match &mut self.state {
                State::Header(header) => {
                    let rest = collect(header, bytes);
                    if let Some(next) = after_header(header, &self.arrays).map_err(wrong)? {
                        self.state = next;
                    }
                    rest
                }
                State::File(file) => file.push(bytes, reserve).map_err(|error| file.named(error))?,
                State::Directory => return Ok(()),
            };
            self.end_file(reserve)?;
        }
        Ok(())
    }

    /// Decodes the bytes that are only copied to an array, and returns their number.
    pub(crate) fn copy(&mut self, bytes: &[u8]) -> usize {
        match &mut self.state {
            State::File(file) => file.copy(bytes),
            State::Header(_) | State::Directory => 0,
        }
    }

    /// Stores the array of a file whose bytes are complete.
    fn end_file(&mut self, reserve: &mut Reserve<'_>) -> Result<()> {
        if !matches!(&self.state, State::File(file) if file.left == 0) {
            return Ok(());
        }
        if let State::File(file) = std::mem::replace(&mut self.state, State::Header(vec![])) {
            let key = file.about.key.clone();
            if let Some(array) = file.finish(reserve).map_err(|error| named(&key, error))? {
                self.arrays.insert(key, array);
            }
        }
        Ok(())
    }

    /// The matrix or the batch.
    pub(crate) fn finish(mut self, reserve: &mut Reserve<'_>) -> Result<Decoded> {
        if !matches!(self.state, State::Directory) {
            return Err(wrong("the archive ends before its directory"));
        }
        let format = self.description("format", |array| Ok(array.text()?.into_owned()))?;
        if let Some(format) = Expanded::from_name(&format) {
            return self.expand(format, reserve).map(Decoded::Sparse);
        }
        match batch::format_of(&format) {
            Some(format) => {
                let [count, rows, cols] = self.shape()?;
                let [member_ptr, offsets, indices] =
                    ["member_ptr", "indptr", "indices"].map(|key| self.indices(key));
                let (member_ptr, offsets, indices) = (member_ptr?, offsets?, indices?);
                let values = self.values()?;
                Ok(Decoded::Batch(AnyBatch {
                    format,
                    count,
                    rows,
                    cols,
                    member_ptr,
                    offsets,
                    indices,
                    values,
                }))
            }
            None => {
                let format =
                    NpzFormat::from_name(&format).map_err(|reason| wrong(format!("`format`: {reason}")))?;
                let ([rows, cols], (major, minor)) = (self.shape()?, format.index_keys());
                let (major, minor) = (self.indices(major)?, self.indices(minor)?);
                Ok(Decoded::Sparse(AnySparse { format, rows, cols, major, minor, values: self.values()? }))
            }
        }
    }

    /// The matrix in blocks or diagonals, as coordinates.
    fn expand(&mut self, format: Expanded, reserve: &mut Reserve<'_>) -> Result<AnySparse> {
        let (shape, data) = (self.shape()?, self.data()?);
        let lengths = format.index_lengths(shape, &data.shape).map_err(wrong)?;
        let matrix = format.describe(shape, &data.shape);
        let mut indices = vec![];
        for &(key, needed) in &lengths {
            let array = self.indices(key)?;
            check_length(&matrix, (key, array.len()), needed).map_err(wrong)?;
            indices.push(array);
        }
        reserve(expanded::bytes(data.values.len(), &lengths))?;
        format.expand(shape, data, indices).map_err(wrong)
    }

    fn description<T>(
        &mut self,
        key: &str,
        interpret: impl Fn(&RawArray<'_>) -> Result<T, String>,
    ) -> Result<T> {
        let Some(Array::Description(bytes)) = self.arrays.remove(key) else { return Err(missing(key)) };
        let read = RawArray::parse(&bytes).and_then(|array| interpret(&array));
        read.map_err(|reason| wrong(format!("`{key}`: {reason}")))
    }

    fn shape<const N: usize>(&mut self) -> Result<[usize; N]> {
        self.description("shape", |array| extents(array.indices()?))
    }

    fn indices(&mut self, key: &str) -> Result<AnyIndices> {
        match self.arrays.remove(key) {
            Some(Array::Elements(Elements::Indices(indices))) => Ok(indices),
            _ => Err(missing(key)),
        }
    }

    fn values(&mut self) -> Result<AnyValues> {
        self.data()?.into_vector().map_err(|reason| wrong(format!("`data`: {reason}")))
    }

    fn data(&mut self) -> Result<NpyArray> {
        match self.arrays.remove("data") {
            Some(Array::Elements(Elements::Values(array))) => Ok(array),
            _ => Err(missing("data")),
        }
    }
}

fn missing(key: &str) -> Error {
    wrong(format!("`{key}`: there is no such array"))
}

/// An error of the array `key`.
fn named(key: &str, error: Error) -> Error {
    match error {
        Error::File { path, line, reason } => {
            Error::File { path, line, reason: format!("`{key}`: {reason}") }
        }
        other => other,
    }
}

/// The length of a header in bytes, if enough of it has come to tell.
fn header_bytes(header: &[u8]) -> Option<usize> {
    let number = |at: usize| Some(usize::from(u16::from_le_bytes(*header.get(at..)?.first_chunk()?)));
    Some(HEADER + number(26)? + number(28)?)
}

/// Appends the bytes that a header lacks, or that tell its length; returns the rest.
fn collect<'a>(header: &mut Vec<u8>, bytes: &'a [u8]) -> &'a [u8] {
    // A directory may be shorter than a header.
    let needed = if header.len() < 4 { 4 } else { header_bytes(header).unwrap_or(HEADER) };
    let (more, rest) = bytes.split_at((needed - header.len()).min(bytes.len()));
    header.extend_from_slice(more);
    rest
}

/// The state after a header; `None` if it is not complete.
fn after_header(header: &[u8], arrays: &BTreeMap<String, Array>) -> Result<Option<State>, String> {
    match header.first_chunk() {
        None | Some(b"PK\x03\x04") => (),
        Some(b"PK\x01\x02" | b"PK\x05\x06") => return Ok(Some(State::Directory)),
        Some(_) => {
            return Err("not a sound zip file: a file is not followed by another or the directory".into());
        }
    }
    if header_bytes(header).is_none_or(|needed| header.len() < needed) {
        return Ok(None);
    }
    let about = Header::parse(header)?;
    if arrays.contains_key(&about.key) {
        return Err(format!("`{}`: the archive has it twice", about.key));
    }
    Ok(Some(State::File(Box::new(File::new(about)))))
}

impl Header {
    /// Parses a complete header; fails if it does not say how long the file is, or how it is packed.
    fn parse(header: &[u8]) -> Result<Self, String> {
        let broken = || "not a sound zip file: the header of a file is broken".to_owned();
        let (fixed, rest) = header.split_first_chunk::<HEADER>().ok_or_else(broken)?;
        let short = |at: usize| u16::from_le_bytes([fixed[at], fixed[at + 1]]);
        let long = |at: usize| u32::from(short(at)) | u32::from(short(at + 2)) << 16;
        let (flags, method) = (short(6), short(8));
        let (name, extra) = rest.split_at_checked(short(26).into()).ok_or_else(broken)?;
        let name = String::from_utf8_lossy(name);
        let key = name.strip_suffix(".npy").unwrap_or(&name).to_owned();
        const ENCRYPTED: u16 = 1;
        const LENGTHS_BEHIND: u16 = 1 << 3;
        if flags & (ENCRYPTED | LENGTHS_BEHIND) != 0 || !matches!(method, 0 | 8) {
            return Err(format!(
                "`{key}`: files that are encrypted, written to a pipe or packed otherwise than by deflate"
            ));
        }
        let (packed, size) = match (long(18), long(22)) {
            (u32::MAX, _) | (_, u32::MAX) => long_lengths(extra).ok_or_else(broken)?,
            (packed, size) => (packed.into(), size.into()),
        };
        Ok(Self { key, is_deflated: method == 8, crc: long(14), packed, size })
    }
}

/// The lengths of a file, packed and not, that do not fit 32 bits.
fn long_lengths(mut extra: &[u8]) -> Option<(u64, u64)> {
    loop {
        let (&[a, b, c, d], rest) = extra.split_first_chunk()?;
        let (tag, field) = (u16::from_le_bytes([a, b]), rest.get(..usize::from(u16::from_le_bytes([c, d])))?);
        if tag == 1 {
            let number = |at: usize| Some(u64::from_le_bytes(*field.get(at..)?.first_chunk()?));
            return Some((number(8)?, number(0)?));
        }
        extra = &rest[field.len()..];
    }
}

impl File {
    fn new(about: Header) -> Self {
        let array = match &*about.key {
            "format" | "shape" => ArrayState::Description(vec![]),
            "data" => ArrayState::Array(ArrayDecoder::new(false)),
            "indptr" | "indices" | "row" | "col" | "offsets" | "member_ptr" => {
                ArrayState::Array(ArrayDecoder::new(true))
            }
            _ => ArrayState::Skipped,
        };
        let inflate = about.is_deflated.then(|| Inflate {
            decompress: Decompress::new(false),
            buffer: vec![0; INFLATED],
            is_done: false,
        });
        Self { left: about.packed, about, inflate, crc: Hasher::new(), array }
    }

    /// Decodes the bytes of this file among these; returns the others.
    fn push<'a>(&mut self, bytes: &'a [u8], reserve: &mut Reserve<'_>) -> Result<&'a [u8]> {
        let own = usize::try_from(self.left).unwrap_or(usize::MAX).min(bytes.len());
        let (own, rest) = bytes.split_at(own);
        self.left -= own.len() as u64;
        let (crc, array, size) = (&mut self.crc, &mut self.array, self.about.size);
        let mut each = |bytes: &[u8]| {
            crc.update(bytes);
            array.push(bytes, reserve)
        };
        match &mut self.inflate {
            None => each(own)?,
            Some(inflate) => inflate.push(own, size, &mut each)?,
        }
        Ok(rest)
    }

    /// Decodes the bytes of this file that are only copied to its array, and returns their number.
    fn copy(&mut self, bytes: &[u8]) -> usize {
        let (None, ArrayState::Array(array)) = (&self.inflate, &mut self.array) else { return 0 };
        let own = usize::try_from(self.left).unwrap_or(usize::MAX).min(bytes.len());
        let copied = array.copy(&bytes[..own]);
        self.crc.update(&bytes[..copied]);
        self.left -= copied as u64;
        copied
    }

    /// The array, if it is part of a matrix and its checksum is right.
    fn finish(self, reserve: &mut Reserve<'_>) -> Result<Option<Array>> {
        let size = self.inflate.as_ref().map_or(self.about.packed, |inflate| inflate.decompress.total_out());
        let is_cut_off = self.inflate.is_some_and(|inflate| !inflate.is_done);
        if is_cut_off || size != self.about.size {
            return Err(wrong(format!("{size} bytes where its header says {}", self.about.size)));
        }
        if self.crc.finalize() != self.about.crc {
            return Err(wrong("the checksum is wrong"));
        }
        Ok(match self.array {
            ArrayState::Skipped => None,
            ArrayState::Description(bytes) => Some(Array::Description(bytes)),
            ArrayState::Array(array) => Some(Array::Elements(array.finish(reserve)?)),
        })
    }

    fn named(&self, error: Error) -> Error {
        named(&self.about.key, error)
    }
}

impl Inflate {
    /// Inflates bytes and calls `each` with the output, at most `size` bytes in all.
    fn push(&mut self, mut bytes: &[u8], size: u64, each: &mut dyn FnMut(&[u8]) -> Result<()>) -> Result<()> {
        while !self.is_done {
            let before = (self.decompress.total_in(), self.decompress.total_out());
            let status = self.decompress.decompress(bytes, &mut self.buffer, FlushDecompress::None);
            self.is_done = status.map_err(|error| wrong(error.to_string()))? == Status::StreamEnd;
            let taken = (self.decompress.total_in() - before.0) as usize;
            let made = (self.decompress.total_out() - before.1) as usize;
            if self.decompress.total_out() > size {
                return Err(wrong(format!("more bytes than the {size} that its header says")));
            }
            each(&self.buffer[..made])?;
            bytes = &bytes[taken..];
            if taken == 0 && made == 0 {
                break;
            }
        }
        Ok(())
    }
}

impl ArrayState {
    fn push(&mut self, bytes: &[u8], reserve: &mut Reserve<'_>) -> Result<()> {
        match self {
            Self::Skipped => Ok(()),
            Self::Description(description) => {
                if description.len() + bytes.len() > HEADER_BYTES as usize + DESCRIPTION_BYTES {
                    return Err(wrong("it is too long for a description"));
                }
                description.extend_from_slice(bytes);
                Ok(())
            }
            Self::Array(array) => array.push(bytes, reserve),
        }
    }
}

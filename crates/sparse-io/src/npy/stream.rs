//! Decoding of `.npy` arrays from their bytes as they come.

use super::NpyArray;
use super::element::Element;
use super::header::{HEADER_BYTES, Header, show_shape};
use crate::any::{AnyIndices, AnyValues};
use crate::npz::{AnySparse, NpzFormat};
use crate::stream::{Reserve, grow, wrong};
use sparse_core::{Order, Result};
use std::convert::Infallible;

/// An array is allocated whole once 1/64 of its bytes have come: the rest is likely to follow.
const LIKELY_PART: usize = 64;
/// Bytes that are converted at once, few enough to stay in the cache.
const BLOCK_BYTES: usize = 16 << 10;
/// Elements that are tested for zeros at once, by their bytes.
const ZERO_BLOCK: usize = 128;

/// Reassembles elements whose bytes come in several parts.
#[derive(Debug)]
struct WholeElements {
    size: usize,
    /// The start of an element that is not complete yet.
    begun: Vec<u8>,
}

impl WholeElements {
    fn new(element: Element) -> Self {
        Self { size: element.bytes(), begun: vec![] }
    }

    /// Calls `each` with bytes of whole elements.
    fn push<E>(&mut self, mut bytes: &[u8], each: &mut dyn FnMut(&[u8]) -> Result<(), E>) -> Result<(), E> {
        if !self.begun.is_empty() {
            let (first, rest) = bytes.split_at((self.size - self.begun.len()).min(bytes.len()));
            self.begun.extend_from_slice(first);
            bytes = rest;
            if self.begun.len() < self.size {
                return Ok(());
            }
            each(&self.begun)?;
            self.begun.clear();
        }
        let (whole, begun) = bytes.split_at(bytes.len() / self.size * self.size);
        self.begun.extend_from_slice(begun);
        if whole.is_empty() { Ok(()) } else { each(whole) }
    }
}

/// Fails unless an array has the bytes that its header claims.
fn check_bytes(header: &Header, found: usize) -> Result<()> {
    header.check_length(found).map_err(wrong)
}

fn too_long(header: &Header, claimed: usize) -> sparse_core::Error {
    let shape = show_shape(&header.shape);
    wrong(format!("shape {shape} needs {claimed} bytes, but more follow the header"))
}

/// The elements of an array.
#[derive(Debug)]
pub(crate) enum Elements {
    /// Values of any shape.
    Values(NpyArray),
    /// Indices of one dimension.
    Indices(AnyIndices),
}

/// Decodes an array of a file: of indices, if it is 1-D, or of values.
#[derive(Debug)]
pub(crate) struct ArrayDecoder {
    are_indices: bool,
    /// The start of the file, until it has the header.
    head: Vec<u8>,
    body: Option<Body>,
}

#[derive(Debug)]
struct Body {
    header: Header,
    element: Element,
    whole: WholeElements,
    elements: Elements,
    /// Elements that the header claims.
    claimed: usize,
}

impl ArrayDecoder {
    pub(crate) fn new(are_indices: bool) -> Self {
        Self { are_indices, head: vec![], body: None }
    }

    pub(crate) fn push(&mut self, bytes: &[u8], reserve: &mut Reserve<'_>) -> Result<()> {
        if let Some(body) = &mut self.body {
            return body.push(bytes, reserve);
        }
        let missing = (HEADER_BYTES as usize).saturating_sub(self.head.len());
        let (head, rest) = bytes.split_at(missing.min(bytes.len()));
        self.head.extend_from_slice(head);
        if rest.is_empty() { Ok(()) } else { self.begin(reserve)?.push(rest, reserve) }
    }

    /// Appends elements up to the capacity, and returns the number of their bytes.
    pub(crate) fn copy(&mut self, bytes: &[u8]) -> usize {
        self.body.as_mut().map_or(0, |body| body.copy(bytes))
    }

    fn begin(&mut self, reserve: &mut Reserve<'_>) -> Result<&mut Body> {
        let (header, data) = Header::parse(&self.head).map_err(wrong)?;
        let element = Element::parse(&header.descr).map_err(wrong)?;
        let elements = if self.are_indices {
            header.check_one_dimension().map_err(wrong)?;
            let other = || wrong(format!("the type is `{}`, where integers are needed", header.descr));
            Elements::Indices(element.indices(&[]).ok_or_else(other)?)
        } else {
            let (shape, order, values) = (header.shape.clone(), header.order, element.values(&[]));
            Elements::Values(NpyArray { shape, order, values })
        };
        let claimed = header.data_bytes().map_err(wrong)? / element.bytes();
        let body = Body { whole: WholeElements::new(element), header, element, elements, claimed };
        let body = self.body.insert(body);
        body.push(data, reserve)?;
        Ok(body)
    }

    /// The array, if it is as long as its header claims.
    pub(crate) fn finish(mut self, reserve: &mut Reserve<'_>) -> Result<Elements> {
        if self.body.is_none() {
            self.begin(reserve)?;
        }
        let Some(Body { header, element, whole, elements, .. }) = self.body else {
            return Err(wrong("the file ends in its header"));
        };
        check_bytes(&header, elements.len() * element.bytes() + whole.begun.len())?;
        Ok(elements)
    }
}

impl Body {
    fn push(&mut self, bytes: &[u8], reserve: &mut Reserve<'_>) -> Result<()> {
        let Self { header, element, whole, elements, claimed } = self;
        let size = element.bytes();
        whole.push(bytes, &mut |bytes| {
            let len = elements.len() + bytes.len() / size;
            if len > *claimed {
                return Err(too_long(header, *claimed * size));
            }
            let is_likely = len >= *claimed / LIKELY_PART;
            let more = if is_likely { *claimed - elements.len() } else { bytes.len() / size };
            elements.grow(more, *claimed, reserve)?;
            elements.append(*element, bytes);
            Ok(())
        })
    }

    /// As [`ArrayDecoder::copy`].
    fn copy(&mut self, bytes: &[u8]) -> usize {
        let Self { element, whole, elements, claimed, .. } = self;
        let spare = elements.capacity().min(*claimed) - elements.len();
        let copied = (spare * element.bytes()).saturating_sub(whole.begun.len()).min(bytes.len());
        let mut append = |bytes: &[u8]| {
            elements.append(*element, bytes);
            Ok::<_, Infallible>(())
        };
        match whole.push(&bytes[..copied], &mut append) {
            Ok(()) => copied,
        }
    }
}

impl Elements {
    fn len(&self) -> usize {
        match self {
            Self::Values(array) => array.values.len(),
            Self::Indices(indices) => indices.len(),
        }
    }

    fn grow(&mut self, more: usize, most: usize, reserve: &mut Reserve<'_>) -> Result<()> {
        match self {
            Self::Values(array) => array.values.grow(more, most, reserve),
            Self::Indices(indices) => indices.grow(more, most, reserve),
        }
    }

    /// The capacity, in elements.
    fn capacity(&self) -> usize {
        match self {
            Self::Values(array) => array.values.capacity(),
            Self::Indices(indices) => indices.capacity(),
        }
    }

    /// Adds elements of the type that the array has.
    fn append(&mut self, element: Element, bytes: &[u8]) {
        for block in bytes.chunks(BLOCK_BYTES / element.bytes() * element.bytes()) {
            match self {
                Self::Values(array) => element.append_values(&mut array.values, block),
                Self::Indices(indices) => element.append_indices(indices, block),
            }
        }
    }
}

/// Decodes a dense array of one or two dimensions; only non-zeros stay in memory.
#[derive(Debug)]
pub(crate) struct DenseDecoder {
    header: Header,
    element: Element,
    /// Bytes of the header that are still to come.
    header_left: usize,
    whole: WholeElements,
    shape: [usize; 2],
    /// Elements of a row, or of a column in Fortran order.
    line: usize,
    lines: usize,
    /// Elements that have come.
    at: usize,
    offsets: Vec<i64>,
    indices: Vec<i32>,
    values: AnyValues,
}

impl DenseDecoder {
    /// The decoder of a file with these first bytes; none for arrays of other dimensions, without elements, or with
    /// lines that 32 bits do not count.
    pub(crate) fn new(head: &[u8]) -> Result<Option<Self>> {
        let (header, data) = Header::parse(head).map_err(wrong)?;
        let element = Element::parse(&header.descr).map_err(wrong)?;
        header.data_bytes().map_err(wrong)?;
        let shape @ [rows, cols] = match header.shape[..] {
            [rows] => [rows, 1],
            [rows, cols] => [rows, cols],
            _ => return Ok(None),
        };
        let (lines, line) = if header.order == Order::RowMajor { (rows, cols) } else { (cols, rows) };
        if lines == 0 || line == 0 || i32::try_from(line).is_err() {
            return Ok(None);
        }
        Ok(Some(Self {
            header_left: head.len() - data.len(),
            whole: WholeElements::new(element),
            values: element.values(&[]),
            header,
            element,
            shape,
            line,
            lines,
            at: 0,
            offsets: vec![0],
            indices: vec![],
        }))
    }

    pub(crate) fn push(&mut self, bytes: &[u8], reserve: &mut Reserve<'_>) -> Result<()> {
        let (header, bytes) = bytes.split_at(self.header_left.min(bytes.len()));
        self.header_left -= header.len();
        let mut whole = std::mem::replace(&mut self.whole, WholeElements::new(self.element));
        let pushed = whole.push(bytes, &mut |bytes| self.compress(bytes, reserve));
        self.whole = whole;
        pushed
    }

    /// Adds the entries among some elements.
    fn compress(&mut self, mut bytes: &[u8], reserve: &mut Reserve<'_>) -> Result<()> {
        let (size, all) = (self.element.bytes(), self.lines.saturating_mul(self.line));
        let count = bytes.len() / size;
        if count > all - self.at {
            return Err(too_long(&self.header, all.saturating_mul(size)));
        }
        self.values.grow(count, all, reserve)?;
        grow(&mut self.indices, count, all, reserve)?;
        grow(&mut self.offsets, count / self.line + 1, self.lines + 1, reserve)?;
        while !bytes.is_empty() {
            let first = self.at % self.line;
            let count = (self.line - first).min(bytes.len() / size).min(ZERO_BLOCK);
            let (block, rest) = bytes.split_at(count * size);
            if !is_zero(block) {
                let indices = &mut self.indices;
                let entries = self.element.values(block).nonzeros(|k| indices.push((first + k) as i32));
                self.values.append(entries);
            }
            (bytes, self.at) = (rest, self.at + count);
            if first + count == self.line {
                self.offsets.push(self.indices.len() as i64);
            }
        }
        Ok(())
    }

    /// The matrix of the entries, if the file is as long as its header claims.
    pub(crate) fn finish(self) -> Result<AnySparse> {
        check_bytes(&self.header, self.at * self.element.bytes() + self.whole.begun.len())?;
        let [rows, cols] = self.shape;
        Ok(AnySparse {
            format: if self.header.order == Order::RowMajor { NpzFormat::Csr } else { NpzFormat::Csc },
            rows,
            cols,
            major: AnyIndices::I64(self.offsets),
            minor: AnyIndices::I32(self.indices),
            values: self.values,
        })
    }
}

/// True if all bytes are zero.
fn is_zero(bytes: &[u8]) -> bool {
    let (words, rest) = bytes.as_chunks();
    let any = words.iter().fold(0, |any, word| any | u64::from_ne_bytes(*word));
    any == 0 && rest.iter().all(|&byte| byte == 0)
}

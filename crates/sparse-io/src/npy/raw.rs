//! Arrays in the bytes of a file: of values, of indices, or of one string.

use super::element::Element;
use super::header::{HEADER_BYTES, Header, show_shape};
use crate::any::{AnyIndices, AnyValues};
use std::borrow::Cow;
use std::io::{self, Read};
use std::ops::Range;

/// An array whose elements are not yet converted from bytes.
#[derive(Debug)]
pub(crate) struct RawArray<'a> {
    pub(super) header: Header,
    data: Cow<'a, [u8]>,
}

impl<'a> RawArray<'a> {
    /// Splits a file into header and data.
    pub(crate) fn parse(bytes: &'a [u8]) -> Result<Self, String> {
        let (header, data) = Header::parse(bytes)?;
        Ok(Self { header, data: data.into() })
    }

    /// Reads an array of at most `limit` bytes of data, and at most one byte more than the header claims.
    pub(crate) fn read(mut packed: impl Read, limit: usize) -> Result<Self, String> {
        let mut bytes = Vec::new();
        let error = |error: io::Error| error.to_string();
        packed.by_ref().take(HEADER_BYTES).read_to_end(&mut bytes).map_err(error)?;
        let (header, data) = Header::parse(&bytes)?;
        let claimed = header.data_bytes()?;
        if claimed > limit {
            let shape = show_shape(&header.shape);
            return Err(format!("shape {shape} needs {claimed} bytes, but {limit} are read at most"));
        }
        let mut data = data.to_vec();
        let rest = (claimed + 1).saturating_sub(data.len());
        packed.take(rest as u64).read_to_end(&mut data).map_err(error)?;
        if data.len() > claimed {
            let shape = show_shape(&header.shape);
            return Err(format!("shape {shape} needs {claimed} bytes, but more follow the header"));
        }
        Ok(Self { header, data: data.into() })
    }

    /// The array of a range of the elements of a 1-D array, without its data, and the position of the data in the file
    /// of this `head`.
    pub(crate) fn of_range(
        head: &[u8],
        range: Range<usize>,
        limit: usize,
    ) -> Result<(Self, Range<usize>), String> {
        let (header, data) = Header::parse(head)?;
        let (size, claimed) = (Element::parse(&header.descr)?.bytes(), header.data_bytes()?);
        if header.shape.len() != 1 || range.end > header.shape[0] || claimed > limit {
            let shape = show_shape(&header.shape);
            return Err(format!("elements {range:?} of shape {shape} in at most {limit} bytes"));
        }
        let first = head.len() - data.len();
        let bytes = first + range.start * size..first + range.end * size;
        Ok((Self { header: Header { shape: vec![range.len()], ..header }, data: Cow::default() }, bytes))
    }

    /// The same array with these data.
    pub(crate) fn with_data(self, data: Vec<u8>) -> Self {
        Self { data: data.into(), ..self }
    }

    /// The elements, as values.
    pub(crate) fn values(&self) -> Result<AnyValues, String> {
        let element = Element::parse(&self.header.descr)?;
        self.check_length()?;
        Ok(element.values(&self.data))
    }

    /// The elements of a 1-D array, as indices; an error for one that does not fit 64 bits with a sign.
    pub(crate) fn indices(&self) -> Result<AnyIndices, String> {
        self.header.check_one_dimension()?;
        let element = Element::parse(&self.header.descr)?;
        self.check_length()?;
        if let Some(number) = element.first_above_indices(&self.data) {
            return Err(format!("{number} is above {}, the largest index or size", i64::MAX));
        }
        let other = || format!("the type is `{}`, where integers are needed", self.header.descr);
        element.indices(&self.data).ok_or_else(other)
    }

    /// The only string in the array: of bytes, or of characters that are ASCII. Zeros at its end are padding.
    pub(crate) fn text(&self) -> Result<Cow<'_, [u8]>, String> {
        let (descr, data) = (&self.header.descr, &self.data);
        if *descr == format!("|S{}", data.len()) {
            return Ok(Cow::Borrowed(&data[..unpadded_length(data)]));
        }
        let (characters, rest) = data.as_chunks::<4>();
        let [little, big] = ["<", ">"].map(|order| format!("{order}U{}", characters.len()));
        let ascii = |number: u32| u8::try_from(number).ok().filter(u8::is_ascii);
        let text = match descr {
            _ if !rest.is_empty() => None,
            _ if *descr == little => characters.iter().map(|&c| ascii(u32::from_le_bytes(c))).collect(),
            _ if *descr == big => characters.iter().map(|&c| ascii(u32::from_be_bytes(c))).collect(),
            _ => None,
        };
        let unpadded = |mut text: Vec<u8>| {
            text.truncate(unpadded_length(&text));
            Cow::Owned(text)
        };
        text.map(unpadded).ok_or_else(|| format!("{} bytes of type `{descr}` are not one string", data.len()))
    }

    /// An error unless the data are as long as the header claims.
    fn check_length(&self) -> Result<(), String> {
        self.header.check_length(self.data.len())
    }
}

/// The length of a string without the zeros that pad it to the length of its type.
fn unpadded_length(text: &[u8]) -> usize {
    text.iter().rposition(|&byte| byte != 0).map_or(0, |last| last + 1)
}

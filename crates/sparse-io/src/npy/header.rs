//! The header of a `.npy` file: a Python dictionary with three keys.

use super::element::Element;
use crate::signature::what_it_is;
use sparse_core::Order;

/// More bytes than the header of an array of a plain type takes.
pub(crate) const HEADER_BYTES: u64 = 4096;
/// The first bytes of every `.npy` file.
const MAGIC: &[u8] = b"\x93NUMPY";
/// More dimensions than NumPy itself allows.
const MAX_DIMENSIONS: usize = 64;
/// The alignment of NumPy's headers.
const ALIGNMENT: usize = 64;

/// The contents of a header.
#[derive(Debug, PartialEq)]
pub(super) struct Header {
    pub(super) descr: String,
    pub(super) order: Order,
    pub(super) shape: Vec<usize>,
}

impl Header {
    /// Reads the header of a file; returns also the bytes after it.
    pub(super) fn parse(bytes: &[u8]) -> Result<(Self, &[u8]), String> {
        let rest = bytes.strip_prefix(MAGIC).ok_or_else(|| {
            format!("the file does not start with the magic bytes of .npy{}", what_it_is(bytes, MAGIC))
        })?;
        let (version, rest) = rest.split_first_chunk::<2>().ok_or("the file ends in its header")?;
        let (length, rest) = match version {
            [1, _] => rest.split_first_chunk().map(|(&n, rest)| (usize::from(u16::from_le_bytes(n)), rest)),
            [2 | 3, _] => rest.split_first_chunk().map(|(&n, rest)| (u32::from_le_bytes(n) as usize, rest)),
            [major, minor] => return Err(format!("version {major}.{minor} is none of 1.0, 2.0 and 3.0")),
        }
        .ok_or("the file ends in its header")?;
        if length > rest.len() {
            return Err(format!("the header claims {length} bytes, but only {} follow", rest.len()));
        }
        let (text, data) = rest.split_at(length);
        let header = Scanner { text, at: 0 }.dictionary()?;
        Ok((header, data))
    }

    /// The bytes of a header of version 1.0.
    pub(super) fn to_bytes(&self) -> Vec<u8> {
        let order = if self.order == Order::ColMajor { "True" } else { "False" };
        let mut shape: String = self.shape.iter().map(|extent| format!("{extent}, ")).collect();
        if self.shape.len() > 1 {
            shape.truncate(shape.len() - 2);
        }
        let mut text = format!(
            "{{'descr': '{}', 'fortran_order': {order}, 'shape': ({}), }}",
            self.descr,
            shape.trim_end()
        );
        let before = MAGIC.len() + 4;
        let padded = (before + text.len() + 1).next_multiple_of(ALIGNMENT);
        text.extend(std::iter::repeat_n(' ', padded - before - text.len() - 1));
        text.push('\n');
        [MAGIC, &[1, 0], &(text.len() as u16).to_le_bytes(), text.as_bytes()].concat()
    }

    /// An error unless the array has one to three dimensions.
    pub(super) fn check_dimensions(&self) -> Result<(), String> {
        match self.shape.len() {
            1..=3 => Ok(()),
            others => Err(format!("the array has {others} dimensions, not one to three")),
        }
    }

    /// An error unless the array has one dimension.
    pub(super) fn check_one_dimension(&self) -> Result<(), String> {
        check_one_dimension(&self.shape)
    }

    /// An error unless `found` bytes of data are as many as the header claims.
    pub(super) fn check_length(&self, found: usize) -> Result<(), String> {
        let claimed = self.data_bytes()?;
        if claimed == found {
            return Ok(());
        }
        let shape = show_shape(&self.shape);
        Err(format!("shape {shape} needs {claimed} bytes, but {found} follow the header"))
    }

    /// The number of elements.
    pub(super) fn elements(&self) -> Result<usize, String> {
        if self.shape.contains(&0) {
            return Ok(0);
        }
        let elements = self.shape.iter().try_fold(1_usize, |product, &extent| product.checked_mul(extent));
        elements
            .ok_or_else(|| format!("shape {} has more elements than can be counted", show_shape(&self.shape)))
    }

    /// Bytes of all elements.
    pub(super) fn data_bytes(&self) -> Result<usize, String> {
        let element = match string_bytes(&self.descr) {
            Some(bytes) => bytes,
            None => Element::parse(&self.descr)?.bytes(),
        };
        if self.shape.contains(&0) {
            return Ok(0);
        }
        let bytes = self.shape.iter().try_fold(element, |bytes, &extent| bytes.checked_mul(extent));
        bytes.ok_or_else(|| {
            format!(
                "shape {} with elements of {element} bytes has more bytes than can be counted",
                show_shape(&self.shape)
            )
        })
    }
}

/// An error unless an array of this shape has one dimension.
pub(super) fn check_one_dimension(shape: &[usize]) -> Result<(), String> {
    match shape.len() {
        1 => Ok(()),
        others => Err(format!("the array has {others} dimensions, not one")),
    }
}

/// Reads the subset of Python's syntax that NumPy writes.
struct Scanner<'a> {
    text: &'a [u8],
    at: usize,
}

impl Scanner<'_> {
    fn dictionary(mut self) -> Result<Header, String> {
        let (mut descr, mut order, mut shape) = (None, None, None);
        self.expect(b'{')?;
        while !self.accept(b'}') {
            let key = self.string()?;
            self.expect(b':')?;
            match &key[..] {
                "descr" => descr = Some(self.element_type()?),
                "fortran_order" => order = Some(self.order()?),
                "shape" => shape = Some(self.shape()?),
                _ => return Err(format!("the header has the unknown key `{key}`")),
            }
            if !self.accept(b',') {
                self.expect(b'}')?;
                break;
            }
        }
        self.skip_blanks();
        if self.at < self.text.len() {
            return Err(self.unexpected("the end of the header"));
        }
        let missing = |key: &str| format!("the header has no `{key}`");
        Ok(Header {
            descr: descr.ok_or_else(|| missing("descr"))?,
            order: order.ok_or_else(|| missing("fortran_order"))?,
            shape: shape.ok_or_else(|| missing("shape"))?,
        })
    }

    /// The type of the elements, which is a list where they are records.
    fn element_type(&mut self) -> Result<String, String> {
        self.skip_blanks();
        if self.text.get(self.at) == Some(&b'[') {
            return Err(
                "the elements are records, not numbers; NumPy takes one field of them: a[\"name\"]".into()
            );
        }
        self.string()
    }

    fn skip_blanks(&mut self) {
        while self.text.get(self.at).is_some_and(u8::is_ascii_whitespace) {
            self.at += 1;
        }
    }

    fn accept(&mut self, wanted: u8) -> bool {
        self.skip_blanks();
        let found = self.text.get(self.at) == Some(&wanted);
        self.at += usize::from(found);
        found
    }

    fn expect(&mut self, wanted: u8) -> Result<(), String> {
        if self.accept(wanted) { Ok(()) } else { Err(self.unexpected(&format!("`{}`", wanted as char))) }
    }

    fn unexpected(&self, wanted: &str) -> String {
        let found =
            self.text.get(self.at).map_or("its end".into(), |byte| format!("`{}`", byte.escape_ascii()));
        format!("byte {} of the header is {found} where {wanted} is needed", self.at)
    }

    /// Reads the bytes that satisfy `wanted`.
    fn run(&mut self, wanted: impl Fn(u8) -> bool) -> &str {
        let rest = &self.text[self.at..];
        let length = rest.iter().position(|&byte| !wanted(byte)).unwrap_or(rest.len());
        self.at += length;
        str::from_utf8(&rest[..length]).unwrap_or_default()
    }

    fn string(&mut self) -> Result<String, String> {
        let quote = if self.accept(b'"') { b'"' } else { b'\'' };
        if quote == b'\'' && !self.accept(b'\'') {
            return Err(self.unexpected("a string"));
        }
        let text = self.run(|byte| byte != quote && byte.is_ascii_graphic()).to_owned();
        if self.text.get(self.at) != Some(&quote) {
            return Err(self.unexpected("the end of a string"));
        }
        self.at += 1;
        Ok(text)
    }

    fn order(&mut self) -> Result<Order, String> {
        self.skip_blanks();
        match self.run(|byte| byte.is_ascii_alphabetic()) {
            "True" => Ok(Order::ColMajor),
            "False" => Ok(Order::RowMajor),
            word => Err(format!("fortran_order is `{word}`, neither True nor False")),
        }
    }

    fn shape(&mut self) -> Result<Vec<usize>, String> {
        let mut shape = vec![];
        self.expect(b'(')?;
        while !self.accept(b')') {
            if shape.len() == MAX_DIMENSIONS {
                return Err(format!("the shape has more than {MAX_DIMENSIONS} dimensions"));
            }
            shape.push(self.extent()?);
            if !self.accept(b',') {
                self.expect(b')')?;
                break;
            }
        }
        Ok(shape)
    }

    fn extent(&mut self) -> Result<usize, String> {
        self.skip_blanks();
        let extent = self.run(|byte| !byte.is_ascii_whitespace() && !matches!(byte, b',' | b')'));
        let digits = Some(extent).filter(|extent| extent.bytes().all(|byte| byte.is_ascii_digit()));
        let size = digits.and_then(|digits| digits.parse().ok());
        size.ok_or_else(|| format!("`{extent}` in the shape is not a size that an array can have"))
    }
}

/// Bytes of a string of a `descr` such as `|S3` or `<U3`; none for other types.
fn string_bytes(descr: &str) -> Option<usize> {
    match descr.split_at_checked(2)? {
        ("|S", length) => length.parse().ok(),
        ("<U" | ">U", length) => length.parse::<usize>().ok()?.checked_mul(4),
        _ => None,
    }
}

/// A shape in Python's syntax.
///
/// ```
/// assert_eq!([&[2, 3][..], &[4]].map(sparse_io::npy::show_shape), ["(2, 3)", "(4,)"]);
/// ```
pub fn show_shape(shape: &[usize]) -> String {
    let extents: Vec<String> = shape.iter().map(ToString::to_string).collect();
    if let [extent] = &extents[..] { format!("({extent},)") } else { format!("({})", extents.join(", ")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_is_read_back() {
        for shape in [vec![], vec![5], vec![2, 3], vec![0, 1, 7]] {
            let header = Header { descr: "<f8".into(), order: Order::ColMajor, shape };
            let bytes = header.to_bytes();
            assert_eq!(bytes.len() % ALIGNMENT, 0);
            assert_eq!(Header::parse(&bytes).unwrap(), (header, &[][..]));
        }
    }

    #[test]
    fn broken_headers_are_refused() {
        let file =
            |text: &str| [MAGIC, &[1, 0], &(text.len() as u16).to_le_bytes(), text.as_bytes()].concat();
        let texts = [
            "{'descr': '<f8', 'fortran_order': False}",
            "{'descr': [('a', '<f8')], 'fortran_order': False, 'shape': ()}",
            "{'descr': '<f8', 'fortran_order': maybe, 'shape': ()}",
            "{'descr': '<f8', 'fortran_order': False, 'shape': (-1,)}",
            "{'descr': '<f8', 'fortran_order': False, 'shape': (99999999999999999999,)}",
            "{'descr': '<f8', 'fortran_order': False, 'shape': (1, 2",
            "{'descr': '<f8', 'shape': (), 'fortran_order': False} x",
            "{'descr': '<f8, ",
            "{'other': '<f8'}",
            "((((((((",
        ];
        let refusals = texts.map(|text| format!("{text:?}\n    {}", Header::parse(&file(text)).unwrap_err()));
        insta::assert_snapshot!(refusals.join("\n"), @r#"
        "{'descr': '<f8', 'fortran_order': False}"
            the header has no `shape`
        "{'descr': [('a', '<f8')], 'fortran_order': False, 'shape': ()}"
            the elements are records, not numbers; NumPy takes one field of them: a["name"]
        "{'descr': '<f8', 'fortran_order': maybe, 'shape': ()}"
            fortran_order is `maybe`, neither True nor False
        "{'descr': '<f8', 'fortran_order': False, 'shape': (-1,)}"
            `-1` in the shape is not a size that an array can have
        "{'descr': '<f8', 'fortran_order': False, 'shape': (99999999999999999999,)}"
            `99999999999999999999` in the shape is not a size that an array can have
        "{'descr': '<f8', 'fortran_order': False, 'shape': (1, 2"
            byte 55 of the header is its end where `)` is needed
        "{'descr': '<f8', 'shape': (), 'fortran_order': False} x"
            byte 54 of the header is `x` where the end of the header is needed
        "{'descr': '<f8, "
            byte 15 of the header is ` ` where the end of a string is needed
        "{'other': '<f8'}"
            the header has the unknown key `other`
        "(((((((("
            byte 0 of the header is `(` where `{` is needed
        "#);
        insta::assert_snapshot!(Header::parse(b"\x93NUMPY\x02\x00\xff\xff\xff\xff{").unwrap_err(), @"the header claims 4294967295 bytes, but only 1 follow");
        insta::assert_snapshot!(Header::parse(b"\x93NUMPY\x09\x00").unwrap_err(), @"version 9.0 is none of 1.0, 2.0 and 3.0");
        assert!(Header::parse(b"PK").is_err());
    }
}

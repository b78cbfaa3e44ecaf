//! The banner and the size line.

use super::token::{Cursor, show};
use crate::signature::what_it_is;
use crate::source::Text;
use sparse_core::{DType, Error, Result};

/// The layout of the entries of a Matrix Market file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Layout {
    /// One line per entry: row, column, value.
    Coordinate,
    /// One line per element, column by column.
    Array,
}

/// The type of the values of a Matrix Market file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Field {
    /// One decimal number per line.
    Real,
    /// One number without fraction and exponent per line.
    Integer,
    /// No value: each entry is 1.
    Pattern,
    /// Two decimal numbers per line.
    Complex,
}

impl Field {
    /// The type for the values: `f64`, or `c64` if they are complex.
    ///
    /// ```
    /// use sparse_core::DType;
    /// use sparse_io::matrix_market::Field;
    ///
    /// assert_eq!((Field::Pattern.dtype(), Field::Complex.dtype()), (DType::F64, DType::C64));
    /// ```
    pub fn dtype(self) -> DType {
        if self == Self::Complex { DType::C64 } else { DType::F64 }
    }
}

/// The symmetry of a Matrix Market file: the elements that are stored once for two.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Symmetry {
    /// No symmetry: all elements are stored.
    General,
    /// `a_ji = a_ij`
    Symmetric,
    /// `a_ji = -a_ij`
    SkewSymmetric,
    /// `a_ji = conj(a_ij)`
    Hermitian,
}

/// The contents of the banner and the size line of a Matrix Market file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MatrixInfo {
    /// The number of rows.
    pub rows: usize,
    /// The number of columns.
    pub cols: usize,
    /// The number of lines with entries, before mirroring.
    pub stored: usize,
    /// The type of the values.
    pub field: Field,
    /// The symmetry of the entries.
    pub symmetry: Symmetry,
    /// Entries with coordinates or all elements.
    pub layout: Layout,
}

/// The header of a text, and positions in the text.
#[derive(Debug, Clone, Copy)]
pub(super) struct Header {
    pub(super) info: MatrixInfo,
    /// The position of the size line.
    pub(super) size_at: usize,
    /// The position of the first entry.
    pub(super) body_at: usize,
}

/// Reads the header and checks its claims against the length of the text.
pub(super) fn parse(text: &Text<'_>) -> Result<Header> {
    let header = read(text)?;
    check_length(text, &header)?;
    Ok(header)
}

/// The number of lines after the header of `text`, if the header is valid.
pub(super) fn claimed_lines(text: &[u8]) -> Option<usize> {
    read(&Text::in_memory(text)).ok().map(|header| header.info.stored)
}

/// Reads the header of a text of which this may be the start.
pub(super) fn read(text: &Text<'_>) -> Result<Header> {
    const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";
    let start = if text.bytes.starts_with(BYTE_ORDER_MARK) { BYTE_ORDER_MARK.len() } else { 0 };
    let mut cursor = Cursor::new(text.bytes, start);
    let (layout, field, symmetry) = banner(text, &mut cursor)?;
    if !cursor.seek_data() {
        return Err(text.error(cursor.position(), "the file ends where the size line is needed".into()));
    }
    let size_at = cursor.position();
    let (rows, cols, stored) = sizes(text, &mut cursor, layout, symmetry)?;
    let info = MatrixInfo { rows, cols, stored, field, symmetry, layout };
    Ok(Header { info, size_at, body_at: cursor.position() })
}

/// Reads the first line.
fn banner(text: &Text<'_>, cursor: &mut Cursor<'_>) -> Result<(Layout, Field, Symmetry)> {
    let error = |reason: String| text.error(0, reason);
    if cursor.rest().is_empty() {
        return Err(error("the file is empty".into()));
    }
    let mut word = |what: &str| {
        let token =
            cursor.next_token().ok_or_else(|| error(format!("the banner ends where {what} is needed")))?;
        Ok::<_, Error>((token.to_ascii_lowercase(), show(token)))
    };
    let (magic, shown) = word("`%%MatrixMarket`")?;
    if magic != b"%%matrixmarket" {
        let kind = what_it_is(text.bytes, b"%%MatrixMarket");
        return Err(error(format!("the file starts with {shown}, not with `%%MatrixMarket`{kind}")));
    }
    let (object, shown) = word("`matrix`")?;
    if object != b"matrix" {
        return Err(error(format!("the object is {shown}: only `matrix` is known")));
    }
    let (layout, shown) = word("the format")?;
    let layout = layout_of(&layout)
        .ok_or_else(|| error(format!("the format is {shown}, neither `coordinate` nor `array`")))?;
    let (field, shown) = word("the field")?;
    let field = field_of(&field)
        .ok_or_else(|| error(format!("the field is {shown}: none of real, integer, pattern, complex")))?;
    let (symmetry, shown) = word("the symmetry")?;
    let symmetry = symmetry_of(&symmetry).ok_or_else(|| {
        let known = "none of general, symmetric, skew-symmetric, hermitian";
        error(format!("the symmetry is {shown}: {known}"))
    })?;
    if !cursor.end_line() {
        return Err(error(format!("{} stands after the banner", show(cursor.token()))));
    }
    check_combination(layout, field, symmetry).map_err(|reason| error(reason.into()))?;
    Ok((layout, field, symmetry))
}

fn layout_of(word: &[u8]) -> Option<Layout> {
    match word {
        b"coordinate" => Some(Layout::Coordinate),
        b"array" => Some(Layout::Array),
        _ => None,
    }
}

fn field_of(word: &[u8]) -> Option<Field> {
    match word {
        b"real" | b"double" => Some(Field::Real),
        b"integer" | b"unsigned-integer" => Some(Field::Integer),
        b"pattern" => Some(Field::Pattern),
        b"complex" => Some(Field::Complex),
        _ => None,
    }
}

fn symmetry_of(word: &[u8]) -> Option<Symmetry> {
    match word {
        b"general" => Some(Symmetry::General),
        b"symmetric" => Some(Symmetry::Symmetric),
        b"skew-symmetric" => Some(Symmetry::SkewSymmetric),
        b"hermitian" => Some(Symmetry::Hermitian),
        _ => None,
    }
}

fn check_combination(layout: Layout, field: Field, symmetry: Symmetry) -> Result<(), &'static str> {
    match (layout, field, symmetry) {
        (Layout::Array, Field::Pattern, _) => Err("an array has values, so its field cannot be pattern"),
        (_, Field::Pattern, Symmetry::SkewSymmetric) => {
            Err("a pattern has no sign and cannot be skew-symmetric")
        }
        (_, Field::Real | Field::Integer | Field::Pattern, Symmetry::Hermitian) => {
            Err("only a complex matrix can be hermitian; a real one is symmetric")
        }
        _ => Ok(()),
    }
}

fn sizes(
    text: &Text<'_>,
    cursor: &mut Cursor<'_>,
    layout: Layout,
    symmetry: Symmetry,
) -> Result<(usize, usize, usize)> {
    let size_at = cursor.position();
    let mut size = |what: &str| {
        cursor.whole().ok_or_else(|| {
            let found = match cursor.next_token() {
                None => "ends".into(),
                Some(token) if token.iter().all(u8::is_ascii_digit) => {
                    return text
                        .error(size_at, format!("{what}, {}, is more than {}", show(token), usize::MAX));
                }
                Some(token) => format!("has {}", show(token)),
            };
            text.error(size_at, format!("the size line {found} where {what}, a whole number, is needed"))
        })
    };
    let rows = size("the number of rows")?;
    let cols = size("the number of columns")?;
    let stored = match layout {
        Layout::Coordinate => size("the number of entries")?,
        Layout::Array => array_length(rows, cols, symmetry).ok_or_else(|| {
            text.error(size_at, format!("an array of {rows} x {cols} has more elements than can be counted"))
        })?,
    };
    if !cursor.end_line() {
        return Err(text.error(size_at, format!("{} stands after the sizes", show(cursor.token()))));
    }
    if symmetry != Symmetry::General && rows != cols {
        return Err(
            text.error(size_at, format!("a matrix of {rows} x {cols} is not square and has no symmetry"))
        );
    }
    Ok((rows, cols, stored))
}

/// The number of elements that an array file stores.
fn array_length(rows: usize, cols: usize, symmetry: Symmetry) -> Option<usize> {
    let all = rows.checked_mul(cols)?;
    Some(match symmetry {
        Symmetry::General => all,
        Symmetry::SkewSymmetric => (all - rows.min(all)) / 2,
        Symmetry::Symmetric | Symmetry::Hermitian => (all - rows.min(all)) / 2 + rows.min(all),
    })
}

/// An error if the rest of the text is too short for the claimed number of lines.
fn check_length(text: &Text<'_>, header: &Header) -> Result<()> {
    const SHORTEST_LINE: usize = 2;
    let (stored, left) = (header.info.stored, text.bytes.len() - header.body_at);
    if stored > (left + 1) / SHORTEST_LINE {
        let lines = match header.info.layout {
            Layout::Coordinate => "entries",
            Layout::Array => "elements",
        };
        let reason = format!("{stored} {lines} are claimed, but only {left} bytes follow");
        return Err(text.error(header.size_at, reason));
    }
    Ok(())
}

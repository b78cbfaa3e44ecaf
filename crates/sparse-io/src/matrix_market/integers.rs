//! Integers that the type of values rounds.

use super::entries::Body;
use super::header::{Field, Header, Layout};
use super::token::Cursor;
use crate::any::{RoundedIntegers, nearest_real};
use crate::parallel::map;
use crate::source::Text;
use sparse_core::DType;
use std::ops::Range;

/// The integers of a valid file that `dtype` does not represent; none if there are none, or if the values are no
/// integers.
pub(super) fn rounded(text: Text<'_>, header: Header, parts: usize, dtype: DType) -> Option<RoundedIntegers> {
    if header.info.field != Field::Integer {
        return None;
    }
    let body = Body::split(text, header, parts);
    let found: Vec<Rounded> = map(body.parts.clone(), &|part| scan(&body, part, dtype));
    let (at, first) = found.iter().find_map(|rounded| rounded.first)?;
    Some(RoundedIntegers {
        count: found.iter().map(|rounded| rounded.count).sum(),
        first: String::from_utf8_lossy(first).into_owned(),
        position: None,
        line: Some(text.line(at)),
    })
}

/// The rounded integers in a part of a file.
#[derive(Default)]
struct Rounded<'a> {
    count: usize,
    /// The position of the first one, and its digits.
    first: Option<(usize, &'a [u8])>,
}

fn scan<'a>(body: &Body<'a>, part: Range<usize>, dtype: DType) -> Rounded<'a> {
    let indices = if body.header.info.layout == Layout::Coordinate { 2 } else { 0 };
    let mut cursor = Cursor::new(&body.text.bytes[..part.end], part.start);
    let mut rounded = Rounded::default();
    while cursor.seek_data() {
        let at = cursor.position();
        for _ in 0..indices {
            cursor.next_token();
        }
        if let Some(integer) = cursor.next_token().filter(|integer| is_rounded(integer, dtype)) {
            rounded.count += 1;
            rounded.first.get_or_insert((at, integer));
        }
        cursor.skip_line();
    }
    rounded
}

/// True if `dtype` does not represent an integer; the sign and leading zeros do not count.
fn is_rounded(integer: &[u8], dtype: DType) -> bool {
    let start = integer.iter().position(|byte| matches!(byte, b'1'..=b'9')).unwrap_or(integer.len());
    let digits = &integer[start..];
    if digits.len() <= exact_digits(dtype) {
        return false;
    }
    let Ok(value) = fast_float2::parse::<f64, _>(digits) else {
        return false;
    };
    format!("{:.0}", nearest_real(dtype, value)).as_bytes() != digits
}

/// The most decimal digits of which every integer is exact.
fn exact_digits(dtype: DType) -> usize {
    match dtype {
        DType::F64 | DType::C64 => f64::DIGITS as usize,
        DType::F32 | DType::C32 => f32::DIGITS as usize,
        DType::F16 | DType::Bf16 => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::matrix_market::header;

    fn rounded_in(dtype: DType, text: &str, parts: usize) -> Option<(usize, String, Option<u64>)> {
        let text = Text::in_memory(text.as_bytes());
        let found = rounded(text, header::parse(&text).unwrap(), parts, dtype)?;
        Some((found.count, found.first, found.line))
    }

    #[test]
    fn rounded_integers_are_counted() {
        let text = "%%MatrixMarket matrix coordinate integer general\n% note\n2 2 5\n1 1 16777216\n1 2 -16777217\n\n\
                    2 1 +0009007199254740992\n2 2 9007199254740993\n2 1 36893488147419103232\n";
        for parts in 1..4 {
            assert_eq!(rounded_in(DType::F64, text, parts), Some((1, "9007199254740993".into(), Some(8))));
            assert_eq!(rounded_in(DType::C32, text, parts), Some((2, "-16777217".into(), Some(5))));
        }
        assert_eq!(rounded_in(DType::F64, &text.replace("40993", "40994"), 1), None);
        assert_eq!(rounded_in(DType::F64, &text.replace("integer", "real"), 1), None);
        let array = "%%MatrixMarket matrix array integer general\n1 2\n0\n9007199254740993\n";
        assert_eq!(rounded_in(DType::F64, array, 1), Some((1, "9007199254740993".into(), Some(4))));
    }
}

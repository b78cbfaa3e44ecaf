//! Plain lines, as in nearly all files: whole and decimal numbers separated by blanks, ended by a newline.
//!
//! Any other line is left to [`Entries`](super::entries::Entries), which reads every allowed form and reports the
//! errors of others.

use super::decimal;
use super::header::Field;
use super::short_line;
use super::token::{is_blank, is_integer};
use sparse_core::c64;

/// The entry of a line.
pub(super) struct Line {
    /// The row, counted from 1.
    pub(super) row: usize,
    /// The column, counted from 1.
    pub(super) col: usize,
    pub(super) value: c64,
    /// The bytes of the line, its newline included.
    pub(super) length: usize,
}

/// The line that `text` starts with, if it is a plain one.
#[inline(always)]
pub(super) fn read(text: &[u8], field: Field) -> Option<Line> {
    match short_line::read(text, field) {
        None => read_bytes(text, field),
        short => short,
    }
}

/// The line that `text` starts with, read byte by byte.
#[inline(never)]
fn read_bytes(text: &[u8], field: Field) -> Option<Line> {
    let mut rest = text;
    skip_blanks(&mut rest);
    let row = whole(&mut rest)?;
    blanks(&mut rest)?;
    let col = whole(&mut rest)?;
    let value = match field {
        Field::Pattern => c64::new(1.0, 0.0),
        Field::Integer => c64::new(integer(&mut rest)?, 0.0),
        Field::Real => c64::new(real(&mut rest)?, 0.0),
        Field::Complex => c64::new(real(&mut rest)?, real(&mut rest)?),
    };
    skip_blanks(&mut rest);
    let (b'\n', rest) = rest.split_first()? else { return None };
    Some(Line { row, col, value, length: text.len() - rest.len() })
}

/// Reads blanks.
#[inline(always)]
fn skip_blanks(rest: &mut &[u8]) {
    while let Some((_, after)) = rest.split_first().filter(|(byte, _)| is_blank(**byte)) {
        *rest = after;
    }
}

/// Reads blanks, at least one.
#[inline(always)]
fn blanks(rest: &mut &[u8]) -> Option<()> {
    let start = rest.len();
    skip_blanks(rest);
    (rest.len() < start).then_some(())
}

/// Reads a whole number.
#[inline(always)]
fn whole(rest: &mut &[u8]) -> Option<usize> {
    let start = rest.len();
    let value = decimal::digits(rest, 0);
    (1..=decimal::MAX_DIGITS).contains(&(start - rest.len())).then_some(value as usize)
}

/// Reads blanks and a number.
#[inline(always)]
fn real(rest: &mut &[u8]) -> Option<f64> {
    blanks(rest)?;
    let start = *rest;
    decimal::read(rest).or_else(|| {
        *rest = start;
        long_real(rest)
    })
}

/// Reads a number with many digits or a large exponent.
#[inline(never)]
fn long_real(rest: &mut &[u8]) -> Option<f64> {
    let (value, length) = fast_float2::parse_partial::<f64, _>(*rest).ok()?;
    *rest = &rest[length..];
    value.is_finite().then_some(value)
}

/// Reads blanks and a number that has a sign and digits only.
#[inline(always)]
fn integer(rest: &mut &[u8]) -> Option<f64> {
    blanks(rest)?;
    let number = *rest;
    let value = decimal::read(rest)?;
    is_integer(&number[..number.len() - rest.len()]).then_some(value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read_line(line: &str, field: Field) -> Option<(usize, usize, c64, usize)> {
        let text = format!("{line}12345678 1 1.0\n");
        read(text.as_bytes(), field).map(|line| (line.row, line.col, line.value, line.length))
    }

    #[test]
    fn usual_lines_are_read() {
        let one = c64::new(1.0, 0.0);
        for (line, field, row, col, value) in [
            ("1 2\n", Field::Pattern, 1, 2, one),
            ("  1234567890\t90\r\n", Field::Pattern, 1_234_567_890, 90, one),
            ("3 4 -1.5e-3 \n", Field::Real, 3, 4, c64::new(-1.5e-3, 0.0)),
            ("3 4 1e-300\n", Field::Real, 3, 4, c64::new(1e-300, 0.0)),
            ("3 4 +12\n", Field::Integer, 3, 4, c64::new(12.0, 0.0)),
            ("0 4 1 -.5\n", Field::Complex, 0, 4, c64::new(1.0, -0.5)),
        ] {
            assert_eq!(read_line(line, field), Some((row, col, value, line.len())), "{line:?}");
        }
    }

    #[test]
    fn other_lines_are_left_alone() {
        for (line, field) in [
            ("\n", Field::Pattern),
            ("% 1 1\n", Field::Pattern),
            ("1\n2\n", Field::Pattern),
            ("12345678901234567890 1\n", Field::Pattern),
            ("+1 1\n", Field::Pattern),
            ("1 1 1\n", Field::Pattern),
            ("1 1\n", Field::Real),
            ("1 1 1D5\n", Field::Real),
            ("1 1 1e310\n", Field::Real),
            ("1 1 inf\n", Field::Real),
            ("1 1 1,5\n", Field::Real),
            ("1 1 1 2\n", Field::Real),
            ("1 1 1.0\n", Field::Integer),
            ("1 1 1\n", Field::Complex),
        ] {
            assert_eq!(read_line(line, field), None, "{line:?}");
        }
    }

    /// The line that a text starts with, as bits.
    fn bits(line: Option<Line>) -> Option<(usize, usize, u64, usize)> {
        line.map(|line| (line.row, line.col, line.value.re.to_bits(), line.length))
    }

    proptest! {
        #[test]
        fn short_lines_are_those_that_are_read_byte_by_byte(
            line in r"([0-9]{0,10}[ \t]{0,2}){2}[-+]?[0-9]{0,10}(\.[0-9]{0,18})?([eE][-+]?[0-9]{1,3})?[ \r]?",
            ends in any::<bool>(),
        ) {
            let after = if ends { "\n7 8 9\n".repeat(20) } else { String::new() };
            let text = line + &after;
            for field in [Field::Pattern, Field::Integer, Field::Real] {
                let short = bits(short_line::read(text.as_bytes(), field));
                prop_assert!(short.is_none() || short == bits(read_bytes(text.as_bytes(), field)), "{:?}", text);
            }
        }
    }

    #[test]
    fn lines_of_usual_numbers_are_short() {
        let rest = "1 1 1\n".repeat(20);
        for (line, field) in [
            ("1 2\n", Field::Pattern),
            ("12345678 12345678 -12\n", Field::Integer),
            ("1 2 0.5\n", Field::Real),
            ("1 2 5\r\n", Field::Real),
            ("1234567 1234567 -0.12345678901234567\n", Field::Real),
            ("1234567 1234567 -1.2345678901234567e-01\n", Field::Real),
            ("12345678 12345678 12345678.12345678901                        \n", Field::Real),
        ] {
            let text = format!("{line}{rest}");
            let short = bits(short_line::read(text.as_bytes(), field));
            assert!(short.is_some_and(|(.., length)| length == line.len()), "{line:?}");
        }
    }
}

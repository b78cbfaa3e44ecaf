//! Short lines, whose tokens are found by one comparison of all their bytes.
//!
//! A line is known by two bit masks of its bytes: those that are no digits, and newlines. Tokens are converted from
//! words of eight bytes, so that neither their lengths nor their digits decide a branch. The next line is found before
//! the numbers of this one are known, so that the processor works on several lines at once.
//!
//! Other lines, such as those with signs before indices, and the last lines of a text, are left to
//! [`plain_lines`](super::plain_lines).

use super::decimal;
use super::header::Field;
use super::plain_lines::Line;
use super::token::is_blank;
use super::word::{EIGHT, digits_of};
use sparse_core::c64;

/// The most bytes of a line, one for each bit of a mask.
const LONGEST: usize = 64;
/// Bytes in which half of a mask is found, enough for most lines.
const HALF: usize = LONGEST / 2;
/// Bytes that are needed: a word may begin at the last byte of a line.
const WINDOW: usize = LONGEST + EIGHT;

/// The bytes of a line, and masks of the first ones.
struct Tokens<'a> {
    bytes: &'a [u8; WINDOW],
    /// Bits of bytes that are no digits.
    others: u64,
    /// The position of the newline.
    end: usize,
}

/// The line that `text` starts with, if it is a short one.
#[inline(always)]
pub(super) fn read(text: &[u8], field: Field) -> Option<Line> {
    let tokens = Tokens::of(text.first_chunk()?)?;
    let (row, row_end) = tokens.index(0)?;
    if !tokens.is_blank(row_end) {
        return None;
    }
    let (col, col_end) = tokens.index(row_end + 1)?;
    let value = match field {
        Field::Pattern if col_end == tokens.end => 1.0,
        Field::Integer if tokens.is_blank(col_end) => tokens.integer(col_end + 1)?,
        Field::Real if tokens.is_blank(col_end) => tokens.real(col_end + 1)?,
        _ => return None,
    };
    Some(Line { row, col, value: c64::new(value, 0.0), length: tokens.end + 1 })
}

impl<'a> Tokens<'a> {
    #[inline(always)]
    fn of(bytes: &'a [u8; WINDOW]) -> Option<Self> {
        let (mut others, mut newlines) = masks_from(bytes, 0);
        if newlines == 0 {
            let later = masks_from(bytes, HALF);
            others |= later.0 << HALF;
            newlines = later.1 << HALF;
        }
        (newlines != 0).then(|| Self { bytes, others, end: newlines.trailing_zeros() as usize })
    }

    /// The byte `at` a position up to the end of the line.
    #[inline(always)]
    fn byte(&self, at: usize) -> u8 {
        self.bytes[at % LONGEST]
    }

    #[inline(always)]
    fn is_blank(&self, at: usize) -> bool {
        matches!(self.byte(at), b' ' | b'\t')
    }

    /// The number of digits from `at` on.
    #[inline(always)]
    fn digits_from(&self, at: usize) -> usize {
        (self.others >> at).trailing_zeros() as usize
    }

    /// The eight bytes from `at` on.
    #[inline(always)]
    fn word(&self, at: usize) -> u64 {
        self.bytes[at % LONGEST..].first_chunk().map_or(0, |word| u64::from_le_bytes(*word))
    }

    /// The number in one to eight digits from `at` on, and where they end.
    #[inline(always)]
    fn index(&self, at: usize) -> Option<(usize, usize)> {
        let length = self.digits_from(at);
        (1..=EIGHT).contains(&length).then(|| (digits_of(self.word(at), length) as usize, at + length))
    }

    /// The sign of the number that begins at `at`, and where its digits begin.
    #[inline(always)]
    fn sign(&self, at: usize) -> (f64, usize) {
        let sign = self.byte(at);
        (if sign == b'-' { -1.0 } else { 1.0 }, at + usize::from(matches!(sign, b'-' | b'+')))
    }

    /// The number of one to eight digits from `at` to the end of the line.
    #[inline(always)]
    fn integer(&self, at: usize) -> Option<f64> {
        let (sign, at) = self.sign(at);
        let (magnitude, end) = self.index(at)?;
        (end == self.end).then_some(sign * magnitude as i64 as f64)
    }

    /// The number from `at` to the end of the line.
    #[inline(always)]
    fn real(&self, at: usize) -> Option<f64> {
        let (sign, digits) = self.sign(at);
        let whole = self.digits_from(digits);
        let point = digits + whole;
        if point == self.end {
            return self.integer(at);
        }
        let fraction = self.digits_from(point + 1);
        let count = whole + fraction;
        let is_plain = self.byte(point) == b'.' && point + 1 + fraction == self.end && count > 0;
        if !is_plain || count >= EIGHT {
            return self.any_real(at);
        }
        // The digits before and after the point, side by side.
        let (word, before) = (self.word(digits), (1 << (8 * whole)) - 1);
        let significand = digits_of((word & before) | ((word >> 8) & !before), count);
        Some(sign * (significand as i64 as f64 / decimal::POWERS_OF_TEN[fraction % EIGHT] as i64 as f64))
    }

    /// The number from `at` to the end of the line, perhaps before blanks, if [`decimal`] reads it.
    #[inline(always)]
    fn any_real(&self, at: usize) -> Option<f64> {
        let mut rest = self.bytes.get(at..self.end)?;
        let value = decimal::read(&mut rest)?;
        rest.iter().all(|&byte| is_blank(byte)).then_some(value)
    }
}

/// The masks of half of the bytes, from `at` on.
#[inline(always)]
fn masks_from(bytes: &[u8; WINDOW], at: usize) -> (u64, u64) {
    let mut masks = (0, 0);
    for (k, chunk) in bytes[at..at + HALF].as_chunks::<16>().0.iter().enumerate() {
        let (others, newlines) = masks_of(*chunk);
        masks.0 |= u64::from(others) << (16 * k);
        masks.1 |= u64::from(newlines) << (16 * k);
    }
    masks
}

/// Bits of the bytes that are no digits, and of newlines.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn masks_of(bytes: [u8; 16]) -> (u16, u16) {
    use std::arch::x86_64::{_mm_add_epi8, _mm_cmpeq_epi8, _mm_cmpgt_epi8, _mm_movemask_epi8, _mm_set1_epi8};
    let bytes = bytemuck::cast(bytes);
    // SAFETY: every x86-64 processor has SSE2.
    unsafe {
        // Digits become the ten least signed numbers.
        let shifted = _mm_add_epi8(bytes, _mm_set1_epi8((0x80 - b'0') as i8));
        let others = _mm_cmpgt_epi8(shifted, _mm_set1_epi8(-0x80 + 9));
        let newlines = _mm_cmpeq_epi8(bytes, _mm_set1_epi8(b'\n' as i8));
        (_mm_movemask_epi8(others) as u16, _mm_movemask_epi8(newlines) as u16)
    }
}

/// Bits of the bytes that are no digits, and of newlines.
#[cfg(not(target_arch = "x86_64"))]
#[inline(always)]
fn masks_of(bytes: [u8; 16]) -> (u16, u16) {
    let mask = |is_one: fn(u8) -> bool| {
        bytes.iter().enumerate().fold(0, |mask, (k, &byte)| mask | u16::from(is_one(byte)) << k)
    };
    (mask(|byte| !byte.is_ascii_digit()), mask(|byte| byte == b'\n'))
}

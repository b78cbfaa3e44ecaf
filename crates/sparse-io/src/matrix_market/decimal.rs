//! Decimal numbers as in most matrix files: up to 19 digits and a small exponent, rounded to nearest.
//!
//! Such a number is `w·10^e` with `w < 2^64` and `|e| ≤ 19`, so that one exact division or product of integers decides
//! the rounding. Everything else is left to fast-float2, which handles all cases but is slower on these.

use super::word::{EIGHT, eight_digits};

/// The most digits of which any number fits 64 bits, and the largest power of ten that does.
pub(super) const MAX_DIGITS: usize = 19;

pub(super) const POWERS_OF_TEN: [u64; MAX_DIGITS + 1] = {
    let mut powers = [1; MAX_DIGITS + 1];
    let mut k = 1;
    while k <= MAX_DIGITS {
        powers[k] = 10 * powers[k - 1];
        k += 1;
    }
    powers
};

/// Reads the number that `rest` starts with; none if its rounding is not certain.
#[inline(always)]
pub(super) fn read(rest: &mut &[u8]) -> Option<f64> {
    let negative = sign(rest)?;
    let start = rest.len();
    let whole = digits(rest, 0);
    let point = start - rest.len();
    let (significand, fraction) = if skip_if(rest, |byte| byte == b'.') {
        let start = rest.len();
        let value = eights(rest, whole);
        (digits(rest, value), start - rest.len())
    } else {
        (whole, 0)
    };
    if !(1..=MAX_DIGITS).contains(&(point + fraction)) {
        return None;
    }
    let magnitude = scale(significand, exponent(rest)? - fraction as i64)?;
    Some(if negative { -magnitude } else { magnitude })
}

/// Skips a sign; true if it is a minus. Without branches, since signs are unpredictable.
#[inline(always)]
fn sign(rest: &mut &[u8]) -> Option<bool> {
    let first = *rest.first()?;
    let negative = first == b'-';
    *rest = &rest[usize::from(negative | (first == b'+'))..];
    Some(negative)
}

/// Skips the first byte, if it is `wanted`.
#[inline(always)]
fn skip_if(rest: &mut &[u8], wanted: impl Fn(u8) -> bool) -> bool {
    match rest.split_first() {
        Some((&byte, after)) if wanted(byte) => {
            *rest = after;
            true
        }
        _ => false,
    }
}

/// Reads digits and appends them to `value`, which may wrap if there are more than [`MAX_DIGITS`].
///
/// Reads byte by byte: the processor goes on before it knows the digits, so that short numbers cost next to no time.
#[inline(always)]
pub(super) fn digits(rest: &mut &[u8], mut value: u64) -> u64 {
    while let Some((byte, after)) = rest.split_first().filter(|(byte, _)| byte.is_ascii_digit()) {
        value = value.wrapping_mul(10).wrapping_add(u64::from(byte - b'0'));
        *rest = after;
    }
    value
}

/// Reads groups of eight digits, as [`digits`] does.
#[inline(always)]
fn eights(rest: &mut &[u8], mut value: u64) -> u64 {
    while let Some((part, after)) =
        rest.split_first_chunk::<EIGHT>().and_then(|(chunk, after)| Some((eight_digits(*chunk)?, after)))
    {
        value = value.wrapping_mul(POWERS_OF_TEN[EIGHT]).wrapping_add(part);
        *rest = after;
    }
    value
}

/// Reads an exponent; 0 if there is none.
#[inline(always)]
fn exponent(rest: &mut &[u8]) -> Option<i64> {
    if !skip_if(rest, |byte| matches!(byte, b'e' | b'E')) {
        return Some(0);
    }
    let negative = sign(rest)?;
    let start = rest.len();
    let value = digits(rest, 0);
    if !(1..=EIGHT).contains(&(start - rest.len())) {
        return None;
    }
    Some(if negative { -(value as i64) } else { value as i64 })
}

/// `significand·10^exponent`, rounded to nearest.
#[inline(always)]
fn scale(significand: u64, exponent: i64) -> Option<f64> {
    /// Below it both factors are exact in `f64`, so that one operation rounds once.
    const EXACT: u64 = POWERS_OF_TEN[15];
    let digits = exponent.unsigned_abs() as usize;
    let power = *POWERS_OF_TEN.get(digits)?;
    let exact = significand <= EXACT && power <= EXACT;
    Some(match (exact, exponent < 0) {
        (true, true) => significand as i64 as f64 / power as i64 as f64,
        (true, false) => significand as i64 as f64 * power as i64 as f64,
        (false, true) => divide(significand, &DIVISORS[digits]),
        (false, false) => (u128::from(significand) * u128::from(power)) as f64,
    })
}

/// A power of ten as a divisor.
#[derive(Clone, Copy)]
struct Divisor {
    /// Zeros before the power's first bit.
    shift: u32,
    /// The power, shifted to the top bit.
    shifted: u64,
    /// `floor((2^128 - 1) / shifted) - 2^64`
    reciprocal: u64,
}

const DIVISORS: [Divisor; MAX_DIGITS + 1] = {
    let mut divisors = [Divisor { shift: 0, shifted: 0, reciprocal: 0 }; MAX_DIGITS + 1];
    let mut k = 0;
    while k <= MAX_DIGITS {
        let shift = POWERS_OF_TEN[k].leading_zeros();
        let shifted = POWERS_OF_TEN[k] << shift;
        let reciprocal = (u128::MAX / shifted as u128 - (1 << 64)) as u64;
        divisors[k] = Divisor { shift, shifted, reciprocal };
        k += 1;
    }
    divisors
};

/// `numerator / divisor`, rounded to nearest.
///
/// With both shifted to the top bit, the quotient of `numerator << 62` has 62 or 63 bits. The last one, set if there is
/// a remainder, is far below the 53 bits that stay, so that converting rounds as the true quotient would.
#[inline(always)]
fn divide(numerator: u64, divisor: &Divisor) -> f64 {
    if numerator == 0 {
        return 0.0;
    }
    let up = numerator.leading_zeros();
    let (quotient, remainder) = divisor.divide(u128::from(numerator << up) << 62);
    let quotient = quotient as i64 | i64::from(remainder != 0);
    quotient as f64 * power_of_two(i64::from(divisor.shift) - i64::from(up) - 62)
}

impl Divisor {
    /// Quotient and remainder of a dividend whose upper half is less than `shifted`, by two products. Source: N.
    /// Möller, T. Granlund, Improved division by invariant integers, IEEE Transactions on Computers 60 (2011),
    /// algorithm 4.
    #[inline(always)]
    fn divide(&self, dividend: u128) -> (u64, u64) {
        let (high, low) = ((dividend >> 64) as u64, dividend as u64);
        let estimate = (u128::from(self.reciprocal) * u128::from(high)).wrapping_add(dividend);
        let mut quotient = ((estimate >> 64) as u64).wrapping_add(1);
        let mut remainder = low.wrapping_sub(quotient.wrapping_mul(self.shifted));
        if remainder > estimate as u64 {
            quotient = quotient.wrapping_sub(1);
            remainder = remainder.wrapping_add(self.shifted);
        }
        if remainder >= self.shifted {
            quotient = quotient.wrapping_add(1);
            remainder -= self.shifted;
        }
        (quotient, remainder)
    }
}

/// `2^exponent`, for normal numbers.
#[inline(always)]
fn power_of_two(exponent: i64) -> f64 {
    f64::from_bits(((1023 + exponent) as u64) << (f64::MANTISSA_DIGITS - 1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn parse(text: &str) -> Option<(f64, usize)> {
        let mut rest = text.as_bytes();
        let value = read(&mut rest)?;
        Some((value, text.len() - rest.len()))
    }

    fn assert_agrees(text: &str) {
        if let Some((value, length)) = parse(text) {
            assert_eq!(
                (value.to_bits(), length),
                (text.parse::<f64>().unwrap().to_bits(), text.len()),
                "{text}"
            );
        }
    }

    proptest! {
        #[test]
        fn numbers_round_as_in_the_standard_library(
            digits in "[+-]?[0-9]{0,3}[0-9]{0,17}", point in 0..20_usize, exponent in -25..25_i32, form in 0..3,
        ) {
            let mut text = digits;
            if form > 0 && point <= text.len() && point > 0 {
                text.insert(point, '.');
            }
            if text.bytes().any(|byte| byte.is_ascii_digit()) {
                let tail = if form == 2 { format!("e{exponent}") } else { String::new() };
                assert_agrees(&(text + &tail));
            }
        }

        #[test]
        fn shortest_numbers_are_read_back(value in any::<f64>(), small in -1.0..1.0_f64) {
            assert_agrees(&format!("{value:?}"));
            assert_agrees(&format!("{small:?}"));
            assert_agrees(&format!("{small:.18e}"));
        }
    }

    proptest! {
        #[test]
        fn divisors_divide(k in 0..=MAX_DIGITS, high in any::<u64>(), low in any::<u64>()) {
            let divisor = &DIVISORS[k];
            let dividend = (u128::from(high % divisor.shifted) << 64) | u128::from(low);
            let by = u128::from(divisor.shifted);
            let (quotient, remainder) = divisor.divide(dividend);
            prop_assert_eq!((u128::from(quotient), u128::from(remainder)), (dividend / by, dividend % by));
        }
    }

    #[test]
    fn usual_numbers_are_read_here() {
        for text in
            ["1", "-0.8932152445025372", "0.030994012368497813", "5.", ".5", "+3e2", "1.25e-05", "-1E+19"]
        {
            assert_eq!(parse(text), Some((text.parse().unwrap(), text.len())), "{text}");
        }
        assert!(parse("-0").unwrap().0.is_sign_negative());
    }

    #[test]
    fn halfway_cases_round_to_even() {
        for text in [
            "9007199254740993",
            "9007199254740995",
            "900719925474099.30",
            "9007199254740993.000",
            "184467440737095516.5",
        ] {
            assert!(parse(text).is_some());
            assert_agrees(text);
        }
    }

    #[test]
    fn what_is_unsure_is_left_alone() {
        for text in
            ["", "-", ".", "e5", "1e", "1e+", "12345678901234567890", "1e20", "1e123456789", "nan", "0x1"]
        {
            assert!(parse(text).is_none_or(|(_, length)| length < text.len()), "{text}");
        }
    }
}

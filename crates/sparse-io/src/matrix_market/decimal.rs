//! Decimal numbers as matrix files have them: up to 19 digits and a small exponent, rounded to nearest.
//!
//! Such a number is `w·10^e` with `w < 2^64` and `|e| ≤ 19`, so that one exact division or product of integers decides
//! how it rounds. Everything else is left to fast-float2, which knows all cases but is slower on these.

use super::word::{EIGHT, leading_digits};

/// The most digits of which any number fits 64 bits, and the largest power of ten that does.
const MOST_DIGITS: usize = 19;

const POWERS_OF_TEN: [u64; MOST_DIGITS + 1] = {
    let mut powers = [1; MOST_DIGITS + 1];
    let mut k = 1;
    while k <= MOST_DIGITS {
        powers[k] = 10 * powers[k - 1];
        k += 1;
    }
    powers
};

/// The number that `bytes` start with and its length; none where this way of reading cannot be sure.
#[inline(always)]
pub(super) fn parse_prefix(bytes: &[u8]) -> Option<(f64, usize)> {
    let sign = *bytes.first()?;
    let start = usize::from((sign == b'-') | (sign == b'+'));
    let (whole, point) = digits(bytes, start, 0)?;
    let (significand, end, fraction) = if bytes.get(point) == Some(&b'.') {
        let (significand, end) = digits(bytes, point + 1, whole)?;
        (significand, end, end - point - 1)
    } else {
        (whole, point, 0)
    };
    let digit_count = point - start + fraction;
    if digit_count == 0 || digit_count > MOST_DIGITS {
        return None;
    }
    let (exponent, end) = exponent(bytes, end)?;
    let magnitude = scale(significand, exponent - fraction as i64)?;
    let sign_bit = u64::from(sign == b'-') << 63;
    Some((f64::from_bits(magnitude.to_bits() | sign_bit), end))
}

/// Appends the digits from `at` on to `value`; gives the new value and the end of the digits. The value may have
/// wrapped if there are more than [`MOST_DIGITS`].
#[inline(always)]
fn digits(bytes: &[u8], mut at: usize, mut value: u64) -> Option<(u64, usize)> {
    loop {
        let (part, length) = leading_digits(*bytes.get(at..)?.first_chunk()?);
        value = value.wrapping_mul(POWERS_OF_TEN[length]).wrapping_add(part);
        if length != EIGHT {
            return Some((value, at + length));
        }
        at += EIGHT;
    }
}

/// The exponent that starts at `at`, 0 if there is none, and its end.
#[inline(always)]
fn exponent(bytes: &[u8], at: usize) -> Option<(i64, usize)> {
    if !matches!(bytes.get(at), Some(b'e' | b'E')) {
        return Some((0, at));
    }
    let sign = bytes.get(at + 1)?;
    let start = at + 1 + usize::from(matches!(sign, b'+' | b'-'));
    let (value, end) = digits(bytes, start, 0)?;
    if !(1..EIGHT).contains(&(end - start)) {
        return None;
    }
    let value = value as i64;
    Some((if *sign == b'-' { -value } else { value }, end))
}

/// `significand·10^exponent`, rounded to nearest.
#[inline(always)]
fn scale(significand: u64, exponent: i64) -> Option<f64> {
    /// Below it both factors are exact in `f64`, and so one operation rounds once.
    const EXACT: u64 = POWERS_OF_TEN[15];
    let power = *POWERS_OF_TEN.get(exponent.unsigned_abs() as usize)?;
    let exact = significand <= EXACT && power <= EXACT;
    Some(match (exact, exponent < 0) {
        (true, true) => significand as i64 as f64 / power as i64 as f64,
        (true, false) => significand as i64 as f64 * power as i64 as f64,
        (false, true) => divide(significand, power),
        (false, false) => (u128::from(significand) * u128::from(power)) as f64,
    })
}

/// `numerator / denominator`, rounded to nearest.
///
/// With both shifted to the top bit, the quotient of `numerator << 62` has 62 or 63 bits. The last one, set where a
/// remainder is left, is far below the 53 bits that stay, so that converting rounds as the true quotient would.
#[inline(always)]
fn divide(numerator: u64, denominator: u64) -> f64 {
    if numerator == 0 {
        return 0.0;
    }
    let (up, down) = (numerator.leading_zeros(), denominator.leading_zeros());
    let dividend = u128::from(numerator << up) << 62;
    let divisor = u128::from(denominator << down);
    let quotient = (dividend / divisor) as i64 | i64::from(dividend % divisor != 0);
    quotient as f64 * power_of_two(i64::from(down) - i64::from(up) - 62)
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

    /// The text, with room for the reader to look ahead.
    fn parse(text: &str) -> Option<(f64, usize)> {
        parse_prefix(format!("{text}\n         ").as_bytes())
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
        assert_eq!(parse_prefix(b"1"), None);
    }
}

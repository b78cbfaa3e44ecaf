//! Eight bytes of text at once, in one word.

/// The number of bytes in a word.
pub(super) const EIGHT: usize = 8;

const HIGH_BITS: u64 = repeat(0x80);

const fn repeat(byte: u8) -> u64 {
    u64::from_le_bytes([byte; EIGHT])
}

/// The number in eight digits; none if a byte is not a digit.
#[inline(always)]
pub(super) fn eight_digits(chunk: [u8; EIGHT]) -> Option<u64> {
    let ones = u64::from_le_bytes(chunk) ^ repeat(b'0');
    if (ones.wrapping_add(repeat(0x76)) | ones) & HIGH_BITS != 0 {
        return None;
    }
    Some(joined(ones))
}

/// The number in the first one to eight bytes of a word, the lowest ones, which are digits.
#[inline(always)]
pub(super) fn digits_of(word: u64, length: usize) -> u64 {
    // They become the last ones of eight, after zeros.
    joined((word ^ repeat(b'0')) << (8 * (EIGHT - length) % 64))
}

/// The number of eight digits, the first one in the lowest byte: neighbours are joined to pairs, pairs to fours, fours
/// to eight.
#[inline(always)]
fn joined(ones: u64) -> u64 {
    let twos = (ones.wrapping_mul(10).wrapping_add(ones >> 8)) & 0x00FF_00FF_00FF_00FF;
    let fours = (twos.wrapping_mul(100).wrapping_add(twos >> 16)) & 0x0000_FFFF_0000_FFFF;
    (fours.wrapping_mul(10_000).wrapping_add(fours >> 32)) & 0xFFFF_FFFF
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn words_say_what_bytes_say(chunk in any::<[u8; 8]>(), digits in "[0-9]{6,8}") {
            let mut mixed = chunk;
            mixed[..digits.len()].copy_from_slice(digits.as_bytes());
            let value = mixed.iter().all(u8::is_ascii_digit).then(|| str::from_utf8(&mixed).unwrap().parse().unwrap());
            assert_eq!(eight_digits(mixed), value);
            for length in 1..=digits.len() {
                let number: u64 = digits[..length].parse().unwrap();
                assert_eq!(digits_of(u64::from_le_bytes(mixed), length), number);
            }
        }
    }
}

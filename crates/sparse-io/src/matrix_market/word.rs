//! Eight bytes of text at once, in one word.

/// The number of bytes in a word.
pub(super) const EIGHT: usize = 8;

const HIGH_BITS: u64 = repeat(0x80);

const fn repeat(byte: u8) -> u64 {
    u64::from_le_bytes([byte; EIGHT])
}

/// Where the first newline in `chunk` is.
#[inline(always)]
pub(super) fn first_newline(chunk: [u8; EIGHT]) -> Option<usize> {
    let word = u64::from_le_bytes(chunk) ^ repeat(b'\n');
    let zeros = word.wrapping_sub(repeat(1)) & !word & HIGH_BITS;
    (zeros != 0).then_some(zeros.trailing_zeros() as usize / 8)
}

/// The number in the digits that `chunk` starts with, and how many they are; 0 of 0 digits.
///
/// Neighbours are joined to pairs, pairs to fours, fours to eight.
#[inline(always)]
pub(super) fn leading_digits(chunk: [u8; EIGHT]) -> (u64, usize) {
    let word = u64::from_le_bytes(chunk) ^ repeat(b'0');
    let not_digits = (word.wrapping_add(repeat(0x76)) | word) & HIGH_BITS;
    let length = not_digits.trailing_zeros() / 8;
    let ones = word.checked_shl(64 - 8 * length).unwrap_or(0);
    let twos = (ones.wrapping_mul(10).wrapping_add(ones >> 8)) & 0x00FF_00FF_00FF_00FF;
    let fours = (twos.wrapping_mul(100).wrapping_add(twos >> 16)) & 0x0000_FFFF_0000_FFFF;
    let eight = (fours.wrapping_mul(10_000).wrapping_add(fours >> 32)) & 0xFFFF_FFFF;
    (eight, length as usize)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn words_say_what_bytes_say(chunk in any::<[u8; 8]>(), digits in "[0-9]{0,8}") {
            assert_eq!(first_newline(chunk), chunk.iter().position(|&byte| byte == b'\n'));
            let mut mixed = chunk;
            mixed[..digits.len()].copy_from_slice(digits.as_bytes());
            let length = mixed.iter().position(|byte| !byte.is_ascii_digit()).unwrap_or(8);
            let value = str::from_utf8(&mixed[..length]).unwrap().parse().unwrap_or(0);
            assert_eq!(leading_digits(mixed), (value, length));
        }
    }
}

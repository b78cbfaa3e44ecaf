//! Numbers from hashes of positions: the same on every machine.

use sparse_core::c64;

/// A pseudo-random number, the same on every machine.
pub(crate) fn scramble(row: usize, col: usize) -> u64 {
    let mut bits =
        (row as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ (col as u64).wrapping_mul(0xC2B2_AE3D_27D4_EB4F);
    for shift in [30, 27, 31] {
        bits = (bits ^ (bits >> shift)).wrapping_mul(0x94D0_49BB_1331_11EB);
    }
    bits
}

/// −4, …, 4.
pub(super) fn small_integer(row: usize, col: usize) -> c64 {
    c64::new((scramble(row, col) % 9) as f64 - 4.0, 0.0)
}

/// Both parts in (−1, 1).
pub(super) fn fraction(row: usize, col: usize) -> c64 {
    let part = |bits: u64| (bits >> 11) as f64 / (1_u64 << 52) as f64 - 1.0;
    let bits = scramble(row, col);
    c64::new(part(bits), part(bits.rotate_left(29).wrapping_mul(0x9E37_79B9_7F4A_7C15)))
}

//! A hash of bits that is the same on every machine: FNV-1a, 64 bits.

use crate::portrait::Portrait;
use sparse_core::c64;

/// The hash so far.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Digest(u64);

const START: u64 = 0xcbf2_9ce4_8422_2325;

impl Default for Digest {
    fn default() -> Self {
        Self(START)
    }
}

impl Digest {
    /// Whether nothing was hashed yet.
    pub(crate) fn is_empty(self) -> bool {
        self.0 == START
    }

    pub(crate) fn value(self) -> u64 {
        self.0
    }

    fn word(&mut self, word: u64) {
        for byte in word.to_le_bytes() {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }

    pub(crate) fn number(&mut self, value: c64) {
        self.word(value.re.to_bits());
        self.word(value.im.to_bits());
    }

    pub(crate) fn portrait(&mut self, portrait: &Portrait) {
        portrait.integers.iter().flat_map(|(_, array)| array).for_each(|&k| self.word(k as u64));
        portrait.values.iter().flat_map(|(_, array)| array).for_each(|&value| self.number(value));
    }
}

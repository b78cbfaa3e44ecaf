//! A hash of bits that is the same on every machine: each word is mixed in, multiplied and rotated.

use crate::array_dump::ArrayDump;
use sparse_core::c64;

/// The state of the hash.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Digest(u64);

const START: u64 = 0xcbf2_9ce4_8422_2325;

impl Default for Digest {
    fn default() -> Self {
        Self(START)
    }
}

impl Digest {
    pub(crate) fn value(self) -> u64 {
        self.0
    }

    fn word(&mut self, word: u64) {
        self.0 = (self.0 ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29);
    }

    pub(crate) fn number(&mut self, value: c64) {
        self.word(value.re.to_bits());
        self.word(value.im.to_bits());
    }

    pub(crate) fn dump(&mut self, dump: &ArrayDump<'_>) {
        for chunk in dump.bytes().flat_map(|bytes| bytes.chunks(8)) {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            self.word(u64::from_le_bytes(word));
        }
    }
}

//! A stable sort of pairs of indices, each with its position, in one pass per digit.
//!
//! A word of 64 bits holds both indices above the position, so that a pass moves 16 bytes per entry and no more kernels
//! are needed to take the positions along.

use super::sort::{Indices, Moved, SortBy, bits_below};
use crate::Device;
use crate::buffer::RawBuffer;
use crate::defines::Defines;
use crate::primitive::positions::Positions;
use crate::primitive::radix_sort::digit_bits;
use sparse_core::{Backend, Result};
use std::ops::Range;

/// The file of the kernels.
pub(crate) const FILE: &str = "onesweep";

/// Threads of a block; words of a tile for each of them, and different digits: `ITEMS` and `DIGITS` of the kernels.
const BLOCK: usize = 256;
const ITEMS: usize = 16;
const DIGITS: usize = 256;

/// Blocks per multiprocessor that make words. Each adds its counts of all digits to the totals, so more take longer.
const BLOCKS_PER_UNIT: usize = 4;

/// The most entries: a state has 30 bits for a number of words.
const MAX_ENTRIES: usize = (1 << 30) - 1;

/// True if entries within `extents` can be sorted: either index fits in a word beside the position.
pub(super) fn fits(extents: (usize, usize), entries: usize) -> bool {
    entries <= MAX_ENTRIES && fits_word(bits_below(extents.0.max(extents.1)), entries)
}

/// True if keys of `bits` bits fit in words beside the positions of the entries.
fn fits_word(bits: u32, entries: usize) -> bool {
    bits + bits_below(entries) <= u64::BITS
}

/// Sorts the entries at (`major[k]`, `minor[k]`), which [fit](fits): by one key of both where it fits.
pub(super) fn sort(
    backend: &Device,
    extents: (usize, usize),
    (major, minor): Indices<'_>,
    by: SortBy,
) -> Result<Moved> {
    let (n, bits) = (major.len, (bits_below(extents.0), bits_below(extents.1)));
    let sorted_major = backend.allocate_raw(n, major.element_bytes)?;
    if fits_word(bits.0 + bits.1, n) {
        let compared = if by == SortBy::Both { 0 } else { bits.1 }..bits.0 + bits.1;
        let words = Words::new(backend, Key { major, minor: Some((minor, bits.1)), compared }, None)?;
        let sorted_minor = backend.allocate_raw(n, minor.element_bytes)?;
        let positions = words.split(backend, &sorted_major, Some((&sorted_minor, bits.1)))?;
        return Ok((sorted_major, sorted_minor, positions));
    }
    let by_minor = match by {
        SortBy::Both => {
            Some(Words::new(backend, Key { major: minor, minor: None, compared: 0..bits.1 }, None)?)
        }
        SortBy::Major | SortBy::Nothing => None,
    };
    let words = Words::new(backend, Key { major, minor: None, compared: 0..bits.0 }, by_minor.as_ref())?;
    let positions = words.split(backend, &sorted_major, None)?;
    let sorted_minor = backend.gathered(&positions, minor)?;
    Ok((sorted_major, sorted_minor, positions))
}

/// The keys of entries: the major index, above a minor one of as many bits if there is one.
struct Key<'a> {
    major: &'a RawBuffer,
    minor: Option<(&'a RawBuffer, u32)>,
    /// The bits of the key that the sort compares.
    compared: Range<u32>,
}

/// Sorted words: the key of each entry above its position.
struct Words(RawBuffer);

impl Words {
    /// Sorts the entries by their keys. Equal ones stay in the order of `before`, or of their positions without any.
    fn new(backend: &Device, key: Key<'_>, before: Option<&Self>) -> Result<Self> {
        let Key { major, minor, compared } = key;
        let (n, position_bits, digit) = (major.len, bits_below(major.len), digit_bits(compared.len() as u32));
        let kernel = |entry| backend.kernel(FILE, entry, Defines::default().index(major.index_type()));
        let (shift, passes) = (position_bits + compared.start, compared.len().div_ceil(digit as usize));
        let tiles = n.div_ceil(ITEMS * BLOCK);
        let states = backend.allocate_raw(passes * (2 + tiles) * DIGITS, 4)?;
        backend.clear(&states)?;
        let mut words = backend.allocate_raw(n, 8)?;
        let make = kernel("onesweep_words")?;
        let (minor, minor_bits) = minor.unzip();
        let launch = backend.launch(&make).size(n).buffer(major).buffer_or_null(minor);
        let launch =
            launch.value(minor_bits.unwrap_or(0) as i32).buffer_or_null(before.map(|words| &words.0));
        let launch = launch.value(position_bits as i32).value(shift as i32).value(digit as i32);
        let groups = n.div_ceil(BLOCK).min(backend.caps().compute_units * BLOCKS_PER_UNIT);
        launch.value(passes as i32).buffer(&words).buffer(&states).groups(groups, BLOCK)?;
        let pass = kernel("onesweep_pass")?;
        let mut sorted = backend.allocate_raw(n, 8)?;
        for number in 0..passes as i32 {
            let shift = (shift as i32) + number * digit as i32;
            let launch = backend.launch(&pass).size(n).buffer(&words).value(shift).value(digit as i32);
            let launch = launch.value(number).buffer(&sorted).buffer(&states);
            launch.groups(tiles.min(backend.most_groups()), BLOCK)?;
            std::mem::swap(&mut words, &mut sorted);
        }
        Ok(Self(words))
    }

    /// Writes the keys' indices, of which the minor one has as many bits, and returns the positions.
    fn split(
        &self,
        backend: &Device,
        major: &RawBuffer,
        minor: Option<(&RawBuffer, u32)>,
    ) -> Result<Positions> {
        let Self(words) = self;
        let positions = Positions::allocate(backend, words.len, words.len)?;
        let kernel = backend.kernel(FILE, "onesweep_split", Defines::default().index(major.index_type()))?;
        let (minor, minor_bits) = minor.unzip();
        let launch = backend.launch(&kernel).size(words.len).buffer(words);
        let launch = launch.value(minor_bits.unwrap_or(0) as i32).value(bits_below(words.len) as i32);
        launch.buffer(major).buffer_or_null(minor).positions(&positions).items(words.len)?;
        Ok(positions)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_fit_if_either_index_and_the_position_take_64_bits() {
        assert!(fits((1 << 31, 1 << 31), MAX_ENTRIES));
        assert!(!fits((1, 1), MAX_ENTRIES + 1));
        assert!(fits((1 << 54, 3), 1 << 10) && !fits((1 << 54, 3), (1 << 10) + 1));
        assert!(fits((3, 1 << 54), 1 << 10) && !fits((3, (1 << 54) + 1), 1 << 10));
    }
}

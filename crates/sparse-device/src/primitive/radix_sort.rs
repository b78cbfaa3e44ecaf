//! A stable sort of keys, each with a position, by digits of up to a byte from the lowest on.

use super::positions::Positions;
use crate::buffer::RawBuffer;
use crate::defines::Defines;
use crate::index_type::IndexType;
use crate::lanes::LANES;
use crate::{Device, Kernel};
use sparse_core::Result;
use std::mem::replace;
use std::ops::Range;

/// The file of the kernels.
const FILE: &str = "radix_sort";

/// Bits of a digit at most, and keys of a tile for each work-item: `DIGIT` and `ITEMS` of the kernels.
const DIGIT: u32 = 8;
const ITEMS: usize = 16;

/// Bits of a digit at least, which make one for each lane of a warp.
const MIN_DIGIT: u32 = LANES.ilog2();

/// Sorted keys and their original positions.
#[derive(Debug)]
pub(crate) struct Sorted {
    pub(crate) keys: RawBuffer,
    pub(crate) positions: Positions,
}

/// The kernels of a pass and the counts of its digits.
struct Pass {
    count: Kernel,
    starts: Kernel,
    scatter: Kernel,
    counts: RawBuffer,
    totals: RawBuffer,
    tiles: usize,
    /// The number of different digits.
    digits: usize,
}

impl Pass {
    fn new(backend: &Device, keys: &RawBuffer, position: IndexType, digits: usize) -> Result<Self> {
        let key = if keys.element_bytes == 4 { "uint" } else { "ulong" };
        let block = backend.inner.block;
        let defines = Defines::default().set("KEY", key).set("POS", position.c_name()).set("BLOCK", block);
        let kernel = |entry| backend.kernel(FILE, entry, defines.clone());
        let tiles = keys.len.div_ceil(ITEMS * block);
        Ok(Self {
            count: kernel("radix_sort_count")?,
            starts: kernel("radix_sort_starts")?,
            scatter: kernel("radix_sort_scatter")?,
            counts: backend.allocate_raw(tiles * digits, position.bytes())?,
            totals: backend.allocate_raw(digits, position.bytes())?,
            tiles,
            digits,
        })
    }

    /// Sorts by the digit from bit `shift` on. Keys without positions are at their original positions.
    fn run(
        &self,
        backend: &Device,
        shift: u32,
        (keys, positions): (&RawBuffer, Option<&Positions>),
        to: &Sorted,
    ) -> Result<()> {
        let (n, block) = (keys.len, backend.inner.block);
        let groups = self.tiles.min(backend.most_groups());
        let (shift, digits) = (shift as i32, self.digits as i32);
        let launch = backend.launch(&self.count).size(n).buffer(keys).value(shift).value(digits);
        launch.buffer(&self.counts).groups(groups, block)?;
        let launch = backend.launch(&self.starts).value(digits).size(self.tiles).buffer(&self.counts);
        launch.buffer(&self.totals).groups(self.digits, block)?;
        let launch = backend.launch(&self.scatter).size(n).buffer(keys);
        let launch = launch.positions_or_null(positions);
        let launch = launch.value(shift).value(digits).buffer(&self.counts).buffer(&self.totals);
        launch.buffer(&to.keys).positions(&to.positions).groups(groups, block)
    }
}

/// Sorts by these bits of the keys, which have no higher ones. `positions` move with the keys; without any they are
/// 0, 1, …
pub(crate) fn radix_sort(
    backend: &Device,
    mut keys: RawBuffer,
    mut positions: Option<Positions>,
    position: IndexType,
    bits: Range<u32>,
) -> Result<Sorted> {
    let n = keys.len;
    let digit = digit_bits(bits.len() as u32);
    let pass = Pass::new(backend, &keys, position, 1 << digit)?;
    let (mut free_keys, mut free_positions) = (None, None);
    for shift in bits.step_by(digit as usize) {
        let allocate = || backend.allocate_raw(n, keys.element_bytes);
        let to_keys = free_keys.take().map_or_else(allocate, Ok)?;
        let allocate = || Positions::allocate_as(backend, n, position);
        let to = Sorted { keys: to_keys, positions: free_positions.take().map_or_else(allocate, Ok)? };
        pass.run(backend, shift, (&keys, positions.as_ref()), &to)?;
        free_keys = Some(replace(&mut keys, to.keys));
        free_positions = positions.replace(to.positions);
    }
    let count_up = || Positions::counted_as(backend, 0..n, position);
    let positions = positions.map_or_else(count_up, Ok)?;
    Ok(Sorted { keys, positions })
}

/// Bits of the digits of `bits` bits, so that passes of equal work sort them. The last digit may reach past them, where
/// keys have none.
pub(super) fn digit_bits(bits: u32) -> u32 {
    let passes = bits.div_ceil(DIGIT).max(1);
    bits.div_ceil(passes).max(MIN_DIGIT)
}

/// [`radix_sort`] with positions of the type of those given, or of the narrowest type without any.
pub(super) fn sort_keys(
    backend: &Device,
    keys: RawBuffer,
    positions: Option<Positions>,
    bits: Range<u32>,
) -> Result<Sorted> {
    let narrowest = IndexType::for_count(keys.len);
    let position = positions.as_ref().map_or(narrowest, |positions| positions.index_type());
    radix_sort(backend, keys, positions, position, bits)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_are_as_few_and_as_short_as_they_can_be() {
        for (bits, digit) in
            [(0, 5), (1, 5), (5, 5), (8, 8), (9, 5), (10, 5), (17, 6), (24, 8), (33, 7), (64, 8)]
        {
            assert_eq!(digit_bits(bits), digit, "{bits} bits");
        }
    }
}

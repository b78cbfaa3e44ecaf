//! A set of columns as flags, from which they come out in order without sorting.

#[cfg(target_arch = "x86_64")]
use super::column_set_x86 as x86;
use crate::simd::Isa;
#[cfg(target_arch = "x86_64")]
use crate::simd::Simd;
use sparse_core::Index;
use std::mem::MaybeUninit;
use std::ops::Range;

/// Columns whose flags are looked at together: a vector of AVX-512.
pub(super) const BLOCK: usize = 64;

/// The flag of a column that is in the set. A byte and not a bit: a store need not wait for the one before.
pub(super) const IN_SET: u8 = u8::MAX;

/// Columns of a window for each product up to which all blocks are looked at. One thread, AVX-512, f32, ns for each
/// product with all blocks, with those that are flagged, and with a bitmap: the 27-point stencil times an interpolation
/// 2.1, 2.6 and 2.7, FEM with 3 unknowns a node 1.1, 1.3 and 1.8, R-MAT (5 columns a product) 1.9, 1.9 and 2.7; uniform
/// rows (10) 2.8, 3.2 and 4.4; power law (13) 6.7, 6.7 and 6.9; R-MAT (26) 4.3, 2.6 and 3.6; uniform (31) 5.8, 3.4 and
/// 4.1, (310) 18, 5.6 and 9.0.
const COLUMNS_PER_PRODUCT: usize = 16;

/// The columns of a row within a window: a flag for each. No flag is set between rows.
#[derive(Debug, Default)]
pub(super) struct ColumnSet {
    columns: Vec<u8>,
    /// The blocks that have a column, where others are skipped.
    blocks: Vec<u8>,
    /// The column of the first flag.
    first: usize,
    /// Blocks of the window.
    len: usize,
    skips_blocks: bool,
}

impl ColumnSet {
    /// Empties the set, for the columns of `products` products in `window`.
    #[inline(always)]
    pub(super) fn begin(&mut self, window: &Range<usize>, products: usize) {
        self.first = window.start / BLOCK * BLOCK;
        self.len = (window.end - self.first).div_ceil(BLOCK);
        self.skips_blocks = window.len() > COLUMNS_PER_PRODUCT * products;
        let blocks = self.len.next_multiple_of(BLOCK);
        if self.blocks.len() < blocks {
            self.blocks.resize(blocks, 0);
            self.columns.resize(blocks * BLOCK, 0);
        }
    }

    /// True if [`insert`](Self::insert) and [`insert_range`](Self::insert_range) are to flag blocks, too.
    #[inline(always)]
    pub(super) fn skips_blocks(&self) -> bool {
        self.skips_blocks
    }

    /// Adds a column of the window.
    #[inline(always)]
    pub(super) fn insert<const SKIPS_BLOCKS: bool>(&mut self, column: usize) {
        let at = column - self.first;
        self.columns[at] = IN_SET;
        if SKIPS_BLOCKS {
            self.blocks[at / BLOCK] = IN_SET;
        }
    }

    /// Adds columns of the window, of which there is at least one.
    #[inline(always)]
    pub(super) fn insert_range<const SKIPS_BLOCKS: bool>(&mut self, columns: Range<usize>) {
        let (start, end) = (columns.start - self.first, columns.end - self.first);
        self.columns[start..end].fill(IN_SET);
        if SKIPS_BLOCKS {
            self.blocks[start / BLOCK..=(end - 1) / BLOCK].fill(IN_SET);
        }
    }

    /// Appends the columns to `sorted`, in order, and removes them. There are at most `most`.
    #[inline(always)]
    pub(super) fn drain<S: Isa, I: Index>(&mut self, most: usize, sorted: &mut Vec<I>) {
        sorted.reserve(most.min(self.len * BLOCK) + VECTOR);
        let (before, spare) = (sorted.len(), sorted.spare_capacity_mut());
        let columns = &mut self.columns.as_chunks_mut::<BLOCK>().0[..self.len];
        let (mut len, first) = (0, self.first);
        let mut drain_block = |block: usize, flags: &mut [u8; BLOCK]| {
            let found = take_flags::<S>(flags);
            if found != 0 {
                len += write_columns::<S, I>(found, first + block * BLOCK, &mut spare[len..]);
            }
        };
        if self.skips_blocks {
            let looks = &mut self.blocks.as_chunks_mut::<BLOCK>().0[..self.len.div_ceil(BLOCK)];
            for (look, flags) in looks.iter_mut().enumerate() {
                let mut used = take_flags::<S>(flags);
                while used != 0 {
                    let block = look * BLOCK + used.trailing_zeros() as usize;
                    used &= used - 1;
                    drain_block(block, &mut columns[block]);
                }
            }
        } else {
            columns.iter_mut().enumerate().for_each(|(block, flags)| drain_block(block, flags));
        }
        // SAFETY: of each block as many elements were written as `len` counts.
        unsafe { sorted.set_len(before + len) };
    }
}

/// A bit for each flag that is set, and clears them.
#[inline(always)]
pub(super) fn take_flags<S: Isa>(flags: &mut [u8; BLOCK]) -> u64 {
    let bits = bits_of::<S>(flags);
    if bits != 0 {
        *flags = [0; BLOCK];
    }
    bits
}

/// A bit for each flag that is set.
#[inline(always)]
fn bits_of<S: Isa>(flags: &[u8; BLOCK]) -> u64 {
    #[cfg(target_arch = "x86_64")]
    if const { S::SIMD as u8 == Simd::Avx512 as u8 } {
        // SAFETY: `S` is only run where the processor has it.
        return unsafe { x86::bits_avx512(flags) };
    }
    #[cfg(target_arch = "x86_64")]
    if const { S::SIMD as u8 == Simd::Avx2 as u8 } {
        // SAFETY: as above.
        return unsafe { x86::bits_avx2(flags) };
    }
    let words = flags.as_chunks::<8>().0.iter().map(|flags| u64::from_le_bytes(*flags));
    // The product moves the lowest bit of each byte into the highest byte, in order.
    let bits = words.map(|word| (word & 0x0101_0101_0101_0101).wrapping_mul(0x0102_0408_1020_4080) >> 56);
    (0..).step_by(8).zip(bits).fold(0, |all, (shift, bits)| all | bits << shift)
}

/// Columns of a block that are written at once, even if it has fewer: so no branch depends on the unpredictable number
/// of its bits. Daniel Lemire: Really fast bitset decoding for "average" densities, 2019.
const AT_ONCE: usize = 4;

/// Elements behind the columns that may be written, too: a vector of AVX-512.
const VECTOR: usize = 16;

/// Writes the columns of a block whose first one is `first`; returns their number.
#[inline(always)]
fn write_columns<S: Isa, I: Index>(mut bits: u64, first: usize, to: &mut [MaybeUninit<I>]) -> usize {
    let len = bits.count_ones() as usize;
    let to = &mut to[..len + VECTOR];
    #[cfg(target_arch = "x86_64")]
    if const { S::SIMD as u8 == Simd::Avx512 as u8 && size_of::<I>() == size_of::<i32>() } && len > AT_ONCE {
        // SAFETY: `S` is only run where the processor has it; there is memory for the columns and a vector.
        unsafe { x86::write_columns(bits, first as i32, to.as_mut_ptr().cast()) };
        return len;
    }
    let mut next = || {
        let column = first + bits.trailing_zeros() as usize % BLOCK;
        bits &= bits.wrapping_sub(1);
        I::cast(column)
    };
    for slot in &mut to[..AT_ONCE] {
        slot.write(next());
    }
    if len > AT_ONCE {
        for slot in &mut to[AT_ONCE..len] {
            slot.write(next());
        }
    }
    len
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simd::{Simd, Vectorize};

    struct Sorted<'a> {
        columns: &'a [usize],
        ranges: &'a [Range<usize>],
        window: Range<usize>,
        products: usize,
    }

    impl Sorted<'_> {
        fn insert<const SKIPS_BLOCKS: bool>(&self, set: &mut ColumnSet) {
            self.columns.iter().for_each(|&column| set.insert::<SKIPS_BLOCKS>(column));
            self.ranges.iter().for_each(|range| set.insert_range::<SKIPS_BLOCKS>(range.clone()));
        }
    }

    impl Vectorize for Sorted<'_> {
        type Out = [Vec<i64>; 2];

        #[inline(always)]
        fn run<S: Isa>(self) -> Self::Out {
            let (mut set, mut short, mut long) = (ColumnSet::default(), vec![-7], vec![-7]);
            let fill = |set: &mut ColumnSet| {
                set.begin(&self.window, self.products);
                if set.skips_blocks() { self.insert::<true>(set) } else { self.insert::<false>(set) }
            };
            let most = self.columns.len() + self.ranges.iter().map(|range| range.len()).sum::<usize>();
            fill(&mut set);
            set.drain::<S, i32>(most, &mut short);
            fill(&mut set);
            set.drain::<S, i64>(most, &mut long);
            assert!(set.columns.iter().chain(&set.blocks).all(|&flag| flag == 0));
            [short.into_iter().map(i64::from).collect(), long]
        }
    }

    #[test]
    fn columns_come_out_in_order_and_once() {
        let scattered: Vec<_> = (0..90_usize).map(|k| 70 + k * 7919 % 83 * 241).collect();
        let block: Vec<_> = (0..64).rev().map(|k| 1024 + k).collect();
        let cases: [(&[usize], &[Range<usize>]); 4] = [
            (&[70, 9000, 20_000, 9001, 70, 69], &[]),
            (&scattered, &[]),
            (&block, &[5..9, 9..64, 60..129, 129..150]),
            (&[131], &[64..69, 191..192]),
        ];
        for (columns, ranges) in cases {
            let mut expected: Vec<_> =
                columns.iter().copied().chain(ranges.iter().cloned().flatten()).collect();
            expected.sort_unstable();
            expected.dedup();
            let window = expected[0]..expected[expected.len() - 1] + 1;
            let expected: Vec<_> =
                std::iter::once(-7).chain(expected.into_iter().map(|column| column as i64)).collect();
            for (simd, products) in [Simd::Portable, Simd::Avx2, Simd::detect()]
                .into_iter()
                .filter(|simd| simd.is_available())
                .flat_map(|simd| [(simd, 1), (simd, window.len())])
            {
                let found = simd.run(Sorted { columns, ranges, window: window.clone(), products });
                assert_eq!(found, [&expected[..]; 2], "{} for {products} products", simd.name());
            }
        }
    }
}

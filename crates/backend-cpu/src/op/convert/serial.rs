//! Conversions of small matrices in the caller's memory: by one count, in the calling thread.
//!
//! Each entry is read twice and moved once, to the next place of its line, without parts, buckets and prefetches.

use super::bucket::{Bucket, Coordinates, RowBlock};
use super::transpose::Lines;
use crate::Cpu;
use crate::primitive::fill::{Arrays, try_zeroed, unwritten};
use sparse_core::op::Duplicates;
use sparse_core::{Index, Result, Scalar};

/// Entries and lines up to which CSR becomes CSC sooner by one thread than by two in parts, with long lines, too. f64,
/// two quiet cores of an EPYC (Zen 5), µs of one and of two: 10 000 rows of 5 in random columns 80 and 121, 20 000 181
/// and 202, 40 000 414 and 432; a diagonal of 100 000 179 and 303; rows of 60, 1500 of them 114 and 120, 4000 345 and
/// 262.
const SMALL: usize = 1 << 17;

/// Entries for each line up to which the same holds beyond [`SMALL`] entries: one thread adds up the counts of all
/// parts. Of two threads, with more as many fewer; as above: grids of 165² 178 and 192, 190² 240 and 281, 256² 671 and 456, 30³ 233 and 238, 34³ 388 and 342.
const FOR_EACH_LINE: usize = 2;

/// Entries and lines up to which this holds for coordinates, and the entries of a line on average: lines are sorted one
/// by one. As above, in any order: 3000 rows of 5 66 and 109, 20 000 rows of 2 316 and 268, 1000 rows of 41 556 and
/// 164.
const FEW_COORDINATES: usize = 1 << 15;
/// The same where there is one thread: two share the work of buckets.
const FEW_COORDINATES_ALONE: usize = 1 << 18;
const SHORT: usize = 8;

/// Entries, times threads, up to which the same holds for lines whose indices lie anywhere, which have to be sorted into
/// buckets otherwise, and half as many entries as lines. f64, two quiet cores of an EPYC (Zen 5), ms of a count and of
/// buckets, 300 rows: 300 000 entries in 100 000 columns 1.1 and 2.2, 600 000 3.2 and 3.7, 1.2 million 7.7 and 6.7;
/// 600 000 in 2 million columns 6.7 and 13.0, 2.4 million 27 and 24.
const SCATTERED: usize = 3 << 19;

/// True if a matrix with `entries` entries is converted to its `lines` lines along the other axis by one thread. Where
/// there is no other one, larger ones are, too, up to those that are sorted into buckets if their indices lie anywhere.
pub(super) fn is_small(cpu: &Cpu, entries: usize, lines: usize) -> bool {
    if cpu.threads() == 1 {
        return entries.max(lines) <= SCATTERED;
    }
    lines <= SMALL && entries <= SMALL + 2 * FOR_EACH_LINE * lines / cpu.threads()
}

/// True if this holds for indices that lie anywhere.
pub(super) fn are_few_scattered(cpu: &Cpu, entries: usize, lines: usize) -> bool {
    entries * cpu.threads() <= SCATTERED.max(lines)
}

/// True if `entries` coordinates are grouped to `lines` lines by one thread.
pub(super) fn are_few(cpu: &Cpu, entries: usize, lines: usize) -> bool {
    let few = if cpu.threads() == 1 { FEW_COORDINATES_ALONE } else { FEW_COORDINATES };
    entries.max(lines) <= few && entries <= SHORT * lines
}

/// The lines along the other axis, where there are `minor`; `None` if an index is not below that.
///
/// # Safety
/// The offsets ascend from 0 to the number of indices and of values.
pub(super) unsafe fn along_other_axis<T: Scalar, I: Index, O: Index>(
    cpu: &Cpu,
    minor: usize,
    (offsets, indices, values): Lines<'_, T, I, O>,
) -> Result<Option<Arrays<T, I, O>>> {
    if !cpu.lies_below(indices, minor) {
        return Ok(None);
    }
    // SAFETY: the indices have been compared, and each of them is put below, by the caller's promise.
    let mut places = unsafe { Places::new(minor, indices, values) }?;
    let mut entry = 0;
    for (line, end) in offsets[1..].iter().enumerate() {
        let (line, end) = (I::cast(line), end.as_usize());
        for (&index, &value) in indices[entry..end].iter().zip(&values[entry..end]) {
            // SAFETY: the entry is one of those that were counted.
            unsafe { places.put(index, line, value) };
        }
        entry = end;
    }
    Ok(Some(places.arrays()))
}

/// Lines of coordinates by their major indices, of which there are `major`, with duplicates added.
///
/// # Safety
/// There are equally many major indices, minor indices and values, and major indices are below `major`.
pub(super) unsafe fn add_up<T: Scalar, I: Index, O: Index>(
    cpu: &Cpu,
    major: usize,
    entries: Coordinates<'_, T, I>,
) -> Result<Arrays<T, I, O>> {
    // SAFETY: the caller's promise.
    let mut places = unsafe { Places::<T, I, O>::new(major, entries.major, entries.values) }?;
    for ((&line, &index), &value) in entries.major.iter().zip(entries.minor).zip(entries.values) {
        // SAFETY: the entry is one of those that were counted.
        unsafe { places.put(line, index, value) };
    }
    let Arrays { mut offsets, mut indices, mut values } = places.arrays();
    let mut lengths: Vec<_> =
        offsets.windows(2).map(|ends| ends[1].as_usize() - ends[0].as_usize()).collect();
    let block = RowBlock { rows: 0..major, entries: 0..indices.len(), start: 0 };
    let bucket = Bucket { block: &block, indices: &mut indices, values: &mut values, lengths: &mut lengths };
    let left = bucket.order(cpu, Duplicates::Sum, |major, minor| (major, minor))?;
    if left < indices.len() {
        indices.truncate(left);
        values.truncate(left);
        offsets = cpu.offsets(&lengths)?;
    }
    Ok(Arrays { offsets, indices, values })
}

/// Lines that are filled entry by entry.
struct Places<T, I, O> {
    /// Behind a 0, the place of the next entry of each line; at last the offsets of the lines.
    next: Vec<O>,
    indices: Vec<I>,
    values: Vec<T>,
}

impl<T: Scalar, I: Index, O: Index> Places<T, I, O> {
    /// Places for the entries with these `values` in `lines` lines.
    ///
    /// # Safety
    /// `line_of` has a line for each value, all of them are below `lines`, and each entry is put before the arrays are
    /// read.
    unsafe fn new(lines: usize, line_of: &[I], values: &[T]) -> Result<Self> {
        // One more than offsets: the length of line k is counted at k + 2, where the place of line k + 1 begins.
        let mut next = try_zeroed::<O>(lines + 2)?;
        for line in line_of {
            let length = &mut next[line.as_usize() + 2];
            *length = O::cast(length.as_usize() + 1);
        }
        let mut end = 0;
        for next in &mut next[2..] {
            end += next.as_usize();
            *next = O::cast(end);
        }
        // SAFETY: both are plain data, and each place is that of one entry, which `put` writes.
        let (indices, values) = unsafe { (unwritten(values.len()), unwritten(values.len())) };
        Ok(Self { next, indices, values })
    }

    /// Puts an entry behind those of its line.
    ///
    /// # Safety
    /// It is one of those that were counted, and is put once.
    #[inline(always)]
    unsafe fn put(&mut self, line: I, index: I, value: T) {
        // SAFETY: the line has been counted, and there is a place for each of its entries.
        unsafe {
            let next = self.next.get_unchecked_mut(line.as_usize() + 1);
            let place = next.as_usize();
            *next = O::cast(place + 1);
            *self.indices.get_unchecked_mut(place) = index;
            *self.values.get_unchecked_mut(place) = value;
        }
    }

    /// The arrays, after all entries have been put: the next place of each line is where the next line begins.
    fn arrays(mut self) -> Arrays<T, I, O> {
        self.next.pop();
        Arrays { offsets: self.next, indices: self.indices, values: self.values }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Simd;

    #[test]
    fn lines_are_those_of_the_parallel_conversions() {
        let cpu = Cpu::with(2, Simd::detect()).unwrap();
        let (offsets, indices) = ([0, 0, 3, 4, 4, 6], [2, 0, 2, 3, 1, 0]);
        let values: Vec<_> = (0..6).map(f64::from).collect();
        let lines = (&offsets[..], &indices[..], &values[..]);
        // SAFETY: the offsets ascend from 0 to 6 here, and to 0 below.
        let found = unsafe { along_other_axis::<f64, i32, i32>(&cpu, 5, lines) }.unwrap().unwrap();
        assert_eq!(found.offsets, [0, 2, 3, 5, 6, 6]);
        assert_eq!(found.indices, [1, 4, 4, 1, 1, 2]);
        assert_eq!(found.values, [1.0, 5.0, 4.0, 0.0, 2.0, 3.0]);
        for outside in [-1, 5, i32::MIN] {
            let indices = [2, 0, 2, 3, outside, 0];
            // SAFETY: as above.
            let found = unsafe { along_other_axis(&cpu, 5, (&offsets[..], &indices[..], &values[..])) };
            assert!(found.unwrap().is_none());
        }
        // SAFETY: as above.
        let empty = unsafe { along_other_axis::<f64, i32, i32>(&cpu, 2, (&[0], &[], &[])) }.unwrap().unwrap();
        assert_eq!(empty.offsets, [0, 0, 0]);
    }

    #[test]
    fn coordinates_are_sorted_and_duplicates_added() {
        let cpu = Cpu::with(2, Simd::detect()).unwrap();
        let (major, minor) = ([3, 1, 3, 1, 3], [1, 0, 0, 0, 1]);
        let entries = Coordinates { major: &major, minor: &minor, values: &[1.0, 2.0, 4.0, 8.0, 16.0] };
        // SAFETY: the lines are below 4.
        let found: Arrays<f64, i32, i64> = unsafe { add_up(&cpu, 4, entries) }.unwrap();
        assert_eq!((found.offsets, found.indices), (vec![0, 0, 1, 1, 3], vec![0, 0, 1]));
        assert_eq!(found.values, [10.0, 4.0, 17.0]);
    }
}

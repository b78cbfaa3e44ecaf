//! The steps of all parts: bits and entries in one pass over the elements where the capacity suffices, else in two.

use super::{WORD, bits, entries_of, pack};
use crate::Cpu;
use crate::parallel::split_mut;
use crate::primitive::fill::zeroed;
use sparse_core::op::Keep;
use sparse_core::{DenseBatchView, Index, Scalar};
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::{Mutex, PoisonError};

/// Some rows, with memory for the bits of their elements and for their lengths.
struct RowBlock<'a> {
    number: usize,
    rows: Range<usize>,
    bits: &'a mut [u64],
    lengths: &'a mut [usize],
}

/// The arrays that a part's entries go to.
type Target<'a, T, I> = (&'a mut [I], &'a mut [T]);

/// Assigns the output of entries, in the order of the parts.
struct Places<'a, T, I> {
    /// The rest of the output, unless there were too many entries.
    rest: Option<Target<'a, T, I>>,
    next: usize,
    /// Parts that are counted while one before them is not, by their numbers.
    waiting: BTreeMap<usize, RowBlock<'a>>,
}

impl<'a, T, I> Places<'a, T, I> {
    /// The next part and its output, if it and all before it are counted and fit.
    fn next(&mut self) -> Option<(RowBlock<'a>, Target<'a, T, I>)> {
        let part = self.waiting.remove(&self.next)?;
        self.next += 1;
        let entries = part.lengths.iter().sum();
        let (indices, values) = self.rest.take()?;
        let (indices, more_indices) = indices.split_at_mut_checked(entries)?;
        let (values, more_values) = values.split_at_mut_checked(entries)?;
        self.rest = Some((more_indices, more_values));
        Some((part, (indices, values)))
    }
}

/// Sets the bits of all rows and counts them. If there are at most `capacity` entries, they are packed while their part
/// is in the cache; then the arrays end with zeros. A part is packed by whichever thread finds that all before it are
/// counted.
pub(super) fn find_and_pack<T: Scalar, I: Index>(
    cpu: &Cpu,
    a: &DenseBatchView<'_, T>,
    keep: Keep<T>,
    parts: &[Range<usize>],
    (all_bits, all_lengths): (&mut [u64], &mut [usize]),
    capacity: usize,
) -> Option<(Vec<I>, Vec<T>)> {
    let words = a.ncols().div_ceil(WORD);
    let elements = all_lengths.len() * a.ncols();
    let in_words: Vec<_> = parts.iter().map(|rows| rows.start * words..rows.end * words).collect();
    let memory = split_mut(all_bits, &in_words).into_iter().zip(split_mut(all_lengths, parts));
    let (mut indices, mut values) = (zeroed(capacity), zeroed(capacity));
    let rest = Some((&mut indices[..], &mut values[..]));
    let places = Mutex::new(Places { rest, next: 0, waiting: BTreeMap::new() });
    let lock = || places.lock().unwrap_or_else(PoisonError::into_inner);
    let work = parts.iter().zip(memory).enumerate();
    let work =
        work.map(|(number, (rows, (bits, lengths)))| RowBlock { number, rows: rows.clone(), bits, lengths });
    cpu.for_each(elements, work.collect(), |part: RowBlock<'_>| {
        bits::find(cpu, a, keep, part.rows.clone(), part.bits, part.lengths);
        lock().waiting.insert(part.number, part);
        let next = || lock().next();
        while let Some((part, target)) = next() {
            pack::entries(cpu.simd(), a, part.rows, part.bits, part.lengths, target);
        }
    });
    let enough = lock().rest.is_some();
    enough.then_some((indices, values))
}

/// Packs all parts from their bits.
pub(super) fn pack_all<T: Scalar, I: Index>(
    cpu: &Cpu,
    a: &DenseBatchView<'_, T>,
    parts: &[Range<usize>],
    bits: &[u64],
    lengths: &[usize],
) -> (Vec<I>, Vec<T>) {
    let words = a.ncols().div_ceil(WORD);
    let entries = entries_of(parts, lengths);
    let nnz = entries.last().map_or(0, |last| last.end);
    let (mut indices, mut values) = (zeroed(nnz), zeroed(nnz));
    let outputs = split_mut(&mut indices, &entries).into_iter().zip(split_mut(&mut values, &entries));
    let work = parts.iter().cloned().zip(outputs).collect();
    cpu.for_each(lengths.len() * a.ncols(), work, |(rows, target): (Range<usize>, _)| {
        let bits = &bits[rows.start * words..rows.end * words];
        pack::entries(cpu.simd(), a, rows.clone(), bits, &lengths[rows], target);
    });
    (indices, values)
}

//! C of a product in one pass: parts of its rows come in any order, and it grows by those before which all are there.

use super::factors::Parts;
use super::pool::Pool;
use super::symbolic::PartPattern;
use crate::Cpu;
use crate::primitive::fill::{Arrays, try_zeroed};
use crate::primitive::update::Disjoint;
use sparse_core::{Index, Result, Scalar};
use std::collections::BTreeMap;
use std::mem::MaybeUninit;
use std::ops::Range;
use std::sync::{Mutex, PoisonError};

/// Products that count as one element where threads get work. f64, two quiet cores, µs of one thread and of two: A·A of
/// 3000 rows of 5 in random columns (75 000 products) 750 and 486, of 20 000 rows of 2 (80 000) 513 and 425, of a grid
/// of 60² (88 000) 196 and 208, of 5000 rows of 2 (20 000) 168 and 178.
const PRODUCTS_PER_ELEMENT: usize = 4;

/// Some rows of C.
pub(super) struct PartProduct<T, I> {
    pub(super) pattern: PartPattern<I>,
    pub(super) values: Vec<T>,
}

impl<T, I> Default for PartProduct<T, I> {
    fn default() -> Self {
        Self { pattern: PartPattern::default(), values: vec![] }
    }
}

/// The first rows of C, and the offsets of all, which are zero behind them.
pub(super) struct GrowingProduct<T, I, O> {
    offsets: Vec<O>,
    indices: Vec<I>,
    values: Vec<T>,
}

/// Computes the rows of a part, given its number.
pub(super) type MultiplyPart<'a, T, I> = dyn Fn(usize, &mut PartProduct<T, I>) + Sync + 'a;

impl<T: Scalar, I: Index, O: Index> GrowingProduct<T, I, O> {
    /// C with `rows` rows, none of which is computed yet.
    pub(super) fn new(rows: usize) -> Result<Self> {
        Ok(Self { offsets: try_zeroed(rows + 1)?, indices: vec![], values: vec![] })
    }

    /// Reserves memory for parts from `first` on, whose entries may be as many as their bound; returns those for which
    /// there is memory.
    pub(super) fn reserve(
        &mut self,
        cpu: &Cpu,
        parts: &Parts,
        first: usize,
        reserved: usize,
    ) -> Result<Range<usize>> {
        let bounds = &parts.counts[first..];
        let (next, rest) = (bounds[0].entries, bounds.iter().map(|part| part.entries).sum::<usize>());
        if self.values.capacity() - self.values.len() < rest.min(reserved / 8).max(next) {
            // An eighth more than the rest has, if it is like the parts before it.
            let done = (parts.all.entries - rest).max(1) as f64;
            let expected = (self.values.len() as f64 / done * 1.125 * rest as f64) as usize;
            let additional = rest.min(expected.max(reserved)).max(next);
            self.grow(cpu, additional).or_else(|_| self.grow(cpu, next))?;
        }
        let (mut spare, mut end) = (self.values.capacity() - self.values.len(), first);
        while let Some(part) = parts.counts.get(end)
            && part.entries <= spare
        {
            spare -= part.entries;
            end += 1;
        }
        Ok(first..end)
    }

    fn grow(&mut self, cpu: &Cpu, additional: usize) -> Result<()> {
        self.indices = cpu.with_capacity_for(&self.indices, additional)?;
        self.values = cpu.with_capacity_for(&self.values, additional)?;
        Ok(())
    }

    /// Appends some parts, for which memory is reserved.
    pub(super) fn append(
        &mut self,
        cpu: &Cpu,
        parts: &Parts,
        round: Range<usize>,
        multiply: &MultiplyPart<'_, T, I>,
    ) {
        let len = self.values.len();
        let target = Target {
            offsets: Disjoint::new(&mut self.offsets[1..]),
            indices: Disjoint::new(self.indices.spare_capacity_mut()),
            values: Disjoint::new(self.values.spare_capacity_mut()),
            len,
        };
        let (finished, buffers) = (Mutex::new(Finished::new(round.start)), Pool::default());
        let products: usize = parts.counts[round.clone()].iter().map(|part| part.products).sum();
        cpu.for_each_index(products / PRODUCTS_PER_ELEMENT, round.len(), &|k| {
            let (part, mut product): (_, PartProduct<T, I>) = (round.start + k, buffers.take());
            multiply(part, &mut product);
            let ready = finished.lock().unwrap_or_else(PoisonError::into_inner).add(part, product);
            for (part, start, product) in ready {
                // SAFETY: every part is copied once, to its rows and behind all parts before it.
                unsafe { target.copy(parts.rows[part].clone(), start, &product) };
                buffers.give_back(product);
            }
        });
        let len = len + finished.into_inner().unwrap_or_else(PoisonError::into_inner).entries;
        // SAFETY: all parts were copied, one behind the other, so that all elements were written.
        unsafe {
            self.indices.set_len(len);
            self.values.set_len(len);
        }
    }

    pub(super) fn finish(mut self) -> Arrays<T, I, O> {
        self.indices.shrink_to_fit();
        self.values.shrink_to_fit();
        Arrays { offsets: self.offsets, indices: self.indices, values: self.values }
    }
}

/// Parts that are finished, in their order.
struct Finished<T, I> {
    /// The first part that is not.
    next: usize,
    /// The entries of those before it.
    entries: usize,
    /// Parts behind it that are finished.
    waiting: BTreeMap<usize, PartProduct<T, I>>,
}

impl<T, I> Finished<T, I> {
    fn new(first: usize) -> Self {
        Self { next: first, entries: 0, waiting: BTreeMap::new() }
    }

    /// Adds a part; returns the parts before which all are finished now, each with the number of entries before it.
    fn add(&mut self, part: usize, product: PartProduct<T, I>) -> Vec<(usize, usize, PartProduct<T, I>)> {
        self.waiting.insert(part, product);
        let mut ready = vec![];
        while let Some(product) = self.waiting.remove(&self.next) {
            let (part, start) = (self.next, self.entries);
            self.next += 1;
            self.entries += product.values.len();
            ready.push((part, start, product));
        }
        ready
    }
}

/// The memory behind the first entries of C.
struct Target<T, I, O> {
    /// The end of each row of C.
    offsets: Disjoint<O>,
    indices: Disjoint<MaybeUninit<I>>,
    values: Disjoint<MaybeUninit<T>>,
    /// The entries of C before it.
    len: usize,
}

impl<T: Scalar, I: Index, O: Index> Target<T, I, O> {
    /// Writes some rows, the first of which begins at `start`.
    ///
    /// # Safety
    /// Nothing else accesses these rows and entries meanwhile.
    unsafe fn copy(
        &self,
        rows: Range<usize>,
        start: usize,
        PartProduct { pattern, values }: &PartProduct<T, I>,
    ) {
        // SAFETY: the caller's promise.
        let (offsets, columns, copies) = unsafe {
            let offsets = self.offsets.slice(rows.start, rows.len());
            (offsets, self.indices.slice(start, values.len()), self.values.slice(start, values.len()))
        };
        let mut end = self.len + start;
        for (offset, length) in offsets.iter_mut().zip(&pattern.lengths) {
            end += length;
            *offset = O::cast(end);
        }
        for (to, &column) in columns.iter_mut().zip(&pattern.columns) {
            to.write(column);
        }
        for (to, &value) in copies.iter_mut().zip(values) {
            to.write(value);
        }
    }
}

//! `C ← A·B` and `C⟨M⟩ ← A·B` of sparse matrices over a user's semiring, row by row: each product is added to its column
//! in a hash table of the row.
//!
//! Memory is that of C, and of one row's table for each thread.

use super::semiring::Semiring;
use crate::checks::check_size;
use crate::error::{Error, Result};
use crate::format::{CompressedPattern, IndexOrder};
use crate::index::Index;
use crate::space::Host;
use std::fmt::{self, Debug, Formatter};
use std::ops::Range;
use std::sync::Arc;

const OP: &str = "semiring";

/// A sparse matrix with values of any type: the pattern of a CSR matrix, and a value for each entry.
pub type PatternValues<'a, V, I, O> = (&'a CompressedPattern<Host, I, O>, &'a [V]);

/// A pattern of CSR, and an element for each of its entries.
pub type PatternElements<E, I, O> = (Arc<CompressedPattern<Host, I, O>>, Vec<E>);

/// A product of sparse matrices over a semiring, with checked shapes.
pub struct SemiringSpgemm<'a, S: Semiring<V>, V, I: Index, O: Index> {
    semiring: &'a S,
    a: PatternValues<'a, V, I, O>,
    b: PatternValues<'a, S::Element, I, O>,
    mask: Option<&'a Arc<CompressedPattern<Host, I, O>>>,
}

/// Neighbouring rows of a product: the number of entries of each, and their columns and elements. With a mask, which has
/// the columns already, there are only elements.
#[derive(Debug)]
pub struct ProductRows<E, I> {
    lengths: Vec<usize>,
    columns: Vec<I>,
    elements: Vec<E>,
}

impl<'a, S: Semiring<V>, V: Copy, I: Index, O: Index> SemiringSpgemm<'a, S, V, I, O> {
    /// Checks the operands.
    pub(super) fn new(
        semiring: &'a S,
        a: PatternValues<'a, V, I, O>,
        b: PatternValues<'a, S::Element, I, O>,
        mask: Option<&'a Arc<CompressedPattern<Host, I, O>>>,
    ) -> Result<Self> {
        check_size(OP, "the number of values of A", a.0.indices().len(), a.1.len())?;
        check_size(OP, "the number of values of B", b.0.indices().len(), b.1.len())?;
        check_size(OP, "the number of rows of B", a.0.minor(), b.0.major())?;
        if let Some(mask) = mask {
            check_size(OP, "the number of rows of the mask", a.0.major(), mask.major())?;
            check_size(OP, "the number of columns of the mask", b.0.minor(), mask.minor())?;
            if mask.order() != IndexOrder::CANONICAL {
                return Err(Error::format(
                    "csr",
                    "the mask of a product must be sorted, with each coordinate once",
                ));
            }
        }
        Ok(Self { semiring, a, b, mask })
    }

    /// The number of rows.
    pub fn nrows(&self) -> usize {
        self.a.0.major()
    }

    /// The number of products `a_ik ⊗ b_kj` of the rows before each row, and of all.
    pub fn products_before(&self) -> Vec<usize> {
        let mut sum = 0;
        let products = (0..self.nrows()).map(|row| {
            sum += self.products_of(row);
            sum
        });
        std::iter::once(0).chain(products).collect()
    }

    fn products_of(&self, row: usize) -> usize {
        let columns = &self.a.0.indices()[self.a.0.range(row)];
        columns.iter().map(|k| self.b.0.range(k.as_usize()).len()).sum()
    }

    /// Computes some rows.
    pub fn compute(&self, rows: Range<usize>) -> ProductRows<S::Element, I> {
        let mut sums = RowSums::new(self.semiring);
        let mut found = ProductRows { lengths: vec![], columns: vec![], elements: vec![] };
        for row in rows {
            match self.mask {
                Some(mask) => {
                    sums.clear(mask.range(row).len());
                    mask.indices()[mask.range(row)].iter().for_each(|&column| _ = sums.insert(column));
                    self.for_each_product(row, |column, product| sums.add_if_present(column, product));
                }
                None => {
                    sums.clear(self.products_of(row).min(self.b.0.minor()));
                    self.for_each_product(row, |column, product| sums.add(column, product));
                    sums.entries.sort_unstable_by_key(|&(column, _)| column);
                    found.lengths.push(sums.entries.len());
                    found.columns.extend(sums.entries.iter().map(|&(column, _)| column));
                }
            }
            found.elements.extend(sums.entries.iter().map(|&(_, element)| element));
        }
        found
    }

    fn for_each_product(&self, row: usize, mut visit: impl FnMut(I, S::Element)) {
        let (a, b) = (self.a.0.range(row), self.b.0);
        for (k, &value) in self.a.0.indices()[a.clone()].iter().zip(&self.a.1[a]) {
            let range = b.range(k.as_usize());
            for (&column, &element) in b.indices()[range.clone()].iter().zip(&self.b.1[range]) {
                visit(column, self.semiring.multiply(value, element));
            }
        }
    }

    /// C of all rows, in order.
    pub(super) fn assemble(
        &self,
        mut parts: Vec<ProductRows<S::Element, I>>,
    ) -> Result<PatternElements<S::Element, I, O>> {
        let mut elements =
            parts.first_mut().map(|part| std::mem::take(&mut part.elements)).unwrap_or_default();
        parts.iter().skip(1).for_each(|part| elements.extend_from_slice(&part.elements));
        if let Some(mask) = self.mask {
            return Ok((mask.clone(), elements));
        }
        O::try_new("the entries of a product", elements.len())?;
        let mut columns = parts.first_mut().map(|part| std::mem::take(&mut part.columns)).unwrap_or_default();
        parts.iter().skip(1).for_each(|part| columns.extend_from_slice(&part.columns));
        let mut end = 0;
        let ends = parts.iter().flat_map(|part| &part.lengths).map(|length| {
            end += length;
            O::cast(end)
        });
        let offsets = std::iter::once(O::cast(0)).chain(ends).collect();
        let (shape, order) = ((self.nrows(), self.b.0.minor()), IndexOrder::CANONICAL);
        // SAFETY: the offsets are sums of lengths, columns are those of B, sorted and each once in its row, and the
        // extents are those of A and B.
        let pattern = unsafe { CompressedPattern::new_unchecked(shape, offsets, columns, order) };
        Ok((Arc::new(pattern), elements))
    }
}

impl<S: Semiring<V>, V, I: Index, O: Index> Debug for SemiringSpgemm<'_, S, V, I, O> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let (a, b) = (self.a.0, self.b.0);
        f.debug_struct("SemiringSpgemm").field("a", a).field("b", b).field("mask", &self.mask).finish()
    }
}

/// The sums of one row by column: a hash table of positions in a list of entries.
struct RowSums<'a, S: Semiring<V>, V, I> {
    semiring: &'a S,
    /// Positions in `entries`, or [`EMPTY`]; the first `1 << bits` are in use.
    slots: Vec<usize>,
    bits: u32,
    entries: Vec<(I, S::Element)>,
}

/// A slot of the table that no column has.
const EMPTY: usize = usize::MAX;

/// 2⁶⁴ over the golden ratio, which scatters neighbouring columns (Knuth, The Art of Computer Programming, volume 3,
/// section 6.4).
const SCATTER: u64 = 0x9e37_79b9_7f4a_7c15;

impl<'a, S: Semiring<V>, V, I: Index> RowSums<'a, S, V, I> {
    fn new(semiring: &'a S) -> Self {
        Self { semiring, slots: vec![], bits: 0, entries: vec![] }
    }

    /// Begins a row of at most `capacity` entries.
    fn clear(&mut self, capacity: usize) {
        self.entries.clear();
        // At most half of the slots are taken.
        let slots = (2 * capacity).next_power_of_two().max(2);
        self.bits = slots.trailing_zeros();
        if self.slots.len() < slots {
            self.slots.resize(slots, EMPTY);
        }
        self.slots[..slots].fill(EMPTY);
    }

    /// The slot of a column, or the free slot where it belongs.
    fn slot_of(&self, column: I) -> usize {
        let mask = (1 << self.bits) - 1;
        let mut slot = ((column.as_usize() as u64).wrapping_mul(SCATTER) >> (64 - self.bits)) as usize;
        while self.slots[slot] != EMPTY && self.entries[self.slots[slot]].0 != column {
            slot = (slot + 1) & mask;
        }
        slot
    }

    /// The position of a column, which is inserted with zero if it is not there.
    fn insert(&mut self, column: I) -> usize {
        let slot = self.slot_of(column);
        if self.slots[slot] == EMPTY {
            self.slots[slot] = self.entries.len();
            self.entries.push((column, self.semiring.zero()));
        }
        self.slots[slot]
    }

    fn add(&mut self, column: I, product: S::Element) {
        let position = self.insert(column);
        let sum = &mut self.entries[position].1;
        *sum = self.semiring.add(*sum, product);
    }

    fn add_if_present(&mut self, column: I, product: S::Element) {
        let position = self.slots[self.slot_of(column)];
        if let Some((_, sum)) = self.entries.get_mut(position) {
            *sum = self.semiring.add(*sum, product);
        }
    }
}

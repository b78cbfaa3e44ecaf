//! `C ← A·B` and `C⟨M⟩ ← A·B` of sparse matrices over a user's semiring, row by row: each product is added to its
//! column in a hash table of the row.
//!
//! Memory is twice that of C while the rows that threads computed are joined, and one row's table for each thread.

use super::semiring::Semiring;
use crate::checks::check_size;
use crate::error::{Error, Result};
use crate::format::{CompressedPattern, IndexOrder, Row};
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

/// Neighbouring rows of a product: the number of entries of each, and their columns and elements. With a mask, which
/// has the columns already, there are only elements.
#[derive(Debug)]
pub struct ProductRows<E, I> {
    rows: Range<usize>,
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
    ///
    /// # Panics
    /// If there are not so many rows.
    pub fn compute(&self, rows: Range<usize>) -> ProductRows<S::Element, I> {
        let mut sums = RowSums::new(self.semiring);
        let mut found =
            ProductRows { rows: rows.clone(), lengths: vec![], columns: vec![], elements: vec![] };
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

    /// C of all rows, from parts that follow one another.
    pub(super) fn assemble(
        &self,
        parts: Vec<ProductRows<S::Element, I>>,
    ) -> Result<PatternElements<S::Element, I, O>> {
        self.check_rows(&parts)?;
        if self.mask.is_none() {
            O::try_new("the entries of a product", parts.iter().map(|part| part.elements.len()).sum())?;
        }
        let ProductRows { lengths, columns, elements, .. } = ProductRows::joined(parts);
        let pattern = match self.mask {
            Some(mask) => mask.clone(),
            None => {
                let mut end = 0;
                let ends = lengths.into_iter().map(|length| {
                    end += length;
                    O::cast(end)
                });
                let offsets = std::iter::once(O::cast(0)).chain(ends).collect();
                let shape = (self.nrows(), self.b.0.minor());
                Arc::new(CompressedPattern::checked::<Row>(shape, offsets, columns)?)
            }
        };
        check_size(OP, "the number of elements of C", pattern.indices().len(), elements.len())?;
        Ok((pattern, elements))
    }

    /// Fails unless the parts follow one another from the first row to the last.
    fn check_rows(&self, parts: &[ProductRows<S::Element, I>]) -> Result<()> {
        let mut end = 0;
        for part in parts {
            check_size(OP, "the first row of a part of C", end, part.rows.start)?;
            end += part.rows.len();
        }
        check_size(OP, "the number of rows of C", self.nrows(), end)
    }
}

impl<E, I> ProductRows<E, I> {
    /// The rows of all parts, which are dropped as they are copied.
    fn joined(parts: Vec<Self>) -> Self {
        let parts = match <[Self; 1]>::try_from(parts) {
            Ok([part]) => return part,
            Err(parts) => parts,
        };
        let sum = |len: fn(&Self) -> usize| parts.iter().map(len).sum();
        let mut all = Self {
            rows: 0..sum(|part| part.rows.len()),
            lengths: Vec::with_capacity(sum(|part| part.lengths.len())),
            columns: Vec::with_capacity(sum(|part| part.columns.len())),
            elements: Vec::with_capacity(sum(|part| part.elements.len())),
        };
        for part in parts {
            all.lengths.extend(part.lengths);
            all.columns.extend(part.columns);
            all.elements.extend(part.elements);
        }
        all
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Csr;
    use crate::op::MinPlus;

    #[test]
    fn parts_have_all_rows_of_the_product_in_order() {
        let identity = |n| {
            let a = Csr::<f64>::identity(n).unwrap();
            (a.pattern().clone(), a.values().to_vec())
        };
        let ((pattern, values), (other_pattern, other_values)) = (identity(4), identity(3));
        let (a, other) = ((&*pattern, &values[..]), (&*other_pattern, &other_values[..]));
        for mask in [None, Some(&pattern)] {
            let product = SemiringSpgemm::new(&MinPlus, a, a, mask).unwrap();
            let assemble = |parts: &[Range<usize>]| {
                product.assemble(parts.iter().map(|rows| product.compute(rows.clone())).collect())
            };
            let (c, elements) = assemble(&[0..1, 1..1, 1..4]).unwrap();
            assert_eq!((c.offsets(), c.indices()), (pattern.offsets(), pattern.indices()));
            assert_eq!(elements, [2.0; 4]);
            #[expect(clippy::reversed_empty_ranges)]
            let wrong =
                [&[][..], &[0..1, 1..2], &[0..3, 2..4], &[2..4, 0..2], &[0..3, 3..1, 1..2], &[0..4, 0..4]];
            for parts in wrong {
                assert!(assemble(parts).is_err(), "{parts:?}");
            }
        }
        // Rows of a product with a mask have no columns, those of another product have other ones.
        let masked = SemiringSpgemm::new(&MinPlus, a, a, Some(&pattern)).unwrap();
        let plain = SemiringSpgemm::new(&MinPlus, a, a, None).unwrap();
        assert!(plain.assemble(vec![masked.compute(0..4)]).is_err());
        let small = SemiringSpgemm::new(&MinPlus, other, other, None).unwrap();
        assert!(small.assemble(vec![plain.compute(1..4)]).is_err());
        let empty = CompressedPattern::checked::<Row>((4, 4), vec![0; 5], vec![]).unwrap();
        let none = SemiringSpgemm::new(&MinPlus, a, a, Some(&Arc::new(empty)))
            .unwrap()
            .assemble(vec![masked.compute(0..4)]);
        assert!(none.is_err());
    }
}

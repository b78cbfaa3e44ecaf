//! A hash table of columns: open addressing with linear probing, at most half full.

use sparse_core::Index;

/// The columns of a row, each in a slot. The padding index marks a free slot.
#[derive(Debug)]
pub(super) struct ColumnTable<I> {
    slots: Vec<I>,
    /// Slots in use for the current row, a power of two.
    size: usize,
}

impl<I> Default for ColumnTable<I> {
    fn default() -> Self {
        Self { slots: vec![], size: 0 }
    }
}

impl<I: Index> ColumnTable<I> {
    /// Frees the slots of the last row and takes enough for `columns` of the next one; returns their number.
    #[inline(always)]
    pub(super) fn clear(&mut self, columns: usize) -> usize {
        self.slots[..self.size].fill(I::PADDING);
        self.size = (2 * columns).next_power_of_two().max(2);
        if self.slots.len() < self.size {
            self.slots.resize(self.size, I::PADDING);
        }
        self.size
    }

    /// The slot of a column, and true if it is new. There is a free slot.
    #[inline(always)]
    pub(super) fn insert(&mut self, column: I) -> (usize, bool) {
        let slots = &mut self.slots[..self.size];
        let mask = slots.len() - 1;
        // Fibonacci hashing: the upper bits of the product depend on all bits of the column.
        let hash = (column.as_i64() as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let mut slot = (hash >> 32) as usize & mask;
        loop {
            if slots[slot] == column {
                return (slot, false);
            }
            if slots[slot] == I::PADDING {
                slots[slot] = column;
                return (slot, true);
            }
            slot = (slot + 1) & mask;
        }
    }

    /// Bytes of all slots.
    pub(super) fn bytes(&self) -> usize {
        size_of_val(self.slots.as_slice())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_column_keeps_its_slot_until_the_table_is_cleared() {
        let mut table = ColumnTable::<i32>::default();
        for row in 0..3 {
            let size = table.clear(50);
            let slots: Vec<_> = (0..50).map(|column| table.insert(column * 64 + row)).collect();
            assert!(slots.iter().all(|&(slot, is_new)| is_new && slot < size));
            for (column, (slot, _)) in (0..).zip(slots) {
                assert_eq!(table.insert(column * 64 + row), (slot, false));
            }
        }
    }
}

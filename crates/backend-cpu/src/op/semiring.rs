//! `C ← A·B` over a semiring, with dense and with sparse B: a row is the work of one thread, rows of about equal work are
//! taken together.

use crate::Cpu;
use crate::parallel::{CHUNK, rows_by_entries, rows_by_weight, split_mut};
use sparse_core::Index;
use sparse_core::op::{ProductRows, Semiring, SemiringProduct, SemiringProducts, SemiringSpgemm};

impl SemiringProducts for Cpu {
    fn run_semiring<S: Semiring<V>, V: Copy + Sync, I: Index, O: Index>(
        &self,
        product: &SemiringProduct<'_, S, V, I, O>,
        c: &mut [S::Element],
    ) {
        let (pattern, columns) = (product.pattern(), product.columns());
        let parts = rows_by_entries(pattern.offsets(), (CHUNK / columns).max(1));
        let elements: Vec<_> = parts.iter().map(|rows| rows.start * columns..rows.end * columns).collect();
        let items = parts.into_iter().zip(split_mut(c, &elements)).collect();
        self.for_each(pattern.indices().len().saturating_mul(columns), items, |(rows, c)| {
            for (row, c) in rows.zip(c.chunks_mut(columns)) {
                product.write_row(row, c);
            }
        });
    }

    fn run_semiring_spgemm<S: Semiring<V>, V: Copy + Sync, I: Index, O: Index>(
        &self,
        product: &SemiringSpgemm<'_, S, V, I, O>,
    ) -> Vec<ProductRows<S::Element, I>> {
        let (rows, before) = (product.nrows(), product.products_before());
        let parts = rows_by_weight(rows, |row| before[row] + row, CHUNK);
        self.map(before[rows], parts, |rows| product.compute(rows))
    }
}
